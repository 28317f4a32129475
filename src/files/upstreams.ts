/** Chooses the upstream for a file: as the client says, among those that its key may use. */
import { isMaster } from '../core/caller.ts'
import { callableDeployments, mayCall, usableDeployments } from '../access/models/model-access.ts'
import { blockedModel } from '../core/blocked-model.ts'
import type { Call } from '../core/call.ts'
import type { Deployment } from '../core/deployment.ts'
import { GatewayError } from '../core/errors.ts'
import { accountOf } from '../core/objects/files.ts'

/** The upstream that the client asks for; every part may be missing. */
export interface FileTarget {
  /** Public names; the file goes where all of them are. */
  readonly models: readonly string[]
  /** `custom_llm_provider`. */
  readonly provider: string | undefined
}

/** The caller, and the models of the moment. */
type CallModels = Pick<Call, 'caller' | 'models'>

/** The deployments of a model that this caller may call, or why there are none. */
export function callable({ caller, models }: CallModels, model: string): readonly Deployment[] | string {
  const found = callableDeployments(caller, model, models)
  if (found instanceof GatewayError) return found.message
  return blockedModel(model, found)?.message ?? found
}

/** Throws 400, with a list of the choices, unless this leaves exactly one upstream. */
export function chooseUpstream(call: CallModels, requested: FileTarget): Deployment {
  const target = withDefault(call, requested)
  const accounts = target.models.length > 0 ? accountsOfAll(call, target.models) : reachable(call)
  const fitting = [...accounts.values()].filter(
    one => target.provider === undefined || one.target.provider.name === target.provider,
  )
  // The built-in provider, which simulates, is chosen only when there is no other.
  const real = fitting.filter(one => !one.target.provider.answer)
  const offered = real.length > 0 ? real : fitting
  // A drained upstream gets nothing new where there is another.
  const active = offered.filter(one => one.weight > 0)
  const open = active.length > 0 ? active : offered
  if (open.length === 1) return open[0]!
  // A model may be served by several upstreams: the first one is used.
  if (target.models.length > 0 && open.length > 0) return open[0]!
  const choices = shownChoices(call, target, open.length > 0 ? open : [...accounts.values()])
  if (accounts.size === 0) throw refused('none of the models that this key may use is at an upstream that takes files')
  if (open.length === 0)
    throw refused(
      `no upstream of the provider '${target.provider!.slice(0, 60)}' takes files for this key; ` +
        `name one of these as \`model\`: ${choices}`,
      'custom_llm_provider',
    )
  throw refused(
    'several upstreams take files; name a model of the one that you mean as `model` or `target_model_names`: ' +
      choices,
  )
}

/** By account: one deployment for each account that serves all these models. */
function accountsOfAll(call: CallModels, models: readonly string[]): Map<string, Deployment> {
  let common: Map<string, Deployment> | undefined
  for (const model of models) {
    const found = callable(call, model)
    if (typeof found === 'string') throw refused(found)
    const accounts = byAccount(found)
    if (accounts.size === 0) throw refused(`the model '${model}' is at an upstream that takes no files`)
    const before: Map<string, Deployment> = common ?? accounts
    common = new Map([...before].filter(([account]) => accounts.has(account)))
    if (common.size === 0)
      throw refused(`the model '${model}' is at another upstream than the models before it; a file goes to one`)
  }
  return common!
}

/** Where the client names no upstream and several take files, the configured one is meant, if the caller may use it. */
function withDefault(call: CallModels, target: FileTarget): FileTarget {
  const { files } = call.models.settings.defaultModels
  if (files === undefined || target.models.length > 0 || target.provider !== undefined) return target
  return mayCall(call.caller, files, call.models.settings) ? { ...target, models: [files] } : target
}

function reachable({ caller, models: index }: CallModels): Map<string, Deployment> {
  const named = usableDeployments(caller, index)
  if (isMaster(caller)) return byAccount(named)
  // The key's list may also hold aliases, and single models of a pattern.
  const mine = caller.key.models.filter(name => mayCall(caller, name, index.settings))
  return byAccount([...named, ...mine.flatMap(name => index.resolve(name))])
}

function byAccount(deployments: readonly Deployment[]): Map<string, Deployment> {
  const accounts = new Map<string, Deployment>()
  for (const one of deployments) {
    // One that only callers' own credentials serve has none for what is stored.
    if (one.blocked || one.clientCredentials === 'required') continue
    const account = accountOf(one)
    const known = account === undefined ? undefined : accounts.get(account)
    if (account !== undefined && (!known || (known.weight === 0 && one.weight > 0))) accounts.set(account, one)
  }
  return accounts
}

const choicesShownMax = 20

/** By names that the caller may use: it must not learn the model's name behind an alias. */
function shownChoices(
  { caller, models: index }: CallModels,
  { models }: FileTarget,
  deployments: readonly Deployment[],
): string {
  const nameOf = (one: Deployment) =>
    [one.modelName, ...models, ...caller.key.models].find(
      name => mayCall(caller, name, index.settings) && (name === one.modelName || index.resolve(name).includes(one)),
    )
  const shown = deployments.slice(0, choicesShownMax).map(one => [nameOf(one), one.target.provider.name])
  return shown.flatMap(([name, provider]) => (name === undefined ? [] : [`'${name}' (${provider})`])).join(', ')
}

function refused(message: string, param = 'model'): GatewayError {
  return new GatewayError('invalid-request', message, { param })
}
