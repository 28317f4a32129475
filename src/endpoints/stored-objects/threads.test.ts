/** Runs whose process, store or client fails: hard to bring about with a whole gateway. */
import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { answerOf, requestOf } from '../../../tests/support/network/http-messages.ts'
import { toResponse } from '../../core/answer.ts'
import type { Caller } from '../../core/caller.ts'
import type { Services } from '../../core/endpoint.ts'
import type { HttpRequest } from '../../core/request.ts'
import { GatewayError } from '../../core/errors.ts'
import type { AssistantStore, RunWatch } from '../../core/objects/assistants.ts'
import { DetachedWork } from '../../pipeline/background/background-work.ts'
import { createAssistantStore } from '../../store/objects/assistants.ts'
import { guardOf, testServers } from '../../store/database/database-fixture.ts'
import type { TestDatabase } from '../../store/database/database-fixture.ts'
import { openDatabase } from '../../store/database/open.ts'
import type { Database } from '../../store/database/open.ts'
import { assistantEndpoints } from './assistants.ts'
import { EventStream } from '../../formats/openai/event-stream.ts'
import { runEndpoints } from './runs.ts'
import { threadEndpoints } from './threads.ts'
import { watchRuns } from '../../pipeline/background/run-watch.ts'
import { until } from '../../../tests/support/until.ts'
import { sharedByAll } from '../../../tests/support/model-directory.ts'

type Json = Record<string, any>

const caller = { role: 'key', key: { id: 'key', models: [] } } as unknown as Caller
const sqlite = testServers('failing runs')[0]!
let made: TestDatabase
let database: Database
let store: AssistantStore
let detached: DetachedWork
let runWatch: RunWatch
/** No other process works on runs. */
let isAlone: boolean
/** The database. */
let answersSinceMs: number | undefined
let nowMs = 0
/** What the clock of this process is ahead of the one that replicas share. */
let aheadMs = 0
/** What the model says. */
let answer: (request: HttpRequest) => Response | Promise<Response>

beforeEach(async () => {
  nowMs = 1_000_000
  aheadMs = 0
  made = await sqlite.createMigrated()
  database = await openDatabase(made.url)
  store = createAssistantStore(database, guardOf(database))
  detached = new DetachedWork()
  isAlone = false
  answersSinceMs = 0
  const clock = { epochMs: () => nowMs, monotonicMs: () => nowMs }
  runWatch = watchRuns({ store, clock, isAlone: () => isAlone, answersSinceMs: () => answersSinceMs })
  answer = () => whole({ content: 'hello' }, 'stop')
})
afterEach(async () => {
  await detached.stop()
  await database.close()
  await made.remove()
})

const usage = { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5, prompt_tokens_details: {} }
const whole = (message: Json, finish_reason: string | null) =>
  Response.json({ choices: [{ index: 0, message, finish_reason }], usage })

const services = (more: Partial<Services> = {}): Services =>
  ({
    current: {
      settings: { bodyBytesMax: 10_000, headerPrefix: 'x-proxy' },
      models: sharedByAll({ settings: { accessGroups: {} }, resolve: () => [{}] }),
    },
    callModel: async (request: HttpRequest) => answerOf(await answer(request)),
    assistants: store,
    detached,
    runWatch,
    clock: { epochMs: () => nowMs + aheadMs, monotonicMs: () => performance.now() },
    sharedClock: { epochMs: () => nowMs, monotonicMs: () => performance.now() },
    ...more,
  }) as unknown as Services

async function ask(method: string, path: string, body?: object, more: Partial<Services> = {}): Promise<Response> {
  const [plain] = path.split('?')
  const parts = plain!.split('/')
  const match = (pattern: string) => {
    const names = pattern.split('/')
    return names.length === parts.length && names.every((name, at) => name.startsWith('{') || name === parts[at])
      ? names
      : undefined
  }
  const endpoint = [...assistantEndpoints, ...threadEndpoints, ...runEndpoints]
    .filter(one => one.method === method && match(one.paths[0]!))
    .sort((a, b) => a.paths[0]!.split('{').length - b.paths[0]!.split('{').length)[0]!
  const names = match(endpoint.paths[0]!)!
  const params = Object.fromEntries(
    names.flatMap((name, at) => (name.startsWith('{') ? [[name.slice(1, -1), parts[at]!]] : [])),
  )
  const answered = await endpoint.handle(requestOf(path, body, { method, params }), services(more), caller)
  return toResponse(answered)
}
const json = async (...asked: Parameters<typeof ask>): Promise<Json> => (await (await ask(...asked)).json()) as Json
const failing = (...asked: Parameters<typeof ask>) =>
  ask(...asked).then(
    () => undefined,
    error => error as GatewayError,
  )

