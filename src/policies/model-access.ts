/** The model must exist and the key must be allowed to use it; finds the deployments that serve it. */
import { callableDeployments, shownModel } from '../accounts/model-access.ts'
import { GatewayError } from '../core/errors.ts'
import type { ModelDirectory } from '../core/ports.ts'
import type { Policy } from '../core/policy.ts'

/** Sets the call's `candidates`. Throws `model-not-found`, for patterns too, or `model-forbidden`. */
export function modelAccess(models: () => ModelDirectory): Policy {
  return {
    name: 'model-access',
    admit(call) {
      const index = models()
      const candidates = callableDeployments(call.caller, call.model, index)
      if (candidates instanceof GatewayError) throw candidates
      // The lists show patterns to who asks for them; an upstream asked for the model `*` knows none.
      if (call.model.includes('*') && index.wildcardNames().includes(call.model)) {
        throw new GatewayError(
          'model-not-found',
          `'${shownModel(call.model)}' is a pattern; name one model that fits it`,
          { param: 'model' },
        )
      }
      call.candidates = candidates
    },
  }
}
