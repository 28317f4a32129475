import { describe, expect, test } from 'bun:test'
import type { ChatEvent, ChatRequest } from '../../core/hub/chat.ts'
import { GatewayError } from '../../core/errors.ts'
import { JsonBody } from '../../lib/json/json-body.ts'
import { frameSplitter } from '../../lib/frame-splitter.ts'
import { anthropicMessages } from './index.ts'

type Json = Record<string, unknown>

const requestWith = (more: object = {}): ChatRequest =>
  anthropicMessages.decode(
    JsonBody.read(
      Buffer.from(JSON.stringify({ model: 'm', max_tokens: 10, messages: [{ role: 'user', content: 'x' }], ...more })),
    ),
  )
const plain = requestWith()
const thinking = requestWith({ thinking: { type: 'adaptive' } })
const proofs = requestWith({ thinking: { type: 'adaptive', display: 'omitted' } })

const start: ChatEvent = { type: 'start', id: 'chatcmpl-1', model: 'up' }
const text = (said: string): ChatEvent => ({ type: 'text', choice: 0, text: said })
const thought = (more: { text?: string; signature?: string; redacted?: string }): ChatEvent => ({
  type: 'reasoning',
  choice: 0,
  ...more,
})
const call = (index: number, name: string, id = `call_${index}`): ChatEvent => ({
  type: 'tool-call-start',
  choice: 0,
  index,
  id,
  name,
})
const args = (index: number, fragment: string): ChatEvent => ({
  type: 'tool-call-arguments',
  choice: 0,
  index,
  fragment,
})
const endCall = (index: number): ChatEvent => ({ type: 'tool-call-end', choice: 0, index })
const finish = (reason: 'stop' | 'length' | 'tool-calls' | 'content-filter', stopSequence?: string): ChatEvent => ({
  type: 'finish',
  choice: 0,
  reason,
  ...(stopSequence !== undefined && { stopSequence }),
})
const usage: ChatEvent = {
  type: 'usage',
  usage: {
    inputTokens: 35,
    outputTokens: 12,
    cachedInputTokens: 20,
    cacheWriteTokens: 5,
    cacheWriteOneHourTokens: 2,
    reasoningTokens: 4,
  },
}

const whole = (events: readonly ChatEvent[], request = plain) =>
  anthropicMessages.encode([...events], 'public', request) as Json & { content: Json[]; usage: Json }

function stream(events: readonly ChatEvent[], request = plain): Json[] {
  const writer = anthropicMessages.writer('public', request)
  const bytes = Buffer.from(events.map(event => writer.write(event)).join('') + writer.end())
  return frameSplitter()
    .push(bytes)
    .map(({ event, data }) => {
      const value = JSON.parse(data) as Json
      expect(event).toBe(value.type as string)
      return value
    })
}

/** What Anthropic's SDK makes of a stream. */
function accumulated(list: readonly Json[]): Json {
  const message = { ...(list[0]!.message as Json), content: [] as Json[] } as Json & { content: Json[] }
  const inputs = new Map<unknown, string>()
  for (const event of list) {
    const block = message.content[event.index as number]!
    if (event.type === 'content_block_start') {
      expect(event.index).toBe(message.content.length)
      message.content.push({ ...(event.content_block as Json) })
    } else if (event.type === 'content_block_delta') {
      const delta = event.delta as Record<string, string> & { citation?: Json }
      if (delta.type === 'text_delta') block.text = `${String(block.text)}${delta.text!}`
      else if (delta.type === 'thinking_delta') block.thinking = `${String(block.thinking)}${delta.thinking!}`
      else if (delta.type === 'signature_delta') block.signature = delta.signature
      else if (delta.type === 'citations_delta')
        block.citations = [...((block.citations as Json[]) ?? []), delta.citation]
      else inputs.set(event.index, (inputs.get(event.index) ?? '') + delta.partial_json)
    } else if (event.type === 'content_block_stop') {
      if (inputs.has(event.index)) block.input = JSON.parse(inputs.get(event.index)!)
    } else if (event.type === 'message_delta') {
      const { usage: counts, delta } = event as { usage: Json; delta: Json }
      for (const [name, value] of Object.entries(delta)) message[name] = value
      message.usage = { ...(message.usage as Json), ...counts }
    }
  }
  return message
}

