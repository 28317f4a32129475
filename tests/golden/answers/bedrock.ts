/**
 * Answers of Converse (docs.aws.amazon.com/bedrock: "Converse", "ConverseStream", "Using the Converse API", "Event
 * stream encoding").
 */
import { crc32 } from 'node:zlib'
import type { AnswerFamily, AnswerFixture, Json } from './family.ts'

const usage = { inputTokens: 30, outputTokens: 628, totalTokens: 658 }
const whole = (content: Json[], reason = 'end_turn', more: Json = {}): Json => ({
  metrics: { latencyMs: 1275 },
  output: { message: { role: 'assistant', content } },
  stopReason: reason,
  usage,
  ...more,
})
/** An event: its type and its payload. */
type Event = readonly [string, Json]
const start: Event = ['messageStart', { role: 'assistant' }]
const delta = (at: number, one: Json): Event => ['contentBlockDelta', { contentBlockIndex: at, delta: one, p: 'abcd' }]
const stop = (at: number): Event => ['contentBlockStop', { contentBlockIndex: at }]
const text = (at: number, ...texts: string[]): Event[] => [...texts.map(one => delta(at, { text: one })), stop(at)]
const tool = (at: number, id: string, name: string, ...json: string[]): Event[] => [
  ['contentBlockStart', { contentBlockIndex: at, start: { toolUse: { toolUseId: id, name } } }],
  ...json.map(input => delta(at, { toolUse: { input } })),
  stop(at),
]
const end = (reason: string, more: Json = {}): Event[] => [
  ['messageStop', { stopReason: reason, ...more }],
  ['metadata', { usage, metrics: { latencyMs: 1275 } }],
]
const use = (id: string, name: string, input: Json): Json => ({ toolUse: { toolUseId: id, name, input } })

