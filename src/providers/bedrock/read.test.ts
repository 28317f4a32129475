/** Answers of Converse, whole and streamed, and errors on the way (docs: "Converse", "ConverseStream", examples). */
import { describe, expect, test } from 'bun:test'
import { crc32 } from 'node:zlib'
import { joined } from '../../../tests/support/provider-rig.ts'
import type { ChatEvent } from '../../core/hub/chat.ts'
import { frameSplitter } from '../../lib/frame-splitter.ts'
import { bedrock } from './index.ts'

type Json = Record<string, unknown>

/** A message as AWS sends it: the type and name in headers, the payload padded against guessing by length. */
function message(name: string, payload: Json, kind: 'event' | 'exception' = 'event'): Buffer {
  const header = (key: string, value: string) =>
    Buffer.concat([
      Buffer.from([key.length]),
      Buffer.from(key),
      Buffer.from([7, value.length >> 8, value.length & 255]),
      Buffer.from(value),
    ])
  const headers = Buffer.concat([
    header(`:${kind}-type`, name),
    header(':content-type', 'application/json'),
    header(':message-type', kind),
  ])
  const body = Buffer.from(JSON.stringify({ ...payload, p: 'abcdefghijk' }))
  const lengths = Buffer.alloc(12)
  lengths.writeUInt32BE(16 + headers.length + body.length)
  lengths.writeUInt32BE(headers.length, 4)
  lengths.writeUInt32BE(crc32(lengths.subarray(0, 8)), 8)
  const crc = Buffer.alloc(4)
  const all = Buffer.concat([lengths, headers, body])
  crc.writeUInt32BE(crc32(all))
  return Buffer.concat([all, crc])
}
const stream = (...events: [string, Json][]): Buffer =>
  Buffer.concat(events.map(([name, payload]) => message(name, payload)))

function read(bytes: Uint8Array, size = bytes.length): ChatEvent[] {
  const splitter = frameSplitter(bedrock.chat!.framing)
  const reader = bedrock.chat!.reader()
  const events: ChatEvent[] = []
  for (let at = 0; at < bytes.length; at += size)
    for (const frame of splitter.push(bytes.subarray(at, at + size))) events.push(...reader(frame))
  return joined(events)
}
const whole = (body: unknown): ChatEvent[] => joined(bedrock.chat!.result(body))
const answer = (content: Json[], stopReason: string, more: Json = {}) => ({
  output: { message: { role: 'assistant', content } },
  stopReason,
  usage: { inputTokens: 125, outputTokens: 60, totalTokens: 185 },
  metrics: { latencyMs: 1175 },
  ...more,
})
const delta = (contentBlockIndex: number, one: Json): [string, Json] => [
  'contentBlockDelta',
  { contentBlockIndex, delta: one },
]
const stop = (contentBlockIndex: number): [string, Json] => ['contentBlockStop', { contentBlockIndex }]
const begin: [string, Json] = ['messageStart', { role: 'assistant' }]
const metadata: [string, Json] = [
  'metadata',
  { usage: { inputTokens: 125, outputTokens: 60, totalTokens: 185 }, metrics: { latencyMs: 1175 } },
]
const usage = { type: 'usage', usage: { inputTokens: 125, outputTokens: 60 } } as const
const start = { type: 'start', id: '', model: '' } as const

const calling = answer(
  [
    { reasoningContent: { reasoningText: { text: 'The user wants the weather.', signature: 'EqoB' } } },
    { reasoningContent: { redactedContent: 'cmVkYWN0ZWQ=' } },
    { text: 'Grüße 🌍' },
    { toolUse: { toolUseId: 'tooluse_kZJMlvQmRJ6eAyJE5GIl7Q', name: 'top_song', input: { sign: 'WZPZ' } } },
    { toolUse: { toolUseId: 'tooluse_2', name: 'now', input: {} } },
  ],
  'tool_use',
)
const callingStream = stream(
  begin,
  delta(0, { reasoningContent: { text: 'The user ' } }),
  delta(0, { reasoningContent: { text: 'wants the weather.' } }),
  delta(0, { reasoningContent: { signature: 'EqoB' } }),
  stop(0),
  delta(1, { reasoningContent: { redactedContent: 'cmVkYWN0ZWQ=' } }),
  stop(1),
  delta(2, { text: '' }),
  delta(2, { text: 'Grüße ' }),
  delta(2, { text: '🌍' }),
  stop(2),
  [
    'contentBlockStart',
    { contentBlockIndex: 3, start: { toolUse: { toolUseId: 'tooluse_kZJMlvQmRJ6eAyJE5GIl7Q', name: 'top_song' } } },
  ],
  delta(3, { toolUse: { input: '' } }),
  delta(3, { toolUse: { input: '{"sign":' } }),
  delta(3, { toolUse: { input: '"WZPZ"}' } }),
  stop(3),
  ['contentBlockStart', { contentBlockIndex: 4, start: { toolUse: { toolUseId: 'tooluse_2', name: 'now' } } }],
  stop(4),
  ['messageStop', { stopReason: 'tool_use' }],
  metadata,
)
const callingEvents = joined([
  start,
  { type: 'reasoning', choice: 0, text: 'The user wants the weather.' },
  { type: 'reasoning', choice: 0, signature: 'EqoB' },
  { type: 'reasoning', choice: 0, redacted: 'cmVkYWN0ZWQ=' },
  { type: 'text', choice: 0, text: 'Grüße 🌍' },
  { type: 'tool-call-start', choice: 0, index: 0, id: 'tooluse_kZJMlvQmRJ6eAyJE5GIl7Q', name: 'top_song' },
  { type: 'tool-call-arguments', choice: 0, index: 0, fragment: '{"sign":"WZPZ"}' },
  { type: 'tool-call-end', choice: 0, index: 0 },
  { type: 'tool-call-start', choice: 0, index: 1, id: 'tooluse_2', name: 'now' },
  { type: 'tool-call-arguments', choice: 0, index: 1, fragment: '{}' },
  { type: 'tool-call-end', choice: 0, index: 1 },
  { type: 'finish', choice: 0, reason: 'tool-calls' },
  usage,
])

