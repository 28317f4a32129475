/**
 * Answers that are asked for again: the same wherever a stream is cut, within the time, and cancelled as one exchange.
 */
import { describe, expect, test } from 'bun:test'
import type { ChatEvent, ChatRequest } from '../../core/hub/chat.ts'
import { GatewayError } from '../../core/errors.ts'
import type { ChatFormat } from '../../core/format.ts'
import type { ChatAdapter, Target } from '../../core/provider.ts'
import type { BodySink, UpstreamExchange, UpstreamResponse } from '../../core/transport.ts'
import { anthropicMessages } from '../../formats/anthropic/index.ts'
import { openaiChat } from '../../formats/openai/chat/index.ts'
import { openaiResponses } from '../../formats/openai/responses/index.ts'
import { checkedExchange } from './checked-exchange.ts'
import { CheckedRelay, JsonDialogue } from './structured-output.ts'
import type { AnswerCheck } from './checked-exchange.ts'
import { TimerWheel } from '../../lib/timer-wheel.ts'

const schema = { type: 'object', required: ['a'] }
const request: ChatRequest = {
  model: 'm',
  stream: true,
  includeUsage: true,
  extra: { format: 'openai-chat', fields: {} },
  messages: [{ role: 'user', parts: [{ type: 'text', text: 'Ask' }] }],
}

/** Frames are events as JSON; what is sent is the request itself. */
const adapter: ChatAdapter = {
  request: one => ({ head: { url: 'u', headers: {} }, body: one, dropped: [] }),
  result: body => body as ChatEvent[],
  reader: () => frame => [JSON.parse(frame.data) as ChatEvent],
}
const format = {
  writer: () => ({ write: (event: ChatEvent) => `${JSON.stringify(event)}\n`, end: () => 'END' }),
  errorEvent: (error: GatewayError) => `ERROR ${error.kind}`,
} as unknown as ChatFormat

const dialogue = (by = format) =>
  new JsonDialogue({
    adapter,
    format: by,
    request,
    publicModel: 'm',
    target: {} as Target,
    outputSchema: { format: { type: 'json-schema', name: 'x', schema }, schema },
  })

const said = (...texts: string[]): ChatEvent[] => [
  { type: 'start', id: 'x', model: 'm' },
  { type: 'reasoning', choice: 0, text: 'hm' },
  ...texts.map((text, choice): ChatEvent => ({ type: 'text', choice, text })),
  ...texts.map((_, choice): ChatEvent => ({ type: 'finish', choice, reason: 'stop' })),
  { type: 'usage', usage: { inputTokens: 10, outputTokens: 3, cachedInputTokens: 1 } },
]
const sse = (events: readonly ChatEvent[]) =>
  Buffer.from(events.map(event => `data: ${JSON.stringify(event)}\n\n`).join(''))

describe('a stream that has to fit', () => {
  function run(
    answers: readonly ChatEvent[][],
    size: number,
  ): { relay: CheckedRelay; out: string; asked: ChatRequest[]; counted: unknown[] } {
    const counted: unknown[] = []
    const count = (): void => void counted.push([relay.usage, relay.contentCharacters])
    const relay: CheckedRelay = new CheckedRelay(dialogue(), count)
    const asked: ChatRequest[] = []
    for (const answer of answers) {
      const bytes = sse(answer)
      for (let at = 0; at < bytes.length; at += size) expect(relay.push(bytes.subarray(at, at + size))).toBe('')
      expect([relay.started, relay.complete]).toEqual([true, false])
      const again = relay.ended()
      if (again) asked.push(again.body as ChatRequest)
    }
    const out = relay.end()
    count()
    return { relay, asked, out, counted }
  }

  test('is the same wherever it is cut; all answers are counted, the last is sent', () => {
    const answers = [said('no ✓'), said('{"b":1}'), said("{'a': '✓'}")]
    const whole = run(answers, 100_000)
    expect(whole.out).toContain('{"type":"text","choice":0,"text":"{\\"a\\":\\"✓\\"}"}')
    expect(whole.out).not.toContain('no')
    expect(whole.out.endsWith('END')).toBe(true)
    const usage = { inputTokens: 10, outputTokens: 3, cachedInputTokens: 1 }
    expect(whole.counted).toEqual([
      [usage, 2 + 4],
      [usage, 2 + 7],
      [usage, 2 + 10],
    ])
    expect(whole.asked.map(one => one.messages.length)).toEqual([3, 3])
    for (let size = 1; size < 60; size++) expect(run(answers, size).out).toBe(whole.out)
  })

  test('every choice has to fit', () => {
    expect(run([said('{"a":1}', 'no'), said('{"a":1}', '{"a":2}')], 1000).out).toContain('{\\"a\\":2}')
  })

  test('the fourth question is never asked; a cut stream is broken, not asked for again', () => {
    const { relay, out, asked, counted } = run([said('no'), said('no'), said('no')], 1000)
    expect([out, asked.length, relay.failure?.kind, relay.terminated]).toEqual(['', 2, 'schema-mismatch', false])
    expect(counted).toHaveLength(3)
    expect(run([said('{"a":1}').slice(0, 3)], 1000).relay.failure?.kind).toBe('upstream-broken')
    const garbled = new CheckedRelay(dialogue())
    garbled.push(Buffer.from('data: {nonsense\n\n'))
    expect([garbled.failure?.kind, garbled.ended(), garbled.end()]).toEqual(['upstream-broken', undefined, ''])
  })
})

