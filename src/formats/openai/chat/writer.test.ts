import { describe, expect, test } from 'bun:test'
import type { ChatEvent, ChatRequest } from '../../../core/hub/chat.ts'
import { GatewayError } from '../../../core/errors.ts'
import { JsonBody } from '../../../lib/json/json-body.ts'
import { SseSplitter } from '../../../lib/sse.ts'
import { openaiChat } from './index.ts'

const requestOf = (fields: object): ChatRequest =>
  openaiChat.decode(
    JsonBody.read(Buffer.from(JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'x' }], ...fields }))),
  )
const plain = requestOf({ stream: true })
const withUsage = requestOf({ stream: true, stream_options: { include_usage: true } })
const legacy = requestOf({ stream: true, functions: [{ name: 'f' }] })

const start: ChatEvent = { type: 'start', id: 'msg_1', model: 'upstream', createdS: 1700000000 }
const text = (words: string, choice = 0): ChatEvent => ({ type: 'text', choice, text: words })
const finish = (reason: 'stop' | 'tool-calls' | 'length' | 'content-filter', choice = 0): ChatEvent => ({
  type: 'finish',
  choice,
  reason,
})
const usage: ChatEvent = { type: 'usage', usage: { inputTokens: 10, outputTokens: 5, cachedInputTokens: 4 } }
const token = (word: string) => ({ token: word, logprob: -0.5, bytes: null, top_logprobs: [] })
/** Quotes, line ends, controls, emoji and a lone surrogate. */
const hostile = 'a"b\\\n\n\r\ndata: [DONE]\n\n\u2028\u{1F600}\ud800\u0000'

function stream(events: readonly ChatEvent[], request: ChatRequest): any[] {
  const writer = openaiChat.writer('public "m"', request)
  const bytes = Buffer.from(events.map(event => writer.write(event)).join('') + writer.end())
  const splitter = new SseSplitter()
  const frames: string[] = []
  // Byte by byte: a client's reader may see any cut.
  for (let at = 0; at < bytes.length; at++)
    frames.push(...splitter.push(bytes.subarray(at, at + 1)).map(frame => frame.data))
  expect(splitter.rest()).toBe('')
  expect(frames.pop()).toBe('[DONE]')
  return frames.map(frame => JSON.parse(frame))
}

const append = (target: any, field: string, value: unknown) => {
  if (typeof value === 'string') target[field] = (target[field] ?? '') + value
  else if (Array.isArray(value)) target[field] = [...(target[field] ?? []), ...value]
}

/** What a client builds from the chunks. */
function joined(chunks: any[]): any[] {
  const choices: any[] = []
  for (const chunk of chunks)
    for (const { index, delta, logprobs, finish_reason } of chunk.choices) {
      const choice = (choices[index] ??= { index, message: { content: '', refusal: null }, logprobs: null })
      const { message } = choice
      for (const [field, value] of Object.entries<any>(delta)) {
        if (field === 'role') message.role = value
        else if (field === 'tool_calls')
          for (const { index: at, function: fn, ...rest } of value) {
            const call = ((message.tool_calls ??= [])[at] ??= { function: {} })
            for (const [name, words] of Object.entries(rest)) call[name] = words
            for (const [name, words] of Object.entries(fn)) append(call.function, name, words)
          }
        else if (field === 'function_call')
          for (const [name, words] of Object.entries(value)) append((message.function_call ??= {}), name, words)
        else if (field === 'audio') {
          const audio = (message.audio ??= { data: Buffer.alloc(0), transcript: '' })
          if (value.data) audio.data = Buffer.concat([audio.data, Buffer.from(value.data, 'base64')])
          if (value.id) audio.id = value.id
          if (value.expires_at) audio.expires_at = value.expires_at
          append(audio, 'transcript', value.transcript)
        } else append(message, field, value)
      }
      if (logprobs) {
        choice.logprobs ??= { content: null, refusal: null }
        append(choice.logprobs, 'content', logprobs.content)
        append(choice.logprobs, 'refusal', logprobs.refusal)
      }
      if (finish_reason) choice.finish_reason = finish_reason
    }
  for (const { message } of choices) {
    if (message.audio) message.audio.data = message.audio.data.toString('base64')
    if (message.content === '' && (message.tool_calls || message.function_call || message.refusal || message.audio))
      message.content = null
  }
  return choices
}

