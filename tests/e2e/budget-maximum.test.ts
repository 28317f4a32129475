/** The maximum of output tokens that a budget sets for a call is all that changes in it. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { startGateway } from './harness.ts'
import type { Gateway } from './harness.ts'

type Json = Record<string, unknown>

let gateway: Gateway
let key: string
const entry = (name: string, model: string, base: string) => `
  - model_name: ${name}
    proxy_params: { model: ${model}, api_base: "${base}", api_key: k, input_cost_per_token: 0.000001, output_cost_per_token: 0.0001 }`

beforeAll(async () => {
  gateway = await startGateway({
    config: `model_list:${entry('chat', 'custom_openai/up', '{simulator}/v1')}
${entry('newer', 'openai/up', '{simulator}/v1')}${entry('gem', 'gemini/up', '{simulator}')}
router_settings: { num_retries: 0 }
`,
  })
  key = await gateway.key({ max_budget: 2 })
})
afterAll(() => gateway?.stop())

async function sent(path: string, body: Json): Promise<{ tokens: number; body: Json }> {
  const before = gateway.simulator.truth.entries.length
  const response = await fetch(`${gateway.url}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}` },
    body: JSON.stringify(body),
  })
  expect([response.status, await response.text()]).toEqual([200, expect.any(String)])
  expect(response.headers.get('x-proxy-dropped-params')).toBeNull()
  const tokens = Number(response.headers.get('x-proxy-budget-max-tokens'))
  expect(tokens).toBeWithin(16, 4097)
  return { tokens, body: gateway.simulator.truth.entries[before]!.body as Json }
}

const content = [{ type: 'text', text: 'Hi', cache_control: { type: 'ephemeral' }, note: 1 }]
const messages = [{ role: 'user', content, note: { of: 'its host' } }]

test('a chat keeps what only its upstream knows', async () => {
  const body = { messages, chat_template_kwargs: { thinking: false }, max_tokens: null }
  const { tokens, body: seen } = await sent('/v1/chat/completions', { model: 'chat', ...body })
  expect(seen).toEqual({ model: 'up', ...body, max_tokens: tokens })
})

test('hosts that name the maximum otherwise get their own name of it', async () => {
  const { tokens, body: seen } = await sent('/v1/chat/completions', { model: 'newer', messages })
  expect(seen).toEqual({ model: 'up', messages, max_completion_tokens: tokens })
})

test('a Response keeps its items and settings', async () => {
  const body = {
    input: [
      { role: 'user', content: 'Where?' },
      { type: 'web_search_call', id: 'ws_1', status: 'completed', action: { type: 'search', query: 'where' } },
      { role: 'user', content: 'There?' },
    ],
    text: { verbosity: 'low' },
    truncation: 'auto',
  }
  const { tokens, body: seen } = await sent('/v1/responses', { model: 'newer', ...body })
  expect(seen).toEqual({ model: 'up', ...body, max_output_tokens: tokens })
})

test('a Gemini call keeps its configuration', async () => {
  const body = { contents: [{ role: 'user', parts: [{ text: 'Hi', partMetadata: { a: 1 } }] }] }
  const path = '/v1beta/models/gem:generateContent'
  const { tokens, body: seen } = await sent(path, { ...body, generation_config: { top_p: 0.5 } })
  expect(seen).toEqual({ ...body, generation_config: { topP: 0.5, maxOutputTokens: tokens } })
  const plain = await sent(path, body)
  expect(plain.body).toEqual({ ...body, generationConfig: { maxOutputTokens: plain.tokens } })
})

test('a chat with two maxima is sent with that which budgets count, under both names', async () => {
  const body = { model: 'chat', messages: [{ role: 'user', content: 'Hi' }], max_completion_tokens: 20 }
  for (const more of [{ max_tokens: 100_000 }, { max_tokens: 100_000, tools: [] }, { max_tokens: null }]) {
    const response = await fetch(`${gateway.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}` },
      body: JSON.stringify({ ...body, ...more }),
    })
    expect(response.status).toBe(200)
    expect(gateway.simulator.truth.last()!.body).toMatchObject({ max_tokens: 20, max_completion_tokens: 20 })
  }
})

test('a text completion is asked for so much', async () => {
  const { tokens, body: seen } = await sent('/v1/completions', { model: 'chat', prompt: 'Hi', echo: true })
  expect(seen).toEqual({ model: 'up', prompt: 'Hi', echo: true, max_tokens: tokens })
})

const video = [{ role: 'user', content: [{ type: 'video_url', video_url: { url: 'https://example.com/a.mp4' } }] }]

test('what only its upstream can read is sent there, with a maximum, or refused where the budget is spent', async () => {
  const chat = await sent('/v1/chat/completions', { model: 'chat', messages: video })
  expect(chat.body).toEqual({ model: 'up', messages: video, max_tokens: chat.tokens })
  const shell = { type: 'local_shell_call', id: 's', call_id: 'c', status: 'completed', action: { type: 'exec' } }
  const input = [
    { role: 'user', content: 'Go' },
    shell,
    { type: 'local_shell_call_output', call_id: 'c', output: 'ok' },
  ]
  const response = await sent('/v1/responses', { model: 'newer', input })
  expect(response.body).toEqual({ model: 'up', input, max_output_tokens: response.tokens })
  const spent = await gateway.key({ max_budget: 0 })
  const refused = await fetch(`${gateway.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${spent}` },
    body: JSON.stringify({ model: 'chat', messages: video, max_tokens: 5 }),
  })
  expect(refused.status).toBe(429)
})
