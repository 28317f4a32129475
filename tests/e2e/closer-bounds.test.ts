/** A long prompt needs room for what it costs, and not for a token a byte. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { startGateway } from './harness.ts'
import type { Gateway } from './harness.ts'
import { Tokenizer } from '../../src/lib/tokens/tokenizer.ts'

let gateway: Gateway
const entry = (name: string, model: string, base: string) => `
  - model_name: ${name}
    proxy_params: { model: ${model}, api_base: "${base}", api_key: k, input_cost_per_token: 0.00001, output_cost_per_token: 0.00001 }`

const sentence = 'The tenant shall permit the landlord to enter; nothing in this paragraph waives any other covenant.\n'
const prompt = sentence.repeat(Math.ceil(400_000 / sentence.length))
const outputTokens = 100
/** Of the prompt by the vocabulary of GPT models. */
let inputTokens = 0

beforeAll(async () => {
  gateway = await startGateway({
    config: `model_list:${entry('gpt', 'openai/gpt-4o', '{simulator}/v1')}
${entry('claude', 'anthropic/claude-sonnet-4-5', '{simulator}')}
router_settings: { num_retries: 0 }
`,
  })
  const tokenizer = new Tokenizer()
  const [tokens] = (await tokenizer.count('o200k_base', [prompt], 'a'))!
  inputTokens = tokens!
  tokenizer.stop()
  // Reading the vocabulary takes a busy machine longer than a call waits.
  expect((await ask(await gateway.key({}), '/utils/token_counter', { model: 'gpt', prompt: 'Hi' })).status).toBe(200)
})
afterAll(() => gateway?.stop())

const priceOf = (tokens: number): number => (tokens + outputTokens) * 0.00001

async function ask(key: string, path: string, body: object) {
  const response = await fetch(`${gateway.url}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}` },
    body: JSON.stringify(body),
  })
  return { status: response.status, text: await response.text() }
}

const messages = [{ role: 'user', content: prompt }]
const chat = { model: 'gpt', messages, max_tokens: outputTokens }

test.each([
  ['a chat', '/v1/chat/completions', chat],
  ['a Response', '/v1/responses', { model: 'gpt', input: prompt, max_output_tokens: outputTokens }],
  ['a message', '/v1/messages', { model: 'gpt', messages, max_tokens: outputTokens }],
  ['a text completion', '/v1/completions', { model: 'gpt', prompt, max_tokens: outputTokens }],
])('%s of 400 KB passes with 1.3 times its price, and not with 0.9 times', async (_, path, body) => {
  const before = gateway.simulator.truth.entries.length
  const poor = await ask(await gateway.key({ max_budget: priceOf(inputTokens) * 0.9 }), path, body)
  expect([poor.status, poor.text]).toEqual([429, expect.stringContaining('budget')])
  expect(gateway.simulator.truth.entries.length).toBe(before)
  const rich = await ask(await gateway.key({ max_budget: priceOf(inputTokens) * 1.3 }), path, body)
  expect([rich.status, rich.text]).toEqual([200, expect.any(String)])
})

test('a budget of one model has room for it too', async () => {
  const budget = {
    max_budget: 100,
    model_max_budget: { gpt: { budget_limit: priceOf(inputTokens) * 1.3, time_period: '1d' } },
  }
  expect((await ask(await gateway.key(budget), '/v1/chat/completions', chat)).status).toBe(200)
})

test('without a maximum it gets one that fits beside its input', async () => {
  const key = await gateway.key({ max_budget: priceOf(inputTokens) * 1.3 })
  const answer = await ask(key, '/v1/chat/completions', { model: 'gpt', messages })
  expect([answer.status, answer.text]).toEqual([200, expect.any(String)])
})

test('a model whose vocabulary is not public needs room by the largest ratio of its kind of text', async () => {
  const body = { ...chat, model: 'claude' }
  const key = await gateway.key({ max_budget: priceOf(prompt.length * 0.65) })
  expect((await ask(key, '/v1/chat/completions', body)).status).toBe(200)
})

test("several at the same time do not stand in one another's way", async () => {
  const key = await gateway.key({ max_budget: priceOf(inputTokens) * 6 })
  const answers = await Promise.all(Array.from({ length: 4 }, () => ask(key, '/v1/chat/completions', chat)))
  expect(answers.map(one => one.status)).toEqual([200, 200, 200, 200])
})
