/**
 * Two tool turns of Claude Code through every host of the catalogue, each refusing what its row of the tables says, and
 * the same conversation in OpenAI's dialect, whose bytes are forwarded.
 */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import Anthropic from '@anthropic-ai/sdk'
import { catalog } from '../../src/providers/catalog.ts'
import type { CompatibleRow } from '../../src/providers/openai-compatible/row.ts'
import {
  claudeCodeHeaders,
  claudeCodeQuery,
  claudeCodeRequest,
  claudeCodeResult,
  claudeCodeStart,
} from './claude-code-requests.ts'
import { startGateway } from '../e2e/harness.ts'
import type { Gateway } from '../e2e/harness.ts'

type Json = Record<string, any>

/** Of hosts with rules the models that differ; of all others one. */
const models: Readonly<Record<string, readonly string[]>> = {
  openai: ['gpt-4o', 'o3', 'gpt-5', 'gpt-5.1', 'gpt-5.6-sol', 'gpt-6-astra'],
  text_completion_openai: ['gpt-4o'],
  groq: ['llama-3.3-70b-versatile', 'openai/gpt-oss-120b', 'qwen/qwen3-32b'],
  cerebras: ['llama-4-scout', 'gpt-oss-120b', 'zai-glm-4.7'],
  fireworks_ai: [
    'accounts/fireworks/models/glm-5',
    'accounts/fireworks/models/kimi-k2p6',
    'accounts/fireworks/models/llama-v3p3-70b',
  ],
  together_ai: ['openai/gpt-oss-120b', 'deepseek-ai/DeepSeek-V4-Pro', 'meta-llama/Llama-3.3-70B-Instruct-Turbo'],
  xai: ['grok-4.5', 'grok-4.3', 'grok-4.20-0309-reasoning', 'grok-3-mini', 'grok-4-fast-non-reasoning'],
  deepseek: ['deepseek-flash', 'deepseek-v4-pro'],
  moonshot: ['kimi-k2-thinking'],
  perplexity: ['sonar-pro', 'openai/gpt-5.5'],
}

const hosts = Object.entries(catalog as Readonly<Record<string, CompatibleRow>>)
  .filter(([, row]) => row.chat !== false)
  .flatMap(([host]) => (models[host] ?? ['some-model']).map(model => ({ host, model, name: `${host}/${model}` })))

const config = `
model_list:
${hosts
  .map(
    ({ host, model, name }) =>
      `  - { model_name: "${name}", proxy_params: { model: "${host}/${model}", api_base: "{simulator}/host/${refusing(host)}/v1", api_key: k } }`,
  )
  .join('\n')}
router_settings: { num_retries: 0 }
`

/** Both names of OpenAI refuse alike. */
function refusing(host: string): string {
  return host === 'text_completion_openai' ? 'openai' : host
}

let gateway: Gateway
let client: Anthropic
let key: string
beforeAll(async () => {
  gateway = await startGateway({ config })
  key = await gateway.key()
  client = new Anthropic({ baseURL: gateway.url, apiKey: key, maxRetries: 0, defaultHeaders: claudeCodeHeaders })
})
beforeEach(() => gateway.simulator.reset())
afterAll(() => gateway?.stop())

const sent = (): Json[] => gateway.simulator.truth.entries.map(({ body }) => body as Json)
const assistants = (body: Json): Json[] => body.messages.filter(({ role }: Json) => role === 'assistant')

/** The model reads two files, one after the other, and thinks before each. */
function scripted(): void {
  const read = (file: string) => ({
    reasoning: `I read ${file}`,
    toolCalls: [{ name: 'Read', arguments: { file_path: file } }],
    times: 1,
  })
  const has = (text: string) => (request: { body: unknown }) => JSON.stringify(request.body).includes(text)
  const hasNot = (text: string) => (request: { body: unknown }) => !has(text)(request)
  gateway.simulator.script(hasNot('content of a'), read('a.txt'))
  gateway.simulator.script(request => has('content of a')(request) && hasNot('content of b')(request), read('b.txt'))
  gateway.simulator.script(has('content of b'), { text: 'both are read', times: 1 })
}

