/** What policies are told of a call, and the answers that they give themselves. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import type { AnswerSink, AnswerStream } from '../../src/core/answer.ts'
import { GatewayError } from '../../src/core/errors.ts'
import type { Policy } from '../../src/core/policy.ts'
import { startGateway } from '../e2e/harness.ts'
import type { Gateway } from '../e2e/harness.ts'
import { answerFromTable } from './answer-from-table.ts'
import { clientDialects, readAnswer } from './client-dialects.ts'
import { BatchUpstream, matrixConfig } from './matrix-config.ts'
import { Recorder } from './recorder.ts'
import { until } from '../support/until.ts'

type Json = Record<string, any>

const known = 'pong 👩 "quoted"\nline'
const batches = new BatchUpstream()
const recorder = new Recorder()
const asked: string[] = []

/** Answers with what the test pushes. */
class PushedAnswer implements AnswerStream {
  sink: AnswerSink | undefined
  cancelled = false

  pipe(sink: AnswerSink): void {
    this.sink = sink
    sink.write('data: one\n\n')
  }
  resume(): void {}
  cancel(): void {
    this.cancelled = true
  }
}
let pushed = new PushedAnswer()

const bodyText = (call: Parameters<NonNullable<Policy['admit']>>[0]): string => JSON.stringify(call.body?.parse() ?? {})

/** Does what the text of the call says; waits 50 ms where it is told to. */
const directed: Policy = {
  name: 'directed',
  stage: 'body',
  admit(call) {
    asked.push(call.id)
    const text = bodyText(call)
    if (text.includes('refuse-me')) throw new GatewayError('content-policy', 'refused by its words')
    if (text.includes('push-me')) return { status: 200, contentType: 'text/event-stream', body: pushed }
    return undefined
  },
  failed: (call, error) =>
    bodyText(call).includes('replace-me')
      ? { status: 200, contentType: 'application/json', body: JSON.stringify({ instead_of: error.kind }) }
      : undefined,
}

const waits = { ms: 0, begun: 0, ended: 0 }
const waiting: Policy = {
  name: 'waiting',
  stage: 'body',
  admit() {
    waits.begun++
    if (waits.ms > 0) return Bun.sleep(waits.ms).then(() => void waits.ended++)
  },
}

/** Of the calls whose head was read. */
const agents: string[] = []
const onHead: Policy = {
  name: 'on-head',
  stage: 'head',
  admit(call) {
    agents.push(call.userAgent)
    if (call.userAgent === 'refused-on-head') throw new GatewayError('forbidden', 'refused on its head')
  },
}

const extra = `
  - model_name: ladder
    proxy_params: { model: custom_openai/one, api_base: "{simulator}/v1", api_key: k }
    model_info: { id: step-one }
  - model_name: spare
    proxy_params: { model: custom_openai/two, api_base: "{simulator}/v1", api_key: k }
    model_info: { id: step-two }
  - model_name: "fault/*"
    proxy_params: { model: "custom_openai/*", api_base: "{simulator}/v1", api_key: k }
router_settings: { num_retries: 0, fallbacks: [{ ladder: [spare] }] }
general_settings: { max_request_size_mb: 1 }
`
let gateway: Gateway
let key: string

beforeAll(async () => {
  gateway = await startGateway({
    config: matrixConfig(batches.url).replace(
      /router_settings.*\n/,
      extra.trimStart().replace('- model_name', '  - model_name'),
    ),
    policies: [onHead, answerFromTable(new Map([['ping', known]])), waiting, directed, recorder.policy],
  })
  key = await gateway.key({ max_parallel_requests: 1 })
})
afterAll(async () => {
  await gateway?.stop()
  await batches.stop()
})
beforeEach(() => {
  recorder.clear()
  asked.length = 0
  pushed = new PushedAnswer()
  gateway.simulator.reset()
})

const post = (path: string, body: Json | FormData, more: RequestInit = {}): Promise<Response> =>
  fetch(`${gateway.url}${path}`, {
    method: 'POST',
    ...more,
    headers: { authorization: `Bearer ${key}`, ...(more.headers as Record<string, string>) },
    body: body instanceof FormData ? body : JSON.stringify(body),
  })
const chat = (content: string, more: Json = {}): Json => ({
  model: 'chat',
  messages: [{ role: 'user', content }],
  ...more,
})