async function begin(more: Json = {}, parts: Partial<Services> = {}): Promise<Json> {
  const assistant = await json('POST', '/assistants', {
    model: 'm',
    tools: [{ type: 'function', function: { name: 'f' } }],
  })
  return json(
    'POST',
    '/threads/runs',
    { assistant_id: assistant.id, thread: { messages: [{ role: 'user', content: 'hi' }] }, ...more },
    parts,
  )
}
const now = (run: Json) => json('GET', `/threads/${run.thread_id}/runs/${run.id}`)
const runWith = (run: Json, status: string): Promise<Json> =>
  until(async () => {
    const found = await now(run)
    return found.status === status && found
  }, `the run ${run.id} is ${status}`)
const calls = { content: null, tool_calls: [{ id: 'c', type: 'function', function: { name: 'f', arguments: '{}' } }] }
const never = (request: HttpRequest) =>
  new Promise<Response>(resolve => {
    const leave = () => resolve(Response.json({ error: { message: 'left' } }, { status: 499 }))
    if (request.left) leave()
    else request.onLeft(leave)
  })

describe('a run that no process works on', () => {
  /** As another process left it: queued, and never touched again. */
  const lost = () => begin({}, { detached: { start: () => true, cancel: () => {} } })

  test('fails when it is looked at a day later, and not before: clocks differ', async () => {
    const run = await lost()
    nowMs += 86_399_000
    expect((await now(run)).status).toBe('queued')
    nowMs += 1000
    expect(await now(run)).toMatchObject({
      status: 'failed',
      last_error: { code: 'server_error', message: expect.stringContaining('has ended') },
      failed_at: 87_400,
    })
    expect((await json('GET', `/threads/${run.thread_id}/runs`)).data[0].status).toBe('failed')
  })

  test('holds its thread for no longer than five seconds after its process crashed', async () => {
    const run = await lost()
    const add = ['POST', `/threads/${run.thread_id}/messages`, { role: 'user', content: 'x' }] as const
    expect(await failing(...add)).toMatchObject({ kind: 'invalid-request' })
    let tries = 0
    for (; (await failing(...add)) !== undefined; tries++) nowMs += 1000
    expect(tries).toBe(3)
    expect((await now(run)).status).toBe('failed')
  })

  test('does not hold its thread at all where no other process could work on it', async () => {
    const run = await lost()
    isAlone = true
    expect((await ask('POST', `/threads/${run.thread_id}/messages`, { role: 'user', content: 'x' })).status).toBe(200)
  })

  test('is not given up while it is renewed, nor because the database was away for long', async () => {
    const run = await lost()
    for (let second = 0; second < 20; second++) {
      nowMs += 1000
      await store.renew([run.id], nowMs)
      expect((await now(run)).status).toBe('queued')
    }
    for (let second = 0; second < 20; second++) {
      nowMs += 1000
      answersSinceMs = second < 18 ? undefined : 0
      expect((await now(run)).status).toBe('queued')
    }
    for (const awayMs of [20_000, 90_000]) {
      nowMs += 1000
      await store.renew([run.id], nowMs)
      nowMs += awayMs
      answersSinceMs = undefined
      expect((await now(run)).status).toBe('queued')
      answersSinceMs = nowMs
      nowMs += 1000
      expect((await now(run)).status).toBe('queued')
    }
  })

  test('does not hold its thread', async () => {
    const run = await lost()
    const add = ['POST', `/threads/${run.thread_id}/messages`, { role: 'user', content: 'x' }] as const
    expect(await failing(...add)).toMatchObject({ kind: 'invalid-request' })
    nowMs += 86_400_000
    expect((await ask(...add)).status).toBe(200)
    expect((await now(run)).status).toBe('failed')
  })

  test('is cancelled if that was wanted', async () => {
    const run = await lost()
    await store.change(run.id, one => ({ body: { ...one.body, status: 'cancelling' } }))
    nowMs += 86_400_000
    expect((await now(run)).status).toBe('cancelled')
  })
})