test('behind the frame that ends a stream nothing is gathered, wherever it is cut', () => {
  const marked: ChatAdapter = {
    ...adapter,
    reader: () => frame => (frame.data === '[DONE]' ? [] : [JSON.parse(frame.data) as ChatEvent]),
    isLast: ({ data }) => data === '[DONE]',
  }
  const bytes = Buffer.concat([
    sse(said('{"a":1}')),
    Buffer.from('data: [DONE]\n\n'),
    sse(said('more')),
    Buffer.from('data: rubbish\n\n'),
  ])
  for (let size = 1; size < 80; size++) {
    const relay = new CheckedRelay(new JsonDialogue({ ...dialogue().question, adapter: marked }))
    for (let at = 0; at < bytes.length && !relay.isOver; at += size) relay.push(bytes.subarray(at, at + size))
    expect([relay.isOver, relay.ended(), relay.failure]).toEqual([true, undefined, undefined])
    expect(relay.end()).toContain('{\\"a\\":1}')
    expect(relay.usage).toEqual({ inputTokens: 10, outputTokens: 3, cachedInputTokens: 1 })
  }
})

test('usage after the frame that ends a stream counts; without any the stream is over after a second of quiet', () => {
  const marked: ChatAdapter = {
    ...adapter,
    reader: () => frame => (frame.data === '[DONE]' ? [] : [JSON.parse(frame.data) as ChatEvent]),
    isLast: ({ data }) => data === '[DONE]',
  }
  const events = said('{"a":1}')
  const usage = events.filter(event => event.type === 'usage')
  const unreported = [sse(events.filter(event => event.type !== 'usage')), Buffer.from('data: [DONE]\n\n')]
  const bytes = Buffer.concat([
    ...unreported,
    Buffer.from('data: rubbish\n\n'),
    sse(said('more', 'more').slice(0, 2)),
    sse(usage),
  ])
  for (let size = 1; size < 80; size++) {
    const relay = new CheckedRelay(new JsonDialogue({ ...dialogue().question, adapter: marked }))
    for (let at = 0; at < bytes.length && !relay.isOver; at += size) relay.push(bytes.subarray(at, at + size))
    expect([relay.isOver, relay.ended(), relay.failure]).toEqual([true, undefined, undefined])
    expect(relay.end()).not.toContain('more')
    expect(relay.usage).toMatchObject({ inputTokens: 10, outputTokens: 3 })
  }
  const relay = new CheckedRelay(new JsonDialogue({ ...dialogue().question, adapter: marked }))
  relay.push(unreported[0]!)
  expect([relay.endsInMs, relay.isOver]).toEqual([3000, false])
  relay.push(unreported[1]!)
  expect([relay.endsInMs, relay.isOver, relay.ended(), relay.failure]).toEqual([1000, false, undefined, undefined])
})

describe('a stream that breaks says so in its own dialect', () => {
  const broken = new GatewayError('upstream-broken', 'cut ✓')
  const types = (text: string) => [...text.matchAll(/^event: (.*)$/gm)].map(([, type]) => type)
  const documents = (text: string) =>
    [...text.matchAll(/^data: (.*)$/gm)].map(([, data]) => JSON.parse(data!) as Record<string, any>)

  test('Responses: a failed response, numbered on from what went before', () => {
    const relay = new CheckedRelay(dialogue(openaiResponses))
    relay.push(sse(said('no').slice(0, 3)))
    expect(relay.ended()).toBeUndefined()
    const out = relay.errorEvent(relay.failure!)
    expect(types(out)).toEqual(['response.created', 'response.in_progress', 'response.failed'])
    const [created, , failed] = documents(out)
    expect(documents(out).map(event => event.sequence_number)).toEqual([0, 1, 2])
    expect(failed!.response).toMatchObject({
      id: created!.response.id,
      status: 'failed',
      model: 'm',
      error: { message: relay.failure!.message },
    })

    const finished = new CheckedRelay(dialogue(openaiResponses))
    finished.push(sse(said('{"a":1}')))
    finished.ended()
    const before = documents(finished.end())
    const after = documents(finished.errorEvent(broken))
    expect(after.map(event => [event.type, event.sequence_number])).toEqual([['response.failed', before.length]])
    expect(after[0]!.response.id).toBe(before[0]!.response.id)
  })

  test('Messages and chat completions: an error event', () => {
    const anthropic = new CheckedRelay(dialogue(anthropicMessages)).errorEvent(broken)
    expect(types(anthropic)).toEqual(['error'])
    expect(documents(anthropic)).toEqual([{ type: 'error', error: { type: 'api_error', message: 'cut ✓' } }])
    expect(documents(new CheckedRelay(dialogue(openaiChat)).errorEvent(broken))).toMatchObject([
      { error: { message: 'cut ✓' } },
    ])
  })
})

