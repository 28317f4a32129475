/** Utilities and token counts through a real gateway; the upstream here remembers everything that it is sent. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { Server } from 'bun'
import { callTypes } from '../../src/endpoints/utilities/utils/transform-request.ts'
import { standardConfig, startGateway } from './harness.ts'
import type { Gateway } from './harness.ts'

type Json = Record<string, unknown>

/** Counts as Anthropic and Google document it, chats as OpenAI without a word about usage. */
class Upstream {
  readonly seen: { path: string; body: Json }[] = []
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
    const { pathname } = new URL(request.url)
    const body = (await request.json()) as Json
    this.seen.push({ path: pathname, body })
    const said = JSON.stringify(body)
    if (said.includes('fail'))
      return Response.json(
        { type: 'error', error: { type: 'api_error', message: 'the counter is down' } },
        { status: 500 },
      )
    if (said.includes('refuse'))
      return Response.json(
        { type: 'error', error: { type: 'invalid_request_error', message: 'no such block' } },
        { status: 400 },
      )
    if (said.includes('slow down'))
      return Response.json(
        { type: 'error', error: { type: 'rate_limit_error', message: 'slow down' } },
        { status: 429 },
      )
    if (pathname.endsWith('/count_tokens')) return Response.json({ input_tokens: 42, extra: 'as it came' })
    if (pathname.endsWith(':countTokens')) return Response.json({ totalTokens: 31, promptTokensDetails: [] })
    const chunk = (delta: object, finish: string | null = null) =>
      `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`
    return new Response(`${chunk({ role: 'assistant', content: 'Hello' })}${chunk({}, 'stop')}data: [DONE]\n\n`, {
      headers: { 'content-type': 'text/event-stream' },
    })
  }
}

let upstream: Upstream
let gateway: Gateway
let key: string

const canaries = {
  claude: 'canary-anthropic-0123456789',
  gemini: 'canary-google-0123456789',
  header: 'canary-header-0123456789',
  entra: 'canary-entra-0123456789',
  aws: 'canary-aws-secret-0123456789',
  session: 'canary-session-0123456789',
  plain: 'upstream-key-canary-1',
}

beforeAll(async () => {
  upstream = new Upstream()
  const own = `
  - model_name: claude
    proxy_params: { model: anthropic/claude-sonnet-4-5, api_base: "${upstream.url}", api_key: ${canaries.claude}, input_cost_per_token: 0.000003, output_cost_per_token: 0.000015 }
    model_info: { id: claude-one }
  - model_name: claude-two
    proxy_params: { model: anthropic/claude-sonnet-4-5, api_base: "${upstream.url}", api_key: ${canaries.claude} }
  - model_name: gemini-model
    proxy_params: { model: gemini/gemini-2.5-flash, api_base: "${upstream.url}", api_key: ${canaries.gemini}, input_cost_per_token: 0.000001, output_cost_per_token: 0.000002 }
  - model_name: gpt
    proxy_params: { model: custom_openai/gpt-4o, api_base: "${upstream.url}/v1", api_key: ${canaries.plain}, extra_headers: { x-team: ${canaries.header}, authorization-extra: x }, input_cost_per_token: 0.000003, output_cost_per_token: 0.000015 }
  - model_name: my-azure
    proxy_params: { model: azure/my-deployment, api_base: "https://name.openai.azure.com", tenant_id: t, client_id: c, client_secret: ${canaries.entra} }
    model_info: { base_model: gpt-4o }
  - model_name: bedrock-model
    proxy_params: { model: bedrock/meta.llama3-3-70b-instruct-v1:0, aws_region_name: us-east-1, aws_access_key_id: AKIAEXAMPLE, aws_secret_access_key: ${canaries.aws}, aws_session_token: ${canaries.session} }
  - model_name: public-address
    proxy_params: { model: openai/gpt-4o, api_key: ${canaries.plain} }
  - model_name: no-tools
    proxy_params: { model: custom_openai/x, api_base: "${upstream.url}/v1", api_key: ${canaries.plain} }
    model_info: { tool_calling: none }
  - model_name: strict-model
    proxy_params: { model: cohere/command-a, api_base: "${upstream.url}", api_key: ${canaries.plain}, drop_params: false }`
  gateway = await startGateway({
    config: standardConfig.replace('router_settings', `${own.slice(1)}\nrouter_settings`),
  })
  key = await gateway.key()
})
afterAll(async () => {
  await gateway?.stop()
  await upstream?.stop()
})

