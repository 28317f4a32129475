/**
 * A stranger with a valid key, against a running gateway: every POST path, bombs, paths, headers, forms; and what it
 * costs.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { connect } from 'node:net'
import { allEndpoints } from '../../src/endpoints/index.ts'
import {
  chatBody,
  completionsBody,
  embeddingsBody,
  geminiBody,
  geminiEmbedBody,
  imagesBody,
  messagesBody,
  moderationsBody,
  pathsIn,
  poisonedAt,
  poisons,
  rerankBody,
  responsesBody,
  speechBody,
} from '../fuzz/hostile-bodies.ts'
import type { Json } from '../fuzz/hostile-bodies.ts'
import { schemaOf } from '../../src/endpoints/openapi/zod-schema.ts'
import { sampleOf } from '../fuzz/sample-body.ts'
import { Random, newSeedsOf, seedsOf } from '../property/random.ts'
import { masterKey, standardConfig, startGateway } from './harness.ts'
import type { Gateway } from './harness.ts'

const endpoints = await allEndpoints()

const config = standardConfig.replace(
  'router_settings',
  `  - model_name: gemini-model
    proxy_params: { model: gemini/gemini-2.5-flash, api_base: "{simulator}", api_key: upstream-key-canary-3, input_cost_per_token: 0.000001, output_cost_per_token: 0.000002 }
  - model_name: bare-model
    proxy_params: { model: hosted_vllm/bare, api_base: "{simulator}/v1", api_key: upstream-key-canary-4 }
    model_info: { tool_calling: prompted, structured_output: none }
router_settings`,
)

const unhandled: unknown[] = []
const noteUnhandled = (thrown: unknown): void => void unhandled.push(thrown)

let gateway: Gateway
let key: string

beforeAll(async () => {
  process.on('unhandledRejection', noteUnhandled)
  gateway = await startGateway({ config })
  key = await gateway.key()
})
afterAll(async () => {
  await gateway?.stop()
  process.off('unhandledRejection', noteUnhandled)
})

const post = (
  path: string,
  body: string | Uint8Array<ArrayBuffer>,
  headers: Record<string, string> = {},
  token = key,
) =>
  fetch(`${gateway.url}${path}`, {
    method: 'POST',
    body,
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', ...headers },
  })

type DialectName = 'openai' | 'anthropic' | 'gemini' | 'scim'

interface Attack {
  /** The first path of the endpoint. */
  readonly at: string
  /** Where it is sent; absent = `at`. */
  readonly path?: () => string
  readonly body: Json
  readonly dialect?: DialectName
  readonly admin?: true
}

const assistant = {
  model: 'chat-model',
  name: 'a',
  instructions: 'i',
  tools: [{ type: 'function', function: { name: 'f', parameters: { type: 'object' } } }],
  metadata: { a: 'b' },
  temperature: 1,
  top_p: 1,
  response_format: { type: 'text' },
}
const message = { role: 'user', content: [{ type: 'text', text: 'hi' }], metadata: { a: 'b' }, attachments: [] }
let threadId = ''
let assistantId = ''

/** Administration, attacked with bodies made from its own schemas. */
const managementTags: ReadonlySet<string> = new Set([
  'Access groups',
  'Budgets',
  'Cache',
  'Conversations',
  'Credentials',
  'Customers',
  'Directory',
  'Guardrails',
  'Keys',
  'Models',
  'Organizations',
  'Sign-in',
  'Spend',
  'Tags',
  'Teams',
  'Users',
])

