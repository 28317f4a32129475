/** What happens when the store or a process fails: hard to bring about with a whole gateway. */
import { describe, expect, test } from 'bun:test'
import { answerOf, requestOf } from '../../../tests/support/network/http-messages.ts'
import { toResponse } from '../../core/answer.ts'
import type { Answer } from '../../core/answer.ts'
import type { Call } from '../../core/call.ts'
import type { Caller } from '../../core/caller.ts'
import type { Services } from '../../core/endpoint.ts'
import type { StoredResponse } from '../../core/objects/responses.ts'
import { GatewayError } from '../../core/errors.ts'
import { readBody, readJsonBody } from '../../core/request.ts'
import type { Client } from '../../core/request.ts'
import { responsesCreate, responsesRetrieve } from './responses.ts'
import { sharedByAll } from '../../../tests/support/model-directory.ts'

type Json = Record<string, any>

const caller = { role: 'key', key: { id: 'key' } } as Caller
const nowMs = 1_000_000

/** The steps of the pipeline that the endpoint takes part in. */
function callModelWith(run: (call: Call, client: Client) => Promise<Answer>): Services['callModel'] {
  return async (request, by, asked) => {
    const body = readJsonBody(await readBody(request.body, 1e6))
    const call = { id: request.id, caller: by, client: request, model: body.get('model'), body } as unknown as Call
    await asked.prepare?.(call)
    return asked.detach?.(call, client => run(call, client)) ?? run(call, request)
  }
}

function servicesWith(
  answer: () => Response,
  store: Partial<Services['responses']>,
  detached: Partial<Services['detached']> = {},
): Services {
  return {
    current: {
      settings: { bodyBytesMax: 1_000_000, headerPrefix: 'x-proxy', responseRetentionMs: 30 * 86_400_000 },
      models: sharedByAll({ resolve: () => [] }),
    },
    callModel: callModelWith(() => answerOf(answer())),
    responses: { admit: async () => {}, ...store },
    detached,
    clock: { epochMs: () => nowMs, monotonicMs: () => performance.now() },
    responseWatch: {
      hold: () => ({ renew() {}, release() {} }),
      isAbandoned: ({ updatedAtMs }: { updatedAtMs: number }) => nowMs - updatedAtMs >= 60_000,
    },
  } as unknown as Services
}

const response = {
  id: 'resp_1',
  object: 'response',
  status: 'completed',
  store: true,
  previous_response_id: null,
  output: [],
}
const pieces = (chunks: (string | Uint8Array)[]) =>
  new Response(
    new ReadableStream({
      start(controller) {
        for (const chunk of chunks) controller.enqueue(typeof chunk === 'string' ? Buffer.from(chunk) : chunk)
        controller.close()
      },
    }),
    { headers: { 'content-type': 'text/event-stream; charset=utf-8', 'x-proxy-model-id': 'd' } },
  )
const create = async (services: Services, body: object): Promise<Response> => {
  const answer = await responsesCreate.handle(requestOf('/v1/responses', body), services, caller)
  return toResponse(answer)
}

describe('an answer that cannot be kept', () => {
  const failing = { save: async () => 'failed' as const }

  test('is still given, and says so', async () => {
    const services = servicesWith(() => Response.json(response), failing)
    expect(await (await create(services, { model: 'm', input: 'x' })).json()).toEqual({ ...response, store: false })
  })

  test('also in a stream, where nothing else changes', async () => {
    const delta = 'event: response.output_text.delta\ndata: {"delta":"event: response.completed\\n é"}\n\n'
    const last = (store: boolean) =>
      `event: response.completed\ndata: ${JSON.stringify({ type: 'response.completed', response: { ...response, store } })}\n\n`
    const services = servicesWith(() => pieces([delta, ': keep-alive\n\n', delta + last(true)]), failing)
    const answer = await create(services, { model: 'm', input: 'x', stream: true })
    expect(await answer.text()).toBe(`${delta}: keep-alive\n\n${delta}${last(false)}`)
    expect(answer.headers.get('x-proxy-model-id')).toBe('d')
  })

  test('is not begun in the background', async () => {
    const services = servicesWith(() => Response.json(response), failing)
    expect(create(services, { model: 'm', input: 'x', background: true })).rejects.toMatchObject({ status: 503 })
  })
})

