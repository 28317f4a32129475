/** The models that may be tried after the call's own: looked up and checked before anything is sent. */
import { callableDeployments } from '../accounts/model-access.ts'
import type { Call, FallbackModel } from '../core/call.ts'
import type { Deployment } from '../core/deployment.ts'
import { GatewayError } from '../core/errors.ts'
import type { Policy } from '../core/policy.ts'
import { offers } from './model-mode.ts'

const noNames: readonly string[] = []

/**
 * Sets `fallbacksInOrder` and `largerModels`. For a model that the client names and may not call it throws the error
 * that a call of the model itself would get; those of the configuration are the operator's choice.
 */
export function fallbacks(): Policy {
  return {
    name: 'fallbacks',
    stage: 'body',
    admit(call) {
      if (call.candidates.length === 0) return
      const { model, models, overrides } = call
      const configured = models.settings.router.fallbacks
      const names = overrides.fallbacks ?? configured[model] ?? configured['*'] ?? noNames
      if (names.length > 0)
        call.fallbacksInOrder = names.map(name =>
          fallbackModel(call, name, overrides.fallbacks ? callable(call, name, 'fallbacks') : models.resolve(name)),
        )
      if (overrides.contextFallbacks)
        call.largerModels = largerNames(model, overrides.contextFallbacks).map(name =>
          fallbackModel(call, name, callable(call, name, 'context_window_fallback_dict')),
        )
    },
  }
}

/** The model for conversations that are too long for `model`, the one for those too long for that one, and so on. */
function largerNames(model: string, next: ReadonlyMap<string, string>): string[] {
  const names: string[] = []
  for (let name = next.get(model); name !== undefined; name = next.get(name)) {
    if (name === model || names.includes(name)) break
    names.push(name)
  }
  return names
}

function fallbackModel(call: Call, name: string, deployments: readonly Deployment[]): FallbackModel {
  return { name, deployments: deployments.filter(one => offers(one, call)) }
}

function callable({ caller, models }: Call, name: string, field: string): readonly Deployment[] {
  const found = callableDeployments(caller, name, models)
  if (!(found instanceof GatewayError)) return found
  throw new GatewayError(found.kind, `${field}: ${found.message}`, { param: field, cause: found })
}
