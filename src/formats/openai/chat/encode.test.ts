import { describe, expect, test } from 'bun:test'
import type { ChatEvent, ChatRequest } from '../../../core/hub/chat.ts'
import { GatewayError } from '../../../core/errors.ts'
import { readOpenaiUsage } from '../../../core/usage/openai-usage.ts'
import { JsonBody } from '../../../lib/json/json-body.ts'
import { openaiChat } from './index.ts'

const requestOf = (fields: object): ChatRequest =>
  openaiChat.decode(
    JsonBody.read(Buffer.from(JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'x' }], ...fields }))),
  )
const start: ChatEvent = { type: 'start', id: 'chatcmpl-9', model: 'upstream', createdS: 1700000000 }
const done: ChatEvent = { type: 'finish', choice: 0, reason: 'stop' }
const encode = (events: ChatEvent[], request = requestOf({})): any => openaiChat.encode(events, 'public', request)

describe('encoding a whole chat answer', () => {
  test('has every documented key', () => {
    expect(encode([start, { type: 'text', choice: 0, text: 'Hi' }, done])).toEqual({
      id: 'chatcmpl-9',
      object: 'chat.completion',
      created: 1700000000,
      model: 'public',
      system_fingerprint: null,
      choices: [
        {
          index: 0,
          message: { role: 'assistant', content: 'Hi', refusal: null },
          logprobs: null,
          finish_reason: 'stop',
        },
      ],
    })
  })

  test('usage reads back as what was counted', () => {
    const usage = {
      inputTokens: 100,
      outputTokens: 50,
      cachedInputTokens: 40,
      cacheWriteTokens: 20,
      reasoningTokens: 30,
      inputAudioTokens: 5,
      outputAudioTokens: 6,
    }
    const body = encode([start, done, { type: 'usage', usage }])
    expect(body.usage.total_tokens).toBe(150)
    expect(body.usage.cache_creation_input_tokens).toBe(20)
    expect(body.usage.cache_read_input_tokens).toBe(40)
    expect(readOpenaiUsage(body.usage)).toEqual(usage)
  })

  test('an answer without counts has no usage instead of zeros', () => {
    expect(encode([start, done])).not.toHaveProperty('usage')
  })

  test('content is null beside tool calls and text otherwise', () => {
    const call: ChatEvent[] = [
      { type: 'tool-call-start', choice: 0, index: 0, id: 'c', name: 'f' },
      { type: 'tool-call-arguments', choice: 0, index: 0, fragment: '{}' },
      { type: 'finish', choice: 0, reason: 'tool-calls' },
    ]
    const [choice] = encode([start, ...call]).choices
    expect(choice.message.content).toBeNull()
    expect(choice.finish_reason).toBe('tool_calls')
    const [old] = encode([start, ...call], requestOf({ functions: [{ name: 'f' }] })).choices
    expect(old.message.function_call).toEqual({ name: 'f', arguments: '{}' })
    expect(old.message).not.toHaveProperty('tool_calls')
    expect(old.finish_reason).toBe('function_call')
    expect(encode([start, done]).choices[0].message.content).toBe('')
  })

  test("a request that a policy copied still answers in the client's old words", () => {
    const copy = { ...requestOf({ functions: [{ name: 'f' }] }), temperature: 0 }
    const events: ChatEvent[] = [
      start,
      { type: 'tool-call-start', choice: 0, index: 0, id: 'c', name: 'f' },
      { type: 'finish', choice: 0, reason: 'tool-calls' },
    ]
    expect(encode(events, copy).choices[0].message.function_call.name).toBe('f')
    expect(JSON.stringify(copy)).not.toContain('legacy')
  })

  test('signed thinking can be sent back and decodes to the same', () => {
    const { message } = encode([
      start,
      { type: 'reasoning', choice: 0, text: 'a' },
      { type: 'reasoning', choice: 0, text: 'b', signature: 's' },
      { type: 'reasoning', choice: 0, redacted: 'r' },
      { type: 'text', choice: 0, text: 'x' },
      done,
    ]).choices[0]
    expect(message.reasoning_content).toBe('ab')
    expect(message.reasoning).toBe('ab')
    expect(requestOf({ messages: [message] }).messages[0]!.parts).toEqual([
      { type: 'reasoning', text: 'ab', signature: 's' },
      { type: 'reasoning', text: '', redacted: 'r' },
      { type: 'text', text: 'x' },
    ])
  })

  test('unsigned thinking keeps its place before hidden thinking', () => {
    const { message } = encode([
      start,
      { type: 'reasoning', choice: 0, text: 'a' },
      { type: 'reasoning', choice: 0, redacted: 'r' },
      done,
    ]).choices[0]
    expect(message.thinking_blocks).toEqual([
      { type: 'thinking', thinking: 'a', signature: '' },
      { type: 'redacted_thinking', data: 'r' },
    ])
  })

  test('choices and calls are sorted, in any order of the upstream', () => {
    const body = encode([
      start,
      { type: 'text', choice: 1, text: 'b' },
      { type: 'tool-call-start', choice: 0, index: 1_000_000_000, id: 'late', name: 'g' },
      { type: 'tool-call-start', choice: 0, index: 0, id: 'soon', name: 'f' },
      { type: 'finish', choice: 1, reason: 'stop' },
      done,
    ])
    expect(body.choices.map((choice: any) => choice.index)).toEqual([0, 1])
    expect(body.choices[0].message.tool_calls.map((call: any) => call.id)).toEqual(['soon', 'late'])
  })

  test('an answer that broke or never ended is not presented as one', () => {
    expect(() => encode([start, { type: 'text', choice: 0, text: 'x' }])).toThrow('no finish reason')
    const error = new GatewayError('upstream-failed', 'boom')
    expect(() => encode([start, { type: 'error', error }])).toThrow(error)
    expect(() => encode([start, { type: 'tool-call-arguments', choice: 0, index: 0, fragment: 'x' }, done])).toThrow(
      'never began',
    )
  })

  test("ids of other vendors keep their text behind OpenAI's prefix", () => {
    expect(encode([{ type: 'start', id: 'msg_7', model: 'u' }, done]).id).toBe('chatcmpl-msg_7')
    const now = encode([{ type: 'start', id: '', model: 'u' }, done])
    expect(now.id.length).toBeGreaterThan(20)
    expect(Number.isInteger(now.created)).toBe(true)
  })
})
