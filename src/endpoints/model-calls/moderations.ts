import { defaultModel } from '../../access/models/default-model.ts'
import { bodySchema } from '../../core/dialects/fields.ts'
import type { Endpoint } from '../../core/endpoint.ts'
import { moderationTable, openaiModerations } from '../../formats/openai/moderations.ts'
import { named } from '../openapi/schema.ts'

/**
 * OpenAI API reference, "Create moderation". Without `model` the configured one is called
 * (`moderation_model`), else the first model of mode `moderation` that the key may use, else the first guard model.
 */
export const moderations: Endpoint = {
  method: 'POST',
  paths: ['/moderations', '/v1/moderations', '/openai/v1/moderations'],
  auth: 'key',
  doc: {
    operationId: 'createModeration',
    summary: 'Judge whether texts or images are harmful',
    tag: 'Moderation',
    request: named('ModerationRequest', () => bodySchema(moderationTable.fields)),
    success: async () => (await import('./answers/vectors.ts')).moderationsSuccess,
    callsModel: true,
  },
  handle: (request, services, caller) =>
    services.callModel(request, caller!, {
      format: openaiModerations,
      route: '/v1/moderations',
      defaultModel: () => defaultModel(services.current.models, caller!, 'moderation', one => one.profile.guard),
    }),
}