const cases: [string, ChatEvent[], ChatRequest][] = [
  ['text', [start, text('Hel'), text('lo'), finish('stop'), usage], plain],
  ['hostile text', [start, text(hostile), text(hostile), finish('stop')], plain],
  ['nothing at all', [start, finish('length')], plain],
  ['a refusal', [start, { type: 'refusal', choice: 0, text: 'no' }, finish('content-filter')], plain],
  [
    'two choices in turns',
    [start, text('a', 1), text('b', 0), text('c', 1), finish('stop', 1), finish('length', 0)],
    plain,
  ],
  [
    'two tool calls',
    [
      start,
      text('ok'),
      { type: 'tool-call-start', choice: 0, index: 0, id: 'c"1', name: 'f' },
      { type: 'tool-call-arguments', choice: 0, index: 0, fragment: '{"a":' },
      { type: 'tool-call-start', choice: 0, index: 1, id: 'c2', name: 'g' },
      { type: 'tool-call-arguments', choice: 0, index: 0, fragment: '"\u{1F600}"}' },
      { type: 'tool-call-end', choice: 0, index: 0 },
      { type: 'tool-call-arguments', choice: 0, index: 1, fragment: '{}' },
      { type: 'tool-call-end', choice: 0, index: 1 },
      finish('tool-calls'),
    ],
    plain,
  ],
  [
    'an old function call',
    [
      start,
      { type: 'tool-call-start', choice: 0, index: 0, id: 'c', name: 'f' },
      { type: 'tool-call-arguments', choice: 0, index: 0, fragment: '{}' },
      finish('tool-calls'),
    ],
    legacy,
  ],
  [
    'signed and redacted thinking',
    [
      start,
      { type: 'reasoning', choice: 0, text: 'let ' },
      { type: 'reasoning', choice: 0, text: 'me' },
      { type: 'reasoning', choice: 0, signature: 's1==' },
      { type: 'reasoning', choice: 0, redacted: 'zzz' },
      { type: 'reasoning', choice: 0, text: 'more', signature: 's2' },
      text('yes'),
      finish('stop'),
    ],
    plain,
  ],
  [
    'unsigned thinking around thinking that is hidden',
    [
      start,
      { type: 'reasoning', choice: 0, text: 'open' },
      { type: 'reasoning', choice: 0, redacted: 'zzz' },
      { type: 'reasoning', choice: 0, text: 'left' },
      text('yes'),
      finish('stop'),
    ],
    plain,
  ],
  ['plain thinking', [start, { type: 'reasoning', choice: 0, text: 'hmm' }, text('yes'), finish('stop')], plain],
  [
    'logprobs behind their text',
    [
      start,
      text('a'),
      { type: 'logprobs', choice: 0, content: [token('a')] },
      text('b'),
      { type: 'logprobs', choice: 0, content: [token('b')] },
      finish('stop'),
    ],
    plain,
  ],
  [
    'logprobs before their text',
    [
      start,
      { type: 'logprobs', choice: 0, content: [token('a')] },
      text('a'),
      { type: 'logprobs', choice: 0, content: [token('b')] },
      text('b'),
      { type: 'logprobs', choice: 0, refusal: [token('c')] },
      finish('stop'),
    ],
    plain,
  ],
  [
    'logprobs in a heap',
    [
      start,
      { type: 'logprobs', choice: 0, content: [token('a')] },
      { type: 'logprobs', choice: 0, content: [token('b')] },
      text('ab'),
      finish('stop'),
    ],
    plain,
  ],
  [
    'sound',
    [
      start,
      { type: 'audio', choice: 0, id: 'a1', transcript: 'he' },
      { type: 'audio', choice: 0, data: Buffer.from('x').toString('base64') },
      {
        type: 'audio',
        choice: 0,
        data: Buffer.from('yz').toString('base64'),
        transcript: 'y',
        expiresAtS: 9,
      },
      finish('stop'),
    ],
    plain,
  ],
  [
    'images and citations',
    [
      start,
      text('see'),
      { type: 'image', choice: 0, source: { data: 'AAEC', mediaType: 'image/png' } },
      {
        type: 'citation',
        choice: 0,
        citation: { url: 'https://a/b', title: 't', start_index: 0, end_index: 3 },
      },
      { type: 'citation', choice: 0, citation: { type: 'char_location', cited_text: 'x' } },
      finish('stop'),
    ],
    plain,
  ],
]