function post(path: string, body: unknown, by = key): Promise<Response> {
  return fetch(`${gateway.url}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${by}`, 'content-type': 'application/json' },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  })
}

async function answer(response: Response | Promise<Response>): Promise<Json & { status: number }> {
  const got = await response
  return { status: got.status, ...((await got.json()) as Json) }
}

const get = (path: string, by = key) =>
  answer(fetch(`${gateway.url}${path}`, { headers: { authorization: `Bearer ${by}` } }))
const count = (body: unknown, query = '', by = key) => answer(post(`/utils/token_counter${query}`, body, by))
const hello = [{ role: 'user', content: 'Hello, how are you today?' }]

/** Runs it, and says what reached the upstream and the ledger. */
async function traces<T>(
  run: () => Promise<T>,
): Promise<{ result: T; sent: Upstream['seen']; rows: Awaited<ReturnType<Gateway['rows']>> }> {
  const known = new Set((await gateway.rows()).map(row => row.request_id))
  const from = upstream.seen.length
  const result = await run()
  return {
    result,
    sent: upstream.seen.slice(from),
    rows: (await gateway.rows()).filter(row => !known.has(row.request_id)),
  }
}

describe('token_counter', () => {
  test("counts with the model's own tokenizer, where there is one", async () => {
    const { result, sent, rows } = await traces(() => count({ model: 'gpt', prompt: 'hello world' }))
    expect(result).toEqual({
      status: 200,
      total_tokens: 2,
      request_model: 'gpt',
      model_used: 'gpt-4o',
      tokenizer_type: 'openai_tokenizer',
      original_response: null,
      error: false,
      error_message: null,
      status_code: null,
    })
    expect(sent).toEqual([])
    expect(rows).toMatchObject([
      {
        route: '/utils/token_counter',
        operation: 'count-tokens',
        outcome: 'success',
        model: 'gpt',
        cost_nano_usd: '0',
      },
    ])
    expect(await count({ model: 'gpt', prompt: ['hello', ' world', ''] })).toMatchObject({ total_tokens: 2 })
    // By `base_model`, where the operator named the deployment.
    expect(await count({ model: 'my-azure', prompt: 'hello world' })).toMatchObject({
      total_tokens: 2,
      model_used: 'my-deployment',
      tokenizer_type: 'openai_tokenizer',
    })
    // A model that is not here is counted by its name.
    expect(await count({ model: 'gpt-4', prompt: 'お誕生日おめでとう' })).toMatchObject({
      total_tokens: 9,
      model_used: 'gpt-4',
      tokenizer_type: 'openai_tokenizer',
    })
    // OpenAI's Cookbook: 3 for each message, its role, its text, and 3 for the answer.
    expect(await count({ model: 'gpt', messages: [{ role: 'user', content: 'hello world' }] })).toMatchObject({
      total_tokens: 3 + 1 + 2 + 3,
    })
  })

  test('a count takes one of the requests of its key, wherever it is made', async () => {
    for (const query of ['', '?call_endpoint=true']) {
      const by = await gateway.key({ rpm_limit: 2 })
      const statuses: number[] = []
      for (let at = 0; at < 3; at++)
        statuses.push((await count({ model: at ? 'claude' : 'gpt', messages: hello }, query, by)).status)
      expect(statuses).toEqual([200, 200, 429])
    }
  })

  test('an estimate says that it is one', async () => {
    for (const model of ['chat-model', 'claude', 'never-heard-of']) {
      const counted = await count({ model, messages: hello })
      expect(counted).toMatchObject({ status: 200, tokenizer_type: 'estimate', error: false, original_response: null })
      expect(counted.total_tokens).toBeWithin(7, 18)
    }
    expect(await count({ model: 'chat-model', prompt: '' })).toMatchObject({ total_tokens: 0 })
  })

  test('the same input is the same estimate, whoever asks in whatever dialect', async () => {
    const anthropic = {
      system: 'Be brief.',
      messages: [{ role: 'user', content: [{ type: 'text', text: 'Hello, how are you today?' }] }],
      tools: [{ name: 'f', input_schema: { type: 'object' } }],
    }
    const gemini = {
      systemInstruction: { parts: [{ text: 'Be brief.' }] },
      contents: [{ role: 'user', parts: [{ text: 'Hello, how are you today?' }] }],
      tools: [{ functionDeclarations: [{ name: 'f', parametersJsonSchema: { type: 'object' } }] }],
    }
    const openai = {
      messages: [{ role: 'system', content: 'Be brief.' }, ...hello],
      tools: [{ type: 'function', function: { name: 'f', parameters: { type: 'object' } } }],
    }
    const totals = await Promise.all(
      [anthropic, gemini, openai].map(async body => (await count({ model: 'chat-model', ...body })).total_tokens),
    )
    const { input_tokens: messages } = await answer(
      post('/v1/messages/count_tokens', { model: 'chat-model', ...anthropic }),
    )
    const { totalTokens } = await answer(
      post('/v1beta/models/chat-model:countTokens', {
        generateContentRequest: { model: 'models/chat-model', ...gemini },
      }),
    )
    expect(new Set([...totals, messages, totalTokens])).toEqual(new Set([totals[0]]))
  })

  test("call_endpoint asks the provider's counter, as a call like any other", async () => {
    const asked = await traces(() => count({ model: 'claude', messages: hello }, '?call_endpoint=true'))
    expect(asked.result).toEqual({
      status: 200,
      total_tokens: 42,
      request_model: 'claude',
      model_used: 'claude-sonnet-4-5',
      tokenizer_type: 'anthropic_api',
      original_response: { input_tokens: 42, extra: 'as it came' },
      error: false,
      error_message: null,
      status_code: null,
    })
    expect(asked.sent).toMatchObject([
      { path: '/v1/messages/count_tokens', body: { model: 'claude-sonnet-4-5', messages: [{ role: 'user' }] } },
    ])
    expect(asked.rows).toMatchObject([
      {
        route: '/utils/token_counter',
        operation: 'count-tokens',
        outcome: 'success',
        input_tokens: 0,
        output_tokens: 0,
        cost_nano_usd: '0',
      },
    ])
    const google = await count(
      { model: 'gemini-model', contents: [{ role: 'user', parts: [{ text: 'x' }] }] },
      '?call_endpoint=true',
    )
    expect(google).toMatchObject({
      total_tokens: 31,
      tokenizer_type: 'gemini_api',
      original_response: { totalTokens: 31 },
    })
    expect(await count({ model: 'claude', prompt: 'just text' }, '?call_endpoint=true')).toMatchObject({
      total_tokens: 42,
    })
  })

  test('without a counter to ask, it counts here and says so', async () => {
    const { result, sent, rows } = await traces(() =>
      count({ model: 'gpt', prompt: 'hello world' }, '?call_endpoint=true'),
    )
    expect(result).toMatchObject({ total_tokens: 2, tokenizer_type: 'openai_tokenizer', original_response: null })
    expect([sent.length, rows.length]).toEqual([0, 1])
  })

  test.each([
    ['fail', 500, 'the counter is down'],
    ['refuse', 400, 'no such block'],
    ['slow down', 429, 'slow down'],
  ])('a counter that fails (%s) is named, and the count is made here', async (word, status, words) => {
    const counted = await count(
      { model: 'claude-two', messages: [{ role: 'user', content: `please ${word} now` }] },
      '?call_endpoint=true',
    )
    expect(counted).toMatchObject({
      status: 200,
      error: true,
      status_code: status,
      tokenizer_type: 'estimate',
      original_response: null,
    })
    expect(counted.error_message).toContain(words)
    expect(counted.total_tokens).toBeWithin(5, 18)
  })

  test('limits and access hold', async () => {
    const slow = await gateway.key({ rpm_limit: 1 })
    expect((await count({ model: 'claude', messages: hello }, '?call_endpoint=true', slow)).status).toBe(200)
    expect(await count({ model: 'claude', messages: hello }, '?call_endpoint=true', slow)).toMatchObject({
      status: 429,
      error: { code: 'rate_limit_exceeded' },
    })
    const narrow = await gateway.key({ models: ['chat-model'] })
    // What a key may not use it does not get to know, not even by the name of the upstream's model.
    expect(await count({ model: 'gpt', prompt: 'x' }, '?call_endpoint=true', narrow)).toMatchObject({
      status: 200,
      model_used: 'gpt',
      tokenizer_type: 'estimate',
    })
    expect((await count({ model: 'gpt', prompt: 'x' }, '', 'sk-stranger')).status).toBe(401)
  })

  test.each([
    [{ model: 'gpt' }, 'messages'],
    [{ model: 'gpt', prompt: null }, 'messages'],
    [{ prompt: 'x' }, 'model'],
    [{ model: 7, prompt: 'x' }, 'model'],
    [{ model: 'gpt', prompt: 'x', messages: hello }, 'prompt'],
    [{ model: 'gpt', prompt: 7 }, 'prompt'],
    [{ model: 'gpt', prompt: ['x', 7] }, 'prompt.1'],
    [{ model: 'gpt', messages: 'x' }, 'messages'],
    [{ model: 'gpt', messages: [{ role: 'wizard', content: 'x' }] }, 'messages.0.role'],
    [{ model: 'gpt', messages: hello, tools: [{ type: 'function' }] }, 'tools.0.function'],
    [{ model: 'gpt', contents: 7 }, 'contents'],
  ])('%j is refused by the name of its field', async (body, param) => {
    const refused = await count(body)
    expect([refused.status, (refused.error as Json).param, (refused.detail as unknown[]).length > 0]).toEqual([
      422,
      param,
      true,
    ])
  })

  test('bodies that are no JSON, and other flags', async () => {
    expect((await count('{"model": ')).status).toBe(400)
    expect((await count('[]')).status).toBe(400)
    expect(await count({ model: 'gpt', prompt: 'x' }, '?call_endpoint=maybe')).toMatchObject({
      status: 422,
      error: { param: 'call_endpoint' },
    })
    expect((await count({ model: 'gpt', prompt: 'x' }, '?call_endpoint=false')).status).toBe(200)
  })

  test('a text that no tokenizer gets through is estimated, and nobody waits for it', async () => {
    const hard = count({ model: 'gpt', prompt: 'x'.repeat(400_000) })
    expect((await get('/utils/supported_openai_params?model=gpt')).status).toBe(200)
    expect(await hard).toMatchObject({ status: 200, tokenizer_type: 'estimate' })
  })
})

