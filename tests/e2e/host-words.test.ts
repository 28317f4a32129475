/** Words of single hosts: counts of logprobs, settings of searches, allowed tools, contents as texts alone. */
import { afterAll, beforeAll, beforeEach, expect, test } from 'bun:test'
import { startGateway } from './harness.ts'
import type { Gateway } from './harness.ts'

type Json = Record<string, any>

const models = [
  'groq/groq/compound',
  'groq/openai/gpt-oss-120b',
  'together_ai/llama',
  'fireworks_ai/llama',
  'openai/gpt-4o',
  'openai/gpt-5-mini',
  'deepseek/deepseek-chat',
  'sambanova/DeepSeek-V3.1',
  'moonshot/kimi-k2',
  'xai/grok-4.6',
]
const config = `
model_list:
${models
  .map(
    model => `  - { model_name: ${model}, proxy_params: { model: ${model}, api_base: "{simulator}/v1", api_key: k } }`,
  )
  .join('\n')}
  - { model_name: claude, proxy_params: { model: anthropic/claude-sonnet-4-5, api_base: "{simulator}", api_key: k } }
  - { model_name: gemini, proxy_params: { model: gemini/gemini-2.5-flash, api_base: "{simulator}", api_key: k } }
router_settings: { num_retries: 0 }
`

let gateway: Gateway
let key: string
beforeAll(async () => {
  gateway = await startGateway({ config })
  key = await gateway.key()
})
beforeEach(() => gateway.simulator.reset())
afterAll(() => gateway?.stop())

