/** What answers say of a model that is switched off. Who did it, and why, is shown to readers of everything. */
import type { Deployment } from './deployment.ts'
import { GatewayError } from './errors.ts'

const shownLengthMax = 200

/** The error for a call of a model whose deployments, as resolved, are all blocked; undefined = they are not. */
export function blockedModel(model: string, [first]: readonly Deployment[]): GatewayError | undefined {
  return first?.blocked === undefined ? undefined : allBlocked(model)
}

/** The error for a model that answers nothing, because every deployment of it is blocked. */
export function allBlocked(model: string): GatewayError {
  const shown = model.length > shownLengthMax ? `${model.slice(0, shownLengthMax)}...` : model
  return new GatewayError(
    'model-blocked',
    `the model '${shown}' is switched off: an administrator has blocked every deployment of it; ask for another model`,
    { param: 'model' },
  )
}
