/**
 * The deployments of every model that may be tried after the call's own: found, and allowed, before anything is sent.
 */
import { callableDeployments } from '../accounts/model-access.ts'
import type { Call } from '../core/call.ts'
import type { Deployment } from '../core/deployment.ts'
import { GatewayError } from '../core/errors.ts'
import { fallbackNames, largerModels } from '../core/overrides.ts'
import type { Policy } from '../core/policy.ts'
import { offers } from './model-mode.ts'

/**
 * Sets `fallbackGroups`. Throws what the model itself would be refused with for one that the client names and may not
 * call; those of the configuration are the operator's choice.
 */
export function fallbacks(): Policy {
  return {
    name: 'fallbacks',
    stage: 'body',
    admit(call) {
      if (call.candidates.length === 0) return
      const { model, models, overrides } = call
      const names = fallbackNames(model, overrides, models.settings.router)
      const larger = largerModels(model, overrides)
      if (names.length === 0 && larger.length === 0) return
      const groups = new Map<string, readonly Deployment[]>()
      const add = (name: string, found: readonly Deployment[]): void =>
        void groups.set(
          name,
          found.filter(one => offers(one, call)),
        )
      for (const name of names) add(name, overrides.fallbacks ? allowed(call, name, 'fallbacks') : models.resolve(name))
      for (const name of larger) add(name, allowed(call, name, 'context_window_fallback_dict'))
      call.fallbackGroups = groups
    },
  }
}

function allowed({ caller, models }: Call, name: string, field: string): readonly Deployment[] {
  const found = callableDeployments(caller, name, models)
  if (!(found instanceof GatewayError)) return found
  throw new GatewayError(found.kind, `${field}: ${found.message}`, { param: field, cause: found })
}