const attacks: readonly Attack[] = [
  { at: '/v1/chat/completions', body: { model: 'chat-model', ...chatBody } },
  { at: '/v1/chat/completions', body: { model: 'claude-model', ...chatBody } },
  { at: '/v1/chat/completions', body: { model: 'gemini-model', ...chatBody } },
  { at: '/v1/chat/completions', body: { model: 'bare-model', ...chatBody } },
  { at: '/v1/chat/completions', body: { model: 'local/simulated-chat', ...chatBody } },
  { at: '/cursor/chat/completions', body: { model: 'chat-model', ...responsesBody } },
  { at: '/v1/completions', body: { model: 'chat-model', ...completionsBody } },
  { at: '/v1/responses', body: { model: 'chat-model', ...responsesBody } },
  { at: '/v1/responses', body: { model: 'claude-model', ...responsesBody, store: true } },
  { at: '/v1/responses/input_tokens', body: { model: 'claude-model', ...responsesBody } },
  { at: '/v1/messages', body: { model: 'chat-model', ...messagesBody }, dialect: 'anthropic' },
  { at: '/v1/messages', body: { model: 'claude-model', ...messagesBody }, dialect: 'anthropic' },
  { at: '/v1/messages/count_tokens', body: { model: 'claude-model', ...messagesBody }, dialect: 'anthropic' },
  {
    at: '/v1beta/models/{model+}:generateContent',
    path: () => '/v1beta/models/chat-model:generateContent',
    body: geminiBody,
    dialect: 'gemini',
  },
  {
    at: '/v1beta/models/{model+}:streamGenerateContent',
    path: () => '/v1beta/models/gemini-model:streamGenerateContent?alt=sse',
    body: geminiBody,
    dialect: 'gemini',
  },
  {
    at: '/v1beta/models/{model+}:countTokens',
    path: () => '/v1beta/models/gemini-model:countTokens',
    body: { generateContentRequest: { model: 'models/gemini-model', ...geminiBody } },
    dialect: 'gemini',
  },
  {
    at: '/v1beta/models/{model+}:embedContent',
    path: () => '/v1beta/models/embedding-model:embedContent',
    body: geminiEmbedBody,
    dialect: 'gemini',
  },
  {
    at: '/v1beta/models/{model+}:batchEmbedContents',
    path: () => '/v1beta/models/embedding-model:batchEmbedContents',
    body: { requests: [{ model: 'models/embedding-model', ...geminiEmbedBody }] },
    dialect: 'gemini',
  },
  { at: '/v1/embeddings', body: { model: 'embedding-model', ...embeddingsBody } },
  { at: '/v1/responses/compact', body: { model: 'chat-model', input: 'Hello' } },
  { at: '/mcp-rest/tools/call', body: { name: 'server-tool', arguments: { a: 1 } } },
  { at: '/v1/mcp/server', body: { server_name: 'made', url: 'https://mcp.example.com/mcp' }, admin: true },
  { at: '/v1/moderations', body: { model: 'local/simulated-moderation', ...moderationsBody } },
  { at: '/v1/images/generations', body: { model: 'local/simulated-image', ...imagesBody } },
  { at: '/v1/audio/speech', body: { model: 'local/simulated-speech', ...speechBody } },
  { at: '/v1/rerank', body: { model: 'local/simulated-rerank', ...rerankBody } },
  { at: '/v2/rerank', body: { model: 'local/simulated-rerank', ...rerankBody } },
  { at: '/v1/assistants', body: assistant },
  { at: '/v1/assistants/{assistant_id}', path: () => `/v1/assistants/${assistantId}`, body: assistant },
  { at: '/v1/threads', body: { messages: [message], metadata: { a: 'b' }, tool_resources: {} } },
  { at: '/v1/threads/{thread_id}', path: () => `/v1/threads/${threadId}`, body: { metadata: { a: 'b' } } },
  { at: '/v1/threads/{thread_id}/messages', path: () => `/v1/threads/${threadId}/messages`, body: message },
  {
    at: '/v1/threads/runs',
    body: {
      assistant_id: 'asst_x',
      thread: { messages: [message] },
      instructions: 'i',
      stream: true,
      tools: assistant.tools,
      max_completion_tokens: 500,
      truncation_strategy: { type: 'last_messages', last_messages: 1 },
      tool_choice: 'auto',
    },
  },
  {
    at: '/v1/batches',
    body: { input_file_id: 'file-x', endpoint: '/v1/chat/completions', completion_window: '24h', metadata: { a: 'b' } },
  },
  {
    at: '/utils/token_counter',
    body: { model: 'chat-model', messages: chatBody.messages, tools: chatBody.tools, prompt: null },
  },
  {
    at: '/utils/transform_request',
    body: { call_type: 'completion', request_body: { model: 'claude-model', ...chatBody } },
  },
  {
    at: '/scim/v2/Users',
    body: {
      schemas: ['urn:ietf:params:scim:schemas:core:2.0:User'],
      userName: 'a@example.com',
      externalId: 'x',
      active: true,
      name: { givenName: 'A', familyName: 'B' },
      emails: [{ value: 'a@example.com', type: 'work', primary: true }],
      'urn:ietf:params:scim:schemas:extension:enterprise:2.0:User': { manager: { value: 'm' } },
    },
    dialect: 'scim',
    admin: true,
  },
  {
    at: '/scim/v2/Groups',
    body: { displayName: 'G', externalId: 'g', members: [{ value: 'none', type: 'User' }] },
    dialect: 'scim',
    admin: true,
  },
  {
    at: '/scim/v2/Bulk',
    body: {
      schemas: ['urn:ietf:params:scim:api:messages:2.0:BulkRequest'],
      failOnErrors: 1,
      Operations: [{ method: 'POST', path: '/Users', bulkId: 'a', data: { userName: 'bulk@example.com' } }],
    },
    dialect: 'scim',
    admin: true,
  },
  ...endpoints
    .filter(
      ({ method, doc, paths }) =>
        method === 'POST' &&
        managementTags.has(doc.tag) &&
        doc.request &&
        !doc.requestType &&
        !paths[0]!.startsWith('/scim/v2/'),
    )
    .map(({ paths, doc }) => ({
      at: paths.at(-1)!,
      path: () => paths.at(-1)!.replace(/\{\w+\+?\}/, 'x'),
      body: sampleOf(schemaOf(doc.request!)) as Json,
      admin: true as const,
    })),
]

