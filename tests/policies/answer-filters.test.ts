/** What filters of answers may do beside changing texts: end an answer with an error, and hold events back. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import type { ChatEvent } from '../../src/core/hub/chat.ts'
import { GatewayError } from '../../src/core/errors.ts'
import type { AnswerFilter } from '../../src/core/policy.ts'
import { masterKey, startGateway } from '../e2e/harness.ts'
import type { Gateway } from '../e2e/harness.ts'
import { clientDialects, readAnswer } from './client-dialects.ts'
import { Recorder } from './recorder.ts'
import { reported, upstreamAnswers } from './upstream-answers.ts'
import type { ModelAnswer } from './upstream-answers.ts'

const prices = 'input_cost_per_token: 0.000003, output_cost_per_token: 0.000015'
const config = `
model_list:
  - model_name: openai
    proxy_params: { model: custom_openai/up, api_base: "{simulator}/v1", api_key: k, ${prices} }
    model_info: { id: first }
  - model_name: openai
    proxy_params: { model: custom_openai/up, api_base: "{simulator}/v1", api_key: k, ${prices} }
    model_info: { id: second }
  - model_name: spare
    proxy_params: { model: custom_openai/up, api_base: "{simulator}/v1", api_key: k, ${prices} }
  - model_name: slow
    proxy_params: { model: custom_openai/up, api_base: "{slow}/v1", api_key: k, ${prices} }
router_settings: { num_retries: 2, fallbacks: [{ openai: [spare] }] }
`

const answer: ModelAnswer = { reasoning: 'hm', text: 'one two secret three', args: '{"city":"Rome"}' }

/** Sends the stream up to the word, and the rest when it is released. */
class SlowUpstream {
  #release = Promise.withResolvers<void>()
  readonly #server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    fetch: () => {
      const { headers, body } = upstreamAnswers.openai!.stream(answer, byWord)
      const cut = body.lastIndexOf('data: ', body.indexOf('secret'))
      this.#release = Promise.withResolvers()
      const released = this.#release.promise
      const rest = async (controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> => {
        controller.enqueue(Buffer.from(body.slice(0, cut)))
        await released
        controller.enqueue(Buffer.from(body.slice(cut)))
        controller.close()
      }
      return new Response(new ReadableStream({ start: controller => void rest(controller) }), { headers })
    },
  })

  get url(): string {
    return `http://127.0.0.1:${this.#server.port}`
  }

  release(): void {
    this.#release.resolve()
  }

  stop(): Promise<void> {
    return this.#server.stop(true)
  }
}

const slow = new SlowUpstream()
let gateway: Gateway
let makeFilter: () => AnswerFilter
const recorder = new Recorder()

beforeAll(async () => {
  gateway = await startGateway({
    config: config.replace('{slow}', slow.url),
    policies: [{ name: 'tested', stage: 'body', answer: () => makeFilter() }, recorder.policy],
  })
})
afterAll(async () => {
  await gateway?.stop()
  await slow.stop()
})
beforeEach(() => {
  recorder.clear()
  gateway.simulator.reset()
})

const byWord = (text: string): string[] => text.split(/(?<= )/)

function ask(dialect: string, stream: boolean, said: ModelAnswer = answer): Promise<Response> {
  const { openai } = upstreamAnswers
  gateway.simulator.script({}, { raw: stream ? openai!.stream(said, byWord) : openai!.whole(said) })
  return askModel('openai', dialect, stream)
}

function askModel(model: string, dialect: string, stream: boolean): Promise<Response> {
  const client = clientDialects[dialect]!
  return fetch(`${gateway.url}${client.path(model, stream)}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${masterKey}` },
    body: JSON.stringify(client.body(model, stream, 'Hi')),
  })
}

const passing = (event: (event: ChatEvent) => readonly ChatEvent[]): AnswerFilter => ({ event, end: () => [] })
const refusal = () => new GatewayError('content-policy', 'this answer is not shown')

/** Refuses as soon as the word begins a piece; the text before it is given out. */
const refusing = (): AnswerFilter =>
  passing(event => {
    if (event.type === 'text' && event.text.includes('secret')) throw refusal()
    return [event]
  })

/** The ledger's row of the one call since the last test, which asked one upstream once. */
async function onlyRow() {
  expect(recorder.settlements).toHaveLength(1)
  expect(gateway.simulator.truth.totals().requests).toBe(1)
  const [row] = await gateway.rows(`&request_id=${recorder.settlements[0]!.call.id}`)
  return row!
}

const billed = {
  input_tokens: reported.input,
  output_tokens: reported.output,
  usage_source: 'upstream',
  cost_nano_usd: String(reported.input * 3000 + reported.output * 15_000),
}