test('a run that waits too long for its tools is expired, with its step', async () => {
  answer = () => whole(calls, 'tool_calls')
  const run = await runWith(await begin(), 'requires_action')
  aheadMs = 3_600_000
  expect((await now(run)).status).toBe('requires_action')
  aheadMs = 0
  nowMs += 10 * 60_000
  const expired = await failing('POST', `/threads/${run.thread_id}/runs/${run.id}/submit_tool_outputs`, {
    tool_outputs: [{ tool_call_id: 'c', output: 'x' }],
  })
  expect(expired?.message).toBe('Runs in status "expired" do not accept tool outputs.')
  expect((await json('GET', `/threads/${run.thread_id}/runs/${run.id}/steps`)).data[0]).toMatchObject({
    status: 'expired',
    expired_at: 1600,
  })
})

test('a gateway that stops says so on the runs it leaves behind', async () => {
  answer = never
  const run = await runWith(await begin(), 'in_progress')
  await detached.stop()
  expect(await now(run)).toMatchObject({
    status: 'failed',
    last_error: { message: expect.stringContaining('stopped') },
  })
})

test('a process that works on too much takes no run, and keeps nothing of it', async () => {
  const assistant = await json('POST', '/assistants', { model: 'm' })
  const thread = await json('POST', '/threads', {})
  const start = () => {
    throw new GatewayError('overloaded', 'full')
  }
  const full = { detached: { start, cancel: () => {} } }
  const asked = { assistant_id: assistant.id, additional_messages: [{ role: 'user', content: 'x' }] }
  expect(await failing('POST', `/threads/${thread.id}/runs`, asked, full)).toMatchObject({ kind: 'overloaded' })
  expect((await json('GET', `/threads/${thread.id}/messages`)).data).toEqual([])
  expect((await json('GET', `/threads/${thread.id}/runs`)).data).toEqual([])
})

test('a database that is away for a moment costs no answer', async () => {
  let failures = 4
  const shaky: AssistantStore = {
    ...store,
    change: (id, edit) =>
      store.change(id, one => {
        if (one.body.status === 'in_progress' && failures-- > 0) throw new GatewayError('overloaded', 'away')
        return edit(one)
      }),
  }
  const run = await begin({}, { assistants: shaky })
  expect(await runWith(run, 'completed')).toMatchObject({
    usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 },
  })
  expect(failures).toBeLessThan(1)
})

test('an end that was stored without an answer is not stored again', async () => {
  answer = () => whole(calls, 'tool_calls')
  let lost = 1
  const deaf: AssistantStore = {
    ...store,
    async change(id, edit) {
      const changed = await store.change(id, edit)
      if (changed?.body.status === 'requires_action' && lost-- > 0) throw new GatewayError('overloaded', 'away')
      return changed
    },
  }
  const run = await begin({}, { assistants: deaf })
  await runWith(run, 'requires_action')
  await until(() => lost < 1, 'the answer is lost')
  await detached.stop()
  expect(await now(run)).toMatchObject({ status: 'requires_action', usage: { total_tokens: 5 } })
  expect((await json('GET', `/threads/${run.thread_id}/runs/${run.id}/steps`)).data.length).toBe(1)
})