/** What is wrong with an answer; undefined = nothing. A 5xx may only be an upstream's. */
async function complaint(response: Response, dialect: DialectName = 'openai'): Promise<string | undefined> {
  const text = await response.text()
  if (response.status < 400)
    return text.includes('internal_error') ? `internal error inside a ${response.status}` : undefined
  const { error, type, ...more } = JSON.parse(text) as {
    error: Json
    type?: string
    detail?: unknown
    status?: unknown
  }
  if (text.includes('the gateway failed on this request')) return `internal: ${text}`
  // What a model without schemas wrote three times does not fit: said as such, and not counted as a failure.
  if (response.status >= 500 && error?.code !== 'json_schema_mismatch') return `${response.status}: ${text}`
  if (dialect === 'scim')
    return more.status === String(response.status) && more.detail ? undefined : `not a body of scim: ${text}`
  if (typeof error?.message !== 'string' || error.message === '') return `no message: ${text}`
  const dressed =
    dialect === 'anthropic'
      ? type === 'error' && typeof error.type === 'string'
      : dialect === 'gemini'
        ? error.code === response.status && typeof error.status === 'string'
        : 'param' in error && 'code' in error && typeof error.type === 'string'
  return dressed ? undefined : `not a body of ${dialect}: ${text}`
}

/** Runs all, a few at a time. */
async function inParallel<T>(list: readonly T[], run: (one: T) => Promise<void>): Promise<void> {
  const open = [...list.entries()].reverse()
  await Promise.all(
    Array.from({ length: 8 }, async () => {
      for (let next = open.pop(); next; next = open.pop()) await run(next[1])
    }),
  )
}