test('a whole answer and its stream are the same events', () => {
  expect(whole(calling)).toEqual(callingEvents)
  expect(read(callingStream)).toEqual(callingEvents)
})

test('signatures and redacted thinking come as events of their own', () => {
  const raw = bedrock.chat!.result(calling).filter(event => event.type === 'reasoning')
  expect(raw.map(event => Object.keys(event).at(-1))).toEqual(['text', 'signature', 'redacted'])
})

test('wherever the stream is cut, the events are the same', () => {
  for (let size = 1; size <= callingStream.length; size += size < 64 ? 1 : 37)
    expect(read(callingStream, size)).toEqual(callingEvents)
})

test('an answer that a schema forced into a tool is text', () => {
  const expected: ChatEvent[] = [
    start,
    { type: 'text', choice: 0, text: '{"city":"Paris"}' },
    { type: 'finish', choice: 0, reason: 'stop' },
    usage,
  ]
  expect(
    whole(answer([{ toolUse: { toolUseId: 't', name: 'gateway_json_answer', input: { city: 'Paris' } } }], 'tool_use')),
  ).toEqual(expected)
  const bytes = stream(
    begin,
    [
      'contentBlockStart',
      { contentBlockIndex: 0, start: { toolUse: { toolUseId: 't', name: 'gateway_json_answer' } } },
    ],
    delta(0, { toolUse: { input: '{"city":' } }),
    delta(0, { toolUse: { input: '"Paris"}' } }),
    stop(0),
    ['messageStop', { stopReason: 'tool_use' }],
    metadata,
  )
  expect(read(bytes)).toEqual(expected)
})

test('citations and images', () => {
  const citation = { title: 'doc', location: { documentPage: { documentIndex: 0, start: 1, end: 2 } } }
  const expected: ChatEvent[] = [
    start,
    { type: 'text', choice: 0, text: 'So it is.' },
    { type: 'citation', choice: 0, citation, span: { start: 0, end: 9 } },
    { type: 'image', choice: 0, source: { data: 'aGk=', mediaType: 'image/webp' } },
    { type: 'finish', choice: 0, reason: 'stop' },
    usage,
  ]
  expect(
    whole(
      answer(
        [
          { citationsContent: { content: [{ text: 'So it is.' }], citations: [citation] } },
          { image: { format: 'webp', source: { bytes: 'aGk=' } } },
        ],
        'end_turn',
      ),
    ),
  ).toEqual(expected)
  const bytes = stream(
    begin,
    delta(0, { text: 'So it is.' }),
    delta(0, { citation }),
    stop(0),
    ['contentBlockStart', { contentBlockIndex: 1, start: { image: { format: 'webp' } } }],
    delta(1, { image: { source: { bytes: 'aGk=' } } }),
    stop(1),
    ['messageStop', { stopReason: 'end_turn' }],
    metadata,
  )
  expect(read(bytes)).toEqual(expected)
})

test.each([
  ['end_turn', 'stop'],
  ['stop_sequence', 'stop'],
  ['max_tokens', 'length'],
  ['model_context_window_exceeded', 'length'],
  ['guardrail_intervened', 'content-filter'],
  ['content_filtered', 'content-filter'],
])('%s is %s', (stopReason, reason) => {
  const events = whole(
    answer([{ text: 'x' }], stopReason, {
      additionalModelResponseFields: stopReason === 'stop_sequence' ? { stop_sequence: '</list>' } : null,
    }),
  )
  expect(events.filter(event => event.type === 'finish') as unknown[]).toEqual([
    {
      type: 'finish',
      choice: 0,
      reason,
      ...(stopReason === 'stop_sequence' && { stopSequence: '</list>' }),
    },
  ])
})

