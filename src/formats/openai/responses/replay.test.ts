import { describe, expect, test } from 'bun:test'
import { expectConforms } from '../../../../tests/support/openai-conformance.ts'
import type { ChatEvent } from '../../../core/hub/chat.ts'
import { GatewayError } from '../../../core/errors.ts'
import { JsonBody } from '../../../lib/json/json-body.ts'
import { openaiResponses } from './index.ts'
import { canReplay, replayResponse } from './replay.ts'

type Json = Record<string, any>

const tools = [
  { type: 'function', name: 'f', parameters: { type: 'object' }, strict: true },
  { type: 'custom', name: 'apply_patch' },
]
const request = openaiResponses.decode(
  JsonBody.read(Buffer.from(JSON.stringify({ model: 'm', input: 'x', stream: true, tools }))),
)
const read = (text: string): Json[] =>
  text
    .split('\n\n')
    .filter(Boolean)
    .map(block => JSON.parse(block.slice(block.indexOf('data: ') + 6)))
const finish = (reason: 'stop' | 'length' | 'tool-calls'): ChatEvent => ({ type: 'finish', choice: 0, reason })
const call = (index: number, name: string, fragment: string): ChatEvent[] => [
  { type: 'tool-call-start', choice: 0, index, id: `c${index}`, name },
  { type: 'tool-call-arguments', choice: 0, index, fragment },
  { type: 'tool-call-end', choice: 0, index },
]

/** Each text in one piece, as a stored answer has it. */
const answers: [string, ChatEvent[]][] = [
  ['text', [{ type: 'text', choice: 0, text: 'Grüße ✓\n"x"' }, finish('stop')]],
  [
    'a text with sources, and a refusal',
    [
      { type: 'text', choice: 0, text: 'Hi' },
      { type: 'citation', choice: 0, citation: { url: 'https://a/b', title: 'T', start_index: 0, end_index: 1 } },
      { type: 'refusal', choice: 0, text: 'no' },
      finish('stop'),
    ],
  ],
  [
    'thinking that is proven and hidden, then calls',
    [
      { type: 'reasoning', choice: 0, text: 'hm' },
      { type: 'reasoning', choice: 0, signature: 'SIG' },
      { type: 'reasoning', choice: 0, redacted: 'RED' },
      ...call(0, 'f', '{"a":1}'),
      ...call(1, 'apply_patch', '{"input":"*** Begin"}'),
      finish('tool-calls'),
    ],
  ],
  [
    'a cut answer',
    [
      { type: 'text', choice: 0, text: 'Hal' },
      finish('length'),
      { type: 'usage', usage: { inputTokens: 3, outputTokens: 1 } },
    ],
  ],
  ['nothing at all', [finish('stop')]],
]

describe('a stored answer', () => {
  test.each(answers)('%s: is the same as the first time', async (_, events) => {
    const writer = openaiResponses.writer('m', request)
    const first =
      [{ type: 'start', id: 'u', model: 'u' } as ChatEvent, ...events].map(event => writer.write(event)).join('') +
      writer.end()
    const written = read(first)
    const stored = JSON.parse(JSON.stringify(written.at(-1)!.response)) as Json
    expect(canReplay(stored)).toBe(true)
    const again = replayResponse(stored, -1)
    expect(read(again)).toEqual(written)
    for (const event of read(again)) expectConforms('ResponseStreamEvent', event)
  })

  test('a client that was cut gets the rest, by the same numbers', () => {
    const writer = openaiResponses.writer('m', request)
    const events = read(answers[0]![1].map(event => writer.write(event)).join('') + writer.end())
    const stored = events.at(-1)!.response as Json
    for (let after = -1; after <= events.length; after++)
      expect(read(replayResponse(stored, after))).toEqual(events.slice(after + 1))
  })

  test('one that failed keeps its output, and says why at its end', () => {
    const writer = openaiResponses.writer('m', request)
    writer.write({ type: 'text', choice: 0, text: 'half' })
    const stored = read(writer.fail!(new GatewayError('upstream-broken', 'cut'))).at(-1)!.response as Json
    const events = read(replayResponse(stored, -1))
    expect([events[0]!.response.error, events.at(-1)]).toEqual([
      null,
      { type: 'response.failed', sequence_number: events.length - 1, response: stored },
    ])
    expect(events.find(event => event.type === 'response.output_text.delta')!.delta).toBe('half')
  })

  test("items of an upstream's own: hosted tools, open thinking, and unknown ones", () => {
    const output = [
      { id: 'ws_1', type: 'web_search_call', status: 'completed', action: { type: 'search', query: 'q' } },
      {
        id: 'rs_1',
        type: 'reasoning',
        summary: [],
        content: [{ type: 'reasoning_text', text: 'hm' }],
        encrypted_content: 'X',
      },
      'no item',
      { type: 'new_thing' },
    ]
    const events = read(replayResponse({ id: 'resp_1', status: 'completed', output }, -1))
    expect(events.map(event => event.type)).toEqual([
      'response.created',
      'response.in_progress',
      'response.output_item.added',
      'response.output_item.done',
      'response.output_item.added',
      'response.reasoning_text.delta',
      'response.reasoning_text.done',
      'response.output_item.done',
      'response.output_item.added',
      'response.output_item.done',
      'response.completed',
    ])
    expect(events[2]!.item).toEqual({ ...(output[0] as object), status: 'in_progress' })
    expect(events[4]!.item).toEqual({ id: 'rs_1', type: 'reasoning', summary: [], content: [] })
  })

  test('one that runs or was cancelled has no stream', () => {
    expect(['queued', 'in_progress', 'cancelled', undefined].map(status => canReplay({ status }))).toEqual([
      false,
      false,
      false,
      false,
    ])
  })
})
