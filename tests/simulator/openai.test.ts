import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import Ajv2020 from 'ajv/dist/2020'
import OpenAI from 'openai'
import { startSimulator } from '../../simulator/index.ts'
import type { Simulator } from '../../simulator/index.ts'
import { deviations } from '../support/openai-conformance.ts'
import { postJson, eventsOf } from '../../simulator/testing/client.ts'

let simulator: Simulator
beforeAll(async () => {
  simulator = await startSimulator({ seed: 7 })
})
beforeEach(() => simulator.reset())
afterAll(() => simulator.stop())

const conforms = (schema: string, value: unknown) => expect(deviations(schema, value)).toEqual([])

const user = (content: unknown) => [{ role: 'user', content }]
const weather = {
  type: 'function',
  function: {
    name: 'get_weather',
    parameters: {
      type: 'object',
      properties: { city: { type: 'string' }, days: { type: 'integer', minimum: 1 } },
      required: ['city', 'days'],
    },
  },
}
const send = async (body: object, path = '/v1/chat/completions') => {
  const { status, text } = await postJson(simulator, path, { model: 'sim', ...body })
  return { status, body: JSON.parse(text) }
}
const stream = async (body: object, path = '/v1/chat/completions') =>
  eventsOf((await postJson(simulator, path, { model: 'sim', stream: true, ...body })).text)
const textOf = (events: any[], index = 0) =>
  events
    .flatMap(event => event.choices ?? [])
    .filter(choice => choice.index === index)
    .map(choice => choice.delta?.content ?? choice.text ?? '')
    .join('')

const shapes: [string, object][] = [
  ['a plain question', { messages: user('hello') }],
  ['several choices with logprobs', { messages: user('hello'), n: 3, logprobs: true, top_logprobs: 4 }],
  ['tools', { messages: user('Paris? use the tool'), tools: [weather] }],
  [
    'a custom tool',
    { messages: user('go'), tools: [{ type: 'custom', custom: { name: 'shell' } }], tool_choice: 'required' },
  ],
  ['reasoning', { messages: user('think'), reasoning_effort: 'low' }],
  ['a length limit', { messages: user('tokens: 40'), max_completion_tokens: 3 }],
  ['cached input', { messages: user(`cached: 5\ncache-write: 3\n${'x'.repeat(60)}`) }],
]

describe("OpenAI's document", () => {
  for (const [what, body] of shapes)
    test(`accepts the answer to ${what}, whole and streamed`, async () => {
      const whole = (await send(body)).body
      conforms('CreateChatCompletionResponse', whole)
      for (const key of ['system_fingerprint', 'service_tier', 'usage', 'created']) expect(whole).toHaveProperty(key)
      expect(whole.choices[0].message.refusal).toBeNull()
      for (const options of [{}, { stream_options: { include_usage: true } }]) {
        const events = await stream({ ...body, ...options })
        expect(events.pop()).toBe('[DONE]')
        for (const event of events) {
          if (!JSON.stringify(event).includes('"custom"')) conforms('CreateChatCompletionStreamResponse', event)
          expect(event.id).toBe(whole.id)
        }
      }
    })

  test('accepts text completions, embeddings and models', async () => {
    conforms(
      'CreateCompletionResponse',
      (await send({ prompt: ['a', 'b'], logprobs: 2, echo: true }, '/completions')).body,
    )
    conforms('CreateEmbeddingResponse', (await send({ input: ['a', 'b'] }, '/v1/embeddings')).body)
    conforms('ListModelsResponse', await (await fetch(`${simulator.url}/v1/models`)).json())
    conforms('Model', await (await fetch(`${simulator.url}/v1/models/a/b`)).json())
  })

  test('accepts errors', async () => {
    for (const code of [400, 401, 403, 404, 429, 500, 503, 418])
      conforms('ErrorResponse', (await send({ model: `x#status=${code}`, messages: user('a') })).body)
  })

  test('finds what is wrong, so that it can find nothing', async () => {
    const whole = (await send({ messages: user('a') })).body
    expect(deviations('CreateChatCompletionResponse', { ...whole, object: 'x' })).not.toEqual([])
    expect(deviations('CreateChatCompletionStreamResponse', whole)).not.toEqual([])
  })
})

