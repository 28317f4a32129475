import { describe, expect, test } from 'bun:test'
import { JsonBody } from '../../lib/json/json-body.ts'
import { anthropicCountTokens, anthropicMessages } from './index.ts'
import { fieldRules, noFieldRules } from '../../core/dialects/field-rules.ts'

const { forward } = anthropicMessages
const bytesOf = (value: unknown) => Buffer.from(JSON.stringify(value))
const read = (value: unknown) => JsonBody.read(bytesOf(value))

/** platform.claude.com/docs/en/build-with-claude/streaming, "... with tool use", with thinking and a cache. */
const events: [string, object][] = [
  [
    'message_start',
    {
      type: 'message_start',
      message: {
        id: 'msg_01',
        type: 'message',
        role: 'assistant',
        model: 'claude-up',
        content: [],
        stop_reason: null,
        stop_sequence: null,
        usage: { input_tokens: 472, cache_read_input_tokens: 8, output_tokens: 2 },
      },
    },
  ],
  [
    'content_block_start',
    { type: 'content_block_start', index: 0, content_block: { type: 'thinking', thinking: '', signature: '' } },
  ],
  ['ping', { type: 'ping' }],
  [
    'content_block_delta',
    { type: 'content_block_delta', index: 0, delta: { type: 'thinking_delta', thinking: 'Let me ✓' } },
  ],
  [
    'content_block_delta',
    { type: 'content_block_delta', index: 0, delta: { type: 'signature_delta', signature: 'EqQB' } },
  ],
  ['content_block_stop', { type: 'content_block_stop', index: 0 }],
  ['content_block_start', { type: 'content_block_start', index: 1, content_block: { type: 'text', text: '' } }],
  [
    'content_block_delta',
    { type: 'content_block_delta', index: 1, delta: { type: 'text_delta', text: '"model":"claude-up" 😀' } },
  ],
  ['content_block_stop', { type: 'content_block_stop', index: 1 }],
  [
    'content_block_start',
    {
      type: 'content_block_start',
      index: 2,
      content_block: { type: 'tool_use', id: 'toolu_01', name: 'get_weather', input: {} },
    },
  ],
  [
    'content_block_delta',
    { type: 'content_block_delta', index: 2, delta: { type: 'input_json_delta', partial_json: '' } },
  ],
  [
    'content_block_delta',
    { type: 'content_block_delta', index: 2, delta: { type: 'input_json_delta', partial_json: '{"text": "San' } },
  ],
  [
    'content_block_delta',
    { type: 'content_block_delta', index: 2, delta: { type: 'input_json_delta', partial_json: ' Francisco"}' } },
  ],
  ['content_block_stop', { type: 'content_block_stop', index: 2 }],
  ['future_event', { type: 'future_event', anything: 1 }],
  [
    'message_delta',
    { type: 'message_delta', delta: { stop_reason: 'tool_use', stop_sequence: null }, usage: { output_tokens: 89 } },
  ],
  ['message_stop', { type: 'message_stop' }],
]
const wireOf = (list: readonly [string, object][]) =>
  list.map(([name, data]) => `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`).join('')
const wire = wireOf(events)
const cutWire = wireOf(events.slice(0, 9))

function run(pieces: readonly Uint8Array[]) {
  const relay = forward.relay('public-model', read({}))
  const parts = pieces.map(piece => relay.push(piece) as string)
  return { relay, parts, text: parts.join('') + (relay.end() as string) }
}
const every = (text: string, size: number) =>
  Array.from({ length: Math.ceil(Buffer.byteLength(text) / size) }, (_, at) =>
    Buffer.from(text).subarray(at * size, (at + 1) * size),
  )

