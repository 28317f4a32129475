/** Judges of streams window by window: what goes out when, what is found over the border of two, and how it ends. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { startGateway } from '../e2e/harness.ts'
import type { Gateway } from '../e2e/harness.ts'
import { clientDialects, readAnswer } from '../policies/client-dialects.ts'
import { until } from '../support/until.ts'

type Json = Record<string, any>

/** Streams what the test writes. */
class PacedUpstream {
  #controller: ReadableStreamDefaultController<Uint8Array> | undefined
  readonly #server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    idleTimeout: 0,
    fetch: () =>
      new Response(
        new ReadableStream<Uint8Array>({
          start: controller => {
            this.#controller = controller
          },
        }),
        { headers: { 'content-type': 'text/event-stream' } },
      ),
  })

  get url(): string {
    return `http://127.0.0.1:${this.#server.port}/v1`
  }

  get isAsked(): boolean {
    return this.#controller !== undefined
  }

  clear(): void {
    this.#controller = undefined
  }

  say(delta: Json, more: Json = {}): void {
    const chunk = {
      id: 'c',
      object: 'chat.completion.chunk',
      created: 1,
      model: 'up',
      choices: [{ index: 0, delta, finish_reason: null, ...more }],
    }
    this.#controller!.enqueue(Buffer.from(`data: ${JSON.stringify(chunk)}\n\n`))
  }

  finish(reason = 'stop'): void {
    this.say({}, { finish_reason: reason })
    this.#controller!.enqueue(Buffer.from('data: [DONE]\n\n'))
    this.#controller!.close()
  }

  stop(): Promise<void> {
    return this.#server.stop(true)
  }
}

/** A webhook that finds `bad` and masks `darn`, when the test lets it. */
class Judge {
  readonly asked: string[][] = []
  hold: Promise<void> | undefined
  readonly #server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    fetch: async request => {
      const { texts } = (await request.json()) as { texts: string[] }
      this.asked.push(texts)
      await this.hold
      if (texts.some(one => one.includes('bad'))) return Response.json({ action: 'BLOCKED', blocked_reason: 'is bad' })
      if (!texts.some(one => one.includes('darn'))) return Response.json({ action: 'NONE' })
      return Response.json({ action: 'GUARDRAIL_INTERVENED', texts: texts.map(one => one.replaceAll('darn', '[OH]')) })
    },
  })

  get url(): string {
    return `http://127.0.0.1:${this.#server.port}/check`
  }

  stop(): Promise<void> {
    return this.#server.stop(true)
  }
}

const upstream = new PacedUpstream()
const judge = new Judge()
let gateway: Gateway
const keys: Record<string, string> = {}
/** Windows of 60 characters; of `patient` they wait for a minute, of `quick` for a moment. */
const names = ['patient', 'quick', 'whole', 'topics']

beforeAll(async () => {
  const hook = (more: string) => `{ guardrail: webhook, mode: post_call, api_base: "${judge.url}"${more} }`
  gateway = await startGateway({
    config: `
model_list:
  - { model_name: chat, proxy_params: { model: custom_openai/up, api_base: "${upstream.url}", api_key: k } }
guardrails:
  - { guardrail_name: patient, litellm_params: ${hook(', window_characters: 60, window_overlap: 20, window_seconds: 60')} }
  - { guardrail_name: quick, litellm_params: ${hook(', window_characters: 60, window_overlap: 20, window_seconds: 0.05')} }
  - { guardrail_name: whole, litellm_params: ${hook('')} }
  - guardrail_name: topics
    litellm_params:
      guardrail: topics
      mode: post_call
      window_characters: 60
      topics: [{ name: medicine, words: [dosage, prescription] }]
router_settings: { num_retries: 0 }
`,
  })
  for (const name of names) keys[name] = await gateway.key({ guardrails: [name] })
})
afterAll(async () => {
  await gateway?.stop()
  await upstream.stop()
  await judge.stop()
})
const opened: AbortController[] = []
beforeEach(() => {
  upstream.clear()
  judge.asked.length = 0
  judge.hold = undefined
})
afterEach(() => {
  for (const one of opened.splice(0)) one.abort()
})

/** What a client has until now. */
async function open(name: string, dialect = 'chat') {
  const client = clientDialects[dialect]!
  const leaving = new AbortController()
  opened.push(leaving)
  const seen = { text: '', status: 0, isOver: false }
  const ended = (async () => {
    const response = await fetch(`${gateway.url}${client.path('chat', true)}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${keys[name]}`, 'content-type': 'application/json' },
      body: JSON.stringify(client.body('chat', true, 'Where to?')),
      signal: leaving.signal,
    })
    seen.status = response.status
    const decoder = new TextDecoder()
    for await (const piece of response.body!) seen.text += decoder.decode(piece as Uint8Array, { stream: true })
    seen.isOver = true
    return response
  })().catch(() => undefined)
  await until(() => upstream.isAsked, 'the upstream is asked')
  return {
    seen,
    ended,
    /** The texts of the chat dialect that have arrived. */
    said: () => [...seen.text.matchAll(/"content":"((?:[^"\\]|\\.)*)"/g)].map(([, text]) => text).join(''),
  }
}