describe('one exchange for several calls', () => {
  /** An upstream whose bodies are given out by hand. */
  class Upstream {
    readonly sent: { totalMs: number }[] = []
    readonly sinks: BodySink[] = []
    readonly log: string[] = []
    status = 200

    exchange(): UpstreamExchange {
      const n = this.sinks.length
      const response: UpstreamResponse = {
        status: this.status,
        header: () => 'text/event-stream',
        body: {
          bytes: async () => Buffer.from(String(this.sent.length)),
          pipe: sink => void this.sinks.push(sink),
          pause: () => this.log.push(`pause ${n}`),
          resume: () => this.log.push(`resume ${n}`),
        },
      }
      return { response: Promise.resolve(response), sent: true, cancel: () => this.log.push(`cancel ${n}`) }
    }
  }

  function start(check: AnswerCheck, totalMs = 0, status = 200, admit = async (): Promise<void> => {}) {
    const upstream = new Upstream()
    upstream.status = status
    let nowMs = 0
    const clock = { epochMs: () => nowMs, monotonicMs: () => nowMs }
    const timers = new TimerWheel(clock, 50)
    const exchange = checkedExchange(upstream.exchange(), {
      check,
      totalMs,
      clock,
      timers,
      admit,
      answered: () => {},
      send: (_next, left) => {
        upstream.sent.push({ totalMs: left })
        return upstream.exchange()
      },
      fault: async response => new GatewayError('upstream-overloaded', `status ${response.status}`),
    })
    const pass = (ms: number): void => {
      for (const untilMs = nowMs + ms; nowMs < untilMs; timers.tick()) nowMs += Math.min(50, untilMs - nowMs)
    }
    return { upstream, exchange, pass }
  }

  const next = { head: { url: 'u', headers: {} }, body: [] }
  const again = (times: number): AnswerCheck => {
    let left = times
    const ask = () => (left-- > 0 ? next : undefined)
    return { isSeries: false, whole: ask, isOver: () => false, endsInMs: () => 0, steps: () => 0, streamed: ask }
  }
  const failure = (run: Promise<unknown>) =>
    run.then(
      () => 'none',
      (error: GatewayError) => error.kind,
    )

  test('whole answers: the last one, and the time that is left', async () => {
    const { exchange, upstream, pass } = start(again(2), 1000)
    const { body } = await exchange.response
    pass(400)
    expect(Buffer.from(await body.bytes(100)).toString()).toBe('2')
    expect(upstream.sent).toEqual([{ totalMs: 600 }, { totalMs: 600 }])
  })

  test('no time, no second question; a refused second question is the failure', async () => {
    const late = start(again(2), 1000)
    const { body } = await late.exchange.response
    late.pass(1001)
    expect(await failure(body.bytes(100))).toBe('upstream-timeout')
    expect(late.upstream.sent).toEqual([])
    const refused = start(again(2))
    const response = await refused.exchange.response
    refused.upstream.status = 503
    expect(await failure(response.body.bytes(100))).toBe('upstream-overloaded')
  })

  test('a further request that is not admitted is not sent', async () => {
    const refusal = new GatewayError('rate-limited', 'no more')
    const { exchange, upstream } = start(again(1), 0, 200, () => Promise.reject(refusal))
    const { body } = await exchange.response
    expect([await failure(body.bytes(100)), upstream.sent, exchange.sent]).toEqual(['rate-limited', [], false])
  })

  test('an answer that is no success is handed on untouched', async () => {
    const { exchange, upstream } = start(again(1), 0, 429)
    const { status, body } = await exchange.response
    expect([status, Buffer.from(await body.bytes(100)).toString(), upstream.sent.length]).toEqual([429, '0', 0])
  })

  test('streams follow one another; a pause between them holds; a cancel ends whichever is open', async () => {
    const { exchange, upstream } = start(again(1))
    const { body } = await exchange.response
    const heard: string[] = []
    body.pipe({
      data: bytes => heard.push(Buffer.from(bytes).toString()),
      end: () => heard.push('end'),
      fail: error => heard.push(error.kind),
    })
    upstream.sinks[0]!.data(Buffer.from('one'))
    upstream.sinks[0]!.end()
    body.pause()
    await Bun.sleep(1)
    expect(upstream.log).toEqual(['pause 0', 'pause 1'])
    body.resume()
    upstream.sinks[1]!.data(Buffer.from('two'))
    upstream.sinks[1]!.end()
    expect(heard).toEqual(['one', 'two', 'end'])
    exchange.cancel()
    expect(upstream.log).toEqual(['pause 0', 'pause 1', 'resume 1', 'cancel 1'])
  })

  /** A stream is over with a piece that ends in a full stop, and may be over with one that ends in a question mark. */
  async function ending(times: number) {
    let isOver = false
    let endsInMs = 0
    let steps = 0
    const started = start({
      ...again(times),
      isOver: () => isOver,
      endsInMs: () => endsInMs,
      steps: () => steps,
    })
    const heard: string[] = []
    const { body } = await started.exchange.response
    body.pipe({
      data: bytes => {
        const text = Buffer.from(bytes).toString()
        heard.push(text)
        isOver = text.endsWith('.')
        endsInMs = text.endsWith('?') ? 10_000 : 0
        if (!text.startsWith(':')) steps++
      },
      end: () => heard.push('end'),
      fail: error => heard.push(error.kind),
    })
    const say = async (n: number, text: string) => {
      started.upstream.sinks[n]!.data(Buffer.from(text))
      await Bun.sleep(1)
    }
    return { ...started, body, heard, say }
  }

  test('a stream that says that it is over is not waited for: the next question, and the end, come at once', async () => {
    const { upstream, heard, say, pass } = await ending(1)
    await say(0, 'one.')
    expect(upstream.sent.length).toBe(1)
    await say(0, 'what is never heard')
    await say(1, 'two')
    await say(1, ' three.')
    expect(heard).toEqual(['one.', 'two', ' three.', 'end'])
    upstream.sinks[0]!.end()
    upstream.sinks[1]!.fail(new GatewayError('upstream-timeout', 'idle'))
    pass(5000)
    expect([heard.length, upstream.log.filter(line => line.startsWith('cancel'))]).toEqual([4, []])
  })

  test('a dialect without a word for the end is over ten seconds after the answer is complete, and not while its reader pauses', async () => {
    const { upstream, body, heard, say, pass } = await ending(1)
    await say(0, 'half')
    pass(20_000)
    await say(0, 'one?')
    pass(9900)
    await say(0, 'more?')
    body.pause()
    pass(20_000)
    body.resume()
    pass(9900)
    expect([upstream.sent.length, upstream.log.includes('cancel 0')]).toEqual([0, false])
    pass(200)
    await Bun.sleep(1)
    expect([upstream.sent.length, upstream.log.includes('cancel 0')]).toEqual([1, true])
    await say(1, 'two?')
    // The deployment's own limit is the same silence; a cut is not.
    upstream.sinks[1]!.fail(new GatewayError('upstream-timeout', 'idle'))
    // A reader that goes on later asks nothing again.
    body.pause()
    body.resume()
    pass(20_000)
    expect(upstream.sent.length).toBe(1)
    expect(heard).toEqual(['half', 'one?', 'more?', 'two?', 'end'])
    const cut = await ending(0)
    await cut.say(0, 'one?')
    cut.upstream.sinks[0]!.fail(new GatewayError('upstream-broken', 'cut'))
    const left = await ending(0)
    await left.say(0, 'one?')
    left.exchange.cancel()
    for (const one of [cut, left]) one.pass(20_000)
    expect([cut.heard, left.heard]).toEqual([['one?', 'upstream-broken'], ['one?']])
  })

  test('the bytes of a stream that is over are read on for a second, then its connection is closed', async () => {
    const { upstream, body, heard, say, pass } = await ending(1)
    body.pause()
    await say(0, 'one.')
    // Nothing else would read on.
    expect(upstream.log).toEqual(['pause 0', 'resume 0', 'pause 1'])
    pass(900)
    expect(upstream.log.length).toBe(3)
    pass(200)
    expect(upstream.log.slice(3)).toEqual(['cancel 0'])
    await say(1, 'two.')
    expect(heard).toEqual(['one.', 'two.', 'end'])
  })
})
