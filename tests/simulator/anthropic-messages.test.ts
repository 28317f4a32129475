import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import Anthropic from '@anthropic-ai/sdk'
import { startSimulator } from '../../simulator/index.ts'
import type { Simulator } from '../../simulator/index.ts'
import { postJson, eventsOf } from '../../simulator/testing/client.ts'

let simulator: Simulator
beforeAll(async () => {
  simulator = await startSimulator({ seed: 7 })
})
afterAll(() => simulator.stop())

const user = (content: unknown) => [{ role: 'user', content }]
const tool = {
  name: 'get_weather',
  input_schema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
}
const send = async (body: object, path = '/v1/messages') => {
  const { status, text } = await postJson(simulator, path, { model: 'sim', max_tokens: 4000, ...body })
  return { status, body: JSON.parse(text) }
}
const stream = async (body: object) =>
  (await postJson(simulator, '/v1/messages', { model: 'sim', max_tokens: 4000, stream: true, ...body })).text

describe('Messages', () => {
  test('a stream has the documented sequence of events, each named as its type', async () => {
    const text = await stream({ messages: user('say: hello') })
    const events = eventsOf(text)
    expect(events.map(event => event.type)).toEqual([
      'message_start',
      'content_block_start',
      'ping',
      'content_block_delta',
      'content_block_delta',
      'content_block_stop',
      'message_delta',
      'message_stop',
    ])
    expect([...text.matchAll(/^event: (.*)$/gm)].map(([, name]) => name!)).toEqual(events.map(event => event.type))
    expect(events[0].message).toMatchObject({
      type: 'message',
      role: 'assistant',
      content: [],
      stop_reason: null,
      stop_sequence: null,
    })
    expect(events[0].message.usage).toMatchObject({
      input_tokens: 3,
      output_tokens: 1,
      cache_creation_input_tokens: 0,
      cache_read_input_tokens: 0,
    })
    expect(events[3]).toEqual({
      type: 'content_block_delta',
      index: 0,
      delta: { type: 'text_delta', text: 'hell' },
    })
    expect(events[6].delta).toEqual({ stop_reason: 'end_turn', stop_sequence: null })
    expect(events[6].usage).toEqual({
      input_tokens: 3,
      cache_creation_input_tokens: 0,
      cache_read_input_tokens: 0,
      output_tokens: 2,
    })
  })

  test('thinking comes first, is signed and billed', async () => {
    const body = { messages: user('say: hello'), thinking: { type: 'enabled', budget_tokens: 1024 } }
    const events = eventsOf(await stream(body))
    const kinds = events.filter(event => event.delta?.type).map(event => event.delta.type)
    expect([...new Set(kinds)]).toEqual(['thinking_delta', 'signature_delta', 'text_delta'])
    const whole = (await send(body)).body
    expect(whole.content.map((block: any) => block.type)).toEqual(['thinking', 'text'])
    expect(whole.content[0].signature).toBe(
      events.find(event => event.delta?.type === 'signature_delta').delta.signature,
    )
    expect(whole.usage.output_tokens).toBe(kinds.length - 1)
  })

  test('newer models refuse thinking budgets and sampling parameters, with the message of the vendor', async () => {
    const asked = async (model: string, more: object) =>
      (await send({ model, messages: user('say: hello'), ...more })).status
    const budget = { thinking: { type: 'enabled', budget_tokens: 1024 } }
    expect([
      await asked('claude-opus-4-7', budget),
      await asked('claude-opus-5', { temperature: 0.2 }),
      await asked('claude-mythos-5-1', { top_k: 3 }),
    ]).toEqual([400, 400, 400])
    expect([
      await asked('claude-opus-4-7', { thinking: { type: 'adaptive' }, temperature: 1 }),
      await asked('claude-opus-4-6', budget),
      await asked('claude-opus-4-20250514', { temperature: 0 }),
    ]).toEqual([200, 200, 200])
  })

  test('tools: forced, requested, streamed and not; results are quoted', async () => {
    for (const [said, tool_choice] of [
      ['x', { type: 'any' }],
      ['x', { type: 'tool', name: 'get_weather' }],
      ['use the tool', undefined],
    ] as const) {
      const body = { messages: user(said), tools: [tool], tool_choice }
      const whole = (await send(body)).body
      expect(whole.stop_reason).toBe('tool_use')
      expect(whole.content[0]).toMatchObject({
        type: 'tool_use',
        name: 'get_weather',
        input: { city: expect.any(String) },
      })
      const events = eventsOf(await stream(body))
      const json = events
        .filter(event => event.delta?.type === 'input_json_delta')
        .map(event => event.delta.partial_json)
      expect(JSON.parse(json.join(''))).toEqual(whole.content[0].input)
      expect(json[0]).toBe('')
      expect(json.length - 1).toBe(whole.usage.output_tokens)
    }
    const messages = [
      ...user('use the tool'),
      { role: 'assistant', content: [{ type: 'tool_use', id: 't', name: 'get_weather', input: {} }] },
      ...user([{ type: 'tool_result', tool_use_id: 't', content: [{ type: 'text', text: 'sunny' }] }]),
    ]
    const answered = (await send({ messages, tools: [tool] })).body
    expect(answered.content[0].text).toContain('sunny')
    expect(answered.stop_reason).toBe('end_turn')
  })

  test('limits, stop sequences, images, system text and cached input', async () => {
    const messages = user('say: one two three')
    expect((await send({ messages, max_tokens: 1 })).body).toMatchObject({
      stop_reason: 'max_tokens',
      content: [{ text: 'one ' }],
    })
    expect((await send({ messages, stop_sequences: [' t'] })).body).toMatchObject({
      stop_reason: 'stop_sequence',
      stop_sequence: ' t',
    })
    const image = { type: 'image', source: { type: 'url', url: 'x' } }
    expect((await send({ messages: user([image]) })).body.content[0].text).toContain('1 image.')
    const cached = user(`cached: 5\ncache-write: 3\n${'x'.repeat(14)}`)
    const { usage } = (await send({ messages: cached, system: [{ type: 'text', text: 'y'.repeat(40) }] })).body
    expect(usage).toMatchObject({
      input_tokens: 20 - 8,
      cache_read_input_tokens: 5,
      cache_creation_input_tokens: 3,
    })
  })

  test('errors have the format and messages of the vendor', async () => {
    const types: [number, string][] = [
      [400, 'invalid_request_error'],
      [401, 'authentication_error'],
      [403, 'permission_error'],
      [404, 'not_found_error'],
      [413, 'request_too_large'],
      [429, 'rate_limit_error'],
      [500, 'api_error'],
      [529, 'overloaded_error'],
    ]
    for (const [code, type] of types) {
      const { status, body } = await send({ model: `x#status;code=${code}`, messages: user('a') })
      expect([status, body.type, body.error.type]).toEqual([code, 'error', type])
      expect(body.request_id).toMatch(/^req_/)
    }
    for (const bad of [
      { max_tokens: undefined },
      { messages: [] },
      { messages: undefined },
      { max_tokens: 0 },
      { thinking: { type: 'enabled', budget_tokens: 5000 } },
    ]) {
      const { status, body } = await send({ messages: user('a'), ...bad })
      expect([status, body.error.type]).toEqual([400, 'invalid_request_error'])
    }
    const events = eventsOf(await stream({ model: 'x#error-in-stream;at=4', messages: user('tokens: 9') }))
    expect(events.at(-1)).toEqual({
      type: 'error',
      error: { type: 'overloaded_error', message: 'Overloaded' },
    })
    expect(events.length).toBe(5)
  })

  test("Anthropic's own client reads messages, streams, counts and models", async () => {
    const client = new Anthropic({ baseURL: simulator.url, apiKey: 'k', maxRetries: 0 })
    const messages = [{ role: 'user' as const, content: 'use the tool' }]
    const final = await client.messages
      .stream({ model: 'sim', max_tokens: 100, messages, tools: [tool as any] })
      .finalMessage()
    expect(final.content[0]).toMatchObject({ type: 'tool_use', input: { city: expect.any(String) } })
    expect((await client.messages.countTokens({ model: 'sim', messages })).input_tokens).toBe(3)
    const ids = []
    for await (const model of client.models.list()) ids.push(model.id)
    expect(ids).toContain('sim-claude')
  })
})
