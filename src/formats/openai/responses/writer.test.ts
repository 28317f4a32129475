import { describe, expect, test } from 'bun:test'
import { expectConforms } from '../../../../tests/support/openai-conformance.ts'
import type { ChatEvent } from '../../../core/hub/chat.ts'
import { GatewayError } from '../../../core/errors.ts'
import { JsonBody } from '../../../lib/json/json-body.ts'
import { openaiResponses } from './index.ts'

type Json = Record<string, any>

const requestOf = (fields: object = {}) =>
  openaiResponses.decode(
    JsonBody.read(Buffer.from(JSON.stringify({ model: 'm', input: 'x', stream: true, ...fields }))),
  )

const tools = [
  { type: 'function', name: 'f', parameters: { type: 'object' }, strict: true },
  { type: 'custom', name: 'apply_patch' },
  { type: 'namespace', name: 'ns', description: 'd', tools: [{ type: 'function', name: 'g' }] },
]

/** Events of a stream, each checked for its form: named as its type, numbered without a gap. */
function read(text: string): Json[] {
  return text
    .split('\n\n')
    .filter(Boolean)
    .map((block, at) => {
      const [event, data, ...rest] = block.split('\n')
      expect(rest).toEqual([])
      const body = JSON.parse(data!.replace(/^data: /, ''))
      expect(event).toBe(`event: ${body.type}`)
      expect(body.sequence_number).toBe(at)
      return body
    })
}

function stream(events: readonly ChatEvent[], fields: object = {}): Json[] {
  const writer = openaiResponses.writer('m', requestOf(fields))
  return read(events.map(event => writer.write(event)).join('') + writer.end())
}

const start: ChatEvent = { type: 'start', id: 'u', model: 'u' }
const finish = (reason: 'stop' | 'length' | 'tool-calls' | 'content-filter'): ChatEvent => ({
  type: 'finish',
  choice: 0,
  reason,
})
const token = { token: 'H', logprob: -1, bytes: null, top_logprobs: [{ token: 'H', logprob: -1, bytes: [72] }] }

const rich: ChatEvent[] = [
  start,
  { type: 'reasoning', choice: 0, text: 'hm' },
  { type: 'reasoning', choice: 0, text: 'm', signature: 'SIG' },
  { type: 'reasoning', choice: 0, redacted: 'RED' },
  { type: 'text', choice: 0, text: 'H' },
  { type: 'logprobs', choice: 0, content: [token] },
  { type: 'text', choice: 0, text: 'i "you"\n' },
  { type: 'citation', choice: 0, citation: { url: 'https://a/b', title: 'T', start_index: 0, end_index: 1 } },
  { type: 'citation', choice: 0, citation: { document_title: 'D' } },
  { type: 'refusal', choice: 0, text: 'no' },
  { type: 'tool-call-start', choice: 0, index: 0, id: 'c1', name: 'f' },
  { type: 'tool-call-arguments', choice: 0, index: 0, fragment: '{"a":' },
  { type: 'tool-call-start', choice: 0, index: 1, id: 'c2', name: 'apply_patch' },
  { type: 'tool-call-arguments', choice: 0, index: 1, fragment: '{"input":"*** ' },
  { type: 'tool-call-arguments', choice: 0, index: 0, fragment: '1}' },
  { type: 'tool-call-arguments', choice: 0, index: 1, fragment: 'Begin"}' },
  { type: 'tool-call-end', choice: 0, index: 0 },
  { type: 'tool-call-end', choice: 0, index: 1 },
  { type: 'tool-call-start', choice: 0, index: 2, id: 'c3', name: 'ns__g' },
  { type: 'tool-call-end', choice: 0, index: 2 },
  { type: 'image', choice: 0, source: { data: 'AAAA', mediaType: 'image/png' } },
  { type: 'image', choice: 0, source: { url: 'https://a/b.png' } },
  finish('tool-calls'),
  { type: 'usage', usage: { inputTokens: 3, outputTokens: 4, cachedInputTokens: 1, reasoningTokens: 2 } },
]

