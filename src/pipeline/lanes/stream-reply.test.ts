/** When a stream opens, what keeps it alive, and how it ends when the gateway does. */
import { describe, expect, test } from 'bun:test'
import type { AnswerSink } from '../../core/answer.ts'
import type { Deployment } from '../../core/deployment.ts'
import { GatewayError } from '../../core/errors.ts'
import type { StreamRelay } from '../../core/format.ts'
import { clientClosed } from '../../core/request.ts'
import type { BodySink } from '../../core/transport.ts'
import { decorated } from '../../emulation/decorate.ts'
import { anthropicMessages } from '../../formats/anthropic/index.ts'
import { geminiGenerate } from '../../formats/gemini/index.ts'
import { openaiChat } from '../../formats/openai/chat/index.ts'
import { JsonBody } from '../../lib/json/json-body.ts'
import { TimerWheel } from '../../lib/timer-wheel.ts'
import { providers } from '../../providers/index.ts'
import { AttemptRecord } from '../attempt-record.ts'
import { CallRecord } from '../call-record.ts'
import { CallControl } from '../call-control.ts'
import { openStream } from './stream-reply.ts'
import { TranslatedRelay } from './translate.ts'

/** Passes text on; what is in brackets is no content, as the pings of a vendor are. */
function wordRelay(): StreamRelay {
  const relay = {
    started: false,
    received: false,
    steps: 0,
    complete: false,
    terminated: false,
    failure: undefined,
    usage: undefined,
    characters: 0,
    push(bytes: Uint8Array) {
      const text = Buffer.from(bytes)
        .toString()
        .replace(/\[.*?\]/g, '')
      if (bytes.length > 0) relay.received = true
      if (text !== '') {
        relay.started = true
        relay.steps++
      }
      if (text.endsWith('!')) relay.terminated = relay.complete = true
      return text
    },
    end: () => '',
    errorEvent: (error: GatewayError) => `<error ${error.message}>`,
  }
  return relay as unknown as StreamRelay
}

const noTimeouts = { firstEventMs: 0, firstContentMs: 0, contentMs: 0 }

function stream(heartbeat = '<alive>', relay = wordRelay(), timeouts = noTimeouts) {
  const clock = { nowMs: 1_000_000, epochMs: () => clock.nowMs, monotonicMs: () => clock.nowMs }
  const timers = new TimerWheel(clock, 50)
  const advance = (ms: number) => {
    for (const untilMs = clock.nowMs + ms; clock.nowMs < untilMs; timers.tick()) clock.nowMs += 50
  }
  let leave: (why: GatewayError) => void = () => {}
  const client = { clientAddress: '', left: false, onLeft: (listener: typeof leave) => void (leave = listener) }
  const parts = {
    clock: { ...clock, monotonicMs: () => performance.now() },
    current: undefined as never,
    tokenizer: { measure: () => Promise.resolve(undefined) },
  }
  const call = new CallRecord(parts, {
    id: 'c',
    operation: 'chat',
    route: '/v1/chat/completions',
    caller: {} as never,
    client,
    userAgent: '',
    clientAddress: '',
    format: undefined,
    options: {},
    announcedBytes: undefined,
    models: undefined as never,
  })
  const ends: [string, number, number][] = []
  const control = new CallControl(call, (settled, outcome, status) =>
    ends.push([outcome, status, settled.progress.firstByteMs]),
  )
  let upstream!: BodySink
  const seen = { text: '', ended: '', paused: 0, resumed: 0, cancelled: 0 }
  const body = {
    bytes: async () => new Uint8Array(),
    pipe: (sink: BodySink) => void (upstream = sink),
    pause: () => void seen.paused++,
    resume: () => void seen.resumed++,
  }
  const exchange = { response: new Promise<never>(() => {}), sent: true, cancel: () => void seen.cancelled++ }
  // Its head came after five seconds.
  control.setExchange(exchange, clock.nowMs - 5000)
  const sink: AnswerSink & { full: boolean } = {
    full: false,
    write: piece => void (seen.text += Buffer.from(piece as string).toString()),
    end: () => void (seen.ended = 'end'),
    abort: () => void (seen.ended = 'abort'),
  }
  let isOpen = false
  const target = { baseUrl: 'https://upstream.example.com', apiKey: undefined, options: {} }
  const deployment = { target, timeouts } as unknown as Deployment
  call.attempt = new AttemptRecord(deployment, '')
  const opened = openStream({ exchange, body, relay }, control, { timers, deployment, heartbeat }).then(answer => {
    isOpen = true
    answer.pipe(sink)
    return answer
  })
  opened.catch(() => {})
  const send = (text: string) => upstream.data(Buffer.from(text))
  return {
    advance,
    send,
    seen,
    sink,
    ends,
    opened,
    upstream,
    control,
    isOpen: () => Bun.sleep(0).then(() => isOpen),
    leave: (why: GatewayError) => leave(why),
  }
}

