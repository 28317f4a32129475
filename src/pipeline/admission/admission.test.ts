import { expect, test } from 'bun:test'
import type { Reply } from '../../core/answer.ts'
import type { Call } from '../../core/call.ts'
import type { GatewayError } from '../../core/errors.ts'
import type { Policy } from '../../core/policy.ts'
import { admitCall, admitted, callPolicies } from './admission.ts'
import type { AdmissionReceiver } from './admission.ts'

const settle = () => Bun.sleep(1)

function receiverOf({ client }: Call) {
  const reported: string[] = []
  const one: AdmissionReceiver = {
    get ended() {
      return client.left
    },
    admitted: () => void reported.push('admitted'),
    answered: () => void reported.push('answered'),
    failed: thrown => void reported.push((thrown as GatewayError).kind),
  }
  return { one, reported }
}

/** A client that leaves while the first policy waits. */
function leaving(reply?: Reply) {
  const client = { left: false }
  const asked: string[] = []
  const call = { client } as unknown as Call
  const first: Policy = {
    name: 'first',
    stage: 'head',
    async admit() {
      await settle()
      client.left = true
      return reply
    },
  }
  const second: Policy = { name: 'second', stage: 'head', admit: () => void asked.push('second') }
  return { call, policies: callPolicies([first, second]).head, asked }
}

test('a client that leaves while a policy waits is the end: no further policy takes anything for its call', async () => {
  const { call, policies, asked } = leaving()
  const { one, reported } = receiverOf(call)
  admitCall(call, policies, one)
  await Bun.sleep(5)
  expect([reported, asked]).toEqual([[], []])
  const other = leaving()
  expect(await admitted(other.call, other.policies).catch((error: GatewayError) => error.kind)).toBe('client-closed')
  expect(other.asked).toEqual([])
})

test('the stream that a policy answers with too late is cancelled', async () => {
  let cancelled = 0
  const stream = { pipe() {}, resume() {}, cancel: () => void cancelled++ }
  const { call, policies } = leaving({ status: 200, contentType: 'text/plain', body: stream })
  const { one, reported } = receiverOf(call)
  admitCall(call, policies, one)
  await Bun.sleep(5)
  expect([reported, cancelled]).toEqual([[], 1])
})