describe('counts without a counter', () => {
  const bodies: [string, Json, string][] = [
    ['/v1/messages/count_tokens', { model: 'chat-model', messages: hello }, 'input_tokens'],
    ['/v1/responses/input_tokens', { model: 'chat-model', input: 'Hello, how are you today?' }, 'input_tokens'],
    [
      '/v1beta/models/chat-model:countTokens',
      { contents: [{ role: 'user', parts: [{ text: 'Hello, how are you today?' }] }] },
      'totalTokens',
    ],
    [
      '/v1/models/chat-model:countTokens',
      { contents: [{ role: 'user', parts: [{ text: 'Hello, how are you today?' }] }] },
      'totalTokens',
    ],
  ]

  test.each(bodies)('%s is answered without an upstream, and recorded once', async (path, body, field) => {
    const before = gateway.simulator.truth.entries.length
    const { result, rows } = await traces(() => post(path, body))
    expect([result.status, result.headers.get('x-token-count-source')]).toEqual([200, 'estimate'])
    expect(((await result.json()) as Json)[field]).toBeWithin(7, 18)
    expect(gateway.simulator.truth.entries.length).toBe(before)
    expect(rows).toMatchObject([
      {
        operation: 'count-tokens',
        model: 'chat-model',
        deployment_id: 'chat-deployment',
        outcome: 'success',
        usage_source: 'estimated',
        input_tokens: 0,
        cost_nano_usd: '0',
      },
    ])
  })

  test('limits and access hold here too', async () => {
    const slow = await gateway.key({ rpm_limit: 1, models: ['chat-model'] })
    const [path, body] = bodies[0]!
    const statuses = []
    for (const model of ['chat-model', 'chat-model']) statuses.push((await post(path, { ...body, model }, slow)).status)
    const narrow = await gateway.key({ models: ['chat-model'] })
    statuses.push(
      (await post(path, { ...body, model: 'gpt' }, narrow)).status,
      (await post(path, { ...body, model: 'nope' })).status,
    )
    expect(statuses).toEqual([200, 429, 403, 404])
  })
})