test('an upstream that is heard of, but says nothing for the client yet, opens the stream after two seconds', async () => {
  const { advance, send, seen, isOpen } = stream()
  send('[message_start][ping]')
  advance(1900)
  expect(await isOpen()).toBe(false)
  advance(200)
  expect(await isOpen()).toBe(true)
  advance(15_100)
  expect(seen.text).toBe('<alive>')
  send('words')
  expect(seen.text).toBe('<alive>words')
})

test('an upstream that says nothing at all may still be replaced by another, for the time of a heartbeat', async () => {
  const { advance, seen, isOpen } = stream()
  advance(14_900)
  expect(await isOpen()).toBe(false)
  advance(200)
  expect(await isOpen()).toBe(true)
  advance(31_000)
  expect(seen.text).toBe('<alive><alive>')
})

test('where nothing may be said meanwhile, as in audio, silence opens nothing', async () => {
  const { advance, isOpen } = stream('')
  advance(120_000)
  expect(await isOpen()).toBe(false)
})

test('the first byte is timed before the record is made, however fast the stream is', async () => {
  const { send, ends, isOpen } = stream()
  send('all of it!')
  expect(await isOpen()).toBe(true)
  expect(ends.map(([outcome]) => outcome)).toEqual(['success'])
  expect(ends[0]![2]).toBeGreaterThanOrEqual(0)
})

test('a client that reads slowly keeps its stream for as long as its connection stands', async () => {
  const { advance, send, seen, sink, ends, opened } = stream()
  send('a')
  const answer = await opened
  sink.full = true
  send('b')
  expect(seen.paused).toBe(1)
  // Whether anything goes out at all is what the connection watches.
  advance(10 * 60_000)
  expect([seen.text, seen.ended, ends]).toEqual(['ab', '', []])
  sink.full = false
  answer.resume()
  expect(seen.resumed).toBe(1)
  send('c!')
  expect(seen.text).toBe('abc!')
})

test('a gateway that stops sends the client an error, and the record says interrupted', async () => {
  const { send, seen, ends, opened, leave } = stream()
  send('half')
  await opened
  leave(new GatewayError('overloaded', 'stopping'))
  expect([seen.text, seen.ended, seen.cancelled]).toEqual(['half<error stopping>', 'end', 1])
  expect(ends.map(([outcome, status]) => [outcome, status])).toEqual([['interrupted', 200]])
})

test('a stream that said everything gets no error after its end', async () => {
  const { send, seen, ends, opened, leave } = stream()
  send('all of it!')
  await opened
  leave(new GatewayError('overloaded', 'stopping'))
  expect([seen.text, seen.ended, seen.cancelled]).toEqual(['all of it!', 'end', 1])
  expect(ends.map(([outcome]) => outcome)).toEqual(['success'])
})

