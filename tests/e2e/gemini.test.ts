/**
 * Gemini's dialect through a real gateway: translated to the simulator's dialects, forwarded to an upstream of its own.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { Server } from 'bun'
import { frameSplitter } from '../../src/lib/frame-splitter.ts'
import { standardConfig, startGateway } from './harness.ts'
import type { Gateway } from './harness.ts'

interface Answer {
  candidates?: {
    content: { parts: { text?: string; functionCall?: { id: string; name: string; args: object } }[] }
    finishReason?: string
  }[]
  usageMetadata?: { promptTokenCount: number; candidatesTokenCount: number; totalTokenCount: number }
  modelVersion?: string
  error?: { code: number; message: string; status: string; details: object[] }
}

/** Answers as AI Studio documents them, and remembers what it was asked. */
class GeminiUpstream {
  readonly seen: { path: string; key: string | null; body: Record<string, unknown> }[] = []
  readonly #server: Server<undefined>

  constructor() {
    this.#server = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: request => this.#answer(request) })
  }

  get url(): string {
    return this.#server.url.href.replace(/\/$/, '')
  }

  stop(): Promise<void> {
    return this.#server.stop(true)
  }

  async #answer(request: Request): Promise<Response> {
    const { pathname, search } = new URL(request.url)
    const body = (await request.json()) as Record<string, unknown>
    this.seen.push({ path: pathname + search, key: request.headers.get('x-goog-api-key'), body })
    const said = JSON.stringify(body.contents ?? '')
    if (said.includes('refuse'))
      return Response.json(
        { error: { code: 400, message: 'bad contents', status: 'INVALID_ARGUMENT' } },
        { status: 400 },
      )
    const piece = (text: string, more: object = {}) => ({
      candidates: [{ content: { parts: [{ text }], role: 'model' }, index: 0, ...more }],
      modelVersion: 'gemini-up',
    })
    const usageMetadata = { promptTokenCount: 4, candidatesTokenCount: 2, thoughtsTokenCount: 1, totalTokenCount: 7 }
    if (pathname.endsWith(':streamGenerateContent')) {
      const events = said.includes('cut')
        ? [piece('Hel')]
        : [piece('Hel'), { ...piece('lo', { finishReason: 'STOP' }), usageMetadata }]
      return new Response(events.map(one => `data: ${JSON.stringify(one)}\r\n\r\n`).join(''), {
        headers: { 'content-type': 'text/event-stream' },
      })
    }
    if (pathname.endsWith(':generateContent'))
      return Response.json({ ...piece('Hello', { finishReason: 'STOP' }), usageMetadata })
    if (pathname.endsWith(':countTokens')) return Response.json({ totalTokens: 31 })
    return Response.json({ embeddings: (body.requests as unknown[]).map((_, at) => ({ values: [at, 1] })) })
  }
}

let upstream: GeminiUpstream
let gateway: Gateway
let key: string

beforeAll(async () => {
  upstream = new GeminiUpstream()
  const own = `
  - model_name: org/own-model:free
    proxy_params: { model: gemini/gemini-up, api_base: "${upstream.url}", api_key: upstream-key-canary-3, input_cost_per_token: 0.000001, output_cost_per_token: 0.000002 }
    model_info: { mode: chat, max_input_tokens: 1000, max_output_tokens: 50 }
  - model_name: own-embedding
    proxy_params: { model: gemini/gemini-embedding-up, api_base: "${upstream.url}", api_key: upstream-key-canary-3 }
    model_info: { mode: embedding }
  - model_name: strict-model
    proxy_params: { model: custom_openai/sim-chat, api_base: "{simulator}/v1", api_key: upstream-key-canary-1, drop_params: false }
router_settings:`
  gateway = await startGateway({
    config: standardConfig.replace('router_settings:', own.trimStart().replace(/^/, '  ')),
  })
  key = await gateway.key()
})
afterAll(async () => {
  await gateway?.stop()
  await upstream?.stop()
})

