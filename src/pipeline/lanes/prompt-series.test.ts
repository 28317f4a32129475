/** Prompts asked one after the other: one answer to everyone else, wherever its bytes are cut. */
import { describe, expect, test } from 'bun:test'
import type { ChatEvent, ChatRequest, Message } from '../../core/hub/chat.ts'
import { GatewayError } from '../../core/errors.ts'
import type { ChatFormat } from '../../core/format.ts'
import type { ChatAdapter, Target } from '../../core/provider.ts'
import { GatheredSeries, PromptSeries, SeriesRelay } from './prompt-series.ts'
import type { TranslatedStream } from './translate.ts'

const user = (text: string): Message[] => [{ role: 'user', parts: [{ type: 'text', text }] }]
const requestOf = (fields: Partial<ChatRequest> = {}): ChatRequest => ({
  model: 'm',
  stream: true,
  includeUsage: true,
  extra: { format: 'f', fields: {} },
  messages: user('A'),
  series: [user('B'), user('C')],
  ...fields,
})
/** Frames are events as JSON; what is sent is the request itself. */
const adapter: ChatAdapter = {
  request: one => ({ head: { url: 'u', headers: {} }, body: one, dropped: [] }),
  result: body => body as ChatEvent[],
  reader: () => frame => [JSON.parse(frame.data) as ChatEvent],
}
const format = {
  encode: (events: readonly ChatEvent[]) => events,
  writer: () => ({ write: (event: ChatEvent) => `${JSON.stringify(event)}\n`, end: () => 'END' }),
  errorEvent: (error: GatewayError) => `ERROR ${error.kind}`,
} as unknown as ChatFormat
const seriesOf = (request = requestOf()): PromptSeries =>
  new PromptSeries({ adapter, format, request, publicModel: 'm' } satisfies TranslatedStream, {} as Target)

const answer = (id: string, ...texts: string[]): ChatEvent[] => [
  { type: 'start', id, model: 'm' },
  ...texts.map((text, choice): ChatEvent => ({ type: 'text', choice, text })),
  ...texts.map((_, choice): ChatEvent => ({ type: 'finish', choice, reason: 'stop' })),
  { type: 'usage', usage: { inputTokens: 10, outputTokens: 3 } },
]
const merged = [
  { type: 'start', id: 'x1', model: 'm' },
  { type: 'text', choice: 0, text: 'a ✓' },
  { type: 'text', choice: 1, text: 'b' },
  { type: 'finish', choice: 0, reason: 'stop' },
  { type: 'finish', choice: 1, reason: 'stop' },
  // An upstream that gives one choice where two were asked for leaves the second place empty.
  { type: 'text', choice: 2, text: 'c' },
  { type: 'finish', choice: 2, reason: 'stop' },
  { type: 'text', choice: 4, text: 'd' },
  { type: 'text', choice: 5, text: 'e' },
  { type: 'finish', choice: 4, reason: 'stop' },
  { type: 'finish', choice: 5, reason: 'stop' },
  { type: 'usage', usage: { inputTokens: 30, outputTokens: 9 } },
]
const answers = [answer('x1', 'a ✓', 'b'), answer('x2', 'c'), answer('x3', 'd', 'e')]
const two = requestOf({ choices: 2 })
const sse = (events: readonly ChatEvent[]) =>
  Buffer.from(events.map(event => `data: ${JSON.stringify(event)}\n\n`).join(''))
const promptOf = (call: { body: unknown } | undefined) => (call?.body as ChatRequest | undefined)?.messages

describe('whole answers', () => {
  test('become one, with the usage of all', () => {
    const series = seriesOf(two)
    const gathered = new GatheredSeries(series)
    expect(promptOf(series.call())).toEqual(user('A'))
    expect((series.call().body as ChatRequest).series).toBeUndefined()
    const asked = answers.map(events => promptOf(gathered.take(events, { inputTokens: 10, outputTokens: 3 })))
    expect(asked).toEqual([user('B'), user('C'), undefined])
    expect(JSON.parse(gathered.body())).toEqual(merged)
    expect(series.usage).toEqual({ inputTokens: 30, outputTokens: 9 })
  })

  test('a choice more than was asked for would be taken for the next prompt: broken', () => {
    expect(() => new GatheredSeries(seriesOf()).take(answer('x', 'a', 'b'), undefined)).toThrow(
      'more than the 1 choice(s)',
    )
  })
})