describe('writing a chat stream', () => {
  for (const [what, events, request] of cases)
    test(`a client that joins the chunks of ${what} gets the whole answer`, () => {
      const chunks = stream(events, request)
      const whole: any = openaiChat.encode(events, 'public "m"', request)
      expect(joined(chunks)).toEqual(JSON.parse(JSON.stringify(whole.choices)))
      for (const chunk of chunks)
        expect({ ...chunk, choices: 0 }).toEqual({
          id: whole.id,
          object: 'chat.completion.chunk',
          created: whole.created,
          model: 'public "m"',
          system_fingerprint: null,
          choices: 0,
        })
    })

  test('a choice begins with its role and ends with an empty delta', () => {
    const chunks = stream([start, text('x'), finish('stop')], plain)
    expect(chunks.map(chunk => chunk.choices[0])).toEqual([
      {
        index: 0,
        delta: { role: 'assistant', content: '', refusal: null },
        logprobs: null,
        finish_reason: null,
      },
      { index: 0, delta: { content: 'x' }, logprobs: null, finish_reason: null },
      { index: 0, delta: {}, logprobs: null, finish_reason: 'stop' },
    ])
  })

  test('usage goes out once, last, and only when asked for', () => {
    const early: ChatEvent = { type: 'usage', usage: { inputTokens: 1, outputTokens: 0 } }
    const chunks = stream([start, early, text('x'), finish('stop'), usage], withUsage)
    const last = chunks.pop()
    expect(last.choices).toEqual([])
    expect(last.usage).toMatchObject({ prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 })
    for (const chunk of chunks) expect(chunk.usage).toBeNull()
    for (const chunk of stream([start, text('x'), finish('stop'), usage], plain))
      expect(chunk).not.toHaveProperty('usage')
  })

  test('logprobs travel with the text they belong to', () => {
    const chunks = stream(
      [start, { type: 'logprobs', choice: 0, content: [token('a')] }, text('a'), finish('stop')],
      plain,
    )
    expect(chunks[1].choices[0]).toMatchObject({
      delta: { content: 'a' },
      logprobs: { content: [token('a')] },
    })
  })

  test('logprobs that change sides in the middle stay with their text', () => {
    const chunks = stream(
      [
        start,
        text('a'),
        { type: 'logprobs', choice: 0, content: [token('a')] },
        { type: 'logprobs', choice: 0, content: [token('b')] },
        text('b'),
        finish('stop'),
      ],
      plain,
    )
    const seen = chunks
      .slice(1)
      .map(({ choices: [{ delta, logprobs }] }) => [delta.content, logprobs?.content[0].token])
    expect(seen).toEqual([
      ['a', undefined],
      [undefined, 'a'],
      ['b', 'b'],
      [undefined, undefined],
    ])
  })

  test('a stream without a start still has an id, and a second start changes nothing', () => {
    const [first] = stream([text('x'), finish('stop')], plain)
    expect(first.id).toMatch(/^chatcmpl-./)
    const ids = stream([start, text('x'), { ...start, id: 'other' } as ChatEvent, finish('stop')], plain)
    expect(new Set(ids.map(chunk => chunk.id)).size).toBe(1)
  })

  test("an error becomes OpenAI's error event", () => {
    const writer = openaiChat.writer('m', plain)
    const out = writer.write({ type: 'error', error: new GatewayError('upstream-broken', 'gone\n\n"') })
    expect(JSON.parse(out.slice('data: '.length)).error.message).toBe('gone\n\n"')
    expect(out.endsWith('}\n\n')).toBe(true)
    expect(out.trimEnd()).not.toContain('\n')
  })
})
