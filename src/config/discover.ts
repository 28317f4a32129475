/**
 * Model servers on this machine, found by asking each at its usual port for its list. Only a GET without any key is
 * sent; whatever else listens there (another program, garbage, an endless answer) counts as nobody.
 */
import type { Deployment } from '../core/deployment.ts'
import { buildDeployment } from './deployments.ts'
import type { BuildContext, Providers } from './deployments.ts'
import type { Environment } from './environment.ts'
import type { ModelEntry } from './schema.ts'

/** For the whole question, connection included. */
const answerMsMax = 300
const answerBytesMax = 1024 * 1024
/** A server with more is no model server on somebody's machine. */
const modelsMax = 500
/** A pattern (`*`) or a control character in a name would mean something here. */
const usableName = /^[^\p{C}*]{1,200}$/u
/** `nomic-embed-text`, `text-embedding-...`; a name that says less is taken for a chat model, which refuses nothing. */
const embeddingName = /(^|[-_/:.])embed(ding)?s?([-_/:.]|$)/i

/** A model that a server on this machine lists. */
export interface DiscoveredModel {
  /** The provider that speaks to its server. */
  readonly provider: string
  /** As the server names it. */
  readonly model: string
  readonly embedding: boolean
}

interface LocalServer {
  /** Its provider's own address is where it is looked for. */
  readonly provider: string
  /** Of its list of models, behind the provider's address. */
  readonly path: string
  models(answer: unknown): (Omit<DiscoveredModel, 'provider'> | undefined)[]
}

const localServers: readonly LocalServer[] = [
  { provider: 'ollama', path: '/api/tags', models: ollamaModels },
  { provider: 'lm_studio', path: '/models', models: openaiModels },
  { provider: 'hosted_vllm', path: '/models', models: openaiModels },
  // llama.cpp's own server; llamafile is the same one in another package.
  { provider: 'llamafile', path: '/models', models: openaiModels },
]

/** `MODELGATE_DISCOVER=0` switches it off. */
export function mayDiscover(environment: Environment): boolean {
  return !['0', 'false', 'off', 'no'].includes((environment.MODELGATE_DISCOVER ?? '').trim().toLowerCase())
}

/** Every model of every server that answers in time, in a fixed order. Never rejects. */
export async function discoverModels(providers: Providers): Promise<DiscoveredModel[]> {
  const found = await Promise.all(localServers.map(server => modelsOf(server, providers)))
  return found.flat()
}

async function modelsOf({ provider, path, models }: LocalServer, providers: Providers): Promise<DiscoveredModel[]> {
  const baseUrl = providers.get(provider)?.defaultBaseUrl
  if (baseUrl === undefined) return []
  try {
    const listed = models(JSON.parse(await answerOf(`${baseUrl}${path}`)))
    const named = new Map<string, DiscoveredModel>()
    for (const one of listed) if (one && usableName.test(one.model)) named.set(one.model, { provider, ...one })
    return [...named.values()].slice(0, modelsMax)
  } catch {
    return []
  }
}

/**
 * The body of a 200. Not `fetch`: that would ask the proxy of the environment for its own loopback, follow redirects
 * to other machines and unpack what was packed.
 */
async function answerOf(url: string): Promise<string> {
  // Only here: a gateway with a list of models has no use for it in memory.
  const { get } = await import('node:http')
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  const request = get(url, { agent: false, headers: { accept: 'application/json' } }, response => {
    if (response.statusCode !== 200) return stop(`status ${response.statusCode}`)
    const pieces: Buffer[] = []
    let bytes = 0
    response.on('data', (piece: Buffer) => {
      bytes += piece.length
      if (bytes > answerBytesMax) return stop('the answer is too large')
      pieces.push(piece)
    })
    response.on('error', reject)
    response.on('end', () => resolve(Buffer.concat(pieces).toString('utf8')))
  })
  const stop = (reason: string): void => {
    reject(new Error(reason))
    request.destroy()
  }
  const timer = setTimeout(() => stop('no answer in time'), answerMsMax)
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

/** `{object: "list", data: [{id, object: "model"}]}` (OpenAI API reference, "List models"). */
function openaiModels(answer: unknown): ReturnType<LocalServer['models']> {
  if (textOf(answer, 'object') !== 'list') return []
  return listOf(answer, 'data').map(entry => {
    const model = textOf(entry, 'id')
    return model === undefined ? undefined : { model, embedding: embeddingName.test(model) }
  })
}

function listOf(value: unknown, name: string): unknown[] {
  const list = typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[name] : undefined
  return Array.isArray(list) ? list : []
}

function textOf(value: unknown, name: string): string | undefined {
  const text = typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[name] : undefined
  return typeof text === 'string' && text.trim() !== '' ? text : undefined
}

/** `provider/model` for each. */
export function discoveredDeployments(
  found: readonly DiscoveredModel[],
  context: Omit<BuildContext, 'origin'>,
): Deployment[] {
  const names = found.map(one => `${one.provider}/${publicName(one.model)}`)
  return found.flatMap(({ provider, model, embedding }, at) => {
    const name = names[at]!
    const baseUrl = context.providers.get(provider)?.defaultBaseUrl ?? ''
    const entry: ModelEntry = {
      // Two files of one name in two folders are two models.
      model_name: names.indexOf(name) === names.lastIndexOf(name) ? name : `${provider}/${model}`,
      proxy_params: { model: `${provider}/${model}` },
      ...(embedding && { model_info: { mode: 'embedding' as const } }),
    }
    const built = buildDeployment(entry, { ...context, origin: { kind: 'discovered', where: baseUrl } })
    if ('message' in built) return []
    // It answered without a key: one of the environment is meant for somebody else.
    return [{ ...built, target: { ...built.target, apiKey: undefined } }]
  })
}

/** llama.cpp names a model by its file's path unless it was told another name; clients need not know the folders. */
function publicName(model: string): string {
  return /\.gguf$/i.test(model) ? model.slice(Math.max(model.lastIndexOf('/'), model.lastIndexOf('\\')) + 1) : model
}
