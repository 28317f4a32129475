import { bodySchema } from '../../core/dialects/fields.ts'
import type { Endpoint } from '../../core/endpoint.ts'
import { completionTable, openaiCompletions } from '../../formats/openai/completions/index.ts'
import { named } from '../openapi/schema.ts'

/** Text completions: the model is taken from the path, else the query, else the body. */
export const completions: Endpoint = {
  method: 'POST',
  paths: [
    '/completions',
    '/v1/completions',
    '/openai/v1/completions',
    '/compat/deployments/{model+}/completions',
    '/openai/deployments/{model+}/completions',
    '/engines/{model+}/completions',
    '/v1/engines/{model+}/completions',
  ],
  auth: 'key',
  doc: {
    operationId: 'createCompletion',
    summary: 'Create a text completion (emulated on models that only chat)',
    tag: 'Completions',
    query: { model: { schema: { type: 'string' }, description: 'The model; wins over the body.' } },
    request: named('CompletionRequest', () => bodySchema(completionTable.fields)),
    success: async () => (await import('./answers/completions.ts')).completionsSuccess,
    callsModel: true,
  },
  handle: (request, services, caller) =>
    services.callModel(request, caller!, {
      format: openaiCompletions,
      route: '/v1/completions',
      model: request.params.model ?? request.query.get('model') ?? undefined,
    }),
}
