/**
 * Finds model servers on this machine by requesting the model list at their default ports. A GET without a key is sent;
 * an answer that is no such list means that there is no such server.
 */
import type { Deployment } from '../../core/deployment.ts'
import { buildDeployment } from './deployments.ts'
import type { BuildContext, Providers } from './deployments.ts'
import type { Environment } from '../environment.ts'
import type { ModelEntry } from '../sections/models.ts'

/** For connection and answer together. */
const requestMsMax = 300
const bodyBytesMax = 1024 * 1024
/** A longer list is not expected of a local server. */
const modelsMax = 500
/** `*` or control characters in a name would have a meaning here. */
const usableName = /^[^\p{C}*]{1,200}$/u
/** Matches `nomic-embed-text`, `text-embedding-...`. Other names count as chat models, for which nothing is refused. */
const embeddingName = /(^|[-_/:.])embed(ding)?s?([-_/:.]|$)/i

/** A model that a server on this machine lists. */
export interface DiscoveredModel {
  /** The provider that talks to this server. */
  readonly provider: string
  /** The name at the server. */
  readonly model: string
  readonly embedding: boolean
  /** Tokens of input and output together, as the server says. */
  readonly contextWindow?: number
}

interface LocalServer {
  /** Its default base URL is requested. */
  readonly provider: string
  /** Path of the model list, relative to the base URL. */
  readonly path: string
  models(answer: unknown): (Omit<DiscoveredModel, 'provider'> | undefined)[]
  /** Of a server of one model: the path, beside that of the base URL, of what it runs with. */
  readonly propertiesPath?: string
}

const localServers: readonly LocalServer[] = [
  { provider: 'ollama', path: '/api/tags', models: ollamaModels },
  { provider: 'lm_studio', path: '/models', models: openaiModels },
  { provider: 'hosted_vllm', path: '/models', models: openaiModels },
  // The server of llama.cpp, which llamafile contains.
  { provider: 'llamafile', path: '/models', models: openaiModels, propertiesPath: '/props' },
]

/** `MODELGATE_DISCOVER=0` disables discovery. */
export function mayDiscover(environment: Environment): boolean {
  return !['0', 'false', 'off', 'no'].includes((environment.MODELGATE_DISCOVER ?? '').trim().toLowerCase())
}

/**
 * The models of all servers, in a fixed order. One that is there and does not answer in time, as while it loads a
 * model, has those that are `known` of it. Never rejects.
 */
export async function discoverModels(
  providers: Providers,
  known: readonly DiscoveredModel[] = [],
): Promise<DiscoveredModel[]> {
  const models = await Promise.all(
    localServers.map(
      async server =>
        (await modelsOf(server, providers)) ?? known.filter(({ provider }) => provider === server.provider),
    ),
  )
  return models.flat()
}

/** undefined = it did not answer in time. */
async function modelsOf(server: LocalServer, providers: Providers): Promise<DiscoveredModel[] | undefined> {
  const { provider, path, models } = server
  const baseUrl = providers.get(provider)?.defaultBaseUrl
  if (baseUrl === undefined) return []
  try {
    const listed = models(JSON.parse(await getBody(`${baseUrl}${path}`)))
    const named = new Map<string, DiscoveredModel>()
    for (const one of listed) if (one && usableName.test(one.model)) named.set(one.model, { provider, ...one })
    const found = [...named.values()].slice(0, modelsMax)
    return found.length === 1 ? [await withProperties(found[0]!, server, baseUrl)] : found
  } catch (error) {
    return error instanceof NoAnswer ? undefined : []
  }
}

/**
 * llama.cpp says by `n_ctx` how much it runs with, which is mostly less than what the model was trained with
 * (tools/server/README.md, `GET /props`).
 */
async function withProperties(
  model: DiscoveredModel,
  { propertiesPath }: LocalServer,
  baseUrl: string,
): Promise<DiscoveredModel> {
  if (propertiesPath === undefined) return model
  const answer = await getBody(new URL(propertiesPath, baseUrl).href).then(JSON.parse, () => undefined)
  const contextWindow = countOf(fieldOf(fieldOf(answer, 'default_generation_settings'), 'n_ctx'))
  return contextWindow === undefined ? model : { ...model, contextWindow }
}

/** The server is there, and did not answer in time. */
class NoAnswer extends Error {}

