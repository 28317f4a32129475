/** Callers' own credentials of vendors: where they go, where they do not, and what is charged. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import { masterKey, startGateway } from './harness.ts'
import type { Gateway } from './harness.ts'

const token = 'sk-ant-oat01-canary-of-a-subscriber-7f3e'
const ownKey = 'sk-proj-canary-of-a-person-91bc'

interface Seen {
  readonly path: string
  readonly headers: Record<string, string>
}

const errorTypes: Readonly<Record<number, string>> = {
  401: 'authentication_error',
  403: 'permission_error',
  429: 'rate_limit_error',
  529: 'overloaded_error',
}

/** An upstream that speaks Messages and chat, and keeps the heads of what it was sent. */
function startVendor() {
  const seen: Seen[] = []
  let status = 200
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    async fetch(request) {
      const { pathname } = new URL(request.url)
      seen.push({ path: pathname, headers: Object.fromEntries(request.headers) })
      const { model, stream } = (await request.json()) as { model: string; stream?: boolean }
      if (status !== 200) {
        const said = request.headers.get('authorization') ?? request.headers.get('x-api-key')
        return Response.json(
          { type: 'error', error: { type: errorTypes[status], message: `Not with ${said}` } },
          { status, headers: status === 307 ? { location: 'http://127.0.0.1:9/elsewhere' } : { 'retry-after': '7' } },
        )
      }
      if (!pathname.endsWith('/messages'))
        return Response.json({
          id: 'chatcmpl-1',
          object: 'chat.completion',
          created: 1,
          model,
          choices: [{ index: 0, message: { role: 'assistant', content: 'hi' }, finish_reason: 'stop' }],
          usage: { prompt_tokens: 1000, completion_tokens: 100, total_tokens: 1100 },
        })
      const message = {
        id: 'msg_1',
        type: 'message',
        role: 'assistant',
        model,
        content: [{ type: 'text', text: 'hi' }],
        stop_reason: 'end_turn',
        stop_sequence: null,
        usage: { input_tokens: 1000, output_tokens: 100 },
      }
      if (!stream) return Response.json(message)
      const events = [
        { type: 'message_start', message: { ...message, content: [], stop_reason: null } },
        { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
        { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'hi' } },
        { type: 'content_block_stop', index: 0 },
        {
          type: 'message_delta',
          delta: { stop_reason: 'end_turn', stop_sequence: null },
          usage: { output_tokens: 100 },
        },
        { type: 'message_stop' },
      ]
      const text = events.map(one => `event: ${one.type}\ndata: ${JSON.stringify(one)}\n\n`).join('')
      return new Response(text, { headers: { 'content-type': 'text/event-stream' } })
    },
  })
  return {
    url: `http://127.0.0.1:${server.port}`,
    seen,
    answer: (code: number) => void (status = code),
    stop: () => server.stop(true),
  }
}

let anthropic: ReturnType<typeof startVendor>
let openai: ReturnType<typeof startVendor>
let gateway: Gateway
let key: string

