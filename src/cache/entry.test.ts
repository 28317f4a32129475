import { expect, test } from 'bun:test'
import type { Call } from '../core/call.ts'
import type { ChatEvent } from '../core/hub/chat.ts'
import { cacheableEvents, decodeAnswer, encodeAnswer, eventSize, replyOf, sizeOf } from './entry.ts'

const text = (words: string, choice = 0): ChatEvent => ({ type: 'text', choice, text: words })
const thought = (more: object = {}, choice = 0) => ({ type: 'reasoning', choice, text: 'hm', ...more }) as ChatEvent
const end = (reason: string) => ({ type: 'finish', choice: 0, reason }) as ChatEvent

test('texts and thoughts of one choice that follow each other are joined; signed and hidden ones are not', () => {
  const stop = end('stop')
  expect(cacheableEvents([text('a'), text('b'), text('c', 1), stop])).toEqual([text('ab'), text('c', 1), stop])
  expect(cacheableEvents([thought(), thought(), thought({}, 1), stop])).toEqual([
    thought({ text: 'hmhm' }),
    thought({}, 1),
    stop,
  ])
  for (const closed of [{ signature: 's' }, { redacted: 'r' }]) {
    expect(cacheableEvents([thought(), thought(closed), stop])).toEqual([thought(), thought(closed), stop])
    expect(cacheableEvents([thought(closed), thought(), stop])).toEqual([thought(closed), thought(), stop])
  }
  expect(cacheableEvents([text('a'), thought(), text('b'), stop])).toEqual([text('a'), thought(), text('b'), stop])
  const silent = { type: 'reasoning', choice: 0 } as ChatEvent
  expect(cacheableEvents([silent, thought(), stop])).toEqual([thought(), stop])
  expect(cacheableEvents([thought(), silent, stop])).toEqual([thought(), stop])
})

test('only answers that ended by themselves or at their length are kept', () => {
  expect(cacheableEvents([text('a'), end('length')])).toBeDefined()
  for (const events of [
    [text('a')],
    [text('a'), end('content-filter')],
    [text('a'), end('tool-calls')],
    [{ type: 'error' } as ChatEvent, end('stop')],
    [{ type: 'tool-call-start' } as ChatEvent, end('stop')],
    [thought({ signature: 'openai/item/1' }), end('stop')],
  ])
    expect(cacheableEvents(events)).toBeUndefined()
  expect(cacheableEvents([text('a'), thought({ signature: 'another' }), end('stop')])).toHaveLength(3)
})

test('the memory of an answer is estimated by its texts, two bytes a letter', () => {
  expect(eventSize(text('abc'))).toBe(70)
  expect(eventSize({ type: 'refusal', choice: 0, text: 'abcd' } as ChatEvent)).toBe(72)
  expect(eventSize(thought({ signature: 'abc' }))).toBe(74)
  expect(eventSize({ type: 'reasoning', choice: 0 } as ChatEvent)).toBe(64)
  expect(eventSize({ type: 'tool-call-arguments', fragment: '{}' } as ChatEvent)).toBe(68)
  const image = { type: 'image', choice: 0 } as ChatEvent
  expect(eventSize(image)).toBe(64 + 2 * JSON.stringify(image).length)
  expect(eventSize(end('stop'))).toBe(64)
  expect(sizeOf({ kind: 'chat', events: [text('abc'), end('stop')] })).toBe(134)
  expect(sizeOf({ kind: 'bytes', dialect: 'openai-chat', contentType: 'x', body: new Uint8Array(9) })).toBe(9)
  expect(sizeOf({ kind: 'vector', json: '[1,2]', tokens: 2 })).toBe(5)
  expect(sizeOf({ kind: 'keys', keys: ['a', 'b'] })).toBe(128)
})

test('an answer is the same after it was written as text, and of another version there is none', () => {
  const body = new Uint8Array([0, 255, 7])
  const content = { kind: 'bytes' as const, dialect: 'openai-chat' as const, contentType: 'audio/mpeg', body }
  const answer = { content, storedAtMs: 1, endMs: 2, costNanoUsd: 12345678901234567890n, bytes: 3 }
  expect(decodeAnswer(encodeAnswer(answer))).toEqual(answer)
  const chat = { content: { kind: 'chat' as const, events: [text('a')] }, storedAtMs: 1, endMs: 2, costNanoUsd: null }
  expect(decodeAnswer(encodeAnswer({ ...chat, bytes: 66 }))).toEqual({ ...chat, bytes: 66 })
  expect(decodeAnswer(encodeAnswer(answer).replace('"version":1', '"version":2'))).toBeUndefined()
  expect(decodeAnswer('{')).toBeUndefined()
})

test('an answer of a chat is given under the id and model of the call; bytes in their own dialect alone', () => {
  const call = { id: 'mine', model: 'asked', format: { dialect: 'openai-chat' }, reply: (events: unknown) => events }
  const start = { type: 'start', id: 'theirs', model: 'other' } as ChatEvent
  const given = replyOf(call as unknown as Call, { kind: 'chat', events: [start, text('a')] }) as unknown
  expect(given).toEqual([{ type: 'start', id: 'mine', model: 'asked' }, text('a')])
  const body = new Uint8Array(1)
  const bytes = { kind: 'bytes' as const, dialect: 'openai-chat' as const, contentType: 'a/b', body }
  expect(replyOf(call as unknown as Call, bytes)).toEqual({ status: 200, contentType: 'a/b', body })
  expect(replyOf(call as unknown as Call, { ...bytes, dialect: 'anthropic-messages' })).toBeUndefined()
  expect(replyOf(call as unknown as Call, { kind: 'keys', keys: [] })).toBeUndefined()
})
