/** What an upstream says twice, and answers without a first choice. */
import { describe, expect, test } from 'bun:test'
import type { ChatEvent, ChatRequest } from '../../core/hub/chat.ts'
import type { GatewayError } from '../../core/errors.ts'
import type { ChatAdapter } from '../../core/provider.ts'
import { decorated } from '../../emulation/decorate.ts'
import { anthropicMessages } from '../../formats/anthropic/index.ts'
import { geminiGenerate } from '../../formats/gemini/index.ts'
import { openaiChat } from '../../formats/openai/chat/index.ts'
import { openaiResponses } from '../../formats/openai/responses/index.ts'
import { providers } from '../../providers/index.ts'
import { readAnswer, TranslatedRelay } from './translate.ts'

const request: ChatRequest = {
  model: 'm',
  messages: [],
  stream: true,
  includeUsage: false,
  extra: { format: 'openai-chat', fields: {} },
}
const sse = (frames: readonly object[]) =>
  Buffer.from(
    frames
      .map(frame => `${'type' in frame ? `event: ${String(frame.type)}\n` : ''}data: ${JSON.stringify(frame)}\n\n`)
      .join(''),
  )

function stream(
  format: typeof openaiChat,
  adapter: ChatAdapter,
  bytes: Uint8Array,
  size = bytes.length,
): { out: string; relay: TranslatedRelay } {
  const relay = new TranslatedRelay({ adapter, format, request, publicModel: 'm' })
  let out = ''
  for (let at = 0; at < bytes.length; at += size) out += relay.push(bytes.subarray(at, at + size))
  return { out: out + relay.end(), relay }
}

