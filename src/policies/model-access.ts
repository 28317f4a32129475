/** The model must exist and the key must be allowed to use it; finds the deployments that serve it. */
import { mayUseModel } from '../accounts/key.ts'
import { GatewayError } from '../core/errors.ts'
import type { ModelDirectory } from '../core/ports.ts'
import type { Policy } from '../core/policy.ts'

export function modelAccess(models: () => ModelDirectory): Policy {
  return {
    name: 'model-access',
    admit(call) {
      const index = models()
      const candidates = index.resolve(call.model)
      if (candidates.length === 0) {
        throw new GatewayError(
          'model-not-found',
          `the model '${shown(call.model)}' does not exist; GET /v1/models lists those that do`,
          { param: 'model' },
        )
      }
      const { key } = call.caller
      if (call.caller.role === 'key' && !mayUseModel(key, call.model, index.settings.accessGroups)) {
        throw new GatewayError(
          'model-forbidden',
          `this key may not use the model '${shown(call.model)}'; GET /v1/models lists those it may use`,
          { param: 'model' },
        )
      }
      // The lists show patterns to who asks for them; an upstream asked for the model `*` knows none.
      if (call.model.includes('*') && index.wildcardNames().includes(call.model)) {
        throw new GatewayError('model-not-found', `'${shown(call.model)}' is a pattern; name one model that fits it`, { param: 'model' })
      }
      call.candidates = candidates
    },
  }
}

const shownLengthMax = 200

function shown(model: string): string {
  return model.length > shownLengthMax ? `${model.slice(0, shownLengthMax)}...` : model
}
