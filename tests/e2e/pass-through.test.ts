/** Paths of vendors that the gateway does not know, passed on as they are. */
import { afterAll, beforeAll, beforeEach, expect, test } from 'bun:test'
import { request } from 'node:http'
import Anthropic from '@anthropic-ai/sdk'
import { startGateway } from './harness.ts'
import type { Gateway } from './harness.ts'

interface Seen {
  readonly method: string
  readonly path: string
  readonly headers: Record<string, string>
  readonly body: string
}

const usage = { input_tokens: 1000, output_tokens: 100 }

function startVendor() {
  const seen: Seen[] = []
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    async fetch(request) {
      const { pathname, search } = new URL(request.url)
      const body = await request.text()
      seen.push({ method: request.method, path: pathname + search, headers: Object.fromEntries(request.headers), body })
      if (pathname.endsWith('/refused'))
        return Response.json(
          { type: 'error', error: { type: 'invalid_request_error', message: 'no' } },
          { status: 422 },
        )
      if (pathname.endsWith('/odd')) return new Response('<odd/>', { headers: { 'content-type': 'text/xml' } })
      if (pathname.endsWith('/streamed')) {
        const events = [
          {
            type: 'message_start',
            message: { model: 'claude-sonnet-4-5', usage: { input_tokens: 1000, output_tokens: 1 } },
          },
          { type: 'message_delta', usage: { output_tokens: 100 } },
          { type: 'message_stop' },
        ]
        const text = events.map(one => `event: ${one.type}\ndata: ${JSON.stringify(one)}\n\n`).join('')
        return new Response(text, { headers: { 'content-type': 'text/event-stream' } })
      }
      return Response.json({ object: 'skill', id: 'skill_1', model: 'claude-sonnet-4-5', usage })
    },
  })
  return { url: `http://127.0.0.1:${server.port}`, seen, stop: () => server.stop(true) }
}

let vendor: ReturnType<typeof startVendor>
let gateway: Gateway
let key: string
beforeAll(async () => {
  vendor = startVendor()
  const prices = 'input_cost_per_token: 0.000003, output_cost_per_token: 0.000015'
  gateway = await startGateway({
    config: `
model_list:
  - { model_name: own, proxy_params: { model: anthropic/claude-sonnet-4-5, api_base: "${vendor.url}/v1", forward_client_credentials: [anthropic] } }
  - { model_name: claude, proxy_params: { model: anthropic/claude-sonnet-4-5, api_base: "${vendor.url}/v1", api_key: key-of-the-gateway, ${prices} } }
  - { model_name: mistral, proxy_params: { model: mistral/m, api_base: "${vendor.url}/v1", api_key: k } }
general_settings: { pass_through_providers: [anthropic] }
`,
  })
  key = await gateway.key({ max_budget: 1 })
})
afterAll(async () => {
  await gateway?.stop()
  vendor?.stop()
})
beforeEach(() => void (vendor.seen.length = 0))

const ask = (path: string, { method = 'POST', of = key, body = '{"model":"claude-sonnet-4-5",  "x":1.0}' } = {}) =>
  fetch(`${gateway.url}${path}`, {
    method,
    headers: { authorization: `Bearer ${of}`, 'content-type': 'application/json', 'anthropic-beta': 'skills-1' },
    ...(method !== 'GET' && { body }),
  })
/** Of a path that is sent as it is written. */
const statusOf = (path: string) =>
  new Promise<number | undefined>(resolve => {
    const { hostname, port } = new URL(gateway.url)
    const headers = { authorization: `Bearer ${key}` }
    const sent = request({ hostname, port, path, headers }, answer => resolve(answer.resume().statusCode))
    sent.end()
  })
const lastRow = async () => (await gateway.rows())[0]!