/** How often a call stands in the journal: once for its end, and once for its intent where it was routed. */
function journalled(id: string): number {
  const visit = (path: string): number => {
    if (statSync(path).isDirectory()) return readdirSync(path).reduce((sum, name) => sum + visit(join(path, name)), 0)
    return path.includes('sqlite') ? 0 : readFileSync(path, 'latin1').split(id).length - 1
  }
  return visit(gateway.dataDirectory)
}

/** The one end of the one call, in the ledger and to the policies; `routed` = it may have an intent in the journal. */
async function expectEnd(expected: Json, { routed }: { routed: boolean }): Promise<void> {
  await until(() => recorder.settlements.length > 0, 'a settlement')
  expect(recorder.settlements).toHaveLength(1)
  const { call, outcome, status, error } = recorder.settlements[0]!
  const end = { outcome, status, kind: error?.kind ?? null }
  expect(end).toMatchObject(expected)
  expect(journalled(call.id)).toBe(routed ? 2 : 1)
  const rows = await gateway.rows(`&request_id=${call.id}`)
  expect(rows.map(row => ({ outcome: row.outcome, status: row.status, kind: row.error_kind }))).toEqual([end])
  await expectFreeSlot()
}

/** The key may have one call at once. */
async function expectFreeSlot(): Promise<void> {
  const response = await post('/v1/embeddings', { model: 'embed', input: 'x' })
  expect(response.status).toBe(200)
}

describe('answered from the table', () => {
  for (const dialect of Object.keys(clientDialects).filter(name => name !== 'completions'))
    for (const stream of [false, true])
      test(`${dialect}, ${stream ? 'streamed' : 'whole'}`, async () => {
        const client = clientDialects[dialect]!
        const response = await post(client.path('flash', stream), client.body('flash', stream, 'ping'))
        expect(response.status).toBe(200)
        expect(response.headers.get('x-request-id')).toBe(recorder.settlements[0]!.call.id)
        // A stream's headers go out before its cost is known.
        expect(response.headers.get('x-proxy-response-cost')).toBe(stream ? null : '0')
        const read = await readAnswer(client, response)
        expect([read.text, read.error]).toEqual([known, undefined])
        expect(gateway.simulator.truth.totals().requests).toBe(0)
        const { call, costNanoUsd } = recorder.settlements[0]!
        expect([call.progress.attempts, costNanoUsd, recorder.attempts]).toEqual([0, 0n, []])
        await expectEnd({ outcome: 'success', status: 200 }, { routed: false })
        const [row] = await gateway.rows(`&request_id=${call.id}`)
        expect(row).toMatchObject({ attempts: 0, cost_nano_usd: '0', deployment_id: null, stream })
      })
})

describe('a pushed answer', () => {
  test('is a success when it ends', async () => {
    const response = await post('/v1/chat/completions', chat('push-me', { stream: true }))
    expect(recorder.settlements).toEqual([])
    pushed.sink!.write('data: two\n\n')
    pushed.sink!.end()
    expect(await response.text()).toBe('data: one\n\ndata: two\n\n')
    await expectEnd({ outcome: 'success', status: 200 }, { routed: false })
  })

  test('whose client leaves is told so', async () => {
    const leaving = new AbortController()
    const response = await post('/v1/chat/completions', chat('push-me', { stream: true }), { signal: leaving.signal })
    await response.body!.getReader().read()
    leaving.abort()
    await expectEnd({ outcome: 'client_closed', status: 499 }, { routed: false })
    expect(pushed.cancelled).toBe(true)
  })

  test('that breaks off cuts the connection', async () => {
    const response = await post('/v1/chat/completions', chat('push-me', { stream: true }))
    pushed.sink!.abort()
    expect(await response.text().catch(() => 'cut')).not.toContain('two')
    await expectEnd({ outcome: 'upstream_cut', status: 200, kind: 'internal' }, { routed: false })
  })
})

/** Sends raw bytes; what comes back until the peer closes, or until `leave` is called. */
function rawCall(text: string): { leave(): void; answer: Promise<string> } {
  const { port } = new URL(gateway.url)
  const socket = connect({ port: Number(port), host: '127.0.0.1' })
  let heard = ''
  socket.on('data', bytes => (heard += bytes.toString('latin1')))
  socket.on('error', () => {})
  const answer = new Promise<string>(resolve => {
    socket.on('data', () => heard.includes('\r\n\r\n') && resolve(heard))
    socket.on('close', () => resolve(heard))
  })
  socket.write(text)
  return { leave: () => void socket.destroy(), answer }
}