const fixtures: AnswerFixture[] = [
  {
    name: 'text',
    whole: whole([{ text: 'Here is a list. ☀' }]),
    stream: [start, ...text(0, 'Here is', ' a list. ☀'), ...end('end_turn')],
    request: { includeUsage: true },
  },
  {
    name: 'tool call',
    whole: whole(
      [{ text: 'Let me look.' }, use('tooluse_kZJMlvQmRJ6eAyJE5GIl7Q', 'top_song', { sign: 'WZPZ' })],
      'tool_use',
    ),
    stream: [
      start,
      ...text(0, 'Let me look.'),
      ...tool(1, 'tooluse_kZJMlvQmRJ6eAyJE5GIl7Q', 'top_song', '{"sign"', ':"WZPZ"}'),
      ...end('tool_use'),
    ],
  },
  {
    name: 'two tool calls',
    whole: whole([use('a', 'x', { n: 1 }), use('b', 'y', {})], 'tool_use'),
    stream: [start, ...tool(0, 'a', 'x', '{"n":1}'), ...tool(1, 'b', 'y'), ...end('tool_use')],
  },
  {
    name: 'an answer in the tool of its schema',
    whole: whole([use('a', 'gateway_json_answer', { name: 'Ada' })], 'tool_use'),
    stream: [start, ...tool(0, 'a', 'gateway_json_answer', '{"name":', '"Ada"}'), ...end('tool_use')],
  },
  {
    name: 'reasoning',
    whole: whole([{ reasoningContent: { reasoningText: { text: 'Think.', signature: 'EqQB' } } }, { text: 'Yes.' }]),
    stream: [
      start,
      delta(0, { reasoningContent: { text: 'Thi' } }),
      delta(0, { reasoningContent: { text: 'nk.' } }),
      delta(0, { reasoningContent: { signature: 'EqQB' } }),
      stop(0),
      ...text(1, 'Yes.'),
      ...end('end_turn'),
    ],
  },
  {
    name: 'redacted reasoning',
    whole: whole([{ reasoningContent: { redactedContent: 'AAEC' } }, { text: 'Yes.' }]),
    stream: [
      start,
      delta(0, { reasoningContent: { redactedContent: 'AAEC' } }),
      stop(0),
      ...text(1, 'Yes.'),
      ...end('end_turn'),
    ],
  },
  {
    name: 'length',
    whole: whole([{ text: 'Once' }], 'max_tokens'),
    stream: [start, ...text(0, 'Once'), ...end('max_tokens')],
  },
  {
    name: 'stop sequence',
    whole: whole([{ text: 'One' }], 'stop_sequence', { additionalModelResponseFields: { stop_sequence: 'two' } }),
    stream: [
      start,
      ...text(0, 'One'),
      ...end('stop_sequence', { additionalModelResponseFields: { stop_sequence: 'two' } }),
    ],
  },
  {
    name: 'a guardrail',
    whole: whole([{ text: 'Sorry, I cannot answer that.' }], 'guardrail_intervened'),
    stream: [start, ...text(0, 'Sorry, I cannot answer that.'), ...end('guardrail_intervened')],
  },
  { name: 'content filtered', whole: whole([], 'content_filtered'), stream: [start, ...end('content_filtered')] },
  {
    name: 'malformed output',
    whole: whole([], 'malformed_model_output'),
    stream: [start, ...end('malformed_model_output')],
  },
  {
    name: 'citations',
    whole: whole([
      {
        citationsContent: {
          content: [{ text: 'It is green.' }],
          citations: [
            {
              title: 'Doc',
              sourceContent: [{ text: 'green' }],
              location: { documentChar: { documentIndex: 0, start: 0, end: 5 } },
            },
          ],
        },
      },
    ]),
    stream: [
      start,
      delta(0, { text: 'It is green.' }),
      delta(0, {
        citation: {
          title: 'Doc',
          sourceContent: [{ text: 'green' }],
          location: { documentChar: { documentIndex: 0, start: 0, end: 5 } },
        },
      }),
      stop(0),
      ...end('end_turn'),
    ],
  },
  {
    name: 'usage with cache',
    whole: whole([{ text: 'Hi.' }], 'end_turn', {
      usage: {
        inputTokens: 10,
        outputTokens: 5,
        totalTokens: 1115,
        cacheReadInputTokens: 1000,
        cacheWriteInputTokens: 100,
        cacheDetails: [{ ttl: '1h', inputTokens: 60 }],
      },
    }),
    request: { includeUsage: true },
  },
  {
    name: 'throttled in the stream',
    stream: [start, delta(0, { text: 'On' }), ['throttlingException', { message: 'Too many requests' }]],
  },
  {
    name: 'failed in the stream',
    stream: [
      start,
      delta(0, { text: 'On' }),
      ['modelStreamErrorException', { message: 'The model failed', originalStatusCode: 424, originalMessage: 'boom' }],
    ],
  },
  { name: 'cut before its end', stream: [start, delta(0, { text: 'On' })] },
  { name: 'unknown events', stream: [start, ['futureEvent', { a: 1 }], ...text(0, 'Hi.'), ...end('end_turn')] },
]

const u32 = (value: number): Buffer => {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(value)
  return bytes
}

function header(name: string, value: string): Buffer {
  const length = Buffer.alloc(2)
  length.writeUInt16BE(Buffer.byteLength(value))
  return Buffer.concat([Buffer.from([name.length]), Buffer.from(name), Buffer.from([7]), length, Buffer.from(value)])
}

function frame([type, payload]: Event): Buffer {
  const kind = type.endsWith('Exception') ? 'exception' : 'event'
  const headers = Buffer.concat([
    header(`:${kind}-type`, type),
    header(':content-type', 'application/json'),
    header(':message-type', kind),
  ])
  const body = Buffer.from(JSON.stringify(payload))
  const lengths = Buffer.concat([u32(16 + headers.length + body.length), u32(headers.length)])
  const all = Buffer.concat([lengths, u32(crc32(lengths)), headers, body])
  return Buffer.concat([all, u32(crc32(all))])
}

export const bedrockFamily: AnswerFamily = {
  name: 'bedrock',
  providers: ['bedrock'],
  bytes: pieces => Buffer.concat(pieces.map(piece => frame(piece as Event))),
  fixtures,
}