test.each(['/passthrough/anthropic/v1/skills/one?beta=true&a=b', '/anthropic/v1/skills/one?beta=true&a=b'])(
  "%s is passed on untouched, with the gateway's credentials, and has its row",
  async path => {
    const answer = await ask(path)
    expect([answer.status, await answer.json()]).toEqual([200, expect.objectContaining({ id: 'skill_1' })])
    expect(vendor.seen).toMatchObject([
      { method: 'POST', path: '/v1/skills/one?beta=true&a=b', body: '{"model":"claude-sonnet-4-5",  "x":1.0}' },
    ])
    const { headers } = vendor.seen[0]!
    expect(headers).toMatchObject({ 'x-api-key': 'key-of-the-gateway', 'anthropic-beta': 'skills-1' })
    expect(JSON.stringify(headers)).not.toContain(key)
    expect(await lastRow()).toMatchObject({
      operation: 'pass-through',
      route: '/passthrough/anthropic',
      status: 200,
      provider: 'anthropic',
      input_tokens: 1000,
      output_tokens: 100,
      cost_nano_usd: '4500000',
    })
  },
)

test('a stream is passed on byte for byte, and its usage is found', async () => {
  const answer = await ask('/anthropic/v1/streamed')
  expect(answer.headers.get('content-type')).toBe('text/event-stream')
  expect(await answer.text()).toEndWith('event: message_stop\ndata: {"type":"message_stop"}\n\n')
  expect(await lastRow()).toMatchObject({ input_tokens: 1000, output_tokens: 100, cost_nano_usd: '4500000' })
})

test('an answer whose shape is not known has no usage and no cost, and is charged what was reserved', async () => {
  expect(await (await ask('/anthropic/v1/odd')).text()).toBe('<odd/>')
  const row = await lastRow()
  expect(row).toMatchObject({ status: 200, input_tokens: null, cost_nano_usd: null, usage_source: 'none' })
  expect(Number(row.budget_nano_usd)).toBeGreaterThan(0)
})

test("a vendor's refusal comes back as it is, and costs nothing; nor does reading", async () => {
  const refused = await ask('/anthropic/v1/refused')
  expect([refused.status, await refused.json()]).toMatchObject([422, { error: { message: 'no' } }])
  expect(await lastRow()).toMatchObject({ status: 422, budget_nano_usd: '0' })
  expect(
    (await ask('/anthropic/v1/skills/one', { method: 'GET', of: await gateway.key({ max_budget: 1 }) })).status,
  ).toBe(200)
  expect(vendor.seen.at(-1)).toMatchObject({ method: 'GET', body: '' })
  expect(await lastRow()).toMatchObject({ status: 200, budget_nano_usd: '0' })
})

test('a key reaches the models that it may call, and paths without a model only where it may call all', async () => {
  const narrow = await gateway.key({ models: ['claude'] })
  const wide = await gateway.key({ models: ['claude', 'anthropic/*'] })
  const other = await gateway.key({ models: ['mistral'] })
  expect((await ask('/anthropic/v1/skills', { of: narrow })).status).toBe(200)
  const dear = '{"model":"claude-opus-4-5"}'
  for (const [of, body, status] of [
    [narrow, dear, 403],
    [narrow, '{}', 403],
    [wide, dear, 200],
    [wide, '{}', 200],
    [other, '{}', 403],
  ] as const)
    expect([body, (await ask('/anthropic/v1/skills', { of, body })).status]).toEqual([body, status])
})

test('limits and budgets hold', async () => {
  const limited = await gateway.key({ rpm_limit: 1 })
  expect((await ask('/anthropic/v1/skills', { of: limited })).status).toBe(200)
  expect((await ask('/anthropic/v1/skills', { of: limited })).status).toBe(429)
  const sent = vendor.seen.length
  expect((await ask('/anthropic/v1/skills', { of: await gateway.key({ max_budget: 0.0000001 }) })).status).toBe(429)
  expect(vendor.seen.length).toBe(sent)
})

test('nothing is passed on for a provider that is not named, without a key, or out of the path', async () => {
  expect((await ask('/mistral/v1/ocr')).status).toBe(404)
  expect((await ask('/passthrough/mistral/v1/ocr')).status).toBe(404)
  expect((await ask('/anthropic/v1/skills', { of: 'sk-unknown-0000000000000000000' })).status).toBe(401)
  expect(await statusOf('/passthrough/anthropic/v1/%2e%2e/secret')).toBe(400)
  expect(await statusOf('/anthropic/v1/../secret')).toBe(400)
  for (const climbing of ['..\\..\\messages', '..%5c..%5cmessages', 'x%2f..%2f..%2fmessages', '..;/..;/messages'])
    expect([climbing, await statusOf(`/passthrough/anthropic/v1/models/claude-sonnet-4-5/${climbing}`)]).toEqual([
      climbing,
      400,
    ])
  expect(vendor.seen).toEqual([])
})