const rawHead = (length: number, more = ''): string =>
  `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${key}\r\n` +
  `content-type: application/json\r\ncontent-length: ${length}\r\n${more}\r\n`

const weather = { type: 'function', function: { name: 'look_up', parameters: { type: 'object', properties: {} } } }

for (const ms of [0, 50])
  describe(`the end is reported once${ms > 0 ? ', with a policy that waits' : ''}`, () => {
    beforeEach(() => {
      waits.ms = ms
      waits.begun = 0
    })
    afterAll(() => {
      waits.ms = 0
    })

    test('refused on the head: before the body is sent', async () => {
      const { answer, leave } = rawCall(rawHead(1000, 'user-agent: refused-on-head\r\n'))
      expect(await answer).toStartWith('HTTP/1.1 403 ')
      leave()
      expect(waits.begun).toBe(0)
      await expectEnd({ outcome: 'error', status: 403, kind: 'forbidden' }, { routed: false })
    })

    test('refused in the body', async () => {
      expect((await post('/v1/chat/completions', chat('refuse-me'))).status).toBe(400)
      await expectEnd({ outcome: 'error', status: 400, kind: 'content-policy' }, { routed: false })
    })

    test('refused by its fields: policies that read the body are not asked', async () => {
      expect((await post('/v1/chat/completions', { model: 'chat', messages: 'x' })).status).toBe(422)
      expect(asked).toEqual([])
      await expectEnd({ outcome: 'error', status: 422 }, { routed: false })
    })

    test('a body that is too large', async () => {
      expect((await post('/v1/chat/completions', chat('x'.repeat(2 ** 20 + 1)))).status).toBe(413)
      await expectEnd({ outcome: 'error', status: 413, kind: 'too-large' }, { routed: false })
    })

    test('a client that leaves while it sends its body', async () => {
      agents.length = 0
      const call = rawCall(`${rawHead(1000, 'user-agent: leaving\r\n')}{"model":`)
      await until(() => agents.includes('leaving'), 'the head')
      call.leave()
      await expectEnd({ outcome: 'client_closed', status: 499 }, { routed: false })
    })

    test('a client that leaves at an upstream that is silent', async () => {
      const leaving = new AbortController()
      const gone = post('/v1/chat/completions', chat('Hi', { model: 'fault/x#hang' }), { signal: leaving.signal })
      await until(() => gateway.simulator.truth.totals().requests === 1, 'a request')
      leaving.abort()
      expect(await gone.catch(() => 'gone')).toBe('gone')
      await expectEnd({ outcome: 'client_closed', status: 499 }, { routed: true })
    })

    test('an error of the upstream', async () => {
      const response = await post('/v1/chat/completions', chat('Hi', { model: 'fault/x#status;code=400' }))
      expect(response.status).toBe(400)
      expect(recorder.attempts.map(({ error }) => error)).toEqual(['upstream-refused'])
      await expectEnd({ outcome: 'error', status: 400, kind: 'upstream-refused' }, { routed: true })
    })

    test('a stream that is cut', async () => {
      const response = await post(
        '/v1/chat/completions',
        chat('tokens: 30', { model: 'fault/x#cut;at=9;token-ms=5', stream: true }),
      )
      expect(await response.text()).toContain('error')
      expect(recorder.attempts.map(({ error }) => error)).toEqual([undefined])
      await expectEnd({ outcome: 'upstream_cut', status: 200 }, { routed: true })
    })

    for (const stream of [false, true])
      test(`a success, ${stream ? 'streamed' : 'whole'}`, async () => {
        await (await post('/v1/chat/completions', chat('Hi', { stream }))).text()
        expect(recorder.attempts.map(({ error }) => error)).toEqual([undefined])
        await expectEnd({ outcome: 'success', status: 200, kind: null }, { routed: true })
      })

    test('a response in the background', async () => {
      const response = await post('/v1/responses', { model: 'gpt', input: 'Hi', background: true })
      expect(response.status).toBe(200)
      await expectEnd({ outcome: 'success', status: 200, kind: null }, { routed: true })
    })

    test('a run, and one that waits for its tool', async () => {
      for (const [tools, status] of [
        [[], 'completed'],
        [[weather], 'requires_action'],
      ] as const) {
        const assistant = (await (await post('/v1/assistants', { model: 'chat', tools })).json()) as Json
        const thread = { messages: [{ role: 'user', content: tools.length > 0 ? 'use the tool' : 'Hi' }] }
        recorder.clear()
        const run = (await (await post('/v1/threads/runs', { assistant_id: assistant.id, thread })).json()) as Json
        await until(() => recorder.settlements.length > 0, 'a settlement')
        let now = run
        while (['queued', 'in_progress'].includes(now.status)) {
          await Bun.sleep(5)
          const path = `/v1/threads/${run.thread_id}/runs/${run.id}`
          now = (await (
            await fetch(`${gateway.url}${path}`, { headers: { authorization: `Bearer ${key}` } })
          ).json()) as Json
        }
        expect(now.status).toBe(status)
        await expectEnd({ outcome: 'success', status: 200, kind: null }, { routed: true })
      }
    })

    test('a file and a batch', async () => {
      const form = new FormData()
      form.append('purpose', 'batch')
      form.append('model', 'batched')
      const line = {
        custom_id: 'a',
        method: 'POST',
        url: '/v1/chat/completions',
        body: chat('Hi', { model: 'batched' }),
      }
      form.append('file', new File([JSON.stringify(line)], 'a.jsonl'))
      const file = (await (await post('/v1/files', form)).json()) as Json
      await expectEnd({ outcome: 'success', status: 200, kind: null }, { routed: true })
      recorder.clear()
      const body = { input_file_id: file.id, endpoint: '/v1/chat/completions', completion_window: '24h' }
      expect((await post('/v1/batches', body)).status).toBe(200)
      await expectEnd({ outcome: 'success', status: 200, kind: null }, { routed: true })
    })

    test('each attempt is told in order, with what it failed of', async () => {
      gateway.simulator.script({ model: 'one' }, { fault: 'status;code=503' })
      const response = await post('/v1/chat/completions', chat('Hi', { model: 'ladder' }))
      expect(response.status).toBe(200)
      expect(recorder.attempts.map(({ deployment, error }) => [deployment, error])).toEqual([
        ['step-one', 'upstream-overloaded'],
        ['step-two', undefined],
      ])
      await expectEnd({ outcome: 'success', status: 200, kind: null }, { routed: true })
    })

    test('a policy puts a reply in the place of an error', async () => {
      const response = await post('/v1/chat/completions', chat('replace-me', { model: 'fault/x#status;code=500' }))
      expect([response.status, await response.json()]).toEqual([200, { instead_of: 'upstream-failed' }])
      expect(recorder.attempts.map(({ error }) => error)).toEqual(['upstream-failed'])
      await expectEnd({ outcome: 'success', status: 200, kind: 'upstream-failed' }, { routed: true })
    })
  })