test('usage: the hub counts all input, AWS the cached apart', () => {
  const counted = (value: unknown) =>
    whole(answer([], 'end_turn', { usage: value })).find(event => event.type === 'usage')?.usage
  const cacheDetails = [
    { ttl: '1h', inputTokens: 30 },
    { ttl: '5m', inputTokens: 10 },
  ]
  expect(
    counted({
      inputTokens: 7,
      outputTokens: 5,
      totalTokens: 152,
      cacheReadInputTokens: 100,
      cacheWriteInputTokens: 40,
      cacheDetails,
    }),
  ).toEqual({
    inputTokens: 147,
    outputTokens: 5,
    cachedInputTokens: 100,
    cacheWriteTokens: 40,
    cacheWriteOneHourTokens: 30,
  })
  expect([
    counted({ inputTokens: -1, outputTokens: 5 }),
    counted({ inputTokens: 1e12, outputTokens: 5 }),
    counted(null),
  ]).toEqual([undefined, undefined, undefined])
})

describe('failures', () => {
  const errors = (bytes: Uint8Array) =>
    read(bytes).flatMap(event =>
      event.type === 'error' ? [[event.error.kind, event.error.message, event.error.code]] : [],
    )

  test.each([
    [
      'throttlingException',
      { message: 'Too many tokens, please wait before trying again.' },
      'upstream-rate-limited',
      'Too many tokens, please wait before trying again.',
      'ThrottlingException',
    ],
    [
      'modelStreamErrorException',
      { originalStatusCode: 500, originalMessage: 'worker died' },
      'upstream-failed',
      'worker died',
      'ModelStreamErrorException',
    ],
    [
      'serviceUnavailableException',
      {},
      'upstream-overloaded',
      'the upstream broke off its answer (ServiceUnavailableException)',
      'ServiceUnavailableException',
    ],
    ['internalServerException', { message: 'oops' }, 'upstream-failed', 'oops', 'InternalServerException'],
    [
      'validationException',
      { message: 'Input is too long for requested model.' },
      'context-too-long',
      'Input is too long for requested model.',
      'context_length_exceeded',
    ],
    ['validationException', { message: 'bad field' }, 'upstream-refused', 'bad field', 'ValidationException'],
    ['laterException', { message: 'new' }, 'upstream-failed', 'new', 'LaterException'],
  ])('%s in a stream', (name, payload, kind, words, code) => {
    const bytes = Buffer.concat([stream(begin, delta(0, { text: 'half' })), message(name, payload, 'exception')])
    expect(errors(bytes)).toEqual([[kind, words, code]])
  })

  test('an error without a model of its own', () => {
    const reader = bedrock.chat!.reader()
    expect(reader({ event: 'error', data: '{"code":"ThrottlingException","message":"slow down"}' })).toMatchObject([
      { type: 'error', error: { kind: 'upstream-rate-limited' } },
    ])
    expect(reader({ event: 'badException', data: 'not JSON' })).toMatchObject([
      { type: 'error', error: { kind: 'upstream-failed', message: 'not JSON' } },
    ])
  })

  test('an answer that the model spoiled', () => {
    expect(whole(answer([{ text: 'x' }], 'malformed_tool_use')).at(-1)).toMatchObject({
      type: 'error',
      error: { kind: 'upstream-failed', code: 'malformed_tool_use' },
    })
  })

  test.each([
    ['nothing', null],
    ['a list', []],
    ['no message', { output: {}, stopReason: 'end_turn' }],
    ['no content', { output: { message: { content: 'x' } }, stopReason: 'end_turn' }],
    ['no stop reason', { output: { message: { content: [] } } }],
  ])('a whole answer that is none: %s', (_, body) => {
    expect(() => whole(body)).toThrow('does not follow its protocol')
  })

  test('a stream that is none, and one of hostile shapes', () => {
    const reader = bedrock.chat!.reader()
    expect(() => reader({ event: 'messageStop', data: '{}' })).toThrow('no stopReason')
    expect(() => reader({ event: 'messageStart', data: '[]' })).toThrow('no object')
    expect(() => reader({ event: 'contentBlockDelta', data: '{"delta":' })).toThrow()
    const strange = [
      '{"delta":{"toolUse":{"input":7}}}',
      '{"delta":{"text":{"a":1},"reasoningContent":null,"citation":[]}}',
      '{"contentBlockIndex":{},"delta":{"image":{}}}',
    ]
    for (const payload of strange) expect(reader({ event: 'contentBlockDelta', data: payload })).toEqual([])
    expect(reader({ event: 'somethingNew', data: '{"a":1}' })).toEqual([])
    expect(reader({ data: '' })).toEqual([])
  })

  test('a block left open is closed before the end', () => {
    const bytes = stream(
      begin,
      ['contentBlockStart', { contentBlockIndex: 0, start: { toolUse: { toolUseId: 't', name: 'f' } } }],
      ['messageStop', { stopReason: 'tool_use' }],
    )
    expect(read(bytes).map(event => event.type)).toEqual([
      'start',
      'tool-call-start',
      'tool-call-arguments',
      'tool-call-end',
      'finish',
    ])
  })
})

test('a stop sequence is one for clients of Messages also where the model does not say which', () => {
  const events = whole(answer([{ text: 'x' }], 'stop_sequence', { additionalModelResponseFields: null }))
  expect(events).toContainEqual({ type: 'finish', choice: 0, reason: 'stop', stopSequence: null })
})
