/** Model servers on loopback are found; other programs on their ports do no harm. */
import { afterEach, expect, test } from 'bun:test'
import { gzipSync } from 'node:zlib'
import type { Provider } from '../../core/provider.ts'
import { providers } from '../../providers/index.ts'
import { discoveredDeployments, discoverModels, mayDiscover } from './local-servers.ts'

const cleanups: (() => void)[] = []
afterEach(() => {
  for (const cleanup of cleanups.splice(0)) cleanup()
})

type Answer = (request: Request) => Response | Promise<Response>

function serve(fetch: Answer): string {
  const server = Bun.serve({ hostname: '127.0.0.1', port: 0, idleTimeout: 0, fetch })
  cleanups.push(() => void server.stop(true))
  return server.url.href.replace(/\/$/, '')
}

/** The real providers at other addresses; those not named have an unused port. */
function providersAt(addresses: Readonly<Record<string, string>>): Map<string, Provider> {
  const moved = new Map<string, Provider>()
  for (const name of ['ollama', 'lm_studio', 'hosted_vllm', 'llamafile'])
    moved.set(name, { ...providers.get(name)!, defaultBaseUrl: addresses[name] ?? 'http://127.0.0.1:1' })
  return moved
}

// docs.ollama.com/api/tags; docs.vllm.ai "List models"; llama.cpp tools/server/README.md.
const ollamaTags = {
  models: [
    {
      name: 'gemma3:latest',
      model: 'gemma3:latest',
      size: 3338801804,
      details: { format: 'gguf', family: 'gemma', families: ['gemma'] },
    },
    { name: 'all-minilm:latest', model: 'all-minilm:latest', details: { family: 'bert' } },
  ],
}
const vllmModels = {
  object: 'list',
  data: [
    {
      id: 'facebook/opt-125m',
      object: 'model',
      created: 1677610602,
      owned_by: 'vllm',
      root: 'facebook/opt-125m',
      parent: null,
      max_model_len: 2048,
    },
  ],
}
const lmStudioModels = {
  object: 'list',
  data: [
    { id: 'qwen2-vl-7b-instruct', object: 'model' },
    { id: 'text-embedding-nomic-embed-text-v1.5', object: 'model' },
  ],
}
const llamaModels = {
  object: 'list',
  data: [{ id: '/home/me/my models/Qwen3-8B.Q4_K_M.gguf', object: 'model', owned_by: 'llamacpp' }],
}

const context = (all: ReadonlyMap<string, Provider>, environment = {}) => ({
  providers: all,
  environment,
  timeoutS: undefined,
  streamTimeoutS: undefined,
  dropParams: true,
})

test('all four servers are found, each by its own list, without a key', async () => {
  const asked: string[] = []
  const answering = (path: string, body: object): string =>
    serve(request => {
      const url = new URL(request.url)
      asked.push(`${request.method} ${url.pathname} ${request.headers.get('authorization')}`)
      return url.pathname === path ? Response.json(body) : new Response('not here', { status: 404 })
    })
  const all = providersAt({
    ollama: answering('/api/tags', ollamaTags),
    lm_studio: `${answering('/v1/models', lmStudioModels)}/v1`,
    hosted_vllm: `${answering('/v1/models', vllmModels)}/v1`,
    llamafile: `${answering('/v1/models', llamaModels)}/v1`,
  })
  const found = await discoverModels(all)
  const deployments = discoveredDeployments(found, context(all, { OLLAMA_API_KEY: 'key-of-the-cloud' }))
  expect(deployments.map(one => [one.modelName, one.target.model, one.mode])).toEqual([
    ['ollama/gemma3:latest', 'gemma3:latest', 'chat'],
    ['ollama/all-minilm:latest', 'all-minilm:latest', 'embedding'],
    ['lm_studio/qwen2-vl-7b-instruct', 'qwen2-vl-7b-instruct', 'chat'],
    ['lm_studio/text-embedding-nomic-embed-text-v1.5', 'text-embedding-nomic-embed-text-v1.5', 'embedding'],
    ['hosted_vllm/facebook/opt-125m', 'facebook/opt-125m', 'chat'],
    ['llamafile/Qwen3-8B.Q4_K_M.gguf', '/home/me/my models/Qwen3-8B.Q4_K_M.gguf', 'chat'],
  ])
  const [first] = deployments
  expect(first!.origin).toEqual({ kind: 'discovered', where: all.get('ollama')!.defaultBaseUrl! })
  expect(first!.target.apiKey).toBeUndefined()
  expect(asked.sort()).toEqual([
    'GET /api/tags null',
    'GET /props null',
    'GET /v1/models null',
    'GET /v1/models null',
    'GET /v1/models null',
  ])
})

