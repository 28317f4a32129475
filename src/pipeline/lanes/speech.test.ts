/** Speech through the router: audio as bytes, audio inside JSON, and nothing that is not audio between the bytes. */
import { expect, test } from 'bun:test'
import { streamOf } from '../../core/answer.ts'
import type { Deployment } from '../../core/deployment.ts'
import type { GatewayError } from '../../core/errors.ts'
import type { Provider, SpeechAdapter } from '../../core/provider.ts'
import type { Reply } from '../../core/answer.ts'
import type { BodySink, Transport } from '../../core/transport.ts'
import { openaiSpeech } from '../../formats/openai/speech.ts'
import { JsonBody } from '../../lib/json/json-body.ts'
import { TimerWheel } from '../../lib/timer-wheel.ts'
import { callPolicies } from '../admission/admission.ts'
import { CallRecord } from '../call-record.ts'
import type { CallParts } from '../call-record.ts'
import { CallControl } from '../call-control.ts'
import { Router } from '../routing/deployment-router.ts'

/** A clock that is moved by hand, and the timers behind it. */
function bench() {
  const clock = { nowMs: 1_000_000, epochMs: () => clock.nowMs, monotonicMs: () => clock.nowMs }
  const timers = new TimerWheel(clock, 50)
  const advance = (ms: number) => {
    for (const untilMs = clock.nowMs + ms; clock.nowMs < untilMs; timers.tick()) clock.nowMs += 50
  }
  return { clock, timers, advance }
}

interface Upstream {
  readonly contentType: string
  /** The whole body; absent = the test feeds the sink. */
  readonly body?: Uint8Array | string
}

/** One speech call to a provider with `adapter`, or that speaks the dialect itself when there is none. */
const callParts = (clock: CallParts['clock']) => ({
  clock,
  current: undefined as never,
  tokenizer: { measure: () => Promise.resolve(undefined) },
})

function speak(upstream: Upstream, adapter: SpeechAdapter | undefined, fields: object = {}) {
  const { clock, timers, advance } = bench()
  const sinks: BodySink[] = []
  const sent: unknown[] = []
  const outcomes: string[] = []
  const transport: Transport = {
    send(request) {
      sent.push(JSON.parse(Buffer.concat(request.body as Uint8Array[]).toString()))
      const body = {
        bytes: async () => Buffer.from(upstream.body ?? ''),
        pipe: (sink: BodySink) => void sinks.push(sink),
        pause() {},
        resume() {},
      }
      const header = (name: string) => (name === 'content-type' ? upstream.contentType : undefined)
      return { response: Promise.resolve({ status: 200, header, body }), sent: true, cancel() {} }
    },
    connections: () => ({ busy: 0, idle: 0 }),
    close() {},
  }
  const head = { url: 'http://x/speech', headers: {} }
  const provider = {
    name: 'p',
    speaks: adapter ? {} : { 'openai-speech': () => head },
    ...(adapter && { speech: adapter }),
  } as unknown as Provider
  const deployment = {
    id: 'd',
    modelName: 'm',
    target: { provider, model: 'tts', headers: {}, options: {} },
    mode: 'audio_speech',
    weight: 1,
    order: 0,
    timeouts: {
      connectMs: 0,
      firstByteMs: 0,
      firstEventMs: 0,
      idleMs: 0,
      firstContentMs: 0,
      contentMs: 0,
      totalMs: 0,
    },
    prices: null,
    dropParams: true,
    info: {},
    profile: {
      toolCalling: 'native',
      thinking: 'separate',
      alternateRoles: false,
      structuredOutput: 'native',
      guard: false,
    },
  } as unknown as Deployment
  const call = new CallRecord(callParts(clock), {
    id: 'c',
    operation: 'speech',
    route: '/v1/audio/speech',
    caller: {} as never,
    client: { clientAddress: '', left: false, onLeft() {} },
    userAgent: '',
    clientAddress: '',
    format: openaiSpeech,
    options: {},
    announcedBytes: undefined,
    models: {
      settings: { router: { retries: 0, attemptsMax: 6, allowedFails: 3, cooldownMs: 0, fallbacks: {} } },
    } as never,
  })
  call.body = JsonBody.read(Buffer.from(JSON.stringify({ model: 'm', input: 'hello', voice: 'v', ...fields })))
  call.model = 'm'
  call.stream = openaiSpeech.inspect(call.body).stream
  call.candidates = [deployment]
  const control = new CallControl(call, (_call, outcome) => outcomes.push(outcome))
  const router = new Router({
    transport,
    timers,
    clock,
    limiter: {
      take: () => {
        throw new Error('no deployment has limits')
      },
    },
    random: () => 0,
    policies: callPolicies([]),
    credentials: undefined as never,
    isBlocked: () => false,
  })
  const reply = new Promise<Reply>((answered, failed) => router.run(control, { answered, failed }))
  return { reply, call, sinks, sent, outcomes, advance }
}