describe('streams', () => {
  function run(parts: readonly Buffer[], size: number, request = two, by = adapter) {
    const counted: unknown[] = []
    const count = (): void => void counted.push([relay.usage, relay.contentEvents, relay.contentCharacters])
    const relay: SeriesRelay = new SeriesRelay(
      new PromptSeries({ adapter: by, format, request, publicModel: 'm' }, {} as Target),
      count,
    )
    const asked: (Message[] | undefined)[] = []
    let out = ''
    for (const bytes of parts) {
      for (let at = 0; at < bytes.length; at += size) out += relay.push(bytes.subarray(at, at + size))
      // An answer in the middle must not look like the whole.
      if (asked.length < parts.length - 1) expect(relay.complete).toBe(false)
      expect(relay.terminated).toBe(false)
      asked.push(promptOf(relay.ended()))
    }
    out += relay.end()
    count()
    return { relay, asked, out, counted }
  }

  test('become one, the same wherever they are cut, handed on as they come', () => {
    const parts = answers.map(sse)
    const whole = run(parts, 100_000)
    expect(whole.out).toBe(`${merged.map(event => `${JSON.stringify(event)}\n`).join('')}END`)
    expect(whole.asked).toEqual([user('B'), user('C'), undefined])
    const usage = { inputTokens: 10, outputTokens: 3 }
    expect(whole.counted).toEqual([
      [usage, 2, 4],
      [usage, 1, 1],
      [usage, 2, 2],
    ])
    expect([whole.relay.terminated, whole.relay.complete]).toEqual([true, true])
    for (let size = 1; size < 80; size++) {
      const { out, counted } = run(parts, size)
      expect([out, counted]).toEqual([whole.out, whole.counted])
    }
    const relay = new SeriesRelay(seriesOf(two))
    expect(relay.push(parts[0]!)).toContain('a ✓')
    expect(relay.started).toBe(true)
  })

  test('usage after the frame that ends a stream counts, wherever it is cut', () => {
    const marked: ChatAdapter = {
      ...adapter,
      reader: () => frame => (frame.data === '[DONE]' ? [] : [JSON.parse(frame.data) as ChatEvent]),
      isLast: ({ data }) => data === '[DONE]',
    }
    const late = answers.map(events =>
      Buffer.concat([sse(events.slice(0, -1)), Buffer.from('data: [DONE]\n\n'), sse(events.slice(-1))]),
    )
    const whole = run(answers.map(sse), 100_000).out
    for (let size = 1; size < 80; size++) {
      const { relay, out } = run(late, size, two, marked)
      expect([out, relay.usage]).toEqual([whole, { inputTokens: 10, outputTokens: 3 }])
    }
  })

  test('each is over with the frame that says so, wherever it is cut; what comes behind it is not read', () => {
    const marked: ChatAdapter = {
      ...adapter,
      reader: () => frame => (frame.data === '[DONE]' ? [] : [JSON.parse(frame.data) as ChatEvent]),
      isLast: ({ data }) => data === '[DONE]',
    }
    const whole = run(answers.map(sse), 100_000).out
    for (let size = 1; size < 80; size++) {
      const relay = new SeriesRelay(
        new PromptSeries({ adapter: marked, format, request: two, publicModel: 'm' }, {} as Target),
      )
      let out = ''
      for (const [n, events] of answers.entries()) {
        const bytes = Buffer.concat([sse(events), Buffer.from('data: [DONE]\n\ndata: rubbish\n\n')])
        for (let at = 0; at < bytes.length && !relay.isOver; at += size)
          out += relay.push(bytes.subarray(at, at + size))
        expect([relay.isOver, relay.failure]).toEqual([true, undefined])
        expect(relay.ended() === undefined).toBe(n === 2)
      }
      expect(out + relay.end()).toBe(whole)
      expect(relay.usage).toEqual({ inputTokens: 10, outputTokens: 3 })
    }
  })

  test('a last line without its end is not lost', () => {
    const open = (events: readonly ChatEvent[]) => Buffer.from(events.map(event => JSON.stringify(event)).join('\n'))
    const parts = [answer('x1', 'a').slice(0, -1), answer('x2', 'b').slice(0, -1), answer('x3', 'c').slice(0, -1)].map(
      open,
    )
    const { out, relay } = run(parts, 7, requestOf(), { ...adapter, framing: 'ndjson' })
    expect(relay.failure).toBeUndefined()
    expect(out.match(/"choice":\d,"reason"/g)).toEqual([
      '"choice":0,"reason"',
      '"choice":1,"reason"',
      '"choice":2,"reason"',
    ])
  })

  test('what was answered is counted when a later stream is cut, broken or reports an error', () => {
    const error = new GatewayError('upstream-overloaded', 'busy')
    for (const [broken, kind] of [
      [sse(answer('x2', 'b').slice(0, 2)), 'upstream-broken'],
      [Buffer.from('data: {nonsense\n\n'), 'upstream-broken'],
      [sse(answer('x2', 'b', 'c')), 'upstream-broken'],
    ] as const) {
      const { relay, asked, out, counted } = run([sse(answer('x1', 'a')), broken], 11, requestOf())
      expect([relay.failure?.kind, relay.terminated, counted[0], asked[1]]).toEqual([
        kind,
        false,
        [{ inputTokens: 10, outputTokens: 3 }, 1, 1],
        undefined,
      ])
      expect(out).not.toContain('END')
    }
    const broken = Buffer.concat([sse(answer('x1', 'kept').slice(0, 2)), Buffer.from('data: {nonsense\n\n')])
    for (const size of [1, 7, 100_000]) expect(run([broken], size).out).toContain('kept')
    const reporting = { ...adapter, reader: () => () => [{ type: 'error', error } as ChatEvent] }
    const relay = new SeriesRelay(
      new PromptSeries({ adapter: reporting, format, request: requestOf(), publicModel: 'm' }, {} as Target),
    )
    relay.push(Buffer.from('data: x\n\n'))
    expect([relay.failure, relay.errorEvent(error)]).toEqual([error, 'ERROR upstream-overloaded'])
  })
})