const delta = {
  type: 'message_delta',
  delta: { stop_reason: 'end_turn', stop_sequence: null },
  usage: { output_tokens: 3 },
}
const claude = [
  {
    type: 'message_start',
    message: {
      id: 'msg_1',
      type: 'message',
      role: 'assistant',
      content: [],
      model: 'c',
      stop_reason: null,
      usage: { input_tokens: 5, output_tokens: 1 },
    },
  },
  { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
  { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Hi' } },
  { type: 'content_block_stop', index: 0 },
  delta,
]

describe('the last event of a stream, sent twice', () => {
  for (const [name, format] of [
    ['chat', openaiChat],
    ['responses', openaiResponses],
    ['messages', anthropicMessages],
  ] as const)
    test(`is heard once: ${name}`, () => {
      const adapter = providers.get('anthropic')!.chat!
      const once = stream(format, adapter, sse([...claude, { type: 'message_stop' }])).out
      const twice = sse([...claude, delta, { type: 'message_stop' }])
      const finishes = (text: string) =>
        text.match(/"finish_reason":"|response\.completed"|"stop_reason":"end_turn"/g)?.length
      for (const size of [1, 7, twice.length])
        expect(finishes(stream(format, adapter, twice, size).out)).toBe(finishes(once))
    })

  const adapter: ChatAdapter = {
    request: one => ({ head: { url: '', headers: {} }, body: one, dropped: [] }),
    result: body => body as ChatEvent[],
    reader: () => frame => [JSON.parse(frame.data) as ChatEvent],
  }
  const answer = (choice: number): ChatEvent[] => [
    { type: 'start', id: 'x', model: 'm' },
    { type: 'text', choice, text: 'a' },
    { type: 'finish', choice, reason: 'stop' },
  ]

  test('of a whole answer too; each choice has its own', () => {
    const events = [...answer(0), ...answer(1).slice(1), { type: 'finish', choice: 0, reason: 'stop' } as const]
    expect(readAnswer(adapter, Buffer.from(JSON.stringify(events))).events).toEqual(events.slice(0, -1))
  })

  test('an answer without its first choice is broken, in every dialect', () => {
    for (const format of [openaiChat, openaiResponses, anthropicMessages]) {
      const { out, relay } = stream(
        format,
        adapter,
        Buffer.from(
          answer(10)
            .map(event => `data: ${JSON.stringify(event)}\n\n`)
            .join(''),
        ),
      )
      expect([relay.failure?.kind, relay.terminated, relay.complete]).toEqual(['upstream-broken', false, false])
      expect(out).not.toContain('response.completed')
    }
    const whole = (() => {
      try {
        return readAnswer(adapter, Buffer.from(JSON.stringify(answer(10))))
      } catch (error) {
        return (error as GatewayError).kind
      }
    })()
    expect(whole).toBe('upstream-broken')
  })
})

describe('the last frame of a dialect is the end of its streams', () => {
  const chunk = (more: object): string => `data: ${JSON.stringify({ id: 'c', model: 'up', created: 1, ...more })}\n\n`
  const chunks =
    chunk({ choices: [{ index: 0, delta: { role: 'assistant', content: 'Hi ✓' }, finish_reason: null }] }) +
    chunk({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] }) +
    chunk({ choices: [], usage: { prompt_tokens: 5, completion_tokens: 3, total_tokens: 8 } })
  const done = 'data: [DONE]\n\n'
  const messages = Buffer.from(sse(claude)).toString()
  const stop = 'event: message_stop\ndata: { "type" : "message_stop" }\n\n'
  const cases = [
    ['openai', chunks, done],
    ['mistral', chunks, done],
    ['azure', chunks, done],
    ['anthropic', messages, stop],
    ['vertex_ai', messages, stop],
  ] as const
  const relayOf = (name: string): TranslatedRelay =>
    new TranslatedRelay({
      adapter: providers.get(name)!.chat!,
      format: openaiChat,
      request: { ...request, includeUsage: true },
      publicModel: 'm',
    })
  const dateless = (text: string): string => text.replace(/"created":\d+/g, '')
  const markAt = (text: string): number => text.indexOf(done)

  test.each(cases)(
    '%s: everything goes out with it, and nothing after it counts, wherever the bytes are cut',
    (name, said, last) => {
      const bytes = Buffer.from(said + last)
      const rest = Buffer.from(`${said}data: {"type":"error","error":{"message":"late"}}\n\ndata: no JSON\n\n`)
      const whole = relayOf(name)
      const expected = dateless(whole.push(bytes))
      expect(expected).toEndWith(done)
      expect(expected).toContain('"prompt_tokens":5,"completion_tokens":3')
      for (let at = 0; at <= bytes.length; at++) {
        const relay = relayOf(name)
        const before = relay.push(bytes.subarray(0, at))
        expect([relay.terminated, markAt(before) >= 0]).toEqual([at === bytes.length, at === bytes.length])
        const out = before + relay.push(Buffer.concat([bytes.subarray(at), rest]))
        expect([relay.terminated, relay.push(rest), relay.end(), relay.failure]).toEqual([true, '', '', undefined])
        expect(dateless(out)).toBe(expected)
        expect(relay.usage).toEqual(whole.usage)
      }
    },
  )

  test.each(cases)('%s: it does not make a complete answer of an unfinished one', (name, _, last) => {
    const unfinished =
      name === 'anthropic' || name === 'vertex_ai'
        ? Buffer.from(sse(claude.slice(0, -1))).toString()
        : chunks.slice(0, chunks.indexOf('\n\n') + 2)
    const relay = relayOf(name)
    const out = relay.push(Buffer.from(unfinished + last))
    expect([relay.failure?.kind, relay.terminated, markAt(out), relay.end()]).toEqual([
      'upstream-broken',
      false,
      -1,
      '',
    ])
  })

  test('a dialect without one ends with its bytes, and a text that speaks of one ends nothing', () => {
    const gemini = relayOf('gemini')
    const answer = {
      responseId: 'r',
      candidates: [{ index: 0, content: { role: 'model', parts: [{ text: 'Hi' }] }, finishReason: 'STOP' }],
    }
    expect(markAt(gemini.push(sse([answer])))).toBe(-1)
    expect([gemini.complete, gemini.terminated]).toEqual([true, false])
    expect([gemini.end().endsWith(done), gemini.terminated]).toEqual([true, true])
    const marked = relayOf('gemini')
    marked.push(sse([answer]))
    marked.push(Buffer.from(done))
    expect([marked.failure, marked.end().endsWith(done)]).toEqual([undefined, true])
    const wordy = relayOf('anthropic')
    const delta = {
      type: 'content_block_delta',
      index: 0,
      delta: { type: 'text_delta', text: '{"type":"message_stop"} [DONE]' },
      message_stop: 'message_stop',
    }
    wordy.push(sse([...claude.slice(0, 2), delta]))
    expect([wordy.terminated, wordy.failure]).toEqual([false, undefined])
  })

  test('spaces around the mark are none of it, on either lane', () => {
    for (const mark of ['data:[DONE]\n\n', 'data: [DONE] \n\n', 'data: [DONE]\t\r\n\r\n']) {
      const relay = relayOf('openai')
      expect([relay.push(Buffer.from(chunks + mark)).endsWith(done), relay.terminated, relay.failure]).toEqual([
        true,
        true,
        undefined,
      ])
    }
  })

  test('an upstream for which something is played keeps its last frame', () => {
    const adapter = decorated(providers.get('openai')!.chat!, { filter: () => event => [event] })
    const relay = new TranslatedRelay({ adapter, format: openaiChat, request, publicModel: 'm' })
    expect(relay.push(Buffer.from(chunks + done))).toEndWith(done)
    expect(decorated(providers.get('gemini')!.chat!, {}).isLast).toBeUndefined()
  })
})

test('a call behind a finish that finishes again reaches every client whole', () => {
  const chunk = (fields: object, finish: string | null) => ({
    id: 'x',
    model: 'm',
    choices: [{ index: 0, delta: fields, finish_reason: finish }],
  })
  const call = { index: 0, id: 'c', type: 'function', function: { name: 'f', arguments: '{"a":1}' } }
  const bytes = sse([
    chunk({ content: 'Hi' }, null),
    chunk({}, 'stop'),
    chunk({ tool_calls: [call] }, null),
    chunk({}, 'tool_calls'),
  ])
  const adapter = providers.get('openai')!.chat!
  const messages = stream(anthropicMessages, adapter, bytes)
  expect(messages.relay.failure).toBeUndefined()
  expect(messages.out.match(/"content_block_(start|stop)"/g)).toHaveLength(4)
  expect(messages.out).toContain('"stop_reason":"tool_use"')
  expect(stream(geminiGenerate, adapter, bytes).out).toContain('"functionCall":{"id":"c","name":"f","args":{"a":1}}')
  expect(stream(openaiResponses, adapter, bytes).out).toContain('"name":"f","arguments":"{\\"a\\":1}"}')
})