test('a gateway that stops before the first word answers with the status of the error', async () => {
  const { ends, seen, leave, control } = stream()
  const reported: GatewayError[] = []
  control.onLeft = error => reported.push(error)
  leave(new GatewayError('overloaded', 'stopping'))
  expect([reported.map(error => error.kind), seen.cancelled]).toEqual([['overloaded'], 1])
  expect(ends.map(([outcome, status]) => [outcome, status])).toEqual([['interrupted', 503]])
})

test('a client that left before the first word gets no stream, however long the upstream goes on', async () => {
  for (const sent of ['[message_start][ping]', '']) {
    const { advance, send, seen, ends, control, isOpen, leave } = stream()
    if (sent) send(sent)
    leave(clientClosed())
    const settled = [['client_closed', 499, -1]]
    expect(ends as unknown[]).toEqual(settled)
    advance(60_000)
    send('too late')
    expect([await isOpen(), control.stream, control.call.progress.firstByteMs, seen.text]).toEqual([
      false,
      undefined,
      -1,
      '',
    ])
    expect([seen.cancelled > 0, ends as unknown[]]).toEqual([true, settled])
  }
})

const spoken = [
  { id: 'c', model: 'up', choices: [{ index: 0, delta: { role: 'assistant', content: 'Hi' }, finish_reason: null }] },
  { id: 'c', model: 'up', choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] },
  { id: 'c', model: 'up', choices: [], usage: { prompt_tokens: 5, completion_tokens: 1, total_tokens: 6 } },
]
  .map(chunk => `data: ${JSON.stringify(chunk)}\n\n`)
  .join('')
const lanes: [string, string, () => StreamRelay][] = [
  [
    'forwarded',
    'data: [DONE]\n\n',
    () => openaiChat.forward.relay('m', JsonBody.read(Buffer.from('{"model":"m","stream":true,"messages":[]}'))),
  ],
  [
    'translated',
    'event: message_stop\ndata: {"type":"message_stop"}\n\n',
    () =>
      new TranslatedRelay({
        adapter: providers.get('openai')!.chat!,
        format: anthropicMessages,
        publicModel: 'm',
        request: {
          model: 'm',
          messages: [],
          stream: true,
          includeUsage: true,
          extra: { format: 'anthropic-messages', fields: {} },
        },
      }),
  ],
]
test.each(lanes)(
  '%s: an upstream that is done, but keeps its connection open, has succeeded when it says so',
  async (_, mark, relay) => {
    const { send, seen, ends, opened, upstream, control } = stream('', relay())
    send(spoken)
    await opened
    expect([ends, seen.text.includes(mark)]).toEqual([[], false])
    send('data: [DONE]\n\n')
    expect(ends.map(([outcome, status]) => [outcome, status])).toEqual([['success', 200]])
    expect(control.call.attempt!.relay?.usage).toMatchObject({ inputTokens: 5, outputTokens: 1 })
    expect([seen.text.endsWith(mark), seen.ended]).toEqual([true, 'end'])
    const { text } = seen
    // What the idle limit makes of it later takes nothing away.
    upstream.fail(new GatewayError('upstream-timeout', 'idle'))
    expect([seen.text === text, seen.ended, ends.length]).toEqual([true, 'end', 1])
  },
)

test.each(lanes)('%s: the body ends with the last frame, wherever the bytes are cut', async (_, mark, relay) => {
  const bytes = Buffer.from(`${spoken}data: [DONE]\n\n`)
  for (let at = 1; at < bytes.length; at++) {
    const { seen, ends, opened, upstream, control } = stream('', relay())
    upstream.data(bytes.subarray(0, at))
    expect([seen.ended, ends.length]).toEqual(['', 0])
    upstream.data(bytes.subarray(at))
    await opened
    expect([seen.text.endsWith(mark), seen.ended, ends.map(([outcome]) => outcome)]).toEqual([true, 'end', ['success']])
    expect(control.call.attempt!.relay?.usage).toMatchObject({ inputTokens: 5, outputTokens: 1 })
  }
})