describe('a stream', () => {
  const expected = wire.replace('"model":"claude-up","content"', '"model":"public-model","content"')

  test('only the name of the model changes, wherever the bytes are cut', () => {
    expect(expected).not.toBe(wire)
    const bytes = Buffer.from(wire)
    for (let at = 0; at <= bytes.length; at++)
      expect(run([bytes.subarray(0, at), bytes.subarray(at)]).text).toBe(expected)
    for (const size of [1, 7, 64, 1000]) expect(run(every(wire, size)).text).toBe(expected)
    expect(run(every(wire.replaceAll('\n', '\r\n'), 3)).text).toBe(expected)
  })

  test('what it reports to the pipeline', () => {
    const { relay } = run(every(wire, 5))
    expect([relay.started, relay.complete, relay.terminated, relay.failure]).toEqual([true, true, true, undefined])
    expect(relay.usage).toEqual({ inputTokens: 480, outputTokens: 89, cachedInputTokens: 8 })
    const said = ['Let me ✓', '"model":"claude-up" 😀', '{"text": "San', ' Francisco"}']
    expect([relay.contentEvents, relay.contentCharacters]).toEqual([said.length, said.join('').length])
  })

  test('content begins with the first word, not before', () => {
    const relay = forward.relay('m', read({}))
    const startedAfter = events.map(([name, data]) => {
      relay.push(Buffer.from(wireOf([[name, data]])))
      return relay.started
    })
    expect(startedAfter.indexOf(true)).toBe(3)
    const search = forward.relay('m', read({}))
    search.push(
      Buffer.from(
        wireOf([
          [
            'content_block_start',
            {
              type: 'content_block_start',
              index: 0,
              content_block: { type: 'server_tool_use', id: 's', name: 'web_search', input: {} },
            },
          ],
        ]),
      ),
    )
    expect(search.started).toBe(true)
  })

  test('hosts that name no events, or write spaces, are read too; clients get names', () => {
    const loose =
      events.map(([, data]) => `data:${JSON.stringify(data, null, 1).replaceAll('\n', '')}\n\n`).join('') +
      'data: [DONE]\n\n'
    const { relay, text } = run(every(loose, 11))
    expect([relay.complete, relay.usage?.outputTokens, relay.contentEvents]).toEqual([true, 89, 4])
    expect(text).toContain('event: content_block_delta\ndata: {')
    expect(text).not.toContain('[DONE]')
    const late = 'data: {"index":0,"delta":{"type":"text_delta","text":"x"},"type":"content_block_delta"}\n\n'
    expect(run([Buffer.from(late)]).text).toStartWith('event: content_block_delta\n')
  })

  test('an end without its last event, or its last blank line', () => {
    const noStop = run([Buffer.from(wireOf(events.slice(0, -1)))])
    expect([noStop.relay.terminated, noStop.text]).toEqual([true, expected])
    const noBlank = run([Buffer.from(wire.slice(0, -2))])
    expect([noBlank.relay.failure, noBlank.text]).toEqual([undefined, expected])
  })

  test('a cut stream is never complete', () => {
    const bytes = Buffer.from(wire)
    const end = bytes.indexOf('event: message_delta')
    for (let at = 0; at < end; at += 3) {
      const { relay } = run([bytes.subarray(0, at)])
      expect([relay.failure?.kind, relay.complete, relay.terminated]).toEqual(['upstream-broken', false, false])
    }
    const noReason = run([Buffer.from(cutWire + wireOf(events.slice(-1)))])
    expect([noReason.relay.failure?.kind, noReason.text.includes('message_stop')]).toEqual(['upstream-broken', false])
  })

  test('an error event is a failure, and is passed on in the words of the dialect', () => {
    const error = { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } }
    const { relay, text } = run([Buffer.from(cutWire + wireOf([['error', error], ...events.slice(9)]))])
    expect([relay.failure?.kind, relay.complete]).toEqual(['upstream-overloaded', false])
    expect(text).not.toContain('Overloaded')
    expect(relay.errorEvent(relay.failure!)).toBe(`event: error\ndata: ${JSON.stringify(error)}\n\n`)
  })

  test('an event that is no JSON object breaks the stream under any name: no client gets to see it', () => {
    const rest = wire.slice(cutWire.length)
    for (const broken of [
      'event: content_block_delta\ndata: {"type":"content_block_delta","delta":{"text":"ca',
      'event: ping\ndata: pong',
      'event: content_block_stop\ndata: [7,7]',
    ])
      for (const size of [1, 13, 100_000]) {
        const { relay, text } = run(every(`${cutWire}${broken}\n\n${rest}`, size))
        expect([relay.failure?.kind, relay.terminated, text.includes(broken.split('data: ')[1]!)]).toEqual([
          'upstream-broken',
          false,
          false,
        ])
      }
  })

  test('hostile bytes', () => {
    const bad = [
      'event: message_start\ndata: {"type":"message_start"}\n\n',
      'event: message_start\ndata: [1]\n\n',
      'data: {}\n\n',
      'data: nonsense\n\n',
      'event: message_delta\ndata: {"type":\n\n',
      'event: content_block_start\ndata: {"content_block":7}\n\n',
      `data: ${'x'.repeat(9 * 1024 * 1024)}`,
    ]
    for (const text of bad)
      expect([text.slice(0, 50), run([Buffer.from(text)]).relay.failure?.kind]).toEqual([
        text.slice(0, 50),
        'upstream-broken',
      ])
    const counts = wire
      .replace('"output_tokens":89', '"output_tokens":-5')
      .replace('"input_tokens":472', '"input_tokens":1e99')
    expect(run([Buffer.from(counts)]).relay.usage).toBeUndefined()
    // After the end nothing goes out.
    expect(run([Buffer.from(wire + wire)]).text).toBe(expected)
  })
})

