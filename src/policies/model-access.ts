/** The model must exist and the key must be allowed to use it; finds the deployments that serve it. */
import { callableDeployments, mayCall, shownModel, unaliased } from '../access/models/model-access.ts'
import type { Call } from '../core/call.ts'
import { GatewayError } from '../core/errors.ts'
import type { NamedModel } from '../core/format.ts'
import type { Policy } from '../core/policy.ts'

/**
 * Sets the call's `candidates`, and its model to what an alias of the key or the team stands for. Throws
 * `model-not-found`, for patterns too, or `model-forbidden`.
 */
export function modelAccess(): Policy {
  return {
    name: 'model-access',
    stage: 'body',
    admit(call) {
      if (!call.format) return
      const { models } = call
      const model = (call.model = unaliased(call.caller, call.model))
      const candidates = callableDeployments(call.caller, model, models)
      if (candidates instanceof GatewayError) throw candidates
      // Model lists can contain patterns, but an upstream knows no model of the name `*`.
      if (model.includes('*') && models.wildcardNames().includes(model)) {
        throw new GatewayError('model-not-found', `'${shownModel(model)}' is a pattern; name one model that fits it`, {
          param: 'model',
        })
      }
      call.candidates = candidates
      if (call.format.otherModels && call.body) checkOthers(call, call.format.otherModels(call.body))
    },
  }
}

/**
 * The upstream may ask only what the key may call itself, by the bare name or the one with the vendor. The gateway
 * needs no model of the name: it is the vendor's.
 */
function checkOthers({ caller, models, candidates }: Call, others: readonly NamedModel[]): void {
  for (const { name, path } of others) {
    const names = [name, ...candidates.map(({ target }) => `${target.provider.name}/${name}`)]
    if (names.some(one => mayCall(caller, one, models.settings))) continue
    const why = `\`${path}\`: this key may not use the model '${shownModel(name)}'; leave it out`
    throw new GatewayError('model-forbidden', why, { param: path })
  }
}
