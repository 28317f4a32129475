import { mayCall } from '../../accounts/model-access.ts'
import type { Caller } from '../../core/caller.ts'
import type { Endpoint, Services } from '../../core/endpoint.ts'
import { openaiModerations } from '../../formats/openai/moderations.ts'
import { json } from '../openapi/schema.ts'

/**
 * Moderation: gateway API specification, "Moderation". Without `model` the first model of mode `moderation` that the
 * key may use is called, else the first guard model. The built-in one, whose results are simulated, is used only where
 * all models are built in: elsewhere its result would be mistaken for a real one.
 */
export const moderations: Endpoint = {
  method: 'POST',
  paths: ['/moderations', '/v1/moderations', '/openai/v1/moderations'],
  auth: 'key',
  doc: {
    operationId: 'createModeration',
    summary: 'Judge whether texts or images are harmful',
    tag: 'Moderation',
    request: { $ref: '#/components/schemas/ModerationRequest' },
    success: json('Moderation'),
    callsModel: true,
  },
  handle: (request, services, caller) =>
    services.callModel(request, caller!, {
      format: openaiModerations,
      route: '/v1/moderations',
      defaultModel: () => defaultJudge(services, caller!),
    }),
}

/** undefined = there is none; the call is then refused for its missing model. */
function defaultJudge(services: Services, caller: Caller): string | undefined {
  const settings = services.current.settings
  const { deployments } = settings
  const own = deployments.filter(one => one.origin.kind !== 'built-in')
  const usable = (own.length > 0 ? own : deployments).filter(
    one => !one.modelName.includes('*') && mayCall(caller, one.modelName, settings),
  )
  const model = usable.find(one => one.mode === 'moderation') ?? usable.find(one => one.profile.guard)
  return model?.modelName
}