test('a client that leaves while a policy waits: no further policy is asked', async () => {
  waits.ms = 300
  for (const [path, body] of [
    ['/v1/chat/completions', chat('Hi')],
    ['/v1/batches', {}],
  ] as const) {
    const sent = path === '/v1/batches' ? await batchBody() : body
    waits.begun = waits.ended = 0
    recorder.clear()
    asked.length = 0
    const leaving = new AbortController()
    const gone = post(path, sent, { signal: leaving.signal })
    await until(() => waits.begun > 0, 'the policy')
    leaving.abort()
    expect(await gone.catch(() => 'gone')).toBe('gone')
    await until(() => recorder.settlements.length > 0, 'a settlement')
    await until(() => waits.ended === waits.begun, 'the policy to end')
    // What would follow on it follows in the same turn.
    await new Promise(resolve => setImmediate(resolve))
    const { call, outcome } = recorder.settlements[0]!
    expect([outcome, recorder.settlements.length, asked]).toEqual(['client_closed', 1, []])
    expect(journalled(call.id)).toBe(1)
  }
  waits.ms = 0
})

async function batchBody(): Promise<Json> {
  const form = new FormData()
  form.append('purpose', 'batch')
  form.append('model', 'batched')
  const line = { custom_id: 'a', method: 'POST', url: '/v1/chat/completions', body: chat('Hi', { model: 'batched' }) }
  form.append('file', new File([JSON.stringify(line)], 'a.jsonl'))
  const file = (await (await post('/v1/files', form)).json()) as Json
  return { input_file_id: file.id, endpoint: '/v1/chat/completions', completion_window: '24h' }
}