describe('usage that the upstream keeps to itself', () => {
  const words = 'The quick brown fox jumps over the lazy dog, and then it runs away through the forest. '.repeat(10)

  test.each([
    ['/v1/chat/completions', { messages: [{ role: 'user', content: words }] }],
    ['/v1/messages', { max_tokens: 10, system: words, messages: [{ role: 'user', content: 'x' }] }],
    ['/v1/responses', { instructions: words, input: 'x' }],
    [
      '/v1beta/models/gpt:streamGenerateContent?alt=sse',
      { systemInstruction: { parts: [{ text: words }] }, contents: [{ role: 'user', parts: [{ text: 'x' }] }] },
    ],
  ])('%s: the whole input is estimated', async (path, body) => {
    const inPath = path.includes('gpt:')
    const { rows } = await traces(async () =>
      (await post(path, { ...(!inPath && { model: 'gpt', stream: true }), ...body })).text(),
    )
    expect(rows).toMatchObject([{ outcome: 'success', usage_source: 'estimated' }])
    expect(rows[0]!.input_tokens).toBeWithin(150, 280)
    expect(BigInt(rows[0]!.cost_nano_usd!)).toBeGreaterThan(400_000n)
  })
})

describe('supported params', () => {
  test('on both paths, each with its own name', async () => {
    const compat = await get('/utils/supported_compat_params?model=gpt')
    const openai = await get('/utils/supported_openai_params?model=gpt')
    expect(Object.keys(compat)).toEqual(['status', 'supported_compat_params'])
    expect(openai.supported_openai_params).toEqual(compat.supported_compat_params)
    expect(compat.supported_compat_params).toContain('tools')
    const { supported_openai_params: claude } = await get('/utils/supported_openai_params?model=claude')
    expect(claude).toContain('thinking')
    expect(claude).not.toContain('seed')
    expect((await get('/utils/supported_openai_params?model=no-tools')).supported_openai_params).not.toContain('tools')
  })

  test('a model that is not there, not mine, not named, or does not chat', async () => {
    const narrow = await gateway.key({ models: ['chat-model'] })
    expect(await get('/utils/supported_openai_params?model=nope')).toMatchObject({
      status: 404,
      error: { param: 'model', code: 'model_not_found' },
    })
    expect(await get('/utils/supported_openai_params?model=gpt', narrow)).toMatchObject({ status: 404 })
    expect(await get('/utils/supported_openai_params')).toMatchObject({ status: 422, error: { param: 'model' } })
    const embedding = await get('/utils/supported_openai_params?model=embedding-model')
    expect([embedding.status, (embedding.error as Json).message]).toEqual([
      400,
      expect.stringContaining('is an embedding model'),
    ])
  })
})