describe('a filter that refuses', () => {
  for (const dialect of Object.keys(clientDialects)) {
    test(`${dialect}: in the middle of a stream, ends it with the error of the dialect`, async () => {
      makeFilter = refusing
      const response = await askModel('slow', dialect, true)
      expect(response.status).toBe(200)
      slow.release()
      const read = await readAnswer(clientDialects[dialect]!, response)
      expect(read.text).toBe('one two ')
      expect(read.error).toContain('this answer is not shown')
      const [row] = await gateway.rows(`&request_id=${recorder.settlements[0]!.call.id}`)
      expect(recorder.attempts.map(({ error }) => error)).toEqual([undefined])
      expect(row).toMatchObject({
        outcome: 'upstream_cut',
        error_kind: 'content-policy',
        status: 200,
        input_tokens: expect.any(Number),
      })
      expect(row!.cost_nano_usd).not.toBeNull()
    })

    test(`${dialect}: a whole answer is refused, not asked for again, and billed`, async () => {
      makeFilter = refusing
      const response = await ask(dialect, false)
      const read = await readAnswer(clientDialects[dialect]!, response)
      expect([response.status, read.error]).toEqual([400, 'this answer is not shown'])
      expect(await onlyRow()).toMatchObject({ outcome: 'error', error_kind: 'content-policy', status: 400, ...billed })
    })
  }

  test('the first event of a stream: 400 instead of a stream, not asked for again, and billed', async () => {
    makeFilter = () =>
      passing(event => {
        if (event.type !== 'start') throw refusal()
        return [event]
      })
    const response = await ask('chat', true)
    expect(response.status).toBe(400)
    const row = await onlyRow()
    expect(row).toMatchObject({ outcome: 'error', error_kind: 'content-policy', input_tokens: expect.any(Number) })
    expect(row.cost_nano_usd).not.toBeNull()
  })

  test('at the end: what is held is never sent', async () => {
    makeFilter = () => {
      const held: ChatEvent[] = []
      return {
        event(event) {
          if (event.type !== 'text') return [event]
          held.push(event)
          return []
        },
        end() {
          throw refusal()
        },
      }
    }
    const read = await readAnswer(clientDialects.chat!, await ask('chat', true))
    expect(read.text).toBe('')
    expect(read.error).toBe('this answer is not shown')
    expect(await onlyRow()).toMatchObject({ error_kind: 'content-policy', ...billed })
  })

  for (const stream of [true, false])
    test(`an error event instead of a thrown one, ${stream ? 'streamed' : 'whole'}`, async () => {
      makeFilter = () => passing(event => [event.type === 'text' ? { type: 'error', error: refusal() } : event])
      const read = await readAnswer(clientDialects.chat!, await ask('chat', stream))
      expect([read.text, read.error]).toEqual(['', 'this answer is not shown'])
      await onlyRow()
    })
})

describe('a filter with a fault of its own', () => {
  for (const stream of [true, false])
    test(`is no failure of the upstream, ${stream ? 'streamed' : 'whole'}`, async () => {
      makeFilter = () =>
        passing(event => {
          if (event.type === 'text') throw new TypeError('private detail')
          return [event]
        })
      const read = await readAnswer(clientDialects.chat!, await ask('chat', stream))
      expect(read.error).toContain('the gateway failed')
      expect(read.error).not.toContain('private')
      expect(await onlyRow()).toMatchObject({ error_kind: 'internal' })
    })
})

/** Everything comes at the end, `finish` included or not. */
const holding = (types: ReadonlySet<string>) => (): AnswerFilter => {
  const held: ChatEvent[] = []
  return {
    event(event) {
      if (!types.has(event.type)) return [event]
      held.push(event)
      return []
    },
    end: () => held,
  }
}
const texts = new Set(['text', 'reasoning', 'tool-call-start', 'tool-call-arguments', 'tool-call-end'])

describe('a filter that holds back', () => {
  for (const [name, types] of [
    ['all content', texts],
    ['everything', new Set([...texts, 'start', 'finish', 'usage'])],
    ['the text alone', new Set(['text'])],
  ] as const)
    for (const dialect of Object.keys(clientDialects))
      for (const stream of [true, false])
        test(`${name} until the end: ${dialect}, ${stream ? 'streamed' : 'whole'}`, async () => {
          makeFilter = holding(types)
          const response = await ask(dialect, stream)
          const read = await readAnswer(clientDialects[dialect]!, response)
          expect([response.status, read.error, read.text]).toEqual([200, undefined, answer.text])
          if (dialect !== 'completions') expect(read.args).toEqual([answer.args])
          expect(await onlyRow()).toMatchObject({ outcome: 'success', ...billed })
        })

  test('and the finish stands behind the content', async () => {
    makeFilter = holding(new Set(['text']))
    const text = await (await ask('chat', true)).text()
    expect(text.indexOf('"finish_reason":"tool_calls"')).toBeGreaterThan(text.indexOf('three'))
    expect(text.indexOf('"usage":{')).toBeGreaterThan(text.indexOf('"finish_reason":"tool_calls"'))
    expect(text.trimEnd().endsWith('data: [DONE]')).toBe(true)
  })

  test('more than the bound: the answer ends with an error that names the policy', async () => {
    makeFilter = holding(new Set(['text']))
    const long = { ...answer, text: `${'x'.repeat(64 * 1024)} `.repeat(17) }
    for (const stream of [true, false]) {
      recorder.clear()
      gateway.simulator.reset()
      const read = await readAnswer(clientDialects.chat!, await ask('chat', stream, long))
      expect(read.text).toBe('')
      expect(read.error).toContain('hold back more than 1048576 characters')
      expect(read.error).toContain('tested')
      expect(await onlyRow()).toMatchObject({ error_kind: 'internal' })
    }
  })
})

test('several filters run in the order of the policies, and the later one sees what the first has made', async () => {
  const suffix = (text: string) => (): AnswerFilter =>
    passing(event => [event.type === 'text' ? { ...event, text: `${event.text}${text}` } : event])
  const two = await startGateway({
    config: config.replace('{slow}', slow.url),
    policies: [
      { name: 'a', stage: 'body', answer: suffix('a') },
      { name: 'none', stage: 'body', answer: () => undefined },
      { name: 'b', stage: 'body', answer: suffix('b') },
    ],
  })
  try {
    two.simulator.script({}, { raw: upstreamAnswers.openai!.whole({ ...answer, text: 'x' }) })
    const response = await fetch(`${two.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${masterKey}` },
      body: JSON.stringify(clientDialects.chat!.body('openai', false, 'Hi')),
    })
    expect((await readAnswer(clientDialects.chat!, response)).text).toBe('xab')
  } finally {
    await two.stop()
  }
})
