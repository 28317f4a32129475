/** What is wrong with an entry of the model list though each of its values by itself is fine. */
import { splitModel } from '../../providers/index.ts'
import type { ModelEntry } from './schema.ts'

/** One mistake in an entry. */
interface EntryProblem {
  /** Inside of the entry. */
  readonly path: readonly string[]
  readonly message: string
}

type Params = ModelEntry['proxy_params']

const starsIn = (text: string): number => text.split('*').length - 1
const oneStar = 'has several `*`; a pattern may have one'

/** Empty = nothing is wrong. Whether the provider is known and its key is there, `buildDeployment` says. */
export function entryProblems({ model_name: name, proxy_params: params }: ModelEntry): EntryProblem[] {
  const problems: EntryProblem[] = []
  const add = (path: readonly string[], message: string) => void problems.push({ path, message })
  const inModel = ['proxy_params', 'model']
  if (starsIn(name) > 1) add(['model_name'], oneStar)
  if (starsIn(params.model) > 1) add(inModel, oneStar)
  else if (starsIn(params.model) === 1 && starsIn(name) === 0)
    add(
      inModel,
      'has a `*`, and `model_name` has none to say what it stands for; name one model, or write a `model_name` such as `my/*`',
    )
  const { provider, model } = splitModel(withProvider(params))
  if (model.trim() === '')
    add(
      inModel,
      `names no model; write ${provider === undefined ? 'provider/model' : `${provider}/ and the model's name at the upstream`}`,
    )
  const address = queryProblem(params) ?? operationProblem(params)
  if (address !== undefined) add(['proxy_params', 'api_base'], address)
  return problems
}

/** `custom_llm_provider` says the provider apart from the model, which may name it once more. */
export function withProvider({ model, custom_llm_provider: provider }: Params): string {
  return provider === undefined || model.startsWith(`${provider}/`) ? model : `${provider}/${model}`
}

/** An `api_base`, taken apart. */
interface Address {
  /** Without its query and a slash at its end. */
  readonly baseUrl: string
  /** What the query of an address of Azure says, as its portal gives addresses to copy. */
  readonly apiVersion: string | undefined
}

/** Throws nothing. The rest of a query is lost here; `entryProblems` has a mistake for it. */
export function readAddress(text: string): Address {
  const at = text.indexOf('?')
  const query = new URLSearchParams(at < 0 ? '' : text.slice(at + 1))
  return {
    baseUrl: (at < 0 ? text : text.slice(0, at)).replace(/\/+$/, ''),
    apiVersion: query.get('api-version') ?? undefined,
  }
}

/** Vendors' pages show addresses with the path of a call, which every call would then have twice. */
function operationProblem({ api_base: address = '' }: Params): string | undefined {
  const [operation] =
    /\/(chat\/completions|completions|(?<=\/v\d+\w*\/)(embeddings|responses|messages|rerank|models))\/*$/.exec(
      address,
    ) ?? []
  return operation && `ends in \`${operation}\`, which the gateway puts behind it; take that out`
}

/** Azure's `?api-version=` says the same as `api_version`. No other query would be where the upstream expects it. */
function queryProblem(params: Params): string | undefined {
  const { api_base: address, api_version: version } = params
  if (address?.includes('?') !== true) return undefined
  const { provider = '' } = splitModel(withProvider(params))
  if (!['azure', 'azure_ai'].includes(provider))
    return 'has a query (`?...`), and the paths of calls are put behind the address; take it out, and give what it says in `extra_headers` if the upstream allows it'
  const { apiVersion } = readAddress(address)
  const others = [...new URLSearchParams(address.slice(address.indexOf('?') + 1)).keys()].filter(
    key => key !== 'api-version',
  )
  if (others.length > 0 || !apiVersion) return 'has a query with more than `api-version`; take that out'
  return version === undefined || version === apiVersion
    ? undefined
    : 'has another `api-version` than `api_version` says; keep one'
}