describe('chat', () => {
  test('a stream is the role, the text, the finish reason, the usage if requested, and [DONE]', async () => {
    const events = await stream({
      messages: user('say: hello there'),
      stream_options: { include_usage: true },
    })
    expect(events[0].choices[0].delta).toEqual({ role: 'assistant', content: '', refusal: null })
    expect(events[0].choices[0].logprobs).toBeNull()
    expect(events.slice(1, 4).map(event => event.choices[0].delta)).toEqual([
      { content: 'hell' },
      { content: 'o th' },
      { content: 'ere' },
    ])
    expect(events[4].choices[0]).toEqual({ index: 0, delta: {}, logprobs: null, finish_reason: 'stop' })
    expect(events[4].usage).toBeNull()
    expect(events[5].choices).toEqual([])
    expect(events[5].usage).toMatchObject({ prompt_tokens: 4, completion_tokens: 3, total_tokens: 7 })
    expect(events.slice(6)).toEqual(['[DONE]'])
    const without = await stream({ messages: user('say: hello there') })
    expect(without.slice(0, -1).every(event => !('usage' in event) && event.choices.length === 1)).toBe(true)
  })

  test('streamed and non-streamed answers agree, and every delta is one billed token', async () => {
    for (const said of ['hello', 'tokens: 33', 'say: 😀😀😀 Grüße\nand more\n', 'say: ']) {
      const body = { messages: user(said), n: 2 }
      const whole = (await send(body)).body
      const events = (await stream({ ...body, stream_options: { include_usage: true } })).slice(0, -1)
      for (const index of [0, 1]) expect(textOf(events, index)).toBe(whole.choices[index].message.content)
      const deltas = events.flatMap(event => event.choices).filter(choice => choice.delta.content)
      expect(events.at(-1).usage).toEqual(whole.usage)
      expect(deltas.length).toBe(whole.usage.completion_tokens)
      expect(deltas.every(choice => choice.delta.content.length <= 4)).toBe(true)
    }
  })

  test('input is counted as a quarter of all characters, rounded up', async () => {
    const messages = [
      { role: 'system', content: 'abcde' },
      { role: 'user', content: [{ type: 'text', text: 'fghi' }] },
    ]
    expect((await send({ messages })).body.usage.prompt_tokens).toBe(3)
  })

  test('directives are followed exactly', async () => {
    const content = async (said: string, more = {}) =>
      (await send({ messages: user(said), ...more })).body.choices[0].message.content
    expect(await content('say: exactly\n this ')).toBe('exactly\n this ')
    expect((await send({ messages: user('tokens: 17') })).body.usage.completion_tokens).toBe(17)
    expect(await content('I never say: this')).not.toContain('this')
    const [before, after] = [user('say: old'), user('say: new')]
    expect(await content('', { messages: [...before, { role: 'assistant', content: 'old' }, ...after] })).toBe('new')
  })

  test('limits and stop sequences end the text and are reported', async () => {
    const choice = async (body: object) =>
      (await send({ messages: user('say: one two three'), ...body })).body.choices[0]
    expect(await choice({ max_tokens: 2 })).toMatchObject({
      message: { content: 'one two ' },
      finish_reason: 'length',
    })
    expect(await choice({ stop: ['three', ' t'] })).toMatchObject({
      message: { content: 'one' },
      finish_reason: 'stop',
    })
    expect(await choice({ stop: 'none' })).toMatchObject({
      message: { content: 'one two three' },
      finish_reason: 'stop',
    })
    const exact = await choice({ max_tokens: 4 })
    expect(exact.finish_reason).toBe('stop')
  })

  test('logprobs belong to the tokens of the text', async () => {
    const whole = (await send({ messages: user('say: hello'), logprobs: true, top_logprobs: 2 })).body.choices[0]
    expect(whole.logprobs.content.map((one: any) => one.token)).toEqual(['hell', 'o'])
    expect(whole.logprobs.content[0].bytes).toEqual([104, 101, 108, 108])
    expect(whole.logprobs.content[0].top_logprobs.length).toBe(2)
    expect(whole.logprobs.refusal).toBeNull()
    const events = await stream({ messages: user('say: hello'), logprobs: true })
    expect(events[1].choices[0].logprobs.content[0].token).toBe('hell')
  })

  test('tools are called only when forced, required, named or requested', async () => {
    const calls = async (said: string, more = {}) =>
      (await send({ messages: user(said), tools: [weather], ...more })).body.choices[0].message.tool_calls
    const valid = new Ajv2020().compile(weather.function.parameters)
    for (const [said, more] of [
      ['x', { tool_choice: 'required' }],
      ['x', { tool_choice: { type: 'function', function: { name: 'get_weather' } } }],
      ['call get_weather', {}],
      ['Use the tool', {}],
    ] as const) {
      const [call] = await calls(said, more)
      expect(call).toMatchObject({
        id: expect.stringMatching(/^call_\w{24}$/),
        type: 'function',
        function: { name: 'get_weather' },
      })
      expect(valid(JSON.parse(call.function.arguments))).toBe(true)
    }
    expect(await calls('hello')).toBeUndefined()
    expect(await calls('use the tool', { tool_choice: 'none' })).toBeUndefined()
    const other = { ...weather, function: { ...weather.function, name: 'get_time' } }
    const both = { tools: [weather, other] }
    expect((await calls('get_weather and get_time', both)).length).toBe(2)
    expect((await calls('get_weather and get_time', { ...both, parallel_tool_calls: false })).length).toBe(1)
  })

  test('streamed tool calls equal the non-streamed ones', async () => {
    const body = { messages: user('use the tool'), tools: [weather] }
    const whole = (await send(body)).body
    const events = (await stream(body)).slice(0, -1)
    const deltas = events.flatMap(event => event.choices[0].delta.tool_calls ?? [])
    const [call] = whole.choices[0].message.tool_calls
    expect(deltas[0]).toEqual({
      index: 0,
      id: call.id,
      type: 'function',
      function: { name: 'get_weather', arguments: '' },
    })
    expect(deltas.map((delta: any) => delta.function.arguments).join('')).toBe(call.function.arguments)
    expect(deltas.length - 1).toBe(whole.usage.completion_tokens)
    expect(events.at(-1).choices[0].finish_reason).toBe('tool_calls')
    expect(whole.choices[0].message.content).toBeNull()
  })

  test('the result of a tool is quoted', async () => {
    const call = { id: 'c', type: 'function', function: { name: 'get_weather', arguments: '{}' } }
    const messages = [
      ...user('use the tool'),
      { role: 'assistant', tool_calls: [call] },
      { role: 'tool', tool_call_id: 'c', content: 'sunny' },
    ]
    const { choices } = (await send({ messages, tools: [weather] })).body
    expect(choices[0]).toMatchObject({
      message: { content: expect.stringContaining('sunny') },
      finish_reason: 'stop',
    })
  })

  test('structured output fits its schema, also when streamed', async () => {
    const schema = {
      type: 'object',
      properties: { n: { type: 'integer' } },
      required: ['n'],
      additionalProperties: false,
    }
    const response_format = { type: 'json_schema', json_schema: { name: 'x', strict: true, schema } }
    const valid = new Ajv2020().compile(schema)
    expect(valid(JSON.parse(textOf(await stream({ messages: user('a'), response_format }))))).toBe(true)
    const free = (await send({ messages: user('a'), response_format: { type: 'json_object' } })).body
    expect(JSON.parse(free.choices[0].message.content)).toBeObject()
  })

  test('images are counted, reasoning is shown and billed', async () => {
    const image = { type: 'image_url', image_url: { url: 'data:,' } }
    const seen = async (...parts: object[]) => (await send({ messages: user(parts) })).body.choices[0].message.content
    expect(await seen(image)).toContain('1 image.')
    expect(await seen(image, { type: 'text', text: 'and' }, image)).toContain('2 images.')
    const thought = (await send({ messages: user('say: ok'), reasoning_effort: 'low' })).body
    expect(thought.choices[0].message.reasoning_content).toBeString()
    expect(thought.usage.completion_tokens_details.reasoning_tokens).toBe(8)
    expect(thought.usage.completion_tokens).toBe(9)
  })

  test('refusals', async () => {
    const bad: [object, string][] = [
      [{}, 'messages'],
      [{ messages: [] }, 'messages'],
      [{ messages: 'x' }, 'messages'],
      [{ messages: [{ role: 'king', content: 'x' }] }, 'king'],
      [{ messages: user('x'), n: 129 }, "'n'"],
      [{ messages: user('x'), max_tokens: 0 }, 'max_tokens'],
      [{ messages: user('x'), model: undefined }, 'model'],
    ]
    for (const [body, word] of bad) {
      const answer = await send(body)
      expect([answer.status, answer.body.error.type]).toEqual([400, 'invalid_request_error'])
      expect(answer.body.error.message).toContain(word)
    }
    const noJson = await fetch(`${simulator.url}/v1/chat/completions`, { method: 'POST', body: '{"model":' })
    expect(noJson.status).toBe(400)
    expect((await fetch(`${simulator.url}/v1/nothing`)).status).toBe(404)
    expect((await fetch(`${simulator.url}/v1/chat/completions`)).status).toBe(405)
  })
})