describe('Claude Code', () => {
  test.each(hosts)('$name: two tool turns, then the answer', async ({ name }) => {
    scripted()
    const messages = [...claudeCodeStart]
    for (const file of ['a', 'b']) {
      const answer = await client.messages
        .stream(claudeCodeRequest(name, messages), { query: claudeCodeQuery })
        .finalMessage()
      expect(answer.stop_reason).toBe('tool_use')
      messages.push({ role: 'assistant', content: answer.content as Anthropic.ContentBlockParam[] })
      messages.push(claudeCodeResult(answer, `content of ${file}`))
    }
    const last = await client.messages
      .stream(claudeCodeRequest(name, messages), { query: claudeCodeQuery })
      .finalMessage()
    expect([last.stop_reason, JSON.stringify(last.content)]).toEqual(['end_turn', expect.stringContaining('both are')])
    expect(sent()).toHaveLength(3)
    expect(JSON.stringify(sent())).not.toMatch(/thinking_blocks|cache_control|context_management|billing/)
  })

  /** console.groq.com/docs/reasoning, and the threads that `rules/hosts.ts` names. */
  test.each([
    ['groq/llama-3.3-70b-versatile', undefined],
    ['groq/openai/gpt-oss-120b', 'reasoning'],
    ['cerebras/zai-glm-4.7', 'reasoning'],
    ['fireworks_ai/accounts/fireworks/models/glm-5', 'reasoning_content'],
    ['deepseek/deepseek-v4-pro', 'reasoning_content'],
  ] as const)('%s gets earlier thinking as %p', async (name, member) => {
    scripted()
    const first = await client.messages.stream(claudeCodeRequest(name, claudeCodeStart)).finalMessage()
    const turns = [
      ...claudeCodeStart,
      { role: 'assistant' as const, content: first.content as Anthropic.ContentBlockParam[] },
      claudeCodeResult(first, 'content of a'),
    ]
    const stream = client.messages.stream(claudeCodeRequest(name, turns))
    await stream.finalMessage()
    const [assistant] = assistants(sent()[1]!)
    const members = ['reasoning', 'reasoning_content'].filter(one => one in assistant!)
    expect(members).toEqual(member === undefined ? [] : [member])
    const dropped = stream.response!.headers.get('x-proxy-dropped-params')!.split(',')
    expect(dropped.includes('messages.reasoning_content')).toBe(member === undefined)
  })
})

test('the refusals are on: what the gateway does not change is refused', async () => {
  const refusal = async (host: string, model: string, more: object) => {
    const response = await fetch(`${gateway.simulator.url.replace(/\/$/, '')}/host/${host}/v1/chat/completions`, {
      method: 'POST',
      body: JSON.stringify({ model, messages: [{ role: 'user', content: 'hi' }], ...more }),
    })
    return [response.status, await response.text()]
  }
  const thinking = {
    messages: [
      { role: 'user', content: 'hi' },
      { role: 'assistant', content: 'hello', reasoning_content: 'hm' },
    ],
  }
  expect(await refusal('groq', 'llama-3.3-70b-versatile', thinking)).toEqual([
    400,
    expect.stringContaining(
      "'messages.1' : for 'role:assistant' the following must be satisfied[('messages.1' : property " +
        "'reasoning_content' is unsupported)]",
    ),
  ])
  expect(await refusal('cerebras', 'gpt-oss-120b', thinking)).toEqual([
    400,
    JSON.stringify({
      message:
        "messages.1.assistant.reasoning_content: property 'messages.1.assistant.reasoning_content' is unsupported",
      type: 'invalid_request_error',
      param: 'validation_error',
      code: 'wrong_api_format',
    }),
  ])
  const wrong: [string, string, object, RegExp][] = [
    ['groq', 'llama-3.3-70b-versatile', { logit_bias: {} }, /property 'logit_bias' is unsupported/],
    ['groq', 'qwen/qwen3-32b', { reasoning_effort: 'high' }, /must be one of 'none', 'default'/],
    ['xai', 'grok-4.20-0309-reasoning', { reasoning_effort: 'low' }, /does not support parameter reasoningEffort/],
    ['deepseek', 'deepseek-flash', { response_format: { type: 'json_schema' } }, /response_format type is unavailable/],
    ['openai', 'gpt-5', { max_tokens: 5 }, /Use 'max_completion_tokens' instead/],
    ['openai', 'gpt-5', { temperature: 0.5 }, /Supported values are: '1'/],
    ['openai', 'gpt-5.5', { temperature: 0.5, reasoning_effort: 'low' }, /Supported values are: '1'/],
    ['perplexity', 'sonar', {}, /ended on 2026-09-27/],
  ]
  for (const [host, model, more, message] of wrong)
    expect(await refusal(host, model, more)).toEqual([
      host === 'perplexity' ? 404 : 400,
      expect.stringMatching(message),
    ])
})