const failure = (promise: Promise<unknown>) =>
  promise.then(
    () => undefined,
    (error: GatewayError) => error,
  )

const inJson: SpeechAdapter = {
  request: (request, target) => ({
    head: { url: 'http://x/generate', headers: {} },
    body: { model: target.model, text: request.input, voice: request.voice, as: request.format },
    dropped: request.speed === undefined ? [] : ['speed'],
  }),
  result: body => ({
    audio: Buffer.from((body as { data: string }).data, 'base64'),
    mediaType: 'audio/wav',
    usage: { inputTokens: 2, outputTokens: 30, outputAudioTokens: 30 },
  }),
}

test('audio inside JSON is unwrapped and gets its own content type', async () => {
  const { reply, call, sent } = speak({ contentType: 'application/json', body: '{"data":"QUJD"}' }, inJson, {
    speed: 2,
  })
  const { body, contentType, status } = await reply
  expect([status, contentType, Buffer.from(body as Uint8Array).toString()]).toEqual([200, 'audio/wav', 'ABC'])
  expect(sent).toEqual([{ model: 'tts', text: 'hello', voice: 'v', as: 'mp3' }])
  expect([call.attempt!.usage, call.attempt!.usageSource, call.attempt!.dropped]).toEqual([
    { inputTokens: 2, outputTokens: 30, outputAudioTokens: 30 },
    'upstream',
    ['speed'],
  ])
})

test("an answer that cannot be unwrapped is the upstream's fault", async () => {
  for (const body of ['{}', 'RIFF', ''])
    expect((await failure(speak({ contentType: 'application/json', body }, inJson).reply))?.kind).toBe(
      'upstream-broken',
    )
})

test('events are refused where only audio is made, before anything is sent', async () => {
  const { reply, sent } = speak({ contentType: 'audio/mpeg' }, inJson, { stream_format: 'sse' })
  const error = await failure(reply)
  expect([error?.kind, error?.param, sent]).toEqual(['unprocessable', 'stream_format', []])
})

const { result: _, ...bytesAdapter } = inJson

for (const [what, adapter] of [
  ['forwarded', undefined],
  ['translated', bytesAdapter],
] as const)
  test(`${what} audio flows as it comes, and a silent upstream is not filled with words`, async () => {
    const { reply, sinks, outcomes, advance } = speak({ contentType: 'audio/ogg; codecs=OPUS' }, adapter)
    await Bun.sleep(1)
    const [sink] = sinks
    sink!.data(Uint8Array.of(79, 103, 103, 83))
    const { body, contentType } = await reply
    expect(contentType).toBe('audio/ogg; codecs=OPUS')
    const reader = streamOf(body)!.getReader()
    expect((await reader.read()).value).toEqual(Uint8Array.of(79, 103, 103, 83))
    const next = reader.read()
    advance(50_000)
    sink!.data(Uint8Array.of(1))
    sink!.end()
    expect((await next).value).toEqual(Uint8Array.of(1))
    expect((await reader.read()).done).toBe(true)
    expect(outcomes).toEqual(['success'])
  })

test('events are kept alive by comments while the upstream is silent', async () => {
  const { reply, sinks, advance } = speak({ contentType: 'text/event-stream' }, undefined, { stream_format: 'sse' })
  await Bun.sleep(1)
  sinks[0]!.data(Buffer.from('data: {"type":"speech.audio.delta","audio":"QQ=="}\n\n'))
  const reader = streamOf((await reply).body)!.getReader()
  await reader.read()
  advance(16_000)
  expect(Buffer.from((await reader.read()).value!).toString()).toBe(': keep-alive\n\n')
})