/** The order of the items of `rich`, without what is random. */
const shown = (item: Json): Json => {
  const { id, status, ...rest } = item
  expect(status).toBe('completed')
  expect(id).toMatch(/^(rs|msg|fc|ctc|ig)_[0-9a-f]{36}$/)
  return rest
}
const richOutput = [
  { type: 'reasoning', summary: [{ type: 'summary_text', text: 'hmm' }], encrypted_content: 'modelgate-signature-SIG' },
  { type: 'reasoning', summary: [], encrypted_content: 'modelgate-redacted-RED' },
  {
    type: 'message',
    role: 'assistant',
    content: [
      {
        type: 'output_text',
        text: 'Hi "you"\n',
        annotations: [{ type: 'url_citation', url: 'https://a/b', title: 'T', start_index: 0, end_index: 1 }],
        logprobs: [{ ...token, bytes: [] }],
        citations: [{ document_title: 'D' }],
      },
      { type: 'refusal', refusal: 'no' },
    ],
  },
  { type: 'function_call', call_id: 'c1', name: 'f', arguments: '{"a":1}' },
  { type: 'custom_tool_call', call_id: 'c2', name: 'apply_patch', input: '*** Begin' },
  { type: 'function_call', call_id: 'c3', namespace: 'ns', name: 'g', arguments: '{}' },
  { type: 'image_generation_call', result: 'AAAA' },
  {
    type: 'message',
    role: 'assistant',
    content: [{ type: 'output_text', text: '![image](https://a/b.png)', annotations: [], logprobs: [] }],
  },
]

/** What a client gathers from the events alone. */
function gathered(events: readonly Json[]): Json[] {
  const items: Json[] = []
  for (const event of events) {
    if (event.type === 'response.output_item.added') items[event.output_index] = { type: event.item.type, deltas: '' }
    const item = items[event.output_index]
    if (!item) continue
    if (event.type.endsWith('.delta')) item.deltas += event.delta
    if (event.type === 'response.output_item.done') item.done = event.item
  }
  return items
}

describe('an answer with everything in it', () => {
  const events = stream(rich, { tools })
  const last = events.at(-1)!

  test('begins and ends as the dialect says', () => {
    expect(events.slice(0, 2).map(event => event.type)).toEqual(['response.created', 'response.in_progress'])
    expect(events[0]!.response).toMatchObject({
      status: 'in_progress',
      output: [],
      model: 'm',
      object: 'response',
      store: true,
    })
    expect(last.type).toBe('response.completed')
    expect(last.response.id).toBe(events[0]!.response.id)
    expect(last.response).toMatchObject({ status: 'completed', incomplete_details: null, error: null, tools })
    expect(last.response.usage).toEqual({
      input_tokens: 3,
      input_tokens_details: { cached_tokens: 1, cache_write_tokens: 0 },
      output_tokens: 4,
      output_tokens_details: { reasoning_tokens: 2 },
      total_tokens: 7,
    })
    expect(last.response.output.map(shown)).toEqual(richOutput)
  })

  test('says the same in deltas, in finished items and in the end', () => {
    const items = gathered(events)
    expect(items.map(item => item.done)).toEqual(last.response.output)
    expect(items.map(item => item.deltas)).toEqual([
      'hmm',
      '',
      'Hi "you"\nno',
      '{"a":1}',
      '*** Begin',
      '{}',
      '',
      '![image](https://a/b.png)',
    ])
  })

  test('follows the schema of each event, and of the object', () => {
    for (const event of events) expectConforms('ResponseStreamEvent', event)
    expectConforms('Response', last.response)
    expect(() => expectConforms('Response', { ...last.response, status: 'finished' })).toThrow('not a Response')
  })

  test('is the same as a whole', () => {
    const whole = openaiResponses.encode(rich, 'm', requestOf({ tools })) as Json
    expect(whole.output.map(shown)).toEqual(richOutput)
    expect(Object.keys(whole).sort()).toEqual(Object.keys(last.response).sort())
  })

  test('comes back as it was: each proof with its own words, each call to its own tool', () => {
    const { messages } = requestOf({
      tools,
      input: last.response.output.filter((item: Json) => item.type !== 'image_generation_call'),
    })
    expect(messages[0]!.parts.slice(0, 2)).toEqual([
      { type: 'reasoning', text: 'hmm', signature: 'SIG' },
      { type: 'reasoning', text: '', redacted: 'RED' },
    ])
    expect(messages[0]!.parts.filter(part => part.type === 'tool-call')).toEqual([
      { type: 'tool-call', id: 'c1', name: 'f', arguments: '{"a":1}' },
      { type: 'tool-call', id: 'c2', name: 'apply_patch', arguments: '{"input":"*** Begin"}' },
      { type: 'tool-call', id: 'c3', name: 'ns__g', arguments: '{}' },
    ])
  })
})