describe("the same in OpenAI's dialect", () => {
  const history = [
    { role: 'user', content: [{ type: 'text', text: 'read a.txt', cache_control: { type: 'ephemeral' } }] },
    {
      role: 'assistant',
      content: null,
      reasoning_content: 'I read it',
      thinking_blocks: [{ type: 'thinking', thinking: 'I read it', signature: 's' }],
      tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'Read', arguments: '{"file_path":"a.txt"}' } }],
    },
    { role: 'tool', tool_call_id: 'call_1', content: 'content of a' },
  ]
  const tools = [{ type: 'function', function: { name: 'Read', parameters: { type: 'object', properties: {} } } }]

  async function ask(model: string, more: object = {}): Promise<Response> {
    return fetch(`${gateway.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}` },
      body: JSON.stringify({ model, messages: history, tools, reasoning_effort: 'high', ...more }),
    })
  }

  test.each(hosts)('$name takes the history and the usual fields', async ({ name }) => {
    const response = await ask(name, { temperature: 0.5, logprobs: false, n: 1, max_tokens: 500, store: false })
    expect([response.status, await response.text()]).toEqual([200, expect.stringContaining('"choices"')])
  })

  test('what is removed is named, and nothing else changes', async () => {
    const response = await ask('groq/llama-3.3-70b-versatile', { logit_bias: { 1: 2 }, seed: 7, logprobs: false })
    expect(response.headers.get('x-proxy-dropped-params')!.split(',').sort()).toEqual([
      'logit_bias',
      'messages.content.cache_control',
      'messages.reasoning_content',
      'messages.thinking_blocks',
      'reasoning_effort',
    ])
    const [{ messages, model, tools: sentTools, ...rest }] = sent() as [Json]
    expect([model, sentTools, rest]).toEqual(['llama-3.3-70b-versatile', tools, { seed: 7 }])
    expect(messages).toEqual([
      { role: 'user', content: [{ type: 'text', text: 'read a.txt' }] },
      { role: 'assistant', content: null, tool_calls: history[1]!.tool_calls },
      history[2],
    ])
  })

  test('with drop_params false it is refused instead, and nothing is sent', async () => {
    const response = await ask('groq/llama-3.3-70b-versatile', { drop_params: false })
    const { detail } = (await response.json()) as Json
    expect(response.status).toBe(422)
    expect(JSON.stringify(detail)).toContain('messages.reasoning_content')
    expect(sent()).toEqual([])
  })

  test('words for effort are those of the model', async () => {
    const efforts = async (model: string, effort: string) => {
      const response = await ask(model, { reasoning_effort: effort })
      return [response.status, sent().at(-1)!.reasoning_effort, response.headers.get('x-proxy-dropped-params') ?? '']
    }
    const plain = 'messages.content.cache_control,messages.thinking_blocks'
    const changed = `reasoning_effort,${plain}`
    expect(await efforts('groq/qwen/qwen3-32b', 'high')).toEqual([200, 'default', changed])
    expect(await efforts('groq/openai/gpt-oss-120b', 'max')).toEqual([200, 'high', changed])
    expect(await efforts('groq/openai/gpt-oss-120b', 'high')).toEqual([200, 'high', plain])
    expect(await efforts('groq/openai/gpt-oss-120b', 'none')).toEqual([200, 'low', changed])
    // Its contents are texts alone: parts are joined, and their marks for a cache are lost by that.
    expect(await efforts('deepseek/deepseek-v4-pro', 'none')).toEqual([200, undefined, 'cache_control'])
    expect(sent().at(-1)!.thinking).toEqual({ type: 'disabled' })
  })

  test("OpenAI's reasoning models get their limit, and sampling only while they do not reason", async () => {
    await ask('openai/gpt-5', { max_tokens: 10, temperature: 0.5, reasoning_effort: 'low', tools: undefined })
    expect(sent().at(-1)).toMatchObject({ max_completion_tokens: 10, reasoning_effort: 'low' })
    expect(sent().at(-1)).not.toHaveProperty('temperature')
    await ask('openai/gpt-5.1', { temperature: 0.5, reasoning_effort: undefined, tools: undefined })
    expect(sent().at(-1)).toMatchObject({ temperature: 0.5 })
    const response = await ask('openai/gpt-5.1', { temperature: 0.5, reasoning_effort: 'high', tools: undefined })
    expect(sent().at(-1)).not.toHaveProperty('temperature')
    expect(response.headers.get('x-proxy-dropped-params')).toBe(
      'temperature,messages.content.cache_control,messages.reasoning_content,messages.thinking_blocks',
    )
  })

  test.each([
    [
      'gpt-5',
      { temperature: 0.5, reasoning: { effort: 'max' } },
      { reasoning: { effort: 'high' } },
      'temperature,reasoning.effort',
    ],
    ['gpt-4o', { temperature: 0.5, reasoning: { effort: 'low' } }, { temperature: 0.5 }, 'reasoning'],
    ['gpt-5.1', { temperature: 0.5 }, { temperature: 0.5 }, null],
    [
      'gpt-6-astra',
      { reasoning: { effort: 'none', summary: 'auto' } },
      { reasoning: { effort: 'low', summary: 'auto' } },
      'reasoning.effort',
    ],
  ])('a Response of %s with %j', async (model, more, expected, dropped) => {
    const response = await fetch(`${gateway.url}/v1/responses`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}` },
      body: JSON.stringify({ model: `openai/${model}`, input: 'hi', ...more }),
    })
    expect([response.status, response.headers.get('x-proxy-dropped-params')]).toEqual([200, dropped])
    const { temperature, reasoning } = sent().at(-1)!
    expect(JSON.parse(JSON.stringify({ temperature, reasoning }))).toEqual(expected)
  })

  test('a schema is a matter of the prompt where the host has JSON alone', async () => {
    const schema = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }
    const response = await ask('deepseek/deepseek-flash', {
      messages: [{ role: 'user', content: 'say: {"city":"Rome"}' }],
      tools: undefined,
      response_format: { type: 'json_schema', json_schema: { name: 'place', schema } },
    })
    expect([response.status, sent().at(-1)!.response_format]).toEqual([200, { type: 'json_object' }])
    expect(JSON.stringify(sent().at(-1)!.messages)).toContain('required')
  })

  test.each(['/v1/chat/completions', '/v1/responses'])(
    '%s to Perplexity becomes a Response with a preset',
    async path => {
      const words = path.endsWith('responses')
        ? { input: 'say: hi' }
        : { messages: [{ role: 'user', content: 'say: hi' }] }
      const response = await fetch(`${gateway.url}${path}`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}` },
        body: JSON.stringify({ model: 'perplexity/sonar-pro', ...words }),
      })
      expect([response.status, await response.text()]).toEqual([200, expect.stringContaining('hi')])
      expect(gateway.simulator.truth.last()!.path).toBe('/host/perplexity/v1/responses')
      expect(sent().at(-1)).toMatchObject({ model: 'perplexity/sonar', preset: 'low' })
    },
  )

  test('thinking in the words of another vendor becomes an effort', async () => {
    const response = await ask('groq/openai/gpt-oss-120b', {
      reasoning_effort: undefined,
      reasoning: { effort: 'low' },
    })
    expect([response.status, sent().at(-1)!.reasoning_effort]).toEqual([200, 'low'])
  })
})