describe('after the last frame the upstream is', () => {
  async function over() {
    const started = stream()
    started.send('all of it!')
    await started.opened
    expect([started.seen.ended, started.seen.cancelled]).toEqual(['end', 0])
    return started
  }

  test('kept, when its bytes end soon', async () => {
    const { upstream, advance, seen } = await over()
    advance(800)
    upstream.end()
    advance(60_000)
    expect([seen.text, seen.cancelled]).toEqual(['all of it!', 0])
  })

  test('closed, when nothing comes for a second', async () => {
    const { advance, seen, ends } = await over()
    advance(900)
    expect(seen.cancelled).toBe(0)
    advance(200)
    expect([seen.text, seen.cancelled, ends.length]).toEqual(['all of it!', 1, 1])
  })

  test('closed, when it goes on and on; none of it goes out', async () => {
    const { send, seen, ends } = await over()
    for (let at = 0; at < 3; at++) send('x'.repeat(30_000))
    expect([seen.text, seen.cancelled, ends.length]).toEqual(['all of it!', 1, 1])
  })

  test('read on, also when the client reads slowly', async () => {
    const { send, sink, seen, opened } = stream()
    send('a')
    await opened
    sink.full = true
    send('b!')
    expect([seen.paused, seen.resumed, seen.ended, seen.text]).toEqual([1, 1, 'end', 'ab!'])
  })
})

test('a stream of nothing but its end opens nothing: another deployment may answer', async () => {
  for (const [, , relay] of lanes) {
    const { send, seen, ends, opened } = stream('', relay())
    send(': ping\n\ndata: [DONE]\n\n')
    expect(
      await opened.then(
        () => 'open',
        (error: GatewayError) => error.kind,
      ),
    ).toBe('upstream-broken')
    expect([seen.text, seen.cancelled, ends]).toEqual(['', 1, []])
  }
})

test('an event that is not JSON becomes an error event, and the record says that the answer was cut', async () => {
  for (const [, mark, relay] of lanes) {
    const { send, seen, ends, opened } = stream('', relay())
    send(spoken.slice(0, spoken.indexOf('\n\n') + 2))
    await opened
    send('data: {"choices":[{"index":0,"delta":{"content":"Hi th\n\ndata: [DONE]\n\n')
    expect([seen.text.includes('Hi th'), seen.text.includes(mark), seen.text.includes('"error"'), seen.ended]).toEqual([
      false,
      false,
      true,
      'end',
    ])
    expect(ends.map(([outcome]) => outcome)).toEqual(['upstream_cut'])
  }
})

const candidate = (text: string, more: object = {}) =>
  `data: ${JSON.stringify({ candidates: [{ content: { role: 'model', parts: [{ text }] }, ...more }], usageMetadata: { promptTokenCount: 5, candidatesTokenCount: 1 } })}\n\n`
const endless: [string, () => StreamRelay][] = [
  ['forwarded', () => geminiGenerate.forward.relay('m', JsonBody.read(Buffer.from('{"contents":[]}')))],
  [
    'translated',
    () =>
      new TranslatedRelay({
        adapter: providers.get('gemini')!.chat!,
        format: openaiChat,
        publicModel: 'm',
        request: {
          model: 'm',
          messages: [],
          stream: true,
          includeUsage: true,
          extra: { format: 'openai-chat', fields: {} },
        },
      }),
  ],
  [
    'translated, at a host that speaks two dialects',
    () =>
      new TranslatedRelay({
        adapter: decorated(providers.get('vertex_ai')!.chat!, {}),
        format: openaiChat,
        publicModel: 'm',
        request: {
          model: 'm',
          messages: [],
          stream: true,
          includeUsage: true,
          extra: { format: 'openai-chat', fields: {} },
        },
      }),
  ],
]
test.each(endless)(
  '%s: a dialect without a word for the end is over ten seconds after its finish reason, not before',
  async (_, relay) => {
    const { send, advance, seen, ends, opened, control } = stream('', relay())
    send(candidate('Hel'))
    await opened
    advance(14_000)
    send(candidate('lo', { finishReason: 'STOP' }))
    advance(9500)
    // What follows is still a part of it, and counts the time anew.
    send(candidate(' there', { finishReason: 'STOP' }))
    advance(9800)
    expect([seen.ended, ends.length, seen.cancelled]).toEqual(['', 0, 0])
    advance(300)
    expect([seen.ended, ends.map(([outcome]) => outcome), seen.cancelled]).toEqual(['end', ['success'], 1])
    expect(control.call.attempt!.relay?.usage).toMatchObject({ inputTokens: 5, outputTokens: 1 })
    for (const text of ['Hel', 'lo']) expect(seen.text).toContain(text)
  },
)

