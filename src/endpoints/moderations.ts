import { mayUseModel } from '../accounts/key.ts'
import type { Caller } from '../core/call.ts'
import type { Endpoint, Services } from '../core/endpoint.ts'
import { openaiModerations } from '../formats/openai-moderations.ts'

/**
 * Moderation: gateway API specification, "Moderation". `model` may be left out: then the first model of mode
 * `moderation` that the key may use judges. The built-in one stands last, and its name says that it is simulated.
 */
export const moderations: Endpoint = {
  method: 'POST',
  paths: ['/moderations', '/v1/moderations', '/openai/v1/moderations'],
  auth: 'key',
  doc: {
    summary: 'Judge whether texts or images are harmful',
    tag: 'Moderation',
    request: { $ref: '#/components/schemas/ModerationRequest' },
    response: { $ref: '#/components/schemas/Moderation' },
  },
  handle: (request, services, caller) =>
    services.callModel(request, caller!, {
      format: openaiModerations,
      route: '/v1/moderations',
      defaultModel: () => firstModerationModel(services, caller!),
    }),
}

function firstModerationModel(services: Services, caller: Caller): string | undefined {
  const { deployments, accessGroups } = services.settings()
  const mayUse = (name: string) => caller.role === 'admin' || mayUseModel(caller.key, name, accessGroups)
  return deployments.find(({ mode, modelName }) => mode === 'moderation' && !modelName.includes('*') && mayUse(modelName))
    ?.modelName
}