/** Sentences of ten characters. */
const letters = (from: number, count: number): string =>
  Array.from({ length: count }, (_, at) => `<piece ${String(from + at).padStart(2, '0')}>`).join('')

test('a window goes out with its verdict, but for its overlap, while the upstream goes on', async () => {
  const client = await open('patient')
  const { promise, resolve } = Promise.withResolvers<void>()
  judge.hold = promise
  upstream.say({ content: letters(0, 3) })
  upstream.say({ content: letters(3, 4) })
  await until(() => judge.asked.length === 1, 'the judge is asked')
  expect(judge.asked).toEqual([[letters(0, 7)]])
  expect(client.seen.text).toBe('')
  resolve()
  await until(() => client.said() === letters(0, 5), 'the first window is there')
  upstream.say({ content: letters(7, 5) })
  upstream.say({ content: letters(12, 1) })
  await until(() => client.said() === letters(0, 11), 'the second window is there')
  expect(judge.asked).toEqual([[letters(0, 7)], [letters(5, 8)]])
  upstream.finish()
  await client.ended
  expect([client.said(), client.seen.text.endsWith('data: [DONE]\n\n')]).toEqual([letters(0, 13), true])
})

test('what comes while a judge thinks is the next window, so that judges are never asked in parallel', async () => {
  const client = await open('patient')
  const { promise, resolve } = Promise.withResolvers<void>()
  judge.hold = promise
  for (let at = 0; at < 30; at++) upstream.say({ content: letters(at, 1) })
  await until(() => judge.asked.length === 1, 'the judge is asked')
  judge.hold = undefined
  resolve()
  await until(() => client.said() === letters(0, 28), 'all but the overlap is there')
  expect(judge.asked).toHaveLength(2)
  upstream.finish()
  await client.ended
  expect(client.said()).toBe(letters(0, 30))
  expect(judge.asked).toHaveLength(2)
})

test('a window that is not full is judged after its time, and its overlap follows when nothing more comes', async () => {
  const client = await open('quick')
  upstream.say({ content: 'short' })
  await until(() => client.said() === 'short', 'all of it is there')
  expect(judge.asked).toEqual([['short']])
  upstream.finish()
  await client.ended
  expect(judge.asked).toHaveLength(1)
})

describe('a word over the border of two windows', () => {
  for (const cut of [1, 2])
    test(`is refused before any of it goes out, cut at ${cut}`, async () => {
      const client = await open('patient')
      upstream.say({ content: letters(0, 5) + `       .${'bad'.slice(0, cut)}`.padStart(12) })
      await until(() => judge.asked.length > 0, 'the first window was judged')
      upstream.say({ content: 'bad'.slice(cut) + letters(5, 6) })
      await client.ended
      expect(client.seen.status).toBe(200)
      expect(client.said()).toBe(letters(0, 6).slice(0, client.said().length))
      expect(client.said().length).toBeLessThanOrEqual(50)
      expect(client.seen.text).toContain("guardrail 'patient'")
      expect(client.seen.text).not.toContain('[DONE]')
    })

  test('is masked as one', async () => {
    const client = await open('patient')
    upstream.say({ content: `${letters(0, 5)}        da` })
    await until(() => judge.asked.length > 0, 'the first window was judged')
    upstream.say({ content: `rn it${letters(5, 6)}` })
    upstream.finish()
    await client.ended
    expect(client.said()).toBe(`${letters(0, 5)}        [OH] it${letters(5, 6)}`)
  })
})

test('a refusal of the first window has a status of its own', async () => {
  const client = await open('patient')
  upstream.say({ content: `bad${letters(0, 6)}` })
  await client.ended
  expect([client.seen.status, client.seen.text]).toEqual([400, expect.stringContaining("guardrail 'patient'")])
})

