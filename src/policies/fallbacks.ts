/** The models that may be tried after the call's own: looked up and checked before anything is sent. */
import { callableDeployments } from '../access/models/model-access.ts'
import { blockedModel } from '../core/blocked-model.ts'
import type { Call, FallbackModel } from '../core/call.ts'
import type { Deployment } from '../core/deployment.ts'
import { GatewayError } from '../core/errors.ts'
import type { Policy } from '../core/policy.ts'
import { fallbacksOf } from '../core/settings.ts'
import type { FallbackLists } from '../core/settings.ts'
import { offers } from './model-mode.ts'

/**
 * Sets `fallbacksInOrder`, `contextWindowFallbacks` and `contentPolicyFallbacks`. For a model that the client names and
 * may not call it throws the error that a call of the model itself would get; those of the configuration are the
 * operator's choice. Throws `model-blocked` for a model that is switched off and has no fallback that could answer in
 * its place.
 */
export function fallbacks(): Policy {
  return {
    name: 'fallbacks',
    stage: 'body',
    admit(call) {
      if (call.candidates.length === 0) return
      const { model, models, overrides } = call
      const { router } = models.settings
      call.fallbacksInOrder = overrides.fallbacks
        ? chosen(call, overrides.fallbacks, 'fallbacks')
        : configured(call, router.fallbacks)
      call.contextWindowFallbacks = overrides.contextFallbacks
        ? chosen(call, largerNames(model, overrides.contextFallbacks), 'context_window_fallback_dict')
        : configured(call, router.contextWindowFallbacks)
      call.contentPolicyFallbacks = configured(call, router.contentPolicyFallbacks)
      const blocked = blockedModel(model, call.candidates)
      if (blocked && call.fallbacksInOrder.every(one => one.deployments.length === 0)) throw blocked
    },
  }
}

const noModels: readonly FallbackModel[] = []

/** By the client, in `field`. */
function chosen(call: Call, names: readonly string[], field: string): readonly FallbackModel[] {
  return names.map(name => fallbackModel(call, name, callable(call, name, field)))
}

/** By the operator. `*` may list the model itself, which is no fallback of itself. */
function configured(call: Call, lists: FallbackLists): readonly FallbackModel[] {
  const names = fallbacksOf(lists, call.model, call.models.settings)
  return names.length === 0 ? noModels : listed(call, names)
}

function listed(call: Call, names: readonly string[]): readonly FallbackModel[] {
  return names.filter(name => name !== call.model).map(name => fallbackModel(call, name, call.models.resolve(name)))
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
  return { name, deployments: deployments.filter(one => !one.blocked && offers(one, call)) }
}

function callable({ caller, models }: Call, name: string, field: string): readonly Deployment[] {
  const found = callableDeployments(caller, name, models)
  if (!(found instanceof GatewayError)) return found
  throw new GatewayError(found.kind, `${field}: ${found.message}`, { param: field, cause: found })
}