/**
 * The body of a 200 response. `fetch` is not used because it would use the proxy of the environment for loopback,
 * follow redirects to other machines, and decompress.
 */
async function getBody(url: string): Promise<string> {
  // Imported here to save memory in gateways with a model list.
  const { get } = await import('node:http')
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  const request = get(url, { agent: false, headers: { accept: 'application/json' } }, response => {
    if (response.statusCode !== 200) return stop(`status ${response.statusCode}`)
    const pieces: Buffer[] = []
    let bytes = 0
    response.on('data', (piece: Buffer) => {
      bytes += piece.length
      if (bytes > bodyBytesMax) return stop('the answer is too large')
      pieces.push(piece)
    })
    response.on('error', reject)
    response.on('end', () => resolve(Buffer.concat(pieces).toString('utf8')))
  })
  const stop = (reason: string | Error): void => {
    reject(reason instanceof Error ? reason : new Error(reason))
    request.destroy()
  }
  const timer = setTimeout(() => stop(new NoAnswer('no answer in time')), requestMsMax)
  request.on('error', reject)
  return promise.finally(() => clearTimeout(timer))
}

/** `{models: [{model, name, details: {family}}]}` (docs.ollama.com/api/tags). */
function ollamaModels(answer: unknown): ReturnType<LocalServer['models']> {
  return listOf(answer, 'models').map(entry => {
    const model = textOf(entry, 'model') ?? textOf(entry, 'name')
    if (model === undefined) return undefined
    const family = textOf((entry as { details?: unknown }).details, 'family') ?? ''
    return { model, embedding: family.endsWith('bert') || embeddingName.test(model) }
  })
}

/**
 * `{object: "list", data: [{id, object: "model"}]}` (OpenAI API reference, "List models"). vLLM adds `max_model_len`,
 * llama.cpp `meta.n_ctx_train`.
 */
function openaiModels(answer: unknown): ReturnType<LocalServer['models']> {
  if (textOf(answer, 'object') !== 'list') return []
  return listOf(answer, 'data').map(entry => {
    const model = textOf(entry, 'id')
    if (model === undefined) return undefined
    const contextWindow =
      countOf(fieldOf(entry, 'max_model_len')) ?? countOf(fieldOf(fieldOf(entry, 'meta'), 'n_ctx_train'))
    return { model, embedding: embeddingName.test(model), ...(contextWindow !== undefined && { contextWindow }) }
  })
}

const fieldOf = (value: unknown, name: string): unknown =>
  typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[name] : undefined

const countOf = (value: unknown): number | undefined =>
  typeof value === 'number' && Number.isSafeInteger(value) && value > 0 ? value : undefined

function listOf(value: unknown, name: string): unknown[] {
  const list = fieldOf(value, name)
  return Array.isArray(list) ? list : []
}

function textOf(value: unknown, name: string): string | undefined {
  const text = fieldOf(value, name)
  return typeof text === 'string' && text.trim() !== '' ? text : undefined
}

/** Named `provider/model`. */
export function discoveredDeployments(
  models: readonly DiscoveredModel[],
  context: Omit<BuildContext, 'origin'>,
): Deployment[] {
  const names = models.map(one => `${one.provider}/${publicName(one.model)}`)
  return models.flatMap(({ provider, model, embedding, contextWindow }, at) => {
    const name = names[at]!
    const baseUrl = context.providers.get(provider)?.defaultBaseUrl ?? ''
    const entry: ModelEntry = {
      // Files with the same name in different folders are different models.
      model_name: names.indexOf(name) === names.lastIndexOf(name) ? name : `${provider}/${model}`,
      proxy_params: { model: `${provider}/${model}` },
      model_info: { ...(embedding && { mode: 'embedding' as const }), context_window: contextWindow },
    }
    const built = buildDeployment(entry, { ...context, origin: { kind: 'discovered', where: baseUrl } })
    if ('message' in built) return []
    // The server answered without a key: a key in the environment belongs to another server.
    return [{ ...built, target: { ...built.target, apiKey: undefined } }]
  })
}

/** llama.cpp names a model by its file's path by default; clients see the file name only. */
function publicName(model: string): string {
  return /\.gguf$/i.test(model) ? model.slice(Math.max(model.lastIndexOf('/'), model.lastIndexOf('\\')) + 1) : model
}