const prices = 'input_cost_per_token: 0.000003, output_cost_per_token: 0.000015'
beforeAll(async () => {
  anthropic = startVendor()
  openai = startVendor()
  const claude = `model: anthropic/claude-sonnet-4-5, api_base: "${anthropic.url}", ${prices}`
  const gpt = `model: openai/gpt-4.1, api_base: "${openai.url}/v1", ${prices}`
  gateway = await startGateway({
    config: `
model_list:
  - { model_name: own, proxy_params: { ${claude}, forward_client_credentials: [anthropic] } }
  - { model_name: both, proxy_params: { ${claude}, api_key: key-of-the-gateway, forward_client_credentials: [anthropic, openai] }, model_info: { id: both-own } }
  - { model_name: both, proxy_params: { ${claude}, api_key: key-of-the-gateway }, model_info: { id: both-paid } }
  - { model_name: paid, proxy_params: { ${claude}, api_key: key-of-the-gateway } }
  - { model_name: own-gpt, proxy_params: { ${gpt}, organization: org-of-the-gateway, forward_client_credentials: [openai] } }
  - { model_name: falls, proxy_params: { ${claude}, forward_client_credentials: [anthropic] } }
  - { model_name: paid-gpt, proxy_params: { ${gpt}, api_key: key-of-the-gateway, forward_client_credentials: [openai] } }
  - { model_name: azure-gpt, proxy_params: { model: azure/x, api_base: "${openai.url}", api_version: "2025-01-01", ${prices}, forward_client_credentials: [azure] } }
router_settings: { num_retries: 1, fallbacks: [{ falls: [paid-gpt] }] }
settings: { cache: true, cache_params: { type: local } }
general_settings: { store_prompts_in_spend_logs: true }
`,
  })
  key = await gateway.key({ max_budget: 1 })
})
afterAll(async () => {
  await gateway?.stop()
  anthropic?.stop()
  openai?.stop()
})
beforeEach(() => {
  for (const vendor of [anthropic, openai]) {
    vendor.answer(200)
    vendor.seen.length = 0
  }
})