test('the end of a stream waits for the store', async () => {
  const saved = Promise.withResolvers<'saved'>()
  const records: StoredResponse[] = []
  const last = `event: response.completed\ndata: ${JSON.stringify({ type: 'response.completed', response })}\n\n`
  const services = servicesWith(() => pieces(['a', last]), { save: record => (records.push(record), saved.promise) })
  const reader = (await create(services, { model: 'm', input: 'x', stream: true })).body!.getReader()
  expect(Buffer.from((await reader.read()).value!).toString()).toBe('a')
  const end = reader.read()
  expect(await Promise.race([end, Bun.sleep(20).then(() => 'waits')])).toBe('waits')
  saved.resolve('saved')
  expect(Buffer.from((await end).value!).toString()).toBe(last)
  expect(records).toMatchObject([
    { id: 'resp_1', keyId: 'key', deploymentId: 'd', status: 'completed', expiresAtMs: nowMs + 30 * 86_400_000 },
  ])
})

test('an error is passed on as it is, and nothing is kept', async () => {
  const services = servicesWith(() => Response.json({ error: {} }, { status: 429 }), {})
  expect((await create(services, { model: 'm', input: 'x' })).status).toBe(429)
})

test('a run too many is refused, and leaves nothing behind', async () => {
  const deleted: string[] = []
  const store = { save: async () => 'saved' as const, delete: async (_: string, id: string) => deleted.push(id) > 0 }
  const services = servicesWith(() => Response.json(response), store, {
    start() {
      throw new GatewayError('overloaded', 'full')
    },
  })
  expect(create(services, { model: 'm', input: 'x', background: true })).rejects.toMatchObject({ kind: 'overloaded' })
  await Bun.sleep(1)
  expect(deleted.length).toBe(1)
})

describe('a run in the background', () => {
  const record = (fields: Partial<StoredResponse>): StoredResponse => ({
    id: 'resp_1',
    keyId: 'key',
    previousId: null,
    deploymentId: null,
    status: 'in_progress',
    background: true,
    input: [],
    response: { ...response, status: 'in_progress' },
    updatedAtMs: nowMs,
    createdAtMs: 0,
    expiresAtMs: nowMs * 2,
    ...fields,
  })
  const retrieve = async (
    found: StoredResponse,
    finish: (record: StoredResponse) => Promise<boolean>,
  ): Promise<Json> => {
    const answer = async () => ({ ...found, json: JSON.stringify(found.response) })
    const services = servicesWith(() => Response.json({}), { answer, find: async () => found, finish })
    const retrieved = await responsesRetrieve.handle(
      requestOf('/v1/responses/resp_1', undefined, { params: { id: 'resp_1' } }),
      services,
      caller,
    )
    return (await toResponse(retrieved).json()) as Json
  }

  test('whose process died has failed, and stays so', async () => {
    const finished: StoredResponse[] = []
    const keep = async (one: StoredResponse) => finished.push(one) > 0
    expect((await retrieve(record({}), keep)).status).toBe('in_progress')
    expect(finished).toEqual([])
    const dead = await retrieve(record({ updatedAtMs: nowMs - 60_000 }), keep)
    expect(dead).toMatchObject({ status: 'failed', error: { code: 'server_error' } })
    expect(finished).toMatchObject([{ status: 'failed', response: { status: 'failed' } }])
  })

  test('gets its own body, its own signal, keeps its own id, and is stored when the database is back', async () => {
    let failures = 1
    let run: ((signal: AbortSignal) => Promise<void>) | undefined
    const finished: StoredResponse[] = []
    const seen: Json[] = []
    const services = {
      ...servicesWith(
        () => Response.json({}),
        {
          save: async () => 'saved' as const,
          renew: async names => new Map(names.map(name => [name, 'in_progress'])),
          async finish(one) {
            if (failures-- > 0) throw new GatewayError('overloaded', 'away')
            return finished.push(one) > 0
          },
        },
        { start: (_, work) => void (run = work) },
      ),
      callModel: callModelWith((call, client) => {
        seen.push({ aborted: client.left, body: call.body!.parse() })
        return answerOf(Response.json({ ...response, id: 'resp_upstream' }, { headers: { 'x-proxy-model-id': 'd' } }))
      }),
    } as unknown as Services
    const queued = (await (
      await create(services, { model: 'm', input: 'x', background: true, metadata: { a: 'b' } })
    ).json()) as Json
    expect(seen).toEqual([])
    await run!(new AbortController().signal)
    expect(seen).toEqual([{ aborted: false, body: { model: 'm', input: 'x', background: true, metadata: { a: 'b' } } }])
    expect(finished).toMatchObject([
      { id: queued.id, status: 'completed', deploymentId: 'd', response: { id: queued.id, background: true } },
    ])
  })
})