describe('transform_request', () => {
  const transform = (callType: string, body: unknown, by = key) =>
    answer(post('/utils/transform_request', { call_type: callType, request_body: body }, by))
  const admin = async (callType: string, body: unknown) =>
    answer(gateway.admin('/utils/transform_request', { call_type: callType, request_body: body }))

  test('shows exactly what the call then sends', async () => {
    const body = {
      model: 'claude',
      max_tokens: 100,
      temperature: 0.5,
      seed: 1,
      messages: [{ role: 'system', content: 'Be brief.' }, ...hello],
    }
    const { result: shown, sent, rows } = await traces(() => admin('acompletion', body))
    expect([sent, rows]).toEqual([[], []])
    expect(shown).toMatchObject({
      status: 200,
      raw_request_api_base: `${upstream.url}/v1/messages`,
      dropped_params: ['seed'],
      error: null,
    })
    expect(shown.raw_request_headers).toMatchObject({
      'content-type': 'application/json',
      'anthropic-version': '2023-06-01',
      'x-api-key': '[redacted]',
    })
    const called = await traces(() => post('/v1/chat/completions', body))
    expect(called.sent).toEqual([{ path: '/v1/messages', body: shown.raw_request_body as Json }])
  })

  test('bytes of its own dialect are shown as they are forwarded', async () => {
    const body = { model: 'gpt', messages: hello, some_field: { of: 'the future' }, stream: true }
    const { raw_request_body: shown } = await transform('completion', body)
    const { sent } = await traces(async () => (await post('/v1/chat/completions', body)).text())
    expect(sent[0]!.body).toEqual(shown as Json)
    expect(shown).toMatchObject({ model: 'gpt-4o', some_field: { of: 'the future' } })
  })

  const chat = { messages: hello }
  const bodies: Record<string, Json> = {
    completion: chat,
    text_completion: { prompt: 'x' },
    responses: { input: 'x' },
    anthropic_messages: { ...chat, max_tokens: 5 },
    generate_content: { contents: [{ parts: [{ text: 'x' }] }] },
    generate_content_stream: { contents: [{ parts: [{ text: 'x' }] }] },
    embedding: { input: 'x' },
    rerank: { query: 'x', documents: ['a'] },
    moderation: { input: 'x' },
    image_generation: { prompt: 'x' },
    speech: { input: 'x', voice: 'alloy' },
  }
  const chats = ['gpt', 'claude', 'gemini-model', 'my-azure', 'bedrock-model', 'public-address']

  test.each(callTypes)('%s: nothing is sent, and no secret is shown', async type => {
    const kind = bodies[type] ? type : type.slice(1)
    expect(bodies).toHaveProperty(kind)
    const {
      result: answers,
      sent,
      rows,
    } = await traces(() =>
      Promise.all([...chats, 'embedding-model'].map(model => admin(type, { model, ...bodies[kind] }))),
    )
    expect([sent, rows]).toEqual([[], []])
    // Every kind is possible on one of them at least; the others say why it is not.
    expect(answers.some(one => one.error === null)).toBe(true)
    for (const one of answers)
      expect([one.status, one.error === null ? typeof one.raw_request_api_base : one.raw_request_body]).toEqual([
        200,
        one.error === null ? 'string' : null,
      ])
    const text = JSON.stringify(answers)
    for (const secret of [...Object.values(canaries), 'AKIAEXAMPLE']) expect(text).not.toContain(secret)
  })

  test('proofs that are made at the last moment are named, not shown', async () => {
    const azure = await admin('completion', { model: 'my-azure', ...chat })
    expect(azure).toMatchObject({ raw_request_headers: { authorization: 'Bearer [redacted]' }, error: null })
    const bedrock = await admin('completion', { model: 'bedrock-model', ...chat })
    expect(bedrock.raw_request_headers).toMatchObject({
      authorization: '[redacted]',
      'x-amz-security-token': '[redacted]',
      'x-amz-date': expect.any(String),
    })
    const plain = await admin('completion', { model: 'gpt', ...chat })
    expect(plain.raw_request_headers).toMatchObject({ authorization: 'Bearer [redacted]', 'x-team': '[redacted]' })
    expect(plain.raw_request_api_base).not.toContain('canary')
  })

  test("addresses of the operator's own are the operator's to see", async () => {
    expect((await transform('completion', { model: 'gpt', ...chat })).raw_request_api_base).toBe('[redacted]')
    expect((await transform('completion', { model: 'public-address', ...chat })).raw_request_api_base).toBe(
      'https://api.openai.com/v1/chat/completions',
    )
  })

  test('a request that would fail says why', async () => {
    const empty = {
      raw_request_api_base: null,
      raw_request_body: null,
      raw_request_headers: null,
      dropped_params: null,
    }
    const failing: [string, Json, string][] = [
      ['completion', { model: 'nope', ...chat }, "the model 'nope' does not exist"],
      ['completion', { ...chat }, 'model'],
      ['completion', { model: 7, ...chat }, 'request_body.model'],
      ['completion', { model: 'gpt' }, '`messages` is missing'],
      ['completion', { model: 'gpt', messages: hello, temperature: 9, top_p: 3 }, 'top_p'],
      [
        'completion',
        { model: 'no-tools', ...chat, tools: [{ type: 'function', function: { name: 'f' } }] },
        'cannot call tools',
      ],
      ['completion', { model: 'strict-model', ...chat, n: 2 }, 'does not take n'],
      ['embedding', { model: 'claude', input: 'x' }, 'does not offer embeddings'],
    ]
    for (const [type, body, words] of failing) {
      const shown = await transform(type, body)
      expect(shown).toMatchObject({ status: 200, ...empty })
      expect([type, body, String(shown.error)]).toEqual([type, body, expect.stringContaining(words)])
    }
  })

  test('what is no call at all, or not allowed, is refused', async () => {
    const narrow = await gateway.key({ models: ['chat-model'] })
    expect((await transform('completion', { model: 'gpt', ...chat }, narrow)).status).toBe(403)
    const refusals: [unknown, string][] = [
      [{ call_type: 'teleport', request_body: {} }, 'call_type'],
      [{ call_type: 'atranscription', request_body: {} }, 'call_type'],
      [{ request_body: {} }, 'call_type'],
      [{ call_type: 'completion' }, 'request_body'],
      [{ call_type: 'completion', request_body: [] }, 'request_body'],
      [{ call_type: 'completion', request_body: {}, more: 1 }, 'more'],
    ]
    for (const [body, param] of refusals)
      expect(await answer(post('/utils/transform_request', body))).toMatchObject({ status: 422, error: { param } })
    expect(JSON.stringify(await answer(post('/utils/transform_request', refusals[1]![0])))).toContain(
      'takes a form with files',
    )
    expect((await answer(post('/utils/transform_request', 'no json'))).status).toBe(400)
  })
})