const send = (path: string, model: string, headers: Record<string, string>, text: string = crypto.randomUUID()) =>
  fetch(`${gateway.url}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ model, max_tokens: 50, messages: [{ role: 'user', content: text }] }),
  })
const subscriber = () => ({ 'x-proxy-api-key': `Bearer ${key}`, authorization: `Bearer ${token}` })
const lastRow = async () => (await gateway.rows())[0]!
const spent = async () => {
  const answer = await gateway.admin(`/key/info?key=${encodeURIComponent(key)}`)
  return ((await answer.json()) as { info: { spend: number } }).info.spend
}

describe('what is no credential of the vendor', () => {
  test('a key of the gateway, of whomever, is shown to no vendor', async () => {
    const other = await gateway.key()
    for (const given of [other, masterKey, `Bearer ${other}`])
      for (const header of ['authorization', 'x-api-key'])
        for (const model of ['own', 'both', 'falls']) {
          const value = header === 'authorization' && !given.startsWith('Bearer') ? `Bearer ${given}` : given
          const answer = await send('/v1/messages', model, { 'x-proxy-api-key': key, [header]: value })
          expect([header, model, answer.status, await answer.text()]).toEqual([
            header,
            model,
            400,
            expect.stringContaining('a key of this gateway'),
          ])
        }
    expect([...anthropic.seen, ...openai.seen]).toEqual([])
  })

  test("a key in OpenAI's form is not shown to Anthropic, in whichever header it comes", async () => {
    const answer = await send('/v1/messages', 'own', { 'x-proxy-api-key': key, 'x-api-key': ownKey })
    expect([answer.status, anthropic.seen]).toEqual([401, []])
  })
})

test('files go to no deployment that only own credentials serve: it has none for them', async () => {
  const body = new FormData()
  body.set('purpose', 'batch')
  body.set('model', 'own-gpt')
  const line = {
    custom_id: 'a',
    method: 'POST',
    url: '/v1/chat/completions',
    body: { model: 'own-gpt', messages: [{ role: 'user', content: 'x' }] },
  }
  body.set('file', new File([JSON.stringify(line)], 'a.jsonl'))
  const headers = { 'x-proxy-api-key': key, authorization: `Bearer ${ownKey}` }
  const answer = await fetch(`${gateway.url}/v1/files`, { method: 'POST', headers, body })
  expect([answer.status, await answer.text(), openai.seen]).toEqual([
    400,
    expect.stringContaining('takes no files'),
    [],
  ])
})

describe("a subscriber's token", () => {
  test.each([
    ['x-proxy-api-key', false],
    ['x-litellm-api-key', true],
  ])("goes upstream beside the gateway's key in %s, from Anthropic's own client", async (header, stream) => {
    const client = new Anthropic({
      baseURL: gateway.url,
      authToken: token,
      apiKey: null,
      maxRetries: 0,
      defaultHeaders: { [header]: `Bearer ${key}`, 'anthropic-beta': 'oauth-2025-04-20,fine-1' },
    })
    const asked = { model: 'own', max_tokens: 50, messages: [{ role: 'user' as const, content: 'Hello' }] }
    const message = stream ? await client.messages.stream(asked).finalMessage() : await client.messages.create(asked)
    expect(message.content).toMatchObject([{ type: 'text', text: 'hi' }])
    const { headers } = anthropic.seen.at(-1)!
    expect(headers.authorization).toBe(`Bearer ${token}`)
    expect(headers['anthropic-beta']).toBe('oauth-2025-04-20,fine-1')
    expect(headers['x-api-key']).toBeUndefined()
    expect(JSON.stringify(headers)).not.toContain(key)
    const row = await lastRow()
    expect(row).toMatchObject({
      status: 200,
      paid_by: 'caller',
      cost_nano_usd: '0',
      caller_cost_nano_usd: '4500000',
      input_tokens: 1000,
      output_tokens: 100,
    })
    expect(await spent()).toBe(0)
  })

  test("wins over the gateway's key, and is told that it is a subscriber's", async () => {
    for (let at = 0; at < 6; at++) expect((await send('/v1/messages', 'both', subscriber())).status).toBe(200)
    expect(anthropic.seen.map(({ headers }) => headers.authorization)).toEqual(Array(6).fill(`Bearer ${token}`))
    expect(anthropic.seen.every(({ headers }) => headers['anthropic-beta'] === 'oauth-2025-04-20')).toBe(true)
    expect(anthropic.seen.some(({ headers }) => headers['x-api-key'] === 'key-of-the-gateway')).toBe(false)
  })

  test("without one the gateway's own key is used where there is one, and is charged", async () => {
    const before = await spent()
    expect((await send('/v1/messages', 'both', { authorization: `Bearer ${key}` })).status).toBe(200)
    expect((await send('/v1/messages', 'both', { 'x-proxy-api-key': key, 'x-api-key': key })).status).toBe(200)
    for (const { headers } of anthropic.seen) expect(headers['x-api-key']).toBe('key-of-the-gateway')
    expect(await lastRow()).toMatchObject({ paid_by: null, caller_cost_nano_usd: null, cost_nano_usd: '4500000' })
    expect(await spent()).toBeCloseTo(before + 0.009)
  })

  test('where there is none, the answer says what to send, and nothing is sent', async () => {
    for (const headers of [{ authorization: `Bearer ${key}` }, { 'x-proxy-api-key': key }] as Record<
      string,
      string
    >[]) {
      const answer = await send('/v1/messages', 'own', headers)
      expect([answer.status, await answer.text()]).toEqual([401, expect.stringContaining('x-proxy-api-key')])
    }
    expect(anthropic.seen).toEqual([])
  })

  test("reaches Anthropic on OpenAI's dialect too, translated", async () => {
    expect((await send('/v1/chat/completions', 'own', subscriber())).status).toBe(200)
    expect(anthropic.seen[0]).toMatchObject({ path: '/v1/messages', headers: { authorization: `Bearer ${token}` } })
  })

  test('is not charged to a budget that is used up, which refuses what is charged', async () => {
    const poor = await gateway.key({ max_budget: 0.000001 })
    const answer = await send('/v1/messages', 'own', { 'x-proxy-api-key': poor, authorization: `Bearer ${token}` })
    expect(answer.status).toBe(200)
    expect((await send('/v1/messages', 'paid', { authorization: `Bearer ${poor}` })).status).toBe(429)
  })

  test('counts in the limits of the key', async () => {
    const limited = await gateway.key({ rpm_limit: 1 })
    const headers = { 'x-proxy-api-key': limited, authorization: `Bearer ${token}` }
    expect((await send('/v1/messages', 'own', headers)).status).toBe(200)
    expect((await send('/v1/messages', 'own', headers)).status).toBe(429)
  })

  test('its answers are not shared by the cache', async () => {
    const text = 'the same words'
    for (let at = 0; at < 2; at++) expect((await send('/v1/messages', 'both', subscriber(), text)).status).toBe(200)
    expect((await send('/v1/messages', 'both', { authorization: `Bearer ${key}` }, text)).status).toBe(200)
    expect(anthropic.seen.length).toBe(3)
  })
})

describe('never goes to another vendor', () => {
  test('to a model that takes no credentials, in a fallback, or in the dialect of another', async () => {
    expect((await send('/v1/messages', 'paid', subscriber())).status).toBe(200)
    expect(anthropic.seen[0]!.headers).toMatchObject({ 'x-api-key': 'key-of-the-gateway' })
    expect(JSON.stringify(anthropic.seen)).not.toContain(token)
    anthropic.answer(529)
    const fallen = await send('/v1/messages', 'falls', subscriber())
    expect(fallen.status).toBe(200)
    expect(openai.seen.at(-1)!.headers.authorization).toBe('Bearer key-of-the-gateway')
    expect(await lastRow()).toMatchObject({ cost_nano_usd: '4500000' })
    for (const path of ['/v1/messages', '/v1/chat/completions']) {
      const answer = await send(path, 'own-gpt', subscriber())
      expect([answer.status, await answer.text()]).toEqual([401, expect.stringContaining('of anthropic')])
    }
    expect(JSON.stringify(openai.seen)).not.toContain(token)
  })

  test('by a redirect', async () => {
    anthropic.answer(307)
    expect((await send('/v1/messages', 'own', subscriber())).status).toBe(502)
  })
})

test("a person's own key of OpenAI goes there with their organization, from OpenAI's client", async () => {
  const client = new OpenAI({
    baseURL: `${gateway.url}/v1`,
    apiKey: ownKey,
    organization: 'org-of-the-person',
    maxRetries: 0,
    defaultHeaders: { 'x-proxy-api-key': key },
  })
  const { choices } = await client.chat.completions.create({
    model: 'own-gpt',
    messages: [{ role: 'user', content: 'Hello' }],
  })
  expect(choices[0]!.message.content).toBe('hi')
  const { headers } = openai.seen[0]!
  expect([headers.authorization, headers['openai-organization']]).toEqual([`Bearer ${ownKey}`, 'org-of-the-person'])
  expect(
    (
      await send('/openai/deployments/azure-gpt/chat/completions', 'azure-gpt', {
        'x-proxy-api-key': key,
        'api-key': 'own-azure',
      })
    ).status,
  ).toBe(200)
  expect(openai.seen.at(-1)!.headers['api-key']).toBe('own-azure')
})

describe('what the vendor says against it', () => {
  test('is told with its status, shows nothing of it, and counts against no deployment', async () => {
    for (const status of [401, 403, 429]) {
      anthropic.answer(status)
      for (let at = 0; at < 5; at++) {
        const answer = await send('/v1/messages', 'both', subscriber())
        const text = await answer.text()
        expect([answer.status, text.includes(token)]).toEqual([status, false])
      }
    }
    anthropic.answer(200)
    for (let at = 0; at < 4; at++)
      expect((await send('/v1/messages', 'both', { authorization: `Bearer ${key}` })).status).toBe(200)
  })
})

test('is nowhere kept', async () => {
  anthropic.answer(401)
  await send('/v1/messages', 'own', subscriber())
  anthropic.answer(200)
  await send('/v1/messages', 'own', subscriber())
  const rows = JSON.stringify(await gateway.rows())
  expect(rows).not.toContain(token)
  const files = readdirSync(gateway.dataDirectory, { recursive: true, withFileTypes: true }).filter(one => one.isFile())
  expect(files.length).toBeGreaterThan(0)
  for (const file of files) {
    const bytes = readFileSync(join(file.parentPath, file.name))
    expect([file.name, bytes.includes('canary-of-a')]).toEqual([file.name, false])
  }
})