test.each(endless)(
  '%s: a deadline that is nearer than those ten seconds takes nothing from a complete answer, and a cut does',
  async (_, relay) => {
    for (const [kind, text, outcome] of [
      ['upstream-timeout', candidate('all', { finishReason: 'STOP' }), 'success'],
      ['upstream-timeout', candidate('half'), 'upstream_cut'],
      ['upstream-broken', candidate('all', { finishReason: 'STOP' }), 'upstream_cut'],
    ] as const) {
      const { send, seen, ends, opened, upstream } = stream('', relay())
      send(text)
      await opened
      upstream.fail(new GatewayError(kind, 'the upstream sent nothing more'))
      expect([ends.map(([how]) => how), seen.text.includes('sent nothing more'), seen.ended]).toEqual([
        [outcome],
        outcome !== 'success',
        'end',
      ])
    }
  },
)

const usageOnly = spoken.slice(spoken.indexOf('data: {"id":"c","model":"up","choices":[],'))
const unreported = spoken.slice(0, -usageOnly.length)

test.each(lanes)(
  '%s: everything is sent, the connection stays open, no terminal event: complete after a second, comments or not',
  async (_, mark, relay) => {
    const { send, advance, seen, ends, opened, control } = stream('', relay())
    send(spoken)
    await opened
    advance(900)
    send(': still here\n\n')
    expect([seen.ended, ends.length, seen.cancelled]).toEqual(['', 0, 0])
    advance(200)
    expect([seen.text.endsWith(mark), seen.ended, seen.cancelled]).toEqual([true, 'end', 1])
    expect(ends.map(([outcome]) => outcome)).toEqual(['success'])
    expect(control.call.attempt!.relay?.usage).toMatchObject({ inputTokens: 5, outputTokens: 1 })
  },
)

test.each(lanes)(
  '%s: without usage it is waited for a little longer, and counts when it comes',
  async (_, mark, relay) => {
    const quiet = stream('', relay())
    quiet.send(unreported)
    await quiet.opened
    quiet.advance(2900)
    expect(quiet.seen.ended).toBe('')
    quiet.advance(200)
    expect([quiet.seen.text.endsWith(mark), quiet.ends.map(([outcome]) => outcome)]).toEqual([true, ['success']])
    const late = stream('', relay())
    late.send(unreported)
    await late.opened
    late.advance(2900)
    late.send(usageOnly)
    late.advance(900)
    expect(late.seen.ended).toBe('')
    late.advance(200)
    expect([late.seen.text.endsWith(mark), late.control.call.attempt!.relay?.usage?.inputTokens]).toEqual([true, 5])
  },
)

