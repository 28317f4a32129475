/**
 * Counters that fail: a client that asks how much it is about to send gets a number, and is told that it is an
 * estimate.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { Server } from 'bun'
import { masterKey, standardConfig, startGateway } from './harness.ts'
import type { Gateway } from './harness.ts'

type Json = Record<string, unknown>

/** The model's name at this upstream is the status of its counter. */
function startUpstream(): Server<undefined> {
  return Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    async fetch(request) {
      const { pathname } = new URL(request.url)
      const body = (await request.json()) as { model?: string }
      const status = Number(/status-(\d+)/.exec(body.model ?? pathname)?.[1])
      if (status !== 200)
        return Response.json(
          { type: 'error', error: { type: 'api_error', message: `counter says ${status}` } },
          { status, headers: { 'retry-after': '7' } },
        )
      return Response.json(pathname.endsWith(':countTokens') ? { totalTokens: 42 } : { input_tokens: 42 })
    },
  })
}

let upstream: Server<undefined>
let gateway: Gateway
let key: string

const failing = [401, 404, 408, 429, 500, 529]

beforeAll(async () => {
  upstream = startUpstream()
  const base = upstream.url.href.replace(/\/$/, '')
  const entry = (name: string, model: string, more = '') =>
    `  - model_name: ${name}\n    proxy_params: { model: ${model}, api_base: "${base}", api_key: k${more} }\n`
  const own = [
    ...[200, 400, ...failing].flatMap(status => [
      entry(`claude-${status}`, `anthropic/status-${status}`),
      entry(`gemini-${status}`, `gemini/status-${status}`),
    ]),
    entry('mixed', 'anthropic/status-500', ', order: 1'),
    entry('mixed', 'custom_openai/no-counter', ', order: 2'),
    entry('fallen', 'anthropic/status-503'),
    entry('no-counter', 'custom_openai/no-counter'),
    '  - model_name: nobody-claude\n    proxy_params: { model: anthropic/x, api_base: "http://127.0.0.1:1", api_key: k }\n',
  ].join('')
  const router = 'router_settings: { num_retries: 0, fallbacks: [{ fallen: [no-counter] }] }'
  gateway = await startGateway({ config: standardConfig.replace(/router_settings: .*/, own.trimEnd() + `\n${router}`) })
  key = await gateway.key()
})
afterAll(async () => {
  await gateway?.stop()
  await upstream?.stop(true)
})

const words = 'Hello, Claude. How are you today?'
const bodies = {
  '/v1/messages/count_tokens': (model: string) => ({ model, messages: [{ role: 'user', content: words }] }),
  '/v1/responses/input_tokens': (model: string) => ({ model, input: words }),
}
type Path = keyof typeof bodies

async function send(
  path: string,
  body: unknown,
  by = key,
): Promise<{ response: Response; status: number; answer: Json; source: string | null }> {
  const response = await fetch(`${gateway.url}${path}`, {
    method: 'POST',
    headers: { 'x-api-key': by, authorization: `Bearer ${by}` },
    body: JSON.stringify(body),
  })
  const { status, headers } = response
  return { response, status, answer: (await response.json()) as Json, source: headers.get('x-token-count-source') }
}
const count = (model: string, path: Path = '/v1/messages/count_tokens', by = key) => send(path, bodies[path](model), by)
const gemini = (model: string) =>
  send(`/v1beta/models/${model}:countTokens`, { contents: [{ role: 'user', parts: [{ text: words }] }] })

describe('a counter that works is believed', () => {
  test('in each dialect', async () => {
    expect(await count('claude-200')).toMatchObject({ status: 200, answer: { input_tokens: 42 }, source: null })
    expect(await count('claude-200', '/v1/responses/input_tokens')).toMatchObject({
      status: 200,
      answer: { object: 'response.input_tokens', input_tokens: 42 },
      source: null,
    })
    expect(await gemini('gemini-200')).toMatchObject({ status: 200, answer: { totalTokens: 42 }, source: null })
  })
})

describe('one that fails', () => {
  test.each(failing)('with %d is replaced by an estimate', async status => {
    const { answer, response, ...rest } = await count(`claude-${status}`)
    expect(rest).toEqual({ status: 200, source: 'estimate' })
    expect(Object.keys(answer)).toEqual(['input_tokens'])
    expect(answer.input_tokens).toBeWithin(8, 25)
    expect([response.headers.get('retry-after'), response.headers.get('request-id')]).toEqual([
      null,
      response.headers.get('x-request-id'),
    ])
    // The client was answered; what the upstream did stays in the ledger.
    const [row] = await gateway.rows(`&request_id=${response.headers.get('x-request-id')}`)
    expect(row).toMatchObject({
      operation: 'count-tokens',
      outcome: 'success',
      status: 200,
      error_kind: expect.any(String),
    })
    const google = await gemini(`gemini-${status}`)
    expect(google).toMatchObject({ status: 200, answer: { totalTokens: answer.input_tokens }, source: 'estimate' })
  })

  test('also for a Responses body, a host that cannot be reached, a second deployment and a fallback without a counter', async () => {
    const expected = (await count('no-counter')).answer.input_tokens
    for (const model of ['nobody-claude', 'mixed', 'fallen', 'fallen'])
      expect([model, await count(model)]).toMatchObject([
        model,
        { status: 200, answer: { input_tokens: expected }, source: 'estimate' },
      ])
    const { answer, source } = await count('claude-500', '/v1/responses/input_tokens')
    expect([answer, source]).toEqual([{ object: 'response.input_tokens', input_tokens: expected }, 'estimate'])
  })
})

describe('what is wrong with the request stays said', () => {
  test('by the upstream', async () => {
    expect(await count('claude-400')).toMatchObject({
      status: 400,
      answer: { type: 'error', error: { message: 'counter says 400' } },
      source: null,
    })
    expect(await gemini('gemini-400')).toMatchObject({ status: 400, answer: { error: { code: 400 } }, source: null })
  })

  test('by the gateway: unknown models, foreign keys, limits, wrong and broken bodies', async () => {
    expect(await count('nope')).toMatchObject({ status: 404, answer: { error: { type: 'not_found_error' } } })
    expect(
      (await count('claude-500', '/v1/messages/count_tokens', await gateway.key({ models: ['chat-model'] }))).status,
    ).toBe(403)
    const slow = await gateway.key({ rpm_limit: 1 })
    expect((await count('claude-200', '/v1/messages/count_tokens', slow)).status).toBe(200)
    expect(await count('claude-500', '/v1/messages/count_tokens', slow)).toMatchObject({
      status: 429,
      answer: { error: { type: 'rate_limit_error' } },
      source: null,
    })
    expect((await send('/v1/messages/count_tokens', { model: 'claude-500', messages: 'x' })).status).toBe(422)
    const broken = await fetch(`${gateway.url}/v1/messages/count_tokens`, {
      method: 'POST',
      headers: { 'x-api-key': key },
      body: '{"model"',
    })
    expect(broken.status).toBe(400)
  })

  test('what only the vendor could count is not guessed', async () => {
    const messages = [{ role: 'user', content: [{ type: 'container_upload', file_id: 'file_1' }] }]
    // Objects of the provider's account are for the operator.
    expect(await send('/v1/messages/count_tokens', { model: 'claude-500', messages }, masterKey)).toMatchObject({
      status: 500,
      answer: { type: 'error' },
      source: null,
    })
  })
})