test('an answer that was cut says so', () => {
  const events = stream([start, { type: 'text', choice: 0, text: 'Hi' }, finish('length')])
  expect(events.at(-1)).toMatchObject({
    type: 'response.incomplete',
    response: {
      status: 'incomplete',
      incomplete_details: { reason: 'max_output_tokens' },
      output: [{ status: 'incomplete' }],
    },
  })
  expect(stream([start, finish('content-filter')]).at(-1)!.response.incomplete_details).toEqual({
    reason: 'content_filter',
  })
})

test('a stream that breaks off fails with what was said until then', async () => {
  const writer = openaiResponses.writer('m', requestOf())
  const said = writer.write(start) + writer.write({ type: 'text', choice: 0, text: 'Hal' })
  const events = read(said + writer.fail!(new GatewayError('upstream-rate-limited', 'slow down')))
  expect(events.at(-1)).toMatchObject({
    type: 'response.failed',
    response: {
      status: 'failed',
      error: { code: 'rate_limit_exceeded', message: 'slow down' },
      output: [{ status: 'incomplete', content: [{ text: 'Hal' }] }],
    },
  })
  expectConforms('ResponseFailedEvent', events.at(-1))
  expectConforms(
    'ResponseErrorEvent',
    JSON.parse(openaiResponses.errorEvent(new GatewayError('internal', 'x')).split('data: ')[1]!),
  )
})

test('a model that does not keep to the shape of a custom tool is passed on as it wrote', () => {
  const call = (written: string): ChatEvent[] => [
    start,
    { type: 'tool-call-start', choice: 0, index: 0, id: 'c', name: 'apply_patch' },
    { type: 'tool-call-arguments', choice: 0, index: 0, fragment: written },
    finish('tool-calls'),
  ]
  const input = (written: string) =>
    (openaiResponses.encode(call(written), 'm', requestOf({ tools })) as Json).output[0].input
  expect(input('plain text')).toBe('plain text')
  expect(input('{"text":1}')).toBe('{"text":1}')
  expect(input('"quoted"')).toBe('quoted')
})

test('logprobs that come before their text, and further choices', () => {
  const events = stream([
    start,
    { type: 'logprobs', choice: 0, content: [token] },
    { type: 'text', choice: 0, text: 'H' },
    { type: 'text', choice: 1, text: 'other' },
    finish('stop'),
  ])
  const deltas = events.filter(event => event.type === 'response.output_text.delta')
  expect(deltas.map(event => [event.delta, event.logprobs.length])).toEqual([['H', 1]])
})

test('an answer that never ended is an error, never an answer', () => {
  expect(() => openaiResponses.encode([start, { type: 'text', choice: 0, text: 'a' }], 'm', requestOf())).toThrow(
    /no finish reason/,
  )
  const error = new GatewayError('upstream-failed', 'boom')
  expect(() => openaiResponses.encode([start, { type: 'error', error }], 'm', requestOf())).toThrow('boom')
})

test('an answer that breaks off has its items in order, ended or not', () => {
  const writer = openaiResponses.writer('m', requestOf({ tools }))
  const events: ChatEvent[] = [
    start,
    { type: 'tool-call-start', choice: 0, index: 0, id: 'c1', name: 'f' },
    { type: 'tool-call-start', choice: 0, index: 1, id: 'c2', name: 'f' },
    { type: 'tool-call-arguments', choice: 0, index: 1, fragment: '{}' },
    { type: 'tool-call-end', choice: 0, index: 1 },
  ]
  const all = read(
    events.map(event => writer.write(event)).join('') + writer.fail!(new GatewayError('upstream-broken', 'cut')),
  )
  const { output } = all.at(-1)!.response
  expect(output.map((item: Json) => [item.call_id, item.status])).toEqual([
    ['c1', 'incomplete'],
    ['c2', 'completed'],
  ])
})