const answers: Record<string, { events: ChatEvent[]; request?: ChatRequest; content: Json[]; stop?: string }> = {
  text: {
    events: [start, text('Grüße'), text(' ✓\n"x"'), finish('stop'), usage],
    content: [{ type: 'text', text: 'Grüße ✓\n"x"' }],
    stop: 'end_turn',
  },
  'signed thinking, then calls': {
    request: thinking,
    events: [
      start,
      thought({ text: 'h' }),
      thought({ text: 'm' }),
      thought({ signature: 'EqQB' }),
      thought({ redacted: 'hidden' }),
      text('Looking.'),
      call(0, 'weather'),
      args(0, '{"city":'),
      args(0, '"Paris"}'),
      endCall(0),
      call(1, 'clock', ''),
      endCall(1),
      finish('tool-calls'),
      usage,
    ],
    content: [
      { type: 'thinking', thinking: 'hm', signature: 'EqQB' },
      { type: 'redacted_thinking', data: 'hidden' },
      { type: 'text', text: 'Looking.' },
      { type: 'tool_use', id: 'call_0', name: 'weather', input: { city: 'Paris' } },
      {
        type: 'tool_use',
        id: expect.stringMatching(/^toolu_[0-9a-f]{32}$/) as unknown as string,
        name: 'clock',
        input: {},
      },
    ],
    stop: 'tool_use',
  },
  'unsigned thinking, and a signature of another vendor': {
    request: thinking,
    events: [
      start,
      thought({ text: 'hm' }),
      thought({ signature: 'vendor/call/000/c2ln' }),
      thought({ text: 'and' }),
      text('x'),
      finish('length'),
      usage,
    ],
    content: [
      { type: 'thinking', thinking: 'hm', signature: 'modelgate-signature-vendor/call/000/c2ln' },
      { type: 'thinking', thinking: 'and', signature: 'modelgate-unsigned' },
      { type: 'text', text: 'x' },
    ],
    stop: 'max_tokens',
  },
  'thinking for who did not ask': {
    events: [
      start,
      thought({ text: 'hm' }),
      thought({ signature: 's' }),
      thought({ redacted: 'r' }),
      text('x'),
      finish('stop'),
      usage,
    ],
    content: [{ type: 'text', text: 'x' }],
  },
  'only the proofs of thinking': {
    request: proofs,
    events: [
      start,
      thought({ text: 'hm' }),
      thought({ signature: 's' }),
      thought({ text: 'unsigned' }),
      text('x'),
      finish('stop'),
      usage,
    ],
    content: [
      { type: 'thinking', thinking: '', signature: 's' },
      { type: 'text', text: 'x' },
    ],
  },
  'calls that overlap': {
    events: [
      start,
      call(0, 'a'),
      args(0, '{"x"'),
      call(1, 'b'),
      args(1, '{"y":'),
      text('aside'),
      args(0, ':1}'),
      endCall(0),
      args(1, '2}'),
      finish('tool-calls'),
      usage,
    ],
    content: [
      { type: 'tool_use', id: 'call_0', name: 'a', input: { x: 1 } },
      { type: 'tool_use', id: 'call_1', name: 'b', input: { y: 2 } },
      { type: 'text', text: 'aside' },
    ],
  },
  'citations, pictures, a refusal': {
    events: [
      start,
      text('See'),
      { type: 'citation', choice: 0, citation: { type: 'char_location', cited_text: 'c', document_index: 0 } },
      {
        type: 'citation',
        choice: 0,
        citation: {
          type: 'url_citation',
          url_citation: { url: 'https://x', title: 'X', start_index: 0, end_index: 3 },
        },
      },
      { type: 'citation', choice: 0, citation: { document: 'no word for it' } },
      { type: 'image', choice: 0, source: { data: 'aGk=', mediaType: 'image/png' } },
      { type: 'refusal', choice: 0, text: 'No.' },
      { type: 'text', choice: 1, text: 'another choice' },
      finish('stop'),
      { type: 'finish', choice: 1, reason: 'stop' },
      usage,
    ],
    content: [
      {
        type: 'text',
        text: 'See![image](data:image/png;base64,aGk=)No.',
        citations: [
          { type: 'char_location', cited_text: 'c', document_index: 0 },
          {
            type: 'web_search_result_location',
            url: 'https://x',
            title: 'X',
            cited_text: '',
            encrypted_index: 'modelgate-unproven',
          },
        ],
      },
    ],
    stop: 'refusal',
  },
}

