import type { Endpoint } from '../../core/endpoint.ts'
import { openaiCompletions } from '../../formats/openai/completions/index.ts'
import { jsonOrEvents, reference } from '../openapi/schema.ts'

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
    request: { $ref: '#/components/schemas/CompletionRequest' },
    success: jsonOrEvents(reference('Completion'), reference('CompletionStream')),
    callsModel: true,
  },
  handle: (request, services, caller) =>
    services.callModel(request, caller!, {
      format: openaiCompletions,
      route: '/v1/completions',
      model: request.params.model ?? request.query.get('model') ?? undefined,
    }),
}
