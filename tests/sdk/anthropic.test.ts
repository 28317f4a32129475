/** Anthropic's own client (API version 2026-10-21), on upstreams of two dialects. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import Anthropic, {
  APIError,
  APIUserAbortError,
  AuthenticationError,
  NotFoundError,
  RateLimitError,
  UnprocessableEntityError,
} from '@anthropic-ai/sdk'
import { startGateway } from '../e2e/harness.ts'
import type { Gateway } from '../e2e/harness.ts'
import { until } from '../support/until.ts'

const weather: Anthropic.Tool = {
  name: 'get_weather',
  description: 'The weather of a city',
  input_schema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
}
const pixel = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

async function failure(promise: PromiseLike<unknown>): Promise<unknown> {
  try {
    await promise
  } catch (error) {
    return error
  }
  throw new Error('nothing was thrown')
}

const textOf = (message: Anthropic.Message): string =>
  message.content.map(block => (block.type === 'text' ? block.text : '')).join('')
const callOf = (message: Anthropic.Message): Anthropic.ToolUseBlock =>
  message.content.find(block => block.type === 'tool_use')!

describe('@anthropic-ai/sdk', () => {
  let gateway: Gateway
  let client: Anthropic

  beforeAll(async () => {
    gateway = await startGateway()
    client = new Anthropic({ baseURL: gateway.url, apiKey: await gateway.key(), maxRetries: 0 })
  })
  afterAll(() => gateway?.stop())

  for (const model of ['chat-model', 'claude-model']) {
    const say = (content: string, more: object = {}) => ({
      model,
      max_tokens: 2000,
      messages: [{ role: 'user' as const, content }],
      ...more,
    })

    test(`${model}: text`, async () => {
      const message = await client.messages.create(
        say('say: hello there', { system: 'Be brief.', stop_sequences: ['END'] }),
      )
      expect([textOf(message), message.stop_reason, message.model]).toEqual(['hello there', 'end_turn', model])
      expect(message.usage.input_tokens).toBeGreaterThan(0)
      expect(message._request_id).toMatch(/^[0-9a-f-]{36}$/)
    })

    test(`${model}: stream`, async () => {
      const stream = client.messages.stream(say('say: Grüße ✓ 😀'))
      const deltas: string[] = []
      stream.on('text', delta => deltas.push(delta))
      const message = await stream.finalMessage()
      expect([textOf(message), deltas.join(''), deltas.length > 1]).toEqual(['Grüße ✓ 😀', 'Grüße ✓ 😀', true])
      expect([message.stop_reason, message.usage.output_tokens > 0, message.usage.input_tokens > 0]).toEqual([
        'end_turn',
        true,
        true,
      ])
      const events: string[] = []
      for await (const event of await client.messages.create({ ...say('say: x'), stream: true }))
        events.push(event.type)
      expect([events[0], events.at(-1)]).toEqual(['message_start', 'message_stop'])
    })

    for (const streamed of [false, true])
      test(`${model}: a tool loop${streamed ? ', streamed' : ''}`, async () => {
        const run = async (body: Anthropic.MessageCreateParamsNonStreaming) =>
          streamed ? client.messages.stream(body).finalMessage() : client.messages.create(body)
        const first: Anthropic.MessageParam = { role: 'user', content: 'Weather in Paris? use the tool' }
        const asked = await run({
          model,
          max_tokens: 2000,
          messages: [first],
          tools: [weather],
          tool_choice: { type: 'any' },
        })
        const call = callOf(asked)
        expect([asked.stop_reason, call.name, Object.keys(call.input as object)]).toEqual([
          'tool_use',
          'get_weather',
          ['city'],
        ])
        const result: Anthropic.ToolResultBlockParam = {
          type: 'tool_result',
          tool_use_id: call.id,
          content: 'sunny, 21 degrees',
        }
        const messages: Anthropic.MessageParam[] = [
          first,
          { role: 'assistant', content: asked.content },
          { role: 'user', content: [result] },
        ]
        const answered = await run({ model, max_tokens: 2000, messages, tools: [weather] })
        expect([textOf(answered).includes('sunny'), answered.stop_reason]).toEqual([true, 'end_turn'])
      })

    test(`${model}: an image`, async () => {
      const source = { type: 'base64' as const, media_type: 'image/png' as const, data: pixel }
      const message = await client.messages.create({
        model,
        max_tokens: 100,
        messages: [
          {
            role: 'user',
            content: [
              { type: 'text', text: 'What is this?' },
              { type: 'image', source },
            ],
          },
        ],
      })
      expect(textOf(message)).toContain('I see 1 image')
    })

    test(`${model}: thinking for those who ask, there and back`, async () => {
      // OpenAI's hosts know no budgets; effort is what both understand.
      const asked = say('say: x', {
        thinking: { type: 'adaptive' as const },
        output_config: { effort: 'high' as const },
      })
      const message = await client.messages.create(asked)
      const [thought, text] = message.content
      expect([thought!.type, text!.type]).toEqual(['thinking', 'text'])
      const { thinking, signature } = thought as Anthropic.ThinkingBlock
      expect([thinking.length > 0, signature.length > 0]).toEqual([true, true])
      const streamed = await client.messages.stream(asked).finalMessage()
      expect(streamed.content as unknown).toEqual(message.content)
      const next = await client.messages.create({
        ...asked,
        messages: [
          ...asked.messages,
          { role: 'assistant', content: message.content },
          { role: 'user', content: 'say: y' },
        ],
      })
      expect(textOf(next)).toBe('y')
      const hidden = await client.messages.create(say('say: x', { output_config: { effort: 'high' as const } }))
      expect(hidden.content.map(block => block.type)).toEqual(['text'])
    })

    test(`${model}: JSON by a schema`, async () => {
      const schema = {
        type: 'object',
        properties: { age: { type: 'integer' } },
        required: ['age'],
        additionalProperties: false,
      }
      const message = await client.messages.create(
        say('a person', { output_config: { format: { type: 'json_schema' as const, schema } } }),
      )
      expect(JSON.parse(textOf(message))).toEqual({ age: expect.any(Number) })
    })

    test(`${model}: a count of tokens`, async () => {
      const { input_tokens: tokens } = await client.messages.countTokens({
        model,
        messages: [{ role: 'user', content: 'Hello, Claude' }],
        tools: [weather],
      })
      expect(tokens).toBeGreaterThan(1)
    })
  }

  test('errors are thrown as their classes', async () => {
    const ask = (model: string, more: object = {}) =>
      client.messages.create({ model, max_tokens: 10, messages: [{ role: 'user', content: 'x' }], ...more })
    const missing = await failure(ask('nope'))
    expect(missing).toBeInstanceOf(NotFoundError)
    expect([(missing as APIError).type as string, (missing as APIError).apiMessage]).toEqual([
      'not_found_error',
      expect.stringContaining("'nope'") as unknown as string,
    ])
    expect(await failure(ask('chat-model', { max_tokens: -1 }))).toBeInstanceOf(UnprocessableEntityError)
    for (const prefix of ['fault', 'claude-fault']) {
      expect(await failure(ask(`${prefix}/sim#429`))).toBeInstanceOf(RateLimitError)
      const failed = await failure(ask(`${prefix}/sim#status;code=500`))
      expect([(failed as APIError).status, (failed as APIError).type as string]).toEqual([500, 'api_error'])
    }
    const stranger = new Anthropic({ baseURL: gateway.url, apiKey: 'sk-stranger', maxRetries: 0 })
    expect(
      await failure(
        stranger.messages.create({ model: 'chat-model', max_tokens: 10, messages: [{ role: 'user', content: 'x' }] }),
      ),
    ).toBeInstanceOf(AuthenticationError)
  })

  test('a stream that breaks is thrown too', async () => {
    for (const model of ['fault/sim#cut;at=6', 'claude-fault/sim#cut;at=6']) {
      const stream = client.messages.stream({
        model,
        max_tokens: 100,
        messages: [{ role: 'user', content: 'tokens: 20' }],
      })
      let text = ''
      stream.on('text', delta => (text += delta))
      const broken = await failure(stream.finalMessage())
      expect([broken instanceof APIError, (broken as APIError).type as string, text.length > 0]).toEqual([
        true,
        'api_error',
        true,
      ])
    }
  })

  test('a client that leaves ends the call at the upstream', async () => {
    for (const model of ['fault/sim#token-ms=20', 'claude-fault/sim#token-ms=20']) {
      const stream = client.messages.stream({
        model,
        max_tokens: 2000,
        messages: [{ role: 'user', content: 'tokens: 1000' }],
      })
      const done = failure(stream.finalMessage())
      await new Promise<void>(resolve => stream.once('text', () => resolve()))
      stream.abort()
      expect(await done).toBeInstanceOf(APIUserAbortError)
      const last = gateway.simulator.truth.entries.at(-1)!
      await until(() => last.finished === 'client-closed', 'the upstream is closed')
    }
  })

  test('the list of models', async () => {
    const ids: string[] = []
    for await (const model of client.models.list()) ids.push(model.id)
    expect(ids).toContain('claude-model')
  })
})
