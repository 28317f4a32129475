/** What reaches the transport, and when a call ends: with a transport that only notes what it is asked. */
import { expect, test } from 'bun:test'
import { requestOf } from '../../../tests/support/network/http-messages.ts'
import { timeouts } from '../../../tests/support/upstreams/raw-upstream.ts'
import { targetOf } from '../../../tests/support/provider-rig.ts'
import type { Deployment } from '../../core/deployment.ts'
import type { FileCall } from '../../core/objects/files.ts'
import type { Transport, UpstreamRequest, UpstreamResponse } from '../../core/transport.ts'
import { providers } from '../../providers/index.ts'
import { createFileCalls } from './file-call.ts'

interface Rig {
  readonly sent: UpstreamRequest[]
  cancelled(): number
  readonly leave: AbortController
  call(fields?: Partial<FileCall>): FileCall
  readonly calls: ReturnType<typeof createFileCalls>
}

/** `body` is the upstream's answer; undefined = it never comes. */
function rig(body?: string, totalMs = 0): Rig {
  const sent: UpstreamRequest[] = []
  let cancelled = 0
  const leave = new AbortController()
  const response: UpstreamResponse = {
    status: 200,
    header: () => undefined,
    body: { bytes: async () => Buffer.from(body ?? ''), pipe() {}, pause() {}, resume() {} },
  }
  const transport: Transport = {
    send(request) {
      sent.push(request)
      return {
        response: body === undefined ? new Promise(() => {}) : Promise.resolve(response),
        sent: true,
        cancel: () => void cancelled++,
      }
    },
    connections: () => ({ busy: 0, idle: 0 }),
    close() {},
  }
  const request = requestOf('/v1/files', undefined, { method: 'GET', id: 'r' }, leave.signal)
  const provider = providers.get('openai')!
  const deployment = {
    id: 'd',
    target: targetOf(provider, { model: 'm', baseUrl: 'http://up/v1' }),
    timeouts: timeouts({ totalMs }),
  } as Deployment
  return {
    sent,
    leave,
    cancelled: () => cancelled,
    call: fields => ({ request, deployment, method: 'GET', path: '/files/x', ...fields }),
    calls: createFileCalls({
      transport,
      clock: { epochMs: () => 0, monotonicMs: () => 0 },
      credentials: undefined as never,
      uploadDirectory: '/nowhere',
    }),
  }
}

test('a call goes to the path under the base, with JSON only where there is a body', async () => {
  const { calls, call, sent } = rig('{"id":"a"}')
  expect(await calls.json(call())).toEqual({ id: 'a' })
  expect(await calls.json(call({ method: 'POST', path: '/batches', body: { json: { a: 'é' } } }))).toEqual({ id: 'a' })
  expect(
    sent.map(({ method, head, body }) => [
      method,
      head.url,
      head.headers['content-type'],
      Buffer.concat(body as Uint8Array[]).toString(),
    ]),
  ).toEqual([
    ['GET', 'http://up/v1/files/x', undefined, ''],
    ['POST', 'http://up/v1/batches', 'application/json', '{"a":"é"}'],
  ])
})

test('the shorter limit of time counts', async () => {
  const limits = async (configured: number, totalMs?: number) => {
    const { calls, call, sent } = rig('{}', configured)
    await calls.json(call(totalMs === undefined ? {} : { totalMs }))
    return sent[0]!.timeouts.totalMs
  }
  expect([await limits(0), await limits(9), await limits(0, 5), await limits(9, 5), await limits(3, 5)]).toEqual([
    0, 9, 5, 5, 3,
  ])
})

test("the client's leaving ends a call at once, unless the call outlives it", async () => {
  const left = rig()
  const waiting = left.calls.json(left.call())
  await Bun.sleep(0)
  left.leave.abort()
  await expect(waiting).rejects.toMatchObject({ kind: 'client-closed' })
  expect(left.cancelled()).toBe(1)
  await expect(left.calls.content(left.call())).rejects.toMatchObject({ kind: 'client-closed' })
  expect(left.sent.length).toBe(1)

  const outlives = rig('{"id":"b"}')
  outlives.leave.abort()
  expect(await outlives.calls.json(outlives.call({ outlivesClient: true }))).toEqual({ id: 'b' })
  expect(outlives.cancelled()).toBe(0)
})

test('an answer that is no plain object is the fault of the upstream', async () => {
  for (const body of ['', '[]', 'null', '"text"', '{', '{"a":1}{', `{"a":${'['.repeat(70)}${']'.repeat(70)}}`]) {
    const { calls, call, cancelled } = rig(body)
    await expect(calls.json(call())).rejects.toMatchObject({ kind: 'upstream-broken' })
    expect(cancelled()).toBe(1)
  }
})
