/** Which models a caller may call, and the error for one that it may not call or that does not exist. */
import { isMaster } from '../../core/caller.ts'
import type { Caller } from '../../core/caller.ts'
import type { Deployment } from '../../core/deployment.ts'
import { GatewayError } from '../../core/errors.ts'
import type { ModelDirectory } from '../../core/model-directory.ts'
import type { Settings } from '../../core/settings.ts'
import { closestMatch } from '../../lib/closest-match.ts'
import { mayUseModel } from '../key.ts'
import { nameWithVendor, wildcardRest } from './model-index.ts'

/**
 * true = the caller may call `model` (as the client names it): the lists of its key, user, team and organization all
 * allow it. The master key may call every model.
 */
export function mayCall(caller: Caller, model: string, names: NamesOfModels): boolean {
  for (const models of listsOf(caller)) if (!allows(models, model, names)) return false
  return true
}

/** What names of models stand for, in lists and in calls. */
type NamesOfModels = Pick<Settings, 'accessGroups' | 'aliases'>

/** The same for a model that is called by its own name, which may also be the name of an alias. */
function mayCallItself(caller: Caller, model: string, { accessGroups }: NamesOfModels): boolean {
  for (const models of listsOf(caller)) if (!mayUseModel(models, model, accessGroups)) return false
  return true
}

/** A list allows an alias of the configuration by its own name, and where it allows the model that it stands for. */
function allows(models: readonly string[], model: string, { accessGroups, aliases }: NamesOfModels): boolean {
  if (mayUseModel(models, model, accessGroups)) return true
  return Object.hasOwn(aliases, model) && mayUseModel(models, aliases[model]!, accessGroups)
}

const known = new WeakMap<Caller, readonly (readonly string[])[]>()

/** The lists that restrict a caller, found once for each. */
function listsOf(caller: Caller): readonly (readonly string[])[] {
  let lists = known.get(caller)
  if (!lists) known.set(caller, (lists = isMaster(caller) ? [] : restricting(caller)))
  return lists
}

/** An entry that stands for no model: a list of it alone allows nothing. */
const nothing = ['no-default-models']

/**
 * `all-team-models` on a key is the list of its team, which holds anyway; without a team it is nothing.
 * `no-default-models` on a user refuses the user's keys without a team, and says nothing about those with one.
 */
function restricting(caller: Caller): readonly (readonly string[])[] {
  return listsByOwner(caller).map(([, models]) => models)
}

/** The kind of what refuses a model to the caller, the first that does: `key`, `user`, `team`, ... */
export function refusesModel(caller: Caller, model: string, names: NamesOfModels): ModelListOwner | undefined {
  if (isMaster(caller)) return undefined
  return listsByOwner(caller).find(([, models]) => !allows(models, model, names))?.[0]
}

/** What lists the models that may be called. */
export type ModelListOwner = 'key' | 'user' | 'team' | 'organization' | 'derived'

function listsByOwner(caller: Caller): (readonly [ModelListOwner, readonly string[]])[] {
  const { key, user, team, organization, derived = [] } = caller
  const ofKey = key.models.includes('all-team-models') ? (team ? [] : nothing) : key.models
  const ofUser = user?.models ?? []
  const isOpen = team !== undefined && ofUser.includes('no-default-models')
  const lists: (readonly [ModelListOwner, readonly string[]])[] = [
    ['key', ofKey],
    ['user', isOpen ? [] : ofUser],
    ['team', team?.models ?? []],
    ['organization', organization?.models ?? []],
    ...derived.map(one => ['derived', one.models] as const),
  ]
  return lists.filter(([, models]) => models.length > 0 && !models.includes('all-proxy-models'))
}

/** The access groups that the caller may name: those that each of its lists names, or all. */
export function accessibleGroups(caller: Caller, { accessGroups }: Pick<Settings, 'accessGroups'>): string[] {
  const lists = listsOf(caller)
  return Object.keys(accessGroups).filter(name => lists.every(models => models.includes(name)))
}

const none: Readonly<Record<string, string>> = {}

/** What the caller calls a model -> the model: those of its key before those of its team. */
export function modelAliases({ key, team }: Caller): Readonly<Record<string, string>> {
  return team ? { ...team.modelAliases, ...key.aliases } : (key.aliases ?? none)
}

const aliasesOf = new WeakMap<Caller, ReadonlyMap<string, string>>()

/** The model that the caller means by `model`. */
export function unaliased(caller: Caller, model: string): string {
  let aliases = aliasesOf.get(caller)
  if (!aliases) aliasesOf.set(caller, (aliases = new Map(Object.entries(modelAliases(caller)))))
  return aliases.size === 0 ? model : (aliases.get(model) ?? model)
}