const say = (text: string, more: object = {}) => ({ contents: [{ role: 'user', parts: [{ text }] }], ...more })
const post = (path: string, body: unknown, headers: Record<string, string> = { 'x-goog-api-key': key }) =>
  fetch(`${gateway.url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) })
const json = async (response: Response) => (await response.json()) as Answer
const textOf = (answers: Answer[]): string =>
  answers
    .flatMap(one => one.candidates?.[0]?.content.parts ?? [])
    .map(part => part.text ?? '')
    .join('')
const events = async (response: Response) =>
  frameSplitter()
    .push(await response.bytes())
    .map(frame => JSON.parse(frame.data) as Answer)

for (const model of ['chat-model', 'claude-model', 'org/own-model:free'])
  describe(model, () => {
    const hello = model.startsWith('org') ? 'Hello' : 'hello there'

    for (const base of ['/v1beta', '/v1', '/gemini/v1beta', '/gemini', ''])
      test(`${base}: whole, as events, as an array`, async () => {
        const whole = await post(`${base}/models/${model}:generateContent`, say('say: hello there'))
        expect([whole.status, whole.headers.get('content-type')]).toEqual([200, 'application/json'])
        const answer = await json(whole)
        expect([textOf([answer]), answer.candidates?.[0]?.finishReason, answer.modelVersion]).toEqual([
          hello,
          'STOP',
          model,
        ])
        expect(answer.usageMetadata!.totalTokenCount).toBeGreaterThan(0)

        const sse = await post(`${base}/models/${model}:streamGenerateContent?alt=sse`, say('say: hello there'))
        expect(sse.headers.get('content-type')).toStartWith('text/event-stream')
        const list = await events(sse)
        expect([textOf(list), list.at(-1)?.candidates?.[0]?.finishReason, list.at(-1)?.modelVersion]).toEqual([
          hello,
          'STOP',
          model,
        ])
        expect(list.at(-1)!.usageMetadata!.candidatesTokenCount).toBeGreaterThan(0)
        expect(list.length).toBeGreaterThan(1)

        const array = await post(`${base}/models/${model}:streamGenerateContent`, say('say: hello there'))
        expect(array.headers.get('content-type')).toBe('application/json')
        expect(textOf((await array.json()) as Answer[])).toBe(hello)
      })

    test('one row a call, with the usage of the upstream', async () => {
      const ids: string[] = []
      for (const action of ['generateContent', 'streamGenerateContent?alt=sse', 'streamGenerateContent']) {
        const response = await post(`/v1beta/models/${model}:${action}`, say('say: hello there'))
        await response.text()
        ids.push(response.headers.get('x-request-id')!)
      }
      for (const id of ids) {
        const rows = await gateway.rows(`&request_id=${id}`)
        expect(rows.length).toBe(1)
        expect(rows[0]).toMatchObject({
          model,
          outcome: 'success',
          status: 200,
          usage_source: 'upstream',
          operation: 'chat',
        })
        expect(rows[0]!.output_tokens).toBeGreaterThan(0)
        expect(BigInt(rows[0]!.cost_nano_usd!)).toBeGreaterThan(0n)
      }
    })
  })

test("the forward lane: Google's own bytes, the operator's key, the name in the path", async () => {
  const body = say('x', {
    safetySettings: [{ category: 'HARM_CATEGORY_HARASSMENT', threshold: 'OFF' }],
    futureField: { a: 1 },
  })
  expect((await post('/v1beta/models/org/own-model:free:generateContent', body)).status).toBe(200)
  expect(upstream.seen.at(-1)).toEqual({
    path: '/v1beta/models/gemini-up:generateContent',
    key: 'upstream-key-canary-3',
    body,
  })
  // The client's form of a stream is between it and the gateway.
  await (await post('/v1beta/models/org/own-model:free:streamGenerateContent', body)).text()
  expect(upstream.seen.at(-1)!.path).toBe('/v1beta/models/gemini-up:streamGenerateContent?alt=sse')
})

test('keys: in either header, in the query, and none', async () => {
  const path = '/v1beta/models/chat-model:generateContent'
  expect((await post(path, say('say: x'), { authorization: `Bearer ${key}` })).status).toBe(200)
  expect((await post(`${path}?key=${key}`, say('say: x'), {})).status).toBe(200)
  for (const [headers, where] of [
    [{}, path],
    [{ 'x-goog-api-key': 'sk-wrong' }, path],
    [{}, '/v1/models/chat-model:streamGenerateContent?alt=sse'],
  ] as const) {
    const response = await post(where, say('x'), headers)
    expect([response.status, (await json(response)).error?.status]).toEqual([401, 'UNAUTHENTICATED'])
  }
})

test("errors are Google's, wherever they come from", async () => {
  const failures: [string, unknown, number, string][] = [
    ['/v1beta/models/nope:generateContent', say('x'), 404, 'NOT_FOUND'],
    ['/v1beta/models/chat-model:generateContent', { contents: [] }, 422, 'INVALID_ARGUMENT'],
    ['/v1beta/models/chat-model:predict', {}, 404, 'NOT_FOUND'],
    ['/v1/models/chat-model:predict', {}, 404, 'NOT_FOUND'],
    ['/v1beta/models/chat-model:streamGenerateContent?alt=media', say('x'), 400, 'INVALID_ARGUMENT'],
    ['/v1beta/models/org/own-model:free:generateContent', say('refuse'), 400, 'INVALID_ARGUMENT'],
    ['/v1beta/models/nobody:generateContent', say('x'), 503, 'UNAVAILABLE'],
    ['/v1beta/models/fault%2Fsim%23status;code=500:streamGenerateContent?alt=sse', say('x'), 500, 'INTERNAL'],
    ['/v1beta/models/fault%2Fsim%23429:generateContent', say('x'), 429, 'RESOURCE_EXHAUSTED'],
    ['/v1beta/models/embedding-model:generateContent', say('x'), 400, 'INVALID_ARGUMENT'],
  ]
  for (const [path, body, status, word] of failures) {
    const response = await post(path, body)
    const { error } = await json(response)
    expect([path, response.status, error?.code, error?.status]).toEqual([path, status, status, word])
    expect(error!.message).not.toContain('canary')
  }
  const notJson = await fetch(`${gateway.url}/v1beta/models/chat-model:generateContent`, {
    method: 'POST',
    headers: { 'x-goog-api-key': key },
    body: '{"contents"',
  })
  expect([notJson.status, (await json(notJson)).error?.status]).toEqual([400, 'INVALID_ARGUMENT'])
})

test('a stream that breaks says so, and does not look complete', async () => {
  for (const model of ['fault%2Fsim%23cut;at=5', 'claude-fault%2Fsim%23cut;at=5', 'org/own-model:free']) {
    const sse = await events(
      await post(`/v1beta/models/${model}:streamGenerateContent?alt=sse`, say('tokens: 20\ncut')),
    )
    expect(sse.at(-1)?.error?.status).toBe('UNAVAILABLE')
    expect(sse.some(one => one.candidates?.[0]?.finishReason)).toBe(false)
    const array = (await (
      await post(`/v1beta/models/${model}:streamGenerateContent`, say('tokens: 20\ncut'))
    ).json()) as Answer[]
    expect(array.at(-1)?.error?.code).toBe(model.startsWith('org') ? 502 : 503)
    expect(textOf(array).length).toBeGreaterThan(0)
  }
})

test('what an upstream cannot take is reported, or refused where the operator wants that', async () => {
  const body = say('say: x', {
    tools: [{ googleSearch: {} }],
    generationConfig: { mediaResolution: 'MEDIA_RESOLUTION_LOW' },
    safetySettings: [{}],
  })
  const response = await post('/v1beta/models/chat-model:generateContent', body)
  expect(response.headers.get('x-proxy-dropped-params')!.split(',').sort()).toEqual([
    'generationConfig.mediaResolution',
    'safetySettings',
    'tools.googleSearch',
  ])
  const refused = await post('/v1beta/models/strict-model:generateContent', body)
  expect([refused.status, (await json(refused)).error?.message]).toEqual([
    422,
    expect.stringContaining('tools.googleSearch'),
  ])
})

test('embeddings by two kinds of upstream', async () => {
  const content = (text: string) => ({ content: { parts: [{ text }] } })
  for (const model of ['embedding-model', 'own-embedding']) {
    const one = (await (await post(`/v1beta/models/${model}:embedContent`, content('a'))).json()) as {
      embedding: { values: number[] }
    }
    expect(one.embedding.values.length).toBeGreaterThan(1)
    const requests = ['a', 'b', 'c'].map(text => ({ model: `models/${model}`, ...content(text) }))
    const many = (await (await post(`/v1/models/${model}:batchEmbedContents`, { requests })).json()) as {
      embeddings: { values: number[] }[]
    }
    expect(many.embeddings.length).toBe(3)
  }
  // The name inside is the upstream's.
  const [last] = upstream.seen.filter(one => one.path.includes('batchEmbed')).slice(-1)
  expect((last!.body.requests as { model: string }[]).map(one => one.model)).toEqual(
    Array(3).fill('models/gemini-embedding-up'),
  )
})

test('only what the client wished is reported as lost: the old `functions` allow one call by their nature', async () => {
  const functions = [{ name: 'f', parameters: { type: 'object', properties: {} } }]
  const droppedOf = async (more: object) => {
    const body = { model: 'org/own-model:free', messages: [{ role: 'user', content: 'x' }], ...more }
    const response = await post('/v1/chat/completions', body, { authorization: `Bearer ${key}` })
    return [response.status, response.headers.get('x-proxy-dropped-params')]
  }
  expect(await droppedOf({ functions })).toEqual([200, null])
  expect(await droppedOf({ functions, parallel_tool_calls: false })).toEqual([200, 'parallel_tool_calls'])
})

test("countTokens by the upstream's own counter", async () => {
  const counted = await post('/v1beta/models/org/own-model:free:countTokens', {
    generateContentRequest: {
      model: 'models/org/own-model:free',
      ...say('x'),
      systemInstruction: { parts: [{ text: 's' }] },
    },
  })
  expect([counted.status, await counted.json()]).toEqual([200, { totalTokens: 31 }])
  expect(upstream.seen.at(-1)).toMatchObject({
    path: '/v1beta/models/gemini-up:countTokens',
    body: { generateContentRequest: { model: 'models/gemini-up' } },
  })
})

test('the list of models, in pages, and one of them', async () => {
  const get = (path: string, as = key) => fetch(`${gateway.url}${path}`, { headers: { 'x-goog-api-key': as } })
  const all = (await (await get('/v1beta/models')).json()) as { models: { name: string }[]; nextPageToken?: string }
  const names = all.models.map(one => one.name)
  expect(names).toContain('models/chat-model')
  expect(all.nextPageToken).toBeUndefined()
  const paged: string[] = []
  for (let token = ''; ; ) {
    const page = (await (await get(`/v1beta/models?pageSize=3&pageToken=${token}`)).json()) as typeof all
    expect(page.models.length).toBeLessThanOrEqual(3)
    paged.push(...page.models.map(one => one.name))
    if (!page.nextPageToken) break
    token = page.nextPageToken
  }
  expect(paged).toEqual(names)
  expect(await (await get('/v1beta/models/org/own-model:free')).json()).toEqual({
    name: 'models/org/own-model:free',
    version: '001',
    displayName: 'org/own-model:free',
    inputTokenLimit: 1000,
    outputTokenLimit: 50,
    supportedGenerationMethods: ['generateContent', 'streamGenerateContent', 'countTokens'],
  })
  const narrow = await gateway.key({ models: ['chat-model'] })
  expect(((await (await get('/v1beta/models', narrow)).json()) as typeof all).models.map(one => one.name)).toEqual([
    'models/chat-model',
  ])
  for (const path of ['/v1beta/models/claude-model', '/v1beta/models/nope', '/v1beta/models?pageSize=0']) {
    const response = await get(path, narrow)
    expect([path, response.status >= 400 && (await json(response)).error?.code]).toEqual([path, response.status])
  }
  // Under `/v1` the header says whose client it is (tests/e2e/models.test.ts).
  expect(await (await get('/v1/models/chat-model')).json()).toMatchObject({ name: 'models/chat-model' })
  const plain = await fetch(`${gateway.url}/v1/models/chat-model`, { headers: { authorization: `Bearer ${key}` } })
  expect(await plain.json()).toMatchObject({ object: 'model', id: 'chat-model' })
})
