/** Checks of one model entry that concern several of its values. */
import { splitModel, vendorOf } from '../../providers/index.ts'
import type { ModelEntry } from '../sections/models.ts'

/** One mistake in an entry. */
interface EntryProblem {
  /** Inside the entry. */
  readonly path: readonly string[]
  readonly message: string
}

type Params = ModelEntry['proxy_params']

const starsIn = (text: string): number => text.split('*').length - 1
const oneStar = 'has several `*`; a pattern may have one'

/** Empty = no mistakes. `buildDeployment` checks the provider and its key. */
export function entryProblems({
  model_name: given,
  proxy_params: params,
  model_info: info,
}: ModelEntry): EntryProblem[] {
  const problems: EntryProblem[] = []
  const add = (path: readonly string[], message: string) => void problems.push({ path, message })
  const inModel = ['proxy_params', 'model']
  const ofTeam = info?.team_public_model_name
  if (ofTeam !== undefined && info?.team_id === undefined)
    add(['model_info', 'team_public_model_name'], 'is the name that a team uses; give its `team_id`, too')
  else if (ofTeam !== undefined && starsIn(ofTeam) !== starsIn(given))
    add(['model_info', 'team_public_model_name'], 'must be a pattern if and only if `model_name` is one')
  const name = ofTeam ?? given
  if (starsIn(name) > 1) add(['model_name'], oneStar)
  if (starsIn(params.model) > 1) add(inModel, oneStar)
  else if (starsIn(params.model) === 1 && starsIn(name) === 0)
    add(
      inModel,
      'has a `*`, and `model_name` has none to say what it stands for; name one model, or write a `model_name` such ' +
        'as `my/*`',
    )
  const { provider, model } = namedModel(params)
  if (model.trim() === '')
    add(
      inModel,
      'names no model; write ' +
        `${provider === undefined ? 'provider/model' : `${provider}/ and the model's name at the upstream`}`,
    )
  const address = queryProblem(params) ?? operationProblem(params)
  if (address !== undefined) add(['proxy_params', 'api_base'], address)
  return problems
}

/**
 * The provider of an entry and the model's name there. A bare name is its vendor's, as `gpt-4o`, unless an address is
 * given: then it is a name at that OpenAI-compatible host. undefined = the provider is unknown.
 */
export function namedModel(params: Params): { readonly provider?: string; readonly model: string } {
  const { model, custom_llm_provider: given, api_base: address } = params
  if (given !== undefined) return splitModel(model.startsWith(`${given}/`) ? model : `${given}/${model}`)
  const named = splitModel(model)
  if (named.provider !== undefined) return named
  if (address !== undefined) return { provider: 'custom_openai', model }
  const vendor = vendorOf(model)
  if (vendor === undefined) return named
  const isVertex = vendor === 'gemini' && (params.vertex_project ?? params.vertex_credentials) !== undefined
  return { provider: isVertex ? 'vertex_ai' : vendor, model }
}

/** An `api_base` in parts. */
interface Address {
  /** Without the query and trailing slashes. */
  readonly baseUrl: string
  /** The `api-version` in the query of an Azure address, as the Azure portal shows addresses. */
  readonly apiVersion: string | undefined
}

/** Never throws. Other query parameters are ignored; `entryProblems` reports them. */
export function readAddress(text: string): Address {
  const at = text.indexOf('?')
  const query = new URLSearchParams(at < 0 ? '' : text.slice(at + 1))
  return {
    baseUrl: (at < 0 ? text : text.slice(0, at)).replace(/\/+$/, ''),
    apiVersion: query.get('api-version') ?? undefined,
  }
}

/** Vendors document URLs of single operations; with such an address every call would have the path twice. */
function operationProblem({ api_base: address = '' }: Params): string | undefined {
  const [operation] =
    /\/(chat\/completions|completions|(?<=\/v\d+\w*\/)(embeddings|responses|messages|rerank|models))\/*$/.exec(
      address,
    ) ?? []
  return operation && `ends in \`${operation}\`, which the gateway puts behind it; take that out`
}

/** In an Azure address `?api-version=` means the same as `api_version`. Other queries cannot be combined with paths. */
function queryProblem(params: Params): string | undefined {
  const { api_base: address, api_version: version } = params
  if (address?.includes('?') !== true) return undefined
  const { provider = '' } = namedModel(params)
  if (!['azure', 'azure_ai'].includes(provider))
    return (
      'has a query (`?...`), and the paths of calls are put behind the address; take it out, and give what it ' +
      'says in `extra_headers` if the upstream allows it'
    )
  const { apiVersion } = readAddress(address)
  const others = [...new URLSearchParams(address.slice(address.indexOf('?') + 1)).keys()].filter(
    key => key !== 'api-version',
  )
  if (others.length > 0 || !apiVersion) return 'has a query with more than `api-version`; take that out'
  return version === undefined || version === apiVersion
    ? undefined
    : 'has another `api-version` than `api_version` says; keep one'
}