describe('whole answers and streams say the same', () => {
  for (const [name, { events, request = plain, content, stop }] of Object.entries(answers))
    test(name, () => {
      const message = whole(events, request)
      expect(message.content).toEqual(content)
      if (stop) expect(message.stop_reason).toBe(stop)
      const list = stream(events, request)
      const strip = (value: Json) => JSON.parse(JSON.stringify(value).replace(/toolu_[0-9a-f]{32}/g, 'toolu')) as Json
      expect(strip(accumulated(list))).toEqual(strip(message))
      expect([list[0]!.type, list.at(-2)!.type, list.at(-1)]).toEqual([
        'message_start',
        'message_delta',
        { type: 'message_stop' },
      ])
      // Blocks never overlap.
      const order = list
        .filter(event => 'index' in event)
        .map(event => `${String(event.index)}${event.type === 'content_block_delta' ? '' : String(event.type)}`)
      expect(order.join(' ')).toMatch(/^(?:(\d+)content_block_start( \1)* \1content_block_stop ?)*$/)
    })
})

test('the head, the counts and the reasons', () => {
  expect(whole(answers.text!.events)).toEqual({
    id: 'msg_chatcmpl-1',
    type: 'message',
    role: 'assistant',
    model: 'public',
    content: [{ type: 'text', text: 'Grüße ✓\n"x"' }],
    stop_reason: 'end_turn',
    stop_sequence: null,
    stop_details: null,
    container: null,
    usage: {
      input_tokens: 10,
      cache_creation_input_tokens: 5,
      cache_read_input_tokens: 20,
      output_tokens: 12,
      output_tokens_details: { thinking_tokens: 4 },
      server_tool_use: null,
      cache_creation: { ephemeral_5m_input_tokens: 3, ephemeral_1h_input_tokens: 2 },
      service_tier: null,
    },
  })
  expect(whole([start, text('a'), finish('stop', 'END')])).toMatchObject({
    stop_reason: 'stop_sequence',
    stop_sequence: 'END',
    usage: { input_tokens: 0, output_tokens: 0 },
  })
  expect(whole([start, finish('content-filter')])).toMatchObject({
    content: [],
    stop_reason: 'refusal',
    stop_details: { type: 'refusal', category: null },
  })
  const [first] = stream([start, text('a'), finish('stop')])
  expect(first!.message).toMatchObject({ content: [], stop_reason: null, usage: { input_tokens: 0, output_tokens: 0 } })
})

test('a stream goes out as it comes: text at once, the end at the end', () => {
  const writer = anthropicMessages.writer('public', plain)
  expect(writer.write(start)).toStartWith(
    'event: message_start\ndata: {"type":"message_start","message":{"id":"msg_chatcmpl-1"',
  )
  expect(writer.write(start)).toBe('')
  expect(writer.write(text('a'))).toBe(
    'event: content_block_start\n' +
      'data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}\n\n' +
      'event: content_block_delta\n' +
      'data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a"}}\n\n',
  )
  expect(writer.write(finish('stop'))).toBe(
    'event: content_block_stop\ndata: {"type":"content_block_stop","index":0}\n\n',
  )
  expect(writer.write(usage)).toBe('')
  expect(writer.end()).toContain('"stop_reason":"end_turn"')
  expect(anthropicMessages.streaming).toMatchObject({ heartbeat: 'event: ping\ndata: {"type": "ping"}\n\n' })
})

test('what no schema would take for arguments is kept', () => {
  const input = (written: string) =>
    whole([start, call(0, 'f'), args(0, written), endCall(0), finish('tool-calls')]).content[0]!.input
  expect([input(' '), input('[1]'), input('{"a":'), input('{"__proto__":1}')]).toEqual([
    {},
    { value: [1] },
    { invalid_json: '{"a":' },
    JSON.parse('{"__proto__":1}'),
  ])
})

test('broken answers are refused', () => {
  const failures: ChatEvent[][] = [
    [start, text('x')],
    [start, args(0, '{}'), finish('stop')],
    [start, call(0, 'f'), endCall(0), args(0, '{}'), finish('stop')],
    [start, call(0, 'f'), call(0, 'f'), finish('stop')],
  ]
  for (const events of failures) expect(() => whole(events)).toThrow('does not follow its protocol')
  const own = new GatewayError('upstream-overloaded', 'busy')
  expect(() => whole([start, { type: 'error', error: own }])).toThrow(own)
  expect(anthropicMessages.errorEvent(own)).toBe(
    'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"busy"}}\n\n',
  )
})