describe('a whole answer', () => {
  const message = {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'claude-up',
    content: [{ type: 'text', text: 'Hi', big: 1 }],
    stop_reason: 'end_turn',
    usage: { input_tokens: 10, output_tokens: 25, output_tokens_details: { thinking_tokens: 5 } },
  }

  test('the public name, every other byte as it came, and the usage', () => {
    const sent = JSON.stringify(message, null, 1).replace('"big": 1', '"big": 12345678901234567890')
    const { body, usage } = forward.answer(Buffer.from(sent), 'öffentlich')
    expect(Buffer.from(body as Uint8Array).toString('utf8')).toBe(sent.replace('claude-up', 'öffentlich'))
    expect(usage).toEqual({ inputTokens: 10, outputTokens: 25, reasoningTokens: 5 })
  })

  test('other shapes are refused', () => {
    const error = { type: 'error', error: { type: 'api_error', message: 'inside' } }
    for (const body of [{ ...message, content: undefined }, { ...message, stop_reason: null }, error])
      expect(() => forward.answer(bytesOf(body), 'm')).toThrow(/protocol|inside/)
    expect(() => forward.answer(Buffer.from('{"content":['), 'm')).toThrow('protocol')
  })

  test('a count of tokens', () => {
    expect(anthropicCountTokens.forward.answer(bytesOf({ input_tokens: 7 }), 'm')).toEqual({
      body: bytesOf({ input_tokens: 7 }),
      usage: { inputTokens: 0, outputTokens: 0 },
    })
    for (const body of [{}, { input_tokens: -1 }, { input_tokens: '7' }])
      expect(() => anthropicCountTokens.forward.answer(bytesOf(body), 'm')).toThrow('protocol')
  })
})

describe('a request', () => {
  test('fields of the gateway stay here, rules are applied, the rest is not touched', () => {
    const body = read({ model: 'm', api_base: 'https://evil', speed: 'fast', output_format: {}, futureField: 1 })
    const { edits, dropped } = forward.edits(body, {
      fields: fieldRules(['speed'], { output_format: 'output_config' }),
    })
    expect(dropped).toEqual(['speed'])
    expect(Buffer.concat(body.edited(edits)).toString()).toBe('{"model":"m","futureField":1,"output_config":{}}')
    expect(forward.edits(read({ model: 'm', messages: [] }), noFieldRules)).toEqual({ edits: [], dropped: [] })
  })

  test("another model's thinking and sources stay here, Claude's own go along", () => {
    const own = { type: 'thinking', thinking: 'mine', signature: 'EqQB' }
    const proven = { type: 'web_search_result_location', url: 'u', encrypted_index: 'Eo8' }
    const foreign = { type: 'web_search_result_location', url: 'u', encrypted_index: 'modelgate-unproven' }
    const body = read({
      messages: [
        { role: 'user', content: 'is "modelgate-unsigned" a signature?' },
        {
          role: 'assistant',
          content: [
            own,
            { type: 'thinking', thinking: 'hm', signature: 'modelgate-unsigned' },
            { type: 'thinking', thinking: '', signature: 'modelgate-signature-v/call/000/x' },
            { type: 'text', text: 'a', citations: [proven, foreign] },
            { type: 'text', text: 'b', citations: [foreign] },
          ],
        },
      ],
    })
    const { edits, dropped } = forward.edits(body, noFieldRules)
    const sent = JSON.parse(Buffer.concat(body.edited(edits)).toString()) as { messages: { content: unknown }[] }
    expect(sent.messages[1]!.content).toEqual([
      own,
      { type: 'text', text: 'a', citations: [proven] },
      { type: 'text', text: 'b' },
    ])
    expect(dropped).toEqual(['messages.content.thinking', 'messages.content.citations'])
    const mention = read({
      messages: [
        { role: 'user', content: '"modelgate-unsigned"' },
        { role: 'assistant', content: [own] },
      ],
    })
    expect(forward.edits(mention, noFieldRules)).toEqual({ edits: [], dropped: [] })
  })

  test('version and betas travel with the bytes', () => {
    const headers = new Headers({
      'anthropic-version': '2026-10-21',
      'anthropic-beta': 'a-1,b-2',
      'x-api-key': 'sk',
      'anthropic-other': 'x',
    })
    expect(forward.headers!(headers)).toEqual({ 'anthropic-version': '2026-10-21', 'anthropic-beta': 'a-1,b-2' })
    expect(forward.headers!(new Headers())).toBeUndefined()
    expect(anthropicCountTokens.forward.headers!(headers)).toEqual(forward.headers!(headers))
  })
})

test('an error without a type is a failure in the words of the host', () => {
  for (const [event, message] of [
    ['data: {"error":{"message":"GPU lost","type":"api_error"}}\n\n', 'GPU lost'],
    ['data: {"error":"GPU lost"}\n\n', 'GPU lost'],
  ] as const) {
    const { relay, text } = run([Buffer.from(cutWire + event)])
    expect([relay.failure?.kind, relay.failure?.message, text.includes('GPU')]).toEqual([
      'upstream-failed',
      message,
      false,
    ])
  }
})