describe('the other endpoints', () => {
  test('text completions: choices for each prompt, 16 tokens by default, echo', async () => {
    const { body } = await send({ prompt: ['say: aaaabbbb', 'tokens: 30'], n: 2 }, '/v1/completions')
    expect(body.choices.map((choice: any) => choice.index)).toEqual([0, 1, 2, 3])
    expect(body.choices[1].text).toBe('aaaabbbb')
    expect(body.choices[2].finish_reason).toBe('length')
    expect(body.usage.completion_tokens).toBe(2 + 2 + 16 + 16)
    const echo = (await send({ prompt: 'say: me', echo: true }, '/v1/completions')).body
    expect(echo.choices[0].text).toBe('say: meme')
    const events = await stream({ prompt: 'say: aaaabbbb', stream_options: { include_usage: true } }, '/v1/completions')
    expect(textOf(events.slice(0, -1))).toBe('aaaabbbb')
    expect(events.at(-2).usage.completion_tokens).toBe(2)
  })

  test('embeddings: the same vector as numbers and as base64, of the length asked for, of unit norm', async () => {
    const get = async (body: object) => (await send(body, '/embeddings')).body
    const plain = await get({ input: ['a', 'b'], dimensions: 64 })
    const coded = await get({ input: ['a', 'b'], dimensions: 64, encoding_format: 'base64' })
    const bytes = Buffer.from(coded.data[0].embedding, 'base64')
    expect([...new Float32Array(Uint8Array.from(bytes).buffer)]).toEqual(plain.data[0].embedding)
    expect(Math.hypot(...plain.data[1].embedding)).toBeCloseTo(1, 4)
    expect(plain.data[0].embedding).not.toEqual(plain.data[1].embedding)
    expect((await get({ input: 'a' })).data[0].embedding.length).toBe(1536)
    expect((await get({ input: [[1, 2, 3], [4]] })).usage).toEqual({ prompt_tokens: 4, total_tokens: 4 })
    for (const bad of [{ input: [] }, { input: '' }, {}, { input: 'a', dimensions: 0 }])
      expect((await send(bad, '/embeddings')).status).toBe(400)
  })

  test("OpenAI's own client reads streams, tools and base64 embeddings", async () => {
    const client = new OpenAI({ baseURL: `${simulator.url}/v1`, apiKey: 'k', maxRetries: 0 })
    const final = await client.chat.completions
      .stream({
        model: 'sim',
        messages: [{ role: 'user', content: 'use the tool' }],
        tools: [weather as any],
      })
      .finalChatCompletion()
    expect(final.choices[0]!.finish_reason).toBe('tool_calls')
    const { data } = await client.embeddings.create({ model: 'sim', input: 'a', dimensions: 8 })
    expect(data[0]!.embedding.length).toBe(8)
  })
})