test('servers say how much their models take; what llama.cpp runs with counts, not what the model was trained with', async () => {
  const listing = (body: object, properties?: object): string =>
    serve(request => {
      const { pathname } = new URL(request.url)
      if (pathname === '/v1/models') return Response.json(body)
      if (pathname === '/props' && properties) return Response.json(properties)
      return new Response('not here', { status: 404 })
    })
  const one = { id: 'm.gguf', object: 'model', meta: { n_ctx_train: 32_768, n_params: 7 } }
  const windowsWith = async (addresses: Readonly<Record<string, string>>) => {
    const all = providersAt(addresses)
    return discoveredDeployments(await discoverModels(all), context(all)).map(({ info }) => info.context_window)
  }
  const list = (...data: object[]) => ({ object: 'list', data })
  const props = { default_generation_settings: { n_ctx: 4096 } }
  expect(await windowsWith({ hosted_vllm: `${listing(vllmModels)}/v1` })).toEqual([2048])
  expect(await windowsWith({ llamafile: `${listing(list(one), props)}/v1` })).toEqual([4096])
  // An older one has no such answer, or another.
  expect(await windowsWith({ llamafile: `${listing(list(one))}/v1` })).toEqual([32_768])
  expect(await windowsWith({ llamafile: `${listing(list(one), { default_generation_settings: 'x' })}/v1` })).toEqual([
    32_768,
  ])
  // Of several models nobody knows which one the properties are of.
  const two = list(one, { ...one, id: 'n.gguf', meta: { n_ctx_train: -1 } })
  expect(await windowsWith({ llamafile: `${listing(two, props)}/v1` })).toEqual([32_768, undefined])
})

test('a server that is too busy to answer keeps its models, one that is gone does not', async () => {
  let isBusy = false
  const server = serve(async () => {
    if (isBusy) await Bun.sleep(5000)
    return Response.json(vllmModels)
  })
  const all = providersAt({ hosted_vllm: `${server}/v1` })
  const known = await discoverModels(all)
  expect(known.length).toBe(1)
  isBusy = true
  expect(await discoverModels(all, known)).toEqual(known)
  expect(await discoverModels(providersAt({}), known)).toEqual([])
})

test('files with the same name keep their folders', async () => {
  const all = providersAt({})
  const found = ['/a/x.gguf', '/b/x.gguf', 'C:\\models\\y.gguf'].map(model => ({
    provider: 'llamafile',
    model,
    embedding: false,
  }))
  expect(discoveredDeployments(found, context(all)).map(one => one.modelName)).toEqual([
    'llamafile//a/x.gguf',
    'llamafile//b/x.gguf',
    'llamafile/y.gguf',
  ])
})

test('names with a meaning here are left out, duplicates are joined', async () => {
  const names = ['good', '*', 'good', 'a\nb', '', ' ', 'x'.repeat(201), 5, null, { id: 'deep' }, '__proto__']
  const url = serve(() => Response.json({ object: 'list', data: [...names.map(id => ({ id })), null, 7, 'text'] }))
  expect((await discoverModels(providersAt({ hosted_vllm: url }))).map(one => one.model)).toEqual(['good', '__proto__'])
})

test('a very long list is truncated', async () => {
  const data = Array.from({ length: 5000 }, (_, at) => ({ id: `m${at}` }))
  const url = serve(() => Response.json({ object: 'list', data }))
  expect(await discoverModels(providersAt({ lm_studio: url }))).toHaveLength(500)
})

const endless = () =>
  new ReadableStream<Uint8Array>({ pull: controller => controller.enqueue(new Uint8Array(65_536).fill(32)) })
