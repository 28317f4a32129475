/** Within which times an attempt is sent, and by whom it is answered. */
import { expect, test } from 'bun:test'
import type { Call } from '../../core/call.ts'
import type { Deployment } from '../../core/deployment.ts'
import type { UpstreamRequest } from '../../core/transport.ts'
import type { PlannedAttempt } from '../lanes/attempt-parts.ts'
import { AttemptSender } from './attempt-sender.ts'

const timeouts = {
  connectMs: 1,
  firstByteMs: 10,
  firstEventMs: 20,
  idleMs: 3,
  firstContentMs: 4,
  contentMs: 5,
  totalMs: 60,
}

function sent(
  stream: boolean,
  timeoutMs?: number,
  own: object = timeouts,
): Pick<UpstreamRequest, 'method'> & { timeouts: object } {
  const requests: UpstreamRequest[] = []
  const transport = { send: (request: UpstreamRequest) => (requests.push(request), { response: 0 }) }
  const sender = new AttemptSender({ transport, clock: {}, timers: {}, policies: {} } as never)
  const deployment = { timeouts: own, target: { provider: {} } } as unknown as Deployment
  const call = { stream, overrides: { ...(timeoutMs !== undefined && { timeoutMs }) }, attempt: {} } as unknown as Call
  const body = [Buffer.from('{}')]
  sender.send(call, { head: { url: 'x' }, body } as unknown as PlannedAttempt, deployment)
  expect(call.attempt!.body).toBe(body)
  return requests[0]!
}

test('the first byte of a stream is awaited as long as its first event', () => {
  expect(sent(false)).toMatchObject({ method: 'POST', timeouts })
  expect(sent(true).timeouts).toEqual({ ...timeouts, firstByteMs: 20 })
})

test('a shorter timeout of the client counts, a longer one does not, and none of the operator is unlimited', () => {
  expect(sent(false, 15).timeouts).toEqual({ ...timeouts, firstByteMs: 10, firstEventMs: 15, totalMs: 15 })
  expect(sent(false, 500).timeouts).toEqual(timeouts)
  const none = { ...timeouts, firstByteMs: 0, firstEventMs: 0, totalMs: 0 }
  expect(sent(false, 15, none).timeouts).toEqual({ ...timeouts, firstByteMs: 15, firstEventMs: 15, totalMs: 15 })
})

test('the total time of a stream is limited by the operator alone', () => {
  expect(sent(true, 15).timeouts).toEqual({ ...timeouts, firstByteMs: 15, firstEventMs: 15, totalMs: 60 })
})