test('a failure of the gateway itself ends the run, and its listener hears of it', async () => {
  const broken: AssistantStore = {
    ...store,
    change: (id, edit) =>
      store
        .change(id, one => edit(one))
        .then(one => (one?.body.status === 'in_progress' ? Promise.reject(new Error('bug')) : one)),
  }
  const assistant = await json('POST', '/assistants', { model: 'm' })
  const response = await ask(
    'POST',
    '/threads/runs',
    { assistant_id: assistant.id, stream: true },
    { assistants: broken },
  )
  const text = await response.text()
  expect(text).toContain('event: error\ndata: {"error":')
  expect(text).not.toContain('bug')
  expect(text.endsWith('event: done\ndata: [DONE]\n\n')).toBe(true)
  const { thread_id, id } = JSON.parse(/event: thread.run.queued\ndata: (.*)/.exec(text)![1]!)
  expect((await now({ thread_id, id })).status).toBe('failed')
})

test('answers that are none fail the run', async () => {
  const answers: [() => Response, string][] = [
    [() => whole({ content: 'x' }, null), 'has no end'],
    [() => new Response('{', { headers: { 'content-type': 'application/json' } }), 'gateway failed'],
    [() => Response.json({}), 'has no end'],
    [() => Response.json({ error: { message: 'no such thing' } }, { status: 404 }), 'no such thing'],
    [() => Response.json({ nothing: 1 }, { status: 500 }), 'the call of the model failed'],
  ]
  for (const [said, message] of answers) {
    answer = said
    expect(await runWith(await begin(), 'failed')).toMatchObject({
      last_error: { code: 'server_error', message: expect.stringContaining(message) },
    })
  }
})

test('a thread larger than any body is refused, unless its last messages are enough', async () => {
  const messages = Array.from({ length: 12 }, () => ({ role: 'user', content: 'x'.repeat(700) }))
  const run = await runWith(await begin({ thread: { messages } }), 'completed')
  await ask('POST', `/threads/${run.thread_id}/messages`, { role: 'user', content: 'y'.repeat(5000) })
  const again = (more: object) =>
    json('POST', `/threads/${run.thread_id}/runs`, { assistant_id: run.assistant_id, ...more })
  expect(await runWith(await again({}), 'failed')).toMatchObject({
    last_error: { code: 'invalid_prompt', message: expect.stringContaining('last_messages') },
  })
  await runWith(await again({ truncation_strategy: { type: 'last_messages', last_messages: 3 } }), 'completed')
})