test('arguments of a tool are judged when they are complete', async () => {
  const client = await open('patient')
  const call = (fragment: string, more: Json = {}) => ({
    tool_calls: [{ index: 0, ...more, function: { arguments: fragment } }],
  })
  upstream.say({ tool_calls: [{ index: 0, id: 'call_1', type: 'function', function: { name: 'go', arguments: '' } }] })
  upstream.say(call(`{"to":"${letters(0, 5)}`))
  upstream.say(call(`${letters(5, 5)}darn"}`))
  upstream.finish('tool_calls')
  await client.ended
  expect(judge.asked).toEqual([[`{"to":"${letters(0, 10)}darn"}`]])
  const read = await readAnswer(
    clientDialects.chat!,
    new Response(client.seen.text, { headers: { 'content-type': 'text/event-stream' } }),
  )
  expect(read.args.map(one => JSON.parse(one))).toEqual([{ to: `${letters(0, 10)}[OH]` }])
})

test('several choices, each with an overlap of its own', async () => {
  const client = await open('patient')
  for (let at = 0; at < 6; at++) for (const index of [0, 1]) upstream.say({ content: letters(at, 1) }, { index })
  await until(() => judge.asked.length > 0, 'the first window was judged')
  upstream.say({ content: 'da' }, { index: 1 })
  upstream.say({ content: 'x' }, { index: 0 })
  upstream.say({ content: 'rn' }, { index: 1 })
  for (const index of [0, 1]) upstream.say({}, { index, finish_reason: 'stop' })
  upstream.finish()
  await client.ended
  const chunks = client.seen.text
    .split('\n\n')
    .flatMap(one => (one.startsWith('data: {') ? [JSON.parse(one.slice(6)) as Json] : []))
  const of = (index: number) =>
    chunks
      .flatMap(one => one.choices as Json[])
      .filter(one => one.index === index)
      .map(one => one.delta.content ?? '')
      .join('')
  expect([of(0), of(1)]).toEqual([`${letters(0, 6)}x`, `${letters(0, 6)}[OH]`])
})

for (const dialect of ['completions', 'responses', 'messages', 'gemini array', 'gemini events'])
  test(`${dialect}: what passes arrives whole, what is refused ends as its error`, async () => {
    const good = await open('patient', dialect)
    for (let at = 0; at < 20; at++) upstream.say({ content: letters(at, 1) })
    upstream.finish()
    const response = await good.ended
    const type = response!.headers.get('content-type')!
    const read = await readAnswer(
      clientDialects[dialect]!,
      new Response(good.seen.text, { headers: { 'content-type': type } }),
    )
    expect([read.text.trim(), read.error]).toEqual([letters(0, 20), undefined])
    upstream.clear()
    const refused = await open('patient', dialect)
    for (let at = 0; at < 8; at++) upstream.say({ content: letters(at, 1) })
    await until(() => refused.seen.text.includes('piece 00'), 'the first window is there')
    upstream.say({ content: `bad${letters(8, 6)}` })
    await refused.ended
    expect([refused.seen.text.includes("guardrail 'patient'"), refused.seen.text.includes('bad<')]).toEqual([
      true,
      false,
    ])
  })

test('a client that leaves ends its stream, and nothing more is asked', async () => {
  const client = await open('quick')
  upstream.say({ content: letters(0, 7) })
  await until(() => client.said() !== '', 'the first window is there')
  opened.at(-1)!.abort()
  await client.ended
  await until(async () => (await gateway.rows()).some(one => one.outcome === 'client_closed'), 'the row is there')
  const { length } = judge.asked
  await Bun.sleep(100)
  expect(judge.asked).toHaveLength(length)
})

test('topics are counted in a window', async () => {
  const client = await open('topics')
  upstream.say({ content: `${letters(0, 7)} the dosage of a prescription${letters(7, 7)}` })
  await client.ended
  expect(client.seen.text).toContain("guardrail 'topics'")
})

test('without windows a stream is judged once, as a whole', async () => {
  const client = await open('whole')
  for (let at = 0; at < 20; at++) upstream.say({ content: letters(at, 1) })
  expect(judge.asked).toEqual([])
  upstream.finish()
  await client.ended
  expect(judge.asked).toEqual([[letters(0, 20)]])
})

test('windows of a kind that needs the whole answer are refused', async () => {
  const make = (params: Json) =>
    gateway.admin('/guardrails', {
      guardrail: { guardrail_name: 'x', litellm_params: { mode: 'post_call', ...params } },
    })
  for (const [params, field] of [
    [{ guardrail: 'length', max_characters: 5, window_characters: 100 }, 'window_characters'],
    [{ guardrail: 'words', words: ['x'], window_characters: 100 }, 'window_characters'],
    [{ guardrail: 'webhook', api_base: judge.url, window_characters: 100, window_overlap: 100 }, 'window_overlap'],
    [{ guardrail: 'webhook', api_base: judge.url, window_seconds: 1 }, 'window_seconds'],
  ] as const) {
    const refused = await make(params)
    const { error } = (await refused.json()) as Json
    expect([refused.status, error.param]).toEqual([422, `guardrail.litellm_params.${field}`])
  }
})
