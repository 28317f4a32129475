/** Which models a caller may call, and what whoever asks for another one is told. */
import type { Caller } from '../core/caller.ts'
import type { Deployment } from '../core/deployment.ts'
import { GatewayError } from '../core/errors.ts'
import type { ModelDirectory } from '../core/ports.ts'
import type { Settings } from '../core/settings.ts'
import { nearest } from '../lib/nearest.ts'
import { mayUseModel } from './key.ts'

/** The master key may call everything. */
export function mayCall(
  { role, key }: Caller,
  model: string,
  { accessGroups }: Pick<Settings, 'accessGroups'>,
): boolean {
  return role === 'admin' || mayUseModel(key, model, accessGroups)
}

/** Empty both for a model that does not exist and for one that the caller may not know of. */
export function visibleDeployments(caller: Caller, model: string, index: ModelDirectory): readonly Deployment[] {
  return mayCall(caller, model, index.settings) ? index.resolve(model) : []
}

/** The deployments behind a model that the caller may call; else why there are none, and what helps. */
export function callableDeployments(
  caller: Caller,
  model: string,
  index: ModelDirectory,
): readonly Deployment[] | GatewayError {
  const found = index.resolve(model)
  if (found.length === 0)
    return new GatewayError('model-not-found', unknownModel(caller, model, index), { param: 'model' })
  if (mayCall(caller, model, index.settings)) return found
  const why = `this key may not use the model '${shownModel(model)}'; GET /v1/models lists those it may use`
  return new GatewayError('model-forbidden', why, { param: 'model' })
}

const shownLengthMax = 200

/** A model's name as messages show it. */
export function shownModel(model: string): string {
  return model.length > shownLengthMax ? `${model.slice(0, shownLengthMax)}...` : model
}

const patternsShownMax = 5
/** A wrong name must not cost more than a call. */
const namesComparedMax = 500

/** Names only what the caller may call. */
function unknownModel(caller: Caller, model: string, index: ModelDirectory): string {
  const { settings } = index
  const mayUse = (name: string) => mayCall(caller, name, settings)
  const absent = `the model '${shownModel(model)}' does not exist`
  const [provider = ''] = model.split('/', 1)
  const { notOffered = {} } = settings
  if (model.includes('/') && Object.hasOwn(notOffered, provider) && mayUse(model))
    return `${absent}: this gateway offers nothing of '${provider}' yet; ${notOffered[provider]}`
  const near =
    model.length <= shownLengthMax ? nearest(model, index.names().slice(0, namesComparedMax).filter(mayUse)) : undefined
  if (near !== undefined) return `${absent}, did you mean '${near}'? GET /v1/models lists those that do`
  const patterns = index.wildcardNames().filter(mayUse).slice(0, patternsShownMax)
  const also = patterns.length > 0 ? `, and names like ${patterns.join(', ')} work, too` : ''
  return `${absent}; GET /v1/models lists those that do${also}`
}