test.each(lanes)('%s: usage after the terminal event is in the record', async (_, mark, relay) => {
  for (const waits of [false, true]) {
    const { send, advance, seen, ends, opened, control } = stream('', relay())
    send(`${unreported}data: [DONE]\n\n`)
    await opened
    expect([seen.text.includes(mark), ends]).toEqual([false, []])
    if (waits) advance(900)
    send(usageOnly)
    expect([seen.text.endsWith(mark), seen.ended, ends.map(([outcome]) => outcome)]).toEqual([true, 'end', ['success']])
    expect(control.call.attempt!.relay?.usage).toMatchObject({ inputTokens: 5, outputTokens: 1 })
  }
  const never = stream('', relay())
  never.send(`${unreported}data: [DONE]\n\n`)
  await never.opened
  never.advance(1100)
  expect([never.seen.text.endsWith(mark), never.seen.cancelled, never.ends.length]).toEqual([true, 1, 1])
})

const limits = { firstEventMs: 20_000, firstContentMs: 10_000, contentMs: 4000 }
test.each(lanes)('%s: comments alone are no content: another deployment may answer', async (_, __, relay) => {
  const { send, advance, seen, ends, opened, isOpen } = stream('<alive>', relay(), limits)
  // Content is waited for from the request on, while there is no event.
  for (let at = 0; at < 49; at++) {
    send(': OPENROUTER PROCESSING\n\n')
    advance(100)
  }
  expect(await isOpen()).toBe(false)
  advance(200)
  expect(
    await opened.then(
      () => 'open',
      (error: GatewayError) => [error.kind, error.message],
    ),
  ).toEqual(['upstream-timeout', 'the upstream sent no content for 10 s (`first_content_timeout`)'])
  expect([seen.text, seen.cancelled, ends]).toEqual(['', 1, []])
})

test.each(lanes)('%s: neither the head nor comments are the first event', async (_, __, relay) => {
  for (const said of ['', ': OPENROUTER PROCESSING\n\n']) {
    const bounds = { firstEventMs: 8000, firstContentMs: 60_000, contentMs: 4000 }
    const { send, advance, seen, ends, opened, isOpen } = stream('<alive>', relay(), bounds)
    for (let at = 0; at < 29; at++) {
      send(said)
      advance(100)
    }
    expect(await isOpen()).toBe(false)
    advance(200)
    expect(await opened.catch((error: GatewayError) => [error.kind, error.message])).toEqual([
      'upstream-timeout',
      'the upstream sent no event for 8 s (`stream_timeout`)',
    ])
    expect([seen.text, seen.cancelled, ends]).toEqual(['', 1, []])
  }
})

test('from the first event on the first content is waited for, however late that event was', async () => {
  const bounds = { firstEventMs: 8000, firstContentMs: 8000, contentMs: 4000 }
  const { send, advance, opened } = stream('<alive>', wordRelay(), bounds)
  advance(2500)
  send('[message_start]')
  advance(7900)
  send('words')
  expect(await opened).toBeDefined()
})

test.each(lanes)(
  '%s: after its first content a stream of comments and empty deltas ends as cut',
  async (_, __, relay) => {
    const { send, advance, seen, ends, opened } = stream('<alive>', relay(), limits)
    send(spoken.slice(0, spoken.indexOf('\n\n') + 2))
    await opened
    for (let at = 0; at < 39; at++) {
      send(`: ping\n\ndata: {"choices":[{"index":0,"delta":{"content":""},"finish_reason":null}]}\n\n`)
      advance(100)
    }
    expect([seen.ended, ends]).toEqual(['', []])
    advance(200)
    expect([seen.ended, seen.cancelled, ends.map(([outcome]) => outcome)]).toEqual(['end', 1, ['upstream_cut']])
    expect(seen.text).toContain('no content for 4 s (`content_timeout`)')
  },
)

test('the wait for content stands still while the client does not read', async () => {
  const { send, advance, seen, sink, ends, opened } = stream('', wordRelay(), limits)
  send('a')
  const answer = await opened
  sink.full = true
  send('b')
  advance(60_000)
  expect([seen.ended, ends]).toEqual(['', []])
  sink.full = false
  answer.resume()
  advance(3900)
  expect(seen.ended).toBe('')
  advance(200)
  expect(ends.map(([outcome]) => outcome)).toEqual(['upstream_cut'])
})