describe('a streamed answer', () => {
  const chunk = (delta: Json, finish_reason: string | null = null) =>
    `data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason }] })}\n\n`
  const said = [
    chunk({ role: 'assistant', content: '' }),
    ': keep-alive\n\n',
    chunk({ content: 'Grüße ' }),
    chunk({ content: '✓' }),
    chunk({ refusal: 'no' }),
    chunk({ images: [{ type: 'image_url', image_url: { url: 'data:image/png;base64,AA==' } }] }),
    // Call ids that are empty, or there twice, would make outputs ambiguous.
    chunk({ tool_calls: [{ index: 3, id: 'c', type: 'function', function: { name: 'f', arguments: '' } }] }),
    chunk({
      tool_calls: [
        { index: 3, function: { arguments: '{"a":' } },
        { index: 7, id: 'c', type: 'function', function: { name: 'g', arguments: '{}' } },
      ],
    }),
    chunk({ tool_calls: [{ index: 3, function: { arguments: '1}' } }] }),
    chunk({}, 'tool_calls'),
    `data: ${JSON.stringify({ choices: [], usage })}\n\n`,
    'data: [DONE]\n\n',
  ].join('')
  const streamed = (bytes: Buffer, size: number) =>
    new Response(
      new ReadableStream({
        start(controller) {
          for (let at = 0; at < bytes.length; at += size) controller.enqueue(bytes.subarray(at, at + size))
          controller.close()
        },
      }),
      { headers: { 'content-type': 'text/event-stream' } },
    )

  test('is the same wherever its bytes are cut', async () => {
    const results: unknown[] = []
    for (const size of [1, 2, 3, 7, 64, 100_000]) {
      answer = () => streamed(Buffer.from(said), size)
      const assistant = await json('POST', '/assistants', { model: 'm' })
      const text = await (await ask('POST', '/threads/runs', { assistant_id: assistant.id, stream: true })).text()
      const events = text
        .split('\n\n')
        .filter(block => block.startsWith('event: thread.'))
        .map(block => block.split('\n').map(line => line.slice(line.indexOf(' ') + 1)) as [string, string])
      const run = JSON.parse(events.at(-1)![1])
      expect(run).toMatchObject({
        status: 'requires_action',
        usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 },
      })
      const [one, other] = run.required_action.submit_tool_outputs.tool_calls
      expect([one.id, one.function, other.function]).toEqual([
        'c',
        { name: 'f', arguments: '{"a":1}' },
        { name: 'g', arguments: '{}' },
      ])
      expect(other.id).toMatch(/^call_./)
      const message = (await json('GET', `/threads/${run.thread_id}/messages`)).data[0]
      expect(message.content).toEqual([
        { type: 'text', text: { value: 'Grüße ✓', annotations: [] } },
        { type: 'refusal', refusal: 'no' },
        { type: 'image_url', image_url: { url: 'data:image/png;base64,AA==' } },
      ])
      results.push(
        events
          .map(([event, data]) => [event, JSON.parse(data).delta ?? null])
          .map(one => JSON.stringify(one).replaceAll(other.id, 'other')),
      )
    }
    for (const result of results) expect(result).toEqual(results[0])
  })

  test('that ends too early, or in an error, fails the run and keeps what there was', async () => {
    const end = said.indexOf('data: {"choices":[{"index":0,"delta":{"images"')
    const endings: [string, string, string][] = [
      [said.slice(0, end), 'server_error', 'has no end'],
      [
        `${said.slice(0, end)}data: {"error":{"message":"gone wrong","type":"api_error"}}\n\n`,
        'server_error',
        'gone wrong',
      ],
      [`${said.slice(0, end)}data: {not json\n\n`, 'server_error', 'gateway failed'],
    ]
    for (const [text, code, message] of endings) {
      answer = () => streamed(Buffer.from(text), 50)
      const assistant = await json('POST', '/assistants', { model: 'm' })
      const events = await (await ask('POST', '/threads/runs', { assistant_id: assistant.id, stream: true })).text()
      const run = JSON.parse(/event: thread.run.failed\ndata: (.*)/.exec(events)![1]!)
      expect(run.last_error).toEqual({ code, message: expect.stringContaining(message) })
      expect((await json('GET', `/threads/${run.thread_id}/messages`)).data[0]).toMatchObject({
        status: 'incomplete',
        content: [{ text: { value: 'Grüße ✓' } }, { refusal: 'no' }],
      })
    }
  })

  test.each([
    ['the run is cancelled', 'POST', '/runs/{id}/cancel', 'event: thread.run.cancelled'],
    ['the thread is deleted', 'DELETE', '', 'was deleted with its thread'],
  ])('of a stream that stands still is left when %s', async (_, method, path, end) => {
    let left = false
    answer = () =>
      new Response(
        new ReadableStream({
          start: controller => controller.enqueue(Buffer.from(chunk({ content: 'a' }))),
          cancel: () => void (left = true),
        }),
        {
          headers: { 'content-type': 'text/event-stream' },
        },
      )
    const assistant = await json('POST', '/assistants', { model: 'm' })
    const response = await ask('POST', '/threads/runs', { assistant_id: assistant.id, stream: true })
    const reader = response.body!.getReader()
    const decoder = new TextDecoder()
    let heard = ''
    while (!heard.includes('thread.message.delta')) heard += decoder.decode((await reader.read()).value)
    const { thread_id, id } = JSON.parse(/event: thread.run.created\ndata: (.*)/.exec(heard)![1]!)
    await ask(method, `/threads/${thread_id}${path.replace('{id}', id)}`, {})
    for (let piece = await reader.read(); !piece.done; piece = await reader.read()) heard += decoder.decode(piece.value)
    expect(heard).toContain(end)
    expect(left).toBe(true)
  })
})

test('a client that reads nothing is let go before it fills the memory', async () => {
  const sink = new EventStream()
  const response = toResponse(sink.answer('id'))
  for (let at = 0; at < 20; at++) sink.emit('thread.message.delta', { text: 'x'.repeat(1024 * 1024) })
  sink.end()
  await expect(response.text()).rejects.toThrow('does not read')
})