const foreign: [string, Answer][] = [
  [
    'a web page',
    () => new Response('<!doctype html><title>Jenkins</title>', { headers: { 'content-type': 'text/html' } }),
  ],
  ['JSON of another kind', () => Response.json({ status: 'ok', models: 7, data: 'x', object: 'list' })],
  ['JSON null', () => Response.json(null)],
  ['a list that is no model list', () => Response.json([1, 2])],
  ['a demand for a key', () => Response.json({ error: 'unauthorized' }, { status: 401 })],
  ['an error that holds a list', () => Response.json({ ...vllmModels, ...ollamaTags }, { status: 500 })],
  ['an endless answer', () => new Response(endless())],
  ['an answer that never comes', () => new Promise<Response>(() => {})],
  [
    'packed bytes',
    () => new Response(gzipSync(JSON.stringify(vllmModels)), { headers: { 'content-encoding': 'gzip' } }),
  ],
  ['deep nesting', () => new Response('['.repeat(200_000))],
]
for (const [what, answer] of foreign)
  test(`${what} is no server`, async () => {
    const url = serve(answer)
    expect(await discoverModels(providersAt({ ollama: url, hosted_vllm: url }))).toEqual([])
  })

test('no redirect is followed', async () => {
  let asked = 0
  const elsewhere = serve(() => {
    asked++
    return Response.json({ ...vllmModels, ...ollamaTags })
  })
  const url = serve(() => Response.redirect(`${elsewhere}/v1/models`))
  expect(await discoverModels(providersAt({ ollama: url, hosted_vllm: url }))).toEqual([])
  expect(asked).toBe(0)
})

const raw: [string, string][] = [
  ['another protocol', 'SSH-2.0-OpenSSH_9.6\r\n'],
  ['bytes of no protocol', '\u0000\u0001\u0002\r\n\r\n\r\n'],
  ['a length that lies', 'HTTP/1.1 200 OK\r\nContent-Length: 999\r\n\r\n{"object":"list","data":[{"id":"m"}]}'],
  ['headers without an end', 'HTTP/1.1 200 OK\r\nX: '],
  ['broken chunks', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n{"object":"list"}'],
]
for (const [what, bytes] of raw)
  for (const closes of [true, false])
    test(`${what}, ${closes ? 'then the end' : 'then silence'}, is no server`, async () => {
      const listener = Bun.listen({
        hostname: '127.0.0.1',
        port: 0,
        socket: {
          data(socket) {
            socket.write(bytes)
            if (closes) socket.end()
          },
        },
      })
      cleanups.push(() => listener.stop(true))
      const url = `http://127.0.0.1:${listener.port}`
      expect(await discoverModels(providersAt({ ollama: url, llamafile: url }))).toEqual([])
    })

test('a proxy of the environment is not used for loopback', async () => {
  let proxied = 0
  const proxy = serve(() => {
    proxied++
    return Response.json(vllmModels)
  })
  const server = serve(() => Response.json(vllmModels))
  const script = `import { discoverModels } from ${JSON.stringify(`${import.meta.dir}/local-servers.ts`)}
    const found = await discoverModels(new Map([['hosted_vllm', { defaultBaseUrl: '${server}' }]]))
    process.stdout.write(JSON.stringify(found))`
  const child = Bun.spawn([process.execPath, '-e', script], {
    stdout: 'pipe',
    env: { ...process.env, HTTP_PROXY: proxy, http_proxy: proxy, NO_PROXY: '', no_proxy: '' },
  })
  expect(JSON.parse(await new Response(child.stdout).text())).toEqual([
    { provider: 'hosted_vllm', model: 'facebook/opt-125m', embedding: false, contextWindow: 2048 },
  ])
  expect(proxied).toBe(0)
})

test('MODELGATE_DISCOVER switches it off', () => {
  expect(mayDiscover({})).toBe(true)
  expect(mayDiscover({ MODELGATE_DISCOVER: '1' })).toBe(true)
  for (const value of ['0', 'false', ' off ', 'NO']) expect(mayDiscover({ MODELGATE_DISCOVER: value })).toBe(false)
})