async function ask(path: string, body: object): Promise<{ status: number; text: string; dropped: string | null }> {
  const response = await fetch(gateway.url + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  return {
    status: response.status,
    text: await response.text(),
    dropped: response.headers.get('x-proxy-dropped-params'),
  }
}
const chat = (model: string, more: object) =>
  ask('/v1/chat/completions', { model, messages: [{ role: 'user', content: 'hi' }], ...more })
const sent = (): Json => gateway.simulator.truth.last()!.body as Json

/** [model, what the client says, the fields that the upstream gets, what is named]. */
test.each<[string, Json, Json, string | null]>([
  ['together_ai/llama', { logprobs: 3 }, { logprobs: 3 }, null],
  ['together_ai/llama', { logprobs: true, top_logprobs: 2 }, { logprobs: 2 }, null],
  ['fireworks_ai/llama', { logprobs: 3 }, { logprobs: 3 }, null],
  ['fireworks_ai/llama', { logprobs: true, top_logprobs: 2 }, { logprobs: true, top_logprobs: 2 }, null],
  ['openai/gpt-4o', { logprobs: 3 }, { logprobs: true, top_logprobs: 3 }, null],
  ['openai/gpt-4o', { logprobs: 0 }, { logprobs: true }, null],
  ['openai/gpt-4o', { logprobs: 3, top_logprobs: 1 }, { logprobs: true, top_logprobs: 1 }, null],
  ['openai/gpt-5-mini', { logprobs: 3 }, {}, 'logprobs'],
  ['groq/openai/gpt-oss-120b', { logprobs: 3 }, {}, 'logprobs'],
])('%s: %j', async (model, more, expected, dropped) => {
  const answer = await chat(model, more)
  expect([answer.status, answer.dropped]).toEqual([200, dropped])
  const { logprobs, top_logprobs } = sent()
  expect(JSON.parse(JSON.stringify({ logprobs, top_logprobs }))).toEqual(expected)
})

test('a count of logprobs reaches an upstream of another dialect, and one that is none is refused', async () => {
  await chat('gemini', { logprobs: 4 })
  expect(sent().generationConfig).toMatchObject({ responseLogprobs: true, logprobs: 4 })
  for (const logprobs of [21, -1, 1.5, 'yes']) expect((await chat('openai/gpt-4o', { logprobs })).status).toBe(422)
})

test('what restricts the searches of Groq reaches it; what widens them does not', async () => {
  const settings = { include_domains: ['x.example'], country: 'germany', include_images: true }
  expect(await chat('groq/groq/compound', { search_settings: settings })).toMatchObject({
    status: 200,
    dropped: 'search_settings.include_images',
  })
  expect(sent().search_settings).toEqual({ include_domains: ['x.example'], country: 'germany' })
  // Another host would search everywhere.
  expect((await chat('openai/gpt-4o', { search_settings: settings })).status).toBe(422)
})

test('a search that a chat asks for is the search of Claude', async () => {
  const options = {
    search_context_size: 'low',
    user_location: { type: 'approximate', approximate: { country: 'DE', city: 'Jena' } },
    filters: { allowed_domains: ['x.example'] },
  }
  const tools = [{ type: 'function', function: { name: 'f', parameters: { type: 'object', properties: {} } } }]
  expect(await chat('claude', { web_search_options: options, tools })).toMatchObject({ status: 200, dropped: null })
  expect(sent().tools).toEqual([
    { name: 'f', input_schema: { type: 'object', properties: {} } },
    {
      type: 'web_search_20250305',
      name: 'web_search',
      max_uses: 1,
      user_location: { type: 'approximate', city: 'Jena', country: 'DE' },
      allowed_domains: ['x.example'],
    },
  ])
  await chat('claude', { web_search_options: {} })
  expect(sent().tools).toEqual([{ type: 'web_search_20250305', name: 'web_search' }])
})

const named = (name: string) => ({
  type: 'function',
  function: { name, parameters: { type: 'object', properties: {} } },
})
const allowed = (mode: string, ...names: string[]) => ({
  type: 'allowed_tools',
  allowed_tools: { mode, tools: names.map(name => ({ type: 'function', function: { name } })) },
})

test('of the tools only the allowed ones are offered where a host has no word for it', async () => {
  const tools = ['a', 'b', 'c'].map(named)
  for (const mode of ['auto', 'required'])
    for (const model of ['groq/openai/gpt-oss-120b', 'together_ai/llama', 'deepseek/deepseek-chat', 'xai/grok-4.6']) {
      expect(await chat(model, { tools, tool_choice: allowed(mode, 'b', 'c') })).toMatchObject({ dropped: null })
      expect([model, sent().tool_choice, sent().tools.map((one: Json) => one.function.name)]).toEqual([
        model,
        mode,
        ['b', 'c'],
      ])
    }
  await chat('openai/gpt-4o', { tools, tool_choice: allowed('auto', 'b') })
  expect([sent().tools.length, sent().tool_choice]).toEqual([3, allowed('auto', 'b')])
})

test('the same in Responses', async () => {
  const tools = ['a', 'b'].map(name => ({ type: 'function', name, parameters: { type: 'object', properties: {} } }))
  const choice = { type: 'allowed_tools', mode: 'required', tools: [{ type: 'function', name: 'b' }] }
  const body = { input: 'hi', tools, tool_choice: choice, store: false }
  expect((await ask('/v1/responses', { model: 'xai/grok-4.6', ...body })).status).toBe(200)
  expect([sent().tool_choice, sent().tools.map((one: Json) => one.name)]).toEqual(['required', ['b']])
  await ask('/v1/responses', { model: 'openai/gpt-4o', ...body })
  expect([sent().tool_choice, sent().tools.length]).toEqual([choice, 2])
})

test('parts that are all text are one text where a host takes no parts', async () => {
  const part = (text: string) => ({ type: 'text', text })
  const messages = [
    { role: 'system', content: [part('be'), part('kind')] },
    { role: 'user', name: 'bob', content: [part('a\n'), part('b')] },
  ]
  for (const model of ['deepseek/deepseek-chat', 'sambanova/DeepSeek-V3.1', 'moonshot/kimi-k2']) {
    expect([model, (await chat(model, { messages })).status]).toEqual([model, 200])
    expect(sent().messages.map((one: Json) => one.content)).toEqual(['be\nkind', 'a\nb'])
  }
  await chat('together_ai/llama', { messages })
  expect(sent().messages[1].content).toEqual([part('a\n'), part('b')])
  // Groq has no names.
  expect((await chat('groq/openai/gpt-oss-120b', { messages })).dropped).toBe('messages.name')
})