test('nothing is passed on past a guardrail that holds for every call', async () => {
  const guarded = await startGateway({
    config: `
model_list:
  - { model_name: claude, proxy_params: { model: anthropic/claude-sonnet-4-5, api_base: "${vendor.url}/v1", api_key: k } }
guardrails:
  - { guardrail_name: pii, proxy_params: { guardrail: personal_data, mode: pre_call, default_on: true, pii_entities_config: { EMAIL_ADDRESS: BLOCK } } }
general_settings: { pass_through_providers: [anthropic] }
`,
  })
  const answer = await fetch(`${guarded.url}/anthropic/v1/skills`, {
    method: 'POST',
    headers: { authorization: `Bearer ${await guarded.key()}` },
    body: '{}',
  })
  expect([answer.status, await answer.text()]).toEqual([403, expect.stringContaining('guardrail')])
  expect(vendor.seen).toEqual([])
  await guarded.stop()
})

test("known paths stay the gateway's own", async () => {
  const answer = await ask('/anthropic/v1/messages', { body: '{"model":"claude","max_tokens":5,"messages":[]}' })
  expect((await lastRow()).operation).not.toBe('pass-through')
  expect(answer.status).toBeGreaterThanOrEqual(400)
})

test("Anthropic's own client reaches what the gateway does not know", async () => {
  const client = new Anthropic({ baseURL: `${gateway.url}/anthropic`, authToken: key, apiKey: null, maxRetries: 0 })
  expect(await client.get('/v1/skills/skill_1')).toMatchObject({ id: 'skill_1' })
})

test('a request that names several models is refused, wherever it names them: the key may be allowed one', async () => {
  const few = await gateway.key({ models: ['claude'] })
  const bodies = {
    '/passthrough/anthropic/v1/models/claude-opus-4-5:run': '{"model":"claude-sonnet-4-5"}',
    '/passthrough/anthropic/v1/models/claude-sonnet-4-5/models/claude-opus-4-5': '{}',
    '/passthrough/anthropic/v1/run': '{"model":"claude-sonnet-4-5","model":"claude-opus-4-5"}',
  }
  for (const [path, body] of Object.entries(bodies))
    expect([path, (await ask(path, { of: few, body })).status]).toEqual([path, 400])
  const mine = '/passthrough/anthropic/v1/models/claude-sonnet-4-5'
  const form = '--b\r\ncontent-disposition: form-data; name="model"\r\n\r\nclaude-opus-4-5\r\n--b--\r\n'
  const inPath = [
    ' {"model":"claude-opus-4-5"}',
    '\ufeff{"model":"claude-opus-4-5"}',
    '{"model":["claude-opus-4-5"]}',
    '{"models":["claude-opus-4-5"]}',
    '{"requests":[{"params":{"model":"claude-opus-4-5"}}]}',
    form,
  ]
  for (const body of inPath) expect([body, (await ask(mine, { of: few, body })).status]).toEqual([body, 400])
  expect((await ask(`${mine}?model=claude-opus-4-5`, { of: few, body: '{}' })).status).toBe(400)
  expect((await ask(`${mine}:run`, { of: few, body: '{}' })).status).toBe(200)
  expect(vendor.seen.splice(0)).toHaveLength(1)
  // Forms and queries can be read in several ways: what they name allows nothing.
  const ownForm = form.replace('opus', 'sonnet')
  expect((await ask('/passthrough/anthropic/v1/run', { of: few, body: ownForm })).status).toBe(403)
  expect((await ask('/passthrough/anthropic/v1/run?model=claude-sonnet-4-5', { of: few, body: '{}' })).status).toBe(403)
  // Bedrock's names may have a colon, and differ by what stands behind it.
  expect((await ask('/passthrough/anthropic/model/claude-sonnet-4-5:1/invoke', { of: few, body: '{}' })).status).toBe(
    403,
  )
  expect((await ask('/passthrough/anthropic/v1/models/claude-opus-4-5:run', { of: few, body: '{}' })).status).toBe(403)
  expect(vendor.seen).toEqual([])
})