/**
 * The names that lists of models show to the caller, each once: public names and aliases of the configuration, its own
 * aliases and those of its team, and what is known of the vendors of patterns.
 */
export function listedNames(caller: Caller, index: ModelDirectory): readonly string[] {
  const mayUse = (name: string) => visibleDeployments(caller, name, index).length > 0
  const own = Object.entries(modelAliases(caller)).filter(([, model]) => mayUse(model))
  return [
    ...new Set([
      ...index.names().filter(mayUse),
      ...own.map(([alias]) => alias),
      ...index.patternedNames().filter(name => mayCall(caller, name, index.settings)),
    ]),
  ]
}

/** The deployments of `model`; empty where the model does not exist or the caller may not use it. */
export function visibleDeployments(caller: Caller, model: string, index: ModelDirectory): readonly Deployment[] {
  const found = index.resolve(model)
  return mayCallFound(caller, model, found, index) ? found : []
}

/** A bare name that a vendor's pattern matched may also be called where the name with its vendor may. */
function mayCallFound(
  caller: Caller,
  model: string,
  found: readonly Deployment[],
  { settings }: ModelDirectory,
): boolean {
  const first = found[0]
  const may = first?.modelName === model ? mayCallItself : mayCall
  if (may(caller, model, settings)) return true
  const name = first && nameWithVendor(first, model)
  if (name === undefined || wildcardRest(first!.modelName, name) !== first!.target.model) return false
  return mayCall(caller, name, settings)
}

/** The deployments of `index`, which is the caller's own, that it may call by their own name. */
export function usableDeployments(
  caller: Caller,
  index: Pick<ModelDirectory, 'deployments' | 'settings'>,
): readonly Deployment[] {
  return index.deployments.filter(one => mayCallItself(caller, one.modelName, index.settings))
}

/** What is known of the vendors of patterns, as far as the caller may call it: names with their deployments. */
export function* patternedDeployments(
  caller: Caller,
  index: ModelDirectory,
): Generator<readonly [name: string, deployments: readonly Deployment[]]> {
  for (const name of index.patternedNames())
    if (mayCall(caller, name, index.settings)) yield [name, index.resolve(name)]
}

/** The deployments of `model` (at least one), or the error `model-not-found` or `model-forbidden`. */
export function callableDeployments(
  caller: Caller,
  model: string,
  index: ModelDirectory,
): readonly Deployment[] | GatewayError {
  const found = index.resolve(model)
  if (found.length === 0)
    return new GatewayError('model-not-found', unknownModel(caller, model, index), { param: 'model' })
  if (mayCallFound(caller, model, found, index)) return found
  const why = `this key may not use the model '${shownModel(model)}'; GET /v1/models lists those it may use`
  return new GatewayError('model-forbidden', why, { param: 'model' })
}

const shownLengthMax = 200

/** A model's name for error messages, at most 200 characters. */
export function shownModel(model: string): string {
  return model.length > shownLengthMax ? `${model.slice(0, shownLengthMax)}...` : model
}

const patternsShownMax = 5
/** Bounds the search for a similar name, so that an unknown model costs no more than a call. */
const namesComparedMax = 500

/** The error message; it names only models that the caller may call. */
function unknownModel(caller: Caller, model: string, index: ModelDirectory): string {
  const { settings } = index
  const mayUse = (name: string) => mayCall(caller, name, settings)
  const absent = `the model '${shownModel(model)}' does not exist`
  const { notOffered = {}, vendorOf } = settings
  const provider = model.includes('/') ? model.slice(0, model.indexOf('/')) : (vendorOf?.(model) ?? '')
  // Local servers need no key of their provider, and models that were made by API have one of their own.
  const offersNothing = () => !settings.deployments.some(one => one.target.provider.name === provider)
  if (
    Object.hasOwn(notOffered, provider) &&
    offersNothing() &&
    mayUse(model.includes('/') ? model : `${provider}/${model}`)
  )
    return `${absent}: this gateway offers nothing of '${provider}' yet; ${notOffered[provider]}`
  const near =
    model.length <= shownLengthMax
      ? closestMatch(model, index.names().slice(0, namesComparedMax).filter(mayUse))
      : undefined
  if (near !== undefined) return `${absent}, did you mean '${near}'? GET /v1/models lists those that do`
  const patterns = index.wildcardNames().filter(mayUse).slice(0, patternsShownMax)
  const also = patterns.length > 0 ? `, and names like ${patterns.join(', ')} work, too` : ''
  return `${absent}; GET /v1/models lists those that do${also}`
}