test('every POST path is attacked', () => {
  const known = new Set(attacks.map(one => one.at))
  // Forms, what is not read here (telemetry, vendors' own bodies), and JSON-RPC, which has errors of its own.
  const forms =
    /\/(audio\/(transcriptions|translations)|images\/(edits|variations)|files|oauth\/\w+|device|v1\/(metrics|logs|traces)|\{path\+\}|mcp)$/
  // Their bodies are empty, or one field that is checked like the others.
  const small =
    /\/(cancel|submit_tool_outputs|key\/health|logout)$|\/messages\/\{|\/runs(\/\{[a-z_]+\})?$|:\{?[a-z]|\{model_id\+\}$/
  const paths = endpoints.filter(one => one.method === 'POST').map(one => one.paths)
  expect(paths.filter(list => !list.some(path => known.has(path) || forms.test(path) || small.test(path)))).toEqual([])
})

describe('bodies', () => {
  beforeAll(async () => {
    assistantId = ((await (await post('/v1/assistants', JSON.stringify(assistant))).json()) as { id: string }).id
    threadId = ((await (await post('/v1/threads', '{}')).json()) as { id: string }).id
  })

  test.each(attacks.map(one => [`${one.at} ${String(one.body.model ?? '')}`, one] as const))(
    '%s: what is wrong is refused in the words of the dialect',
    async (_name, { at, path, body, dialect, admin }) => {
      // Others in each run; a complaint names its own.
      const random = new Random(newSeedsOf(1)[0]!)
      const bodies = pathsIn(body).flatMap(place => seedsOf(2).map(() => ({ place, poison: random.pick(poisons) })))
      const before = gateway.simulator.truth.entries.length
      const complaints = new Map<string, string>()
      let refused = 0
      await inParallel(bodies, async ({ place, poison }) => {
        const response = await post(path?.() ?? at, poisonedAt(body, place)(poison), {}, admin ? masterKey : key)
        if (response.status === 422) refused++
        const found = await complaint(response, dialect)
        if (found && !complaints.has(found.slice(0, 100)))
          complaints.set(found.slice(0, 100), `${found.slice(0, 600)} <- ${place.join('.')} = ${poison.slice(0, 80)}`)
      })
      expect([...complaints.values()]).toEqual([])
      // A gateway's own refusal asks no upstream; an answer that has to fit a schema may be asked for three times.
      const most = body.model === 'bare-model' ? 3 : 1
      expect(gateway.simulator.truth.entries.length - before).toBeLessThanOrEqual(most * (bodies.length - refused))
    },
    60_000,
  )

  test('nothing was left unhandled', () => expect(unhandled).toEqual([]))
})

describe('bombs', () => {
  const everywhere: Readonly<Record<string, string>> = {
    'a hundred thousand levels': `{"a":${'['.repeat(100_000)}`,
    'a list of three hundred thousand': `{"a":[${'1,'.repeat(300_000)}1]}`,
    'no JSON': '{"a":',
    'no object': '"x"',
    'a NUL': '\0',
    'a thousand levels, closed': `{"a":${'['.repeat(1000)}${']'.repeat(1000)}}`,
  }
  test.each(Object.entries(everywhere))(
    'every path: %s is refused in the words of its dialect',
    async (_name, body) => {
      // There is no cache here to be emptied, which that path says where a body is taken.
      for (const { at, path, dialect, admin } of attacks.filter(one => one.at !== '/cache/flushall')) {
        const response = await post(path?.() ?? at, body, {}, admin ? masterKey : key)
        // Unknown fields of keys and the like are passed over and named.
        const isNamed = response.headers.has('x-warnings') || /"warnings":\[[^\]]/.test(await response.clone().text())
        const isRefused = response.status >= 400 || isNamed
        expect({ at, complaint: await complaint(response, dialect), isRefused }).toEqual({
          at,
          complaint: undefined,
          isRefused: true,
        })
      }
    },
    60_000,
  )

  test('compressed bodies are unpacked no further than plain ones may be long', async () => {
    const bomb = Bun.gzipSync(Buffer.alloc(200_000_000, ' '))
    const before = process.memoryUsage.rss()
    const answers = await Promise.all(
      [0, 1, 2, 3].map(() => post('/v1/chat/completions', bomb, { 'content-encoding': 'gzip' })),
    )
    expect(answers.map(one => one.status)).toEqual([413, 413, 413, 413])
    expect(process.memoryUsage.rss() - before).toBeLessThan(400_000_000)
  })

  const head = (name: string) => `--b\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n`
  const forms: Readonly<Record<string, string>> = {
    'a hundred thousand parts': `${head('model')}x\r\n`.repeat(100_000),
    'a header without an end': `--b\r\ncontent-disposition: ${'x'.repeat(1_000_000)}`,
    boundaries: '--b\r\n'.repeat(300_000),
    'no end': `${head('model')}${'x'.repeat(100_000)}`,
    'a field of two megabytes': `${head('model')}${'x'.repeat(2_000_000)}\r\n--b--`,
    'names of prototypes': `${head('__proto__')}x\r\n${head('constructor[]')}y\r\n--b--`,
    nothing: '',
  }
  const uploads = [
    '/v1/audio/transcriptions',
    '/v1/audio/translations',
    '/v1/images/edits',
    '/v1/images/variations',
    '/v1/files',
  ]
  test.each(Object.entries(forms))('forms: %s', async (_name, form) => {
    for (const path of uploads) {
      const response = await post(path, form, { 'content-type': 'multipart/form-data; boundary=b' })
      expect({ path, complaint: await complaint(response), refused: response.status >= 400 }).toEqual({
        path,
        complaint: undefined,
        refused: true,
      })
    }
  })
})

/** Bytes as they are: no client would send them. Answers with the status line's number; 0 = closed without one. */
function raw(text: string): Promise<number> {
  return new Promise(resolve => {
    let got = ''
    const socket = connect(Number(new URL(gateway.url).port), '127.0.0.1', () => socket.write(text))
    const end = (): void => {
      socket.destroy()
      resolve(Number(/^HTTP\/1\.1 (\d{3})/.exec(got)?.[1] ?? 0))
    }
    socket.on('data', piece => {
      got += piece.toString('latin1')
      if (got.includes('\r\n\r\n')) end()
    })
    socket.on('close', end).on('error', end)
    socket.setTimeout(3000, end)
  })
}

describe('paths, queries and headers', () => {
  const targets = [
    '/v1/models/..%2f..%2fetc%2fpasswd',
    '/v1/models/%00',
    '/v1/models/%',
    '/v1/models/%ff%fe',
    `/v1/models/${'a'.repeat(8000)}`,
    '/v1/models/a%0d%0ax:y',
    '/v1//chat/completions',
    '/v1/chat/completions/../../key/list',
    '/v1/%2e%2e/key/list',
    '/v1\\key\\list',
    '/key%2flist',
    '/v1/responses/__proto__',
    '/v1/responses/%00',
    '/v1/threads/constructor',
    `/v1/threads/${'x'.repeat(4000)}`,
    '/v1/files/..%2f..%2fmodelgate.sqlite/content',
    '/docs/..%2f..%2fpackage.json',
    '/docs/__proto__',
    '/utils/supported_openai_params?model=%00',
    '/spend/logs/v2?page_size=1e400',
    '/spend/logs/v2?cursor=%ff',
    '/key/info?key=%F0%9F',
    `/v1/models?${'a=b&'.repeat(2000)}`,
    '/v1/models?return_wildcard_routes=[]',
    '/v1/assistants?limit=-1&after=%00',
    '/v1/assistants?order=__proto__',
    '/v1/files?purpose=%00&limit=x',
  ]
  for (const [name, token] of [
    ['a key', () => key],
    ['the master key', () => masterKey],
  ] as const)
    test(`paths and queries with ${name}: never a failure of the gateway`, async () => {
      const wrong: [string, number][] = []
      for (const target of targets)
        for (const method of ['GET', 'POST', 'DELETE']) {
          const status = await raw(
            `${method} ${target} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${token()}\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}`,
          )
          if (status >= 500 || status === 0) wrong.push([`${method} ${target.slice(0, 60)}`, status])
        }
      expect(wrong).toEqual([])
    })

  test('a key opens no path of the operator, however it is written', async () => {
    for (const target of [
      '/key/list',
      '/key/list/',
      '/v1/../key/list',
      '/v1/%2e%2e/key/list',
      '/KEY/LIST',
      '//key/list',
      '/key%2flist',
      '/key/list?x=/v1/models',
      '/key/./list',
    ])
      expect({
        target,
        opens:
          (await raw(
            `GET ${target} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${key}\r\nconnection: close\r\n\r\n`,
          )) === 200,
      }).toEqual({ target, opens: false })
  })

  test('floods and lies in headers', async () => {
    const line = 'POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\n'
    const auth = `authorization: Bearer ${key}\r\n`
    const floods = [
      `${line}${auth}${'x-a: b\r\n'.repeat(5000)}\r\n`,
      `${line}authorization: Bearer ${'k'.repeat(100_000)}\r\n\r\n`,
      `${line}authorization: Bearer \0\r\n\r\n`,
      `${line}authorization: Bearer ${key}, Bearer x\r\ncontent-length: 2\r\n\r\n{}`,
      `${line}${auth}content-length: -1\r\n\r\n`,
      `${line}${auth}content-length: 1e3\r\n\r\n`,
      `${line}${auth}transfer-encoding: chunked\r\ncontent-length: 2\r\n\r\n{}`,
      `${line}${auth}transfer-encoding: chunked\r\n\r\nzz\r\n`,
      `${line}${auth}content-length: 999999999999\r\n\r\n`,
      `POST /v1/chat/completions HTTP/1.1\r\n${auth}\r\n`,
      `${line}${auth}content-type: ${'a;'.repeat(3000)}\r\ncontent-length: 2\r\n\r\n{}`,
    ]
    for (const flood of floods) expect(await raw(flood)).toBeLessThan(500)
    expect(
      (
        await post(
          '/v1/chat/completions',
          JSON.stringify({ model: 'chat-model', messages: [{ role: 'user', content: 'say: alive' }] }),
        )
      ).status,
    ).toBe(200)
  })
})

describe('money', () => {
  const faults = [
    '',
    '',
    '',
    '#no-usage',
    '#bad-usage',
    '#cut;at=3',
    '#truncated-json',
    '#status;code=500',
    '#429',
    '#no-done',
    '#error-in-stream;at=2',
    '#reset',
    '#bad-chunk',
    '#html-error',
    '#cut-clean;at=3',
  ]
  const prefixes = ['fault/sim', 'claude-fault/sim']

  /** A call in one of the dialects; `text` is found again in what the upstream was asked. */
  function asked(dialect: number, model: string, text: string, stream: boolean): [string, Json] {
    switch (dialect) {
      case 0:
        return ['/v1/chat/completions', { model, stream, messages: [{ role: 'user', content: text }] }]
      case 1:
        return ['/v1/messages', { model, stream, max_tokens: 500, messages: [{ role: 'user', content: text }] }]
      case 2:
        return ['/v1/responses', { model, stream, store: false, input: text }]
      case 3:
        return ['/v1/completions', { model, stream, prompt: text }]
      default:
        return [
          `/v1beta/models/${encodeURIComponent(model)}:${stream ? 'streamGenerateContent?alt=sse' : 'generateContent'}`,
          { contents: [{ role: 'user', parts: [{ text }] }] },
        ]
    }
  }

  test('as many rows as calls, and the tokens that the upstream counted', async () => {
    const random = new Random(11)
    const calls = Array.from({ length: 100 * seedsOf(3).length }, (_, at) => {
      const [path, body] = asked(
        random.int(4),
        `${random.pick(prefixes)}${random.pick(faults)}`,
        `say: ${'word '.repeat(1 + random.int(20))}end of call ${at}.`,
        random.chance(0.5),
      )
      return { at, path, body }
    })
    const seen = new Map<string, number>()
    await inParallel(calls, async ({ at, path, body }) => {
      const response = await post(path, JSON.stringify(body))
      seen.set(response.headers.get('x-request-id')!, at)
      await response.text().catch(() => '')
    })
    const rows = (await gateway.rows()).filter(row => seen.has(row.request_id))
    expect(seen.size).toBe(calls.length)
    expect(rows.length).toBe(calls.length)
    let compared = 0
    const truth = new Map(
      gateway.simulator.truth.entries.map(entry => [
        /end of call (\d+)\./.exec(JSON.stringify(entry.body))?.[1],
        entry,
      ]),
    )
    const wrong: unknown[] = []
    for (const row of rows) {
      for (const count of [row.input_tokens, row.output_tokens])
        if (count !== null && !(Number.isInteger(count) && count >= 0)) wrong.push(row)
      if (row.outcome !== 'success' || row.usage_source !== 'upstream') continue
      const { billable } = truth.get(String(seen.get(row.request_id)))!
      if (row.input_tokens !== billable.inputTokens || row.output_tokens !== billable.outputTokens)
        wrong.push([row, billable])
      else compared++
    }
    expect(wrong.slice(0, 3)).toEqual([])
    expect(compared).toBeGreaterThan(calls.length / 6)
    expect(rows.some(row => row.outcome !== 'success')).toBe(true)
  }, 120_000)

  test('nothing of all this has a number that cannot be, or a secret', async () => {
    const rows = await gateway.rows()
    expect(
      rows.filter(row =>
        [row.input_tokens, row.output_tokens].some(count => count !== null && !(count >= 0 && Number.isInteger(count))),
      ),
    ).toEqual([])
    expect(JSON.stringify(rows)).not.toContain('canary')
    expect(new Set(rows.map(row => row.request_id)).size).toBe(rows.length)
    expect(unhandled).toEqual([])
    expect(({} as Json).polluted).toBeUndefined()
  })
})

test('a name of a model that is as long as a book is refused in an answer that clients can read', async () => {
  for (const model of ['nosuch', 'fault'].map(name => `${name}/${'x'.repeat(200_000)}`)) {
    const response = await post('/v1/chat/completions', JSON.stringify({ ...chatBody, model }))
    expect(response.status).toBe(404)
    // 8 kB is the least that clients and proxies agree on for a whole head.
    expect([...response.headers].flat().join('').length).toBeLessThan(4096)
    const text = await response.text()
    expect(JSON.parse(text)).toMatchObject({ error: { code: 'model_not_found', param: 'model' } })
    expect(text.length).toBeLessThan(1000)
  }
})
