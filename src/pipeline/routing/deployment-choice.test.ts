/** Which deployment calls reach by each strategy, through the router. */
import { expect, test } from 'bun:test'
import type { Reply } from '../../core/answer.ts'
import type { Deployment } from '../../core/deployment.ts'
import type { RoutingStrategy } from '../../core/settings.ts'
import type { Transport, UpstreamResponse } from '../../core/transport.ts'
import { TimerWheel } from '../../lib/timer-wheel.ts'
import { callPolicies } from '../admission/admission.ts'
import { CallControl } from '../call-control.ts'
import { Router } from './deployment-router.ts'
import { deployment, speechCall } from '../../../tests/support/routing-fixture.ts'

/** A call that has reached an upstream. */
interface Sent {
  /** The deployment that was chosen. */
  readonly at: string
  /** The upstream answers with this status; resolves when the call is over. */
  answer(status?: number): Promise<unknown>
}

/** Calls to a group; those of equal deployments go to the first one. */
function group(candidates: readonly Deployment[], strategy?: RoutingStrategy, random = 0) {
  const clock = { nowMs: 1_000_000, epochMs: () => clock.nowMs, monotonicMs: () => clock.nowMs }
  let respond: ((response: UpstreamResponse) => void) | undefined
  const transport: Transport = {
    send() {
      const response = new Promise<UpstreamResponse>(resolve => (respond = resolve))
      return { response, sent: true, cancel() {} }
    },
    connections: () => ({ busy: 0, idle: 0 }),
    close() {},
  }
  const router = new Router({
    transport,
    timers: new TimerWheel(clock, 50),
    clock,
    limiter: {
      take: () => {
        throw new Error('no deployment has limits')
      },
    },
    random: () => random,
    policies: callPolicies([]),
    credentials: undefined as never,
    isBlocked: () => false,
  })
  const settings = { strategy, retries: 0, attemptsMax: 6, allowedFails: 3, cooldownMs: 0, fallbacks: {} }
  const call = (): Sent => {
    const record = speechCall(clock, settings, candidates)
    const over = Promise.withResolvers<Reply | unknown>()
    router.run(new CallControl(record, () => {}), { answered: over.resolve, failed: over.resolve })
    const answered = respond!
    const body = { bytes: async () => Buffer.from('{}'), pipe() {}, pause() {}, resume() {} }
    const header = (name: string) => (name === 'content-type' ? 'application/json' : undefined)
    return {
      at: record.attempt!.deployment!.id,
      answer: (status = 200) => {
        answered({ status, header, body } as UpstreamResponse)
        return over.promise
      },
    }
  }
  return { call, pass: (ms: number) => void (clock.nowMs += ms) }
}

test('without a strategy only weights decide', () => {
  const { call } = group([deployment('a'), deployment('b')])
  expect([call().at, call().at, call().at]).toEqual(['a', 'a', 'a'])
})

test('least-busy: the fewest calls under way, by weight; every end of an attempt counts', async () => {
  const { call } = group([deployment('a'), deployment('b')], { by: 'least-busy' })
  const [first, second, third] = [call(), call(), call()]
  expect([first.at, second.at, third.at]).toEqual(['a', 'b', 'a'])
  await third.answer()
  await first.answer(400)
  expect(call().at).toBe('a')
  await second.answer(500)
  const [fourth, fifth] = [call(), call()]
  expect([fourth.at, fifth.at]).toEqual(['b', 'a'])

  const weighed = group([deployment('a'), deployment('b', { weight: 2 })], { by: 'least-busy' })
  expect(Array.from({ length: 6 }, () => weighed.call().at).sort()).toEqual(['a', 'a', 'b', 'b', 'b', 'b'])
})

test('latency-based-routing: the fastest; what is not known is tried by one call at a time', async () => {
  const by = 'latency-based-routing'
  const { call, pass } = group([deployment('a'), deployment('b')], { by, bufferShare: 0, forgetMs: 60_000 })
  const [slow, fast, unknown] = [call(), call(), call()]
  // While nothing is known of any, weights decide.
  expect([slow.at, fast.at, unknown.at]).toEqual(['a', 'b', 'a'])
  pass(100)
  await fast.answer()
  pass(300)
  await slow.answer()
  await unknown.answer()
  expect([call().at, call().at]).toEqual(['b', 'b'])
  pass(60_000)
  const [again, meanwhile] = [call(), call()]
  expect([again.at, meanwhile.at]).toEqual(['a', 'a'])
})

test('latency-based-routing: within the buffer weights decide, and a timeout counts as slow', async () => {
  const by = 'latency-based-routing'
  const { call, pass } = group([deployment('a'), deployment('b')], { by, bufferShare: 1, forgetMs: 600_000 })
  const [a, b] = [call(), call()]
  pass(100)
  await b.answer()
  pass(80)
  await a.answer()
  expect(call().at).toBe('a')
  const late = call()
  pass(30_000)
  await late.answer(408)
  expect(call().at).toBe('b')
})

test('cost-based-routing: the cheapest of the first order; an unknown price goes last', () => {
  const price = (usd: bigint) => ({ prices: { input: usd, output: usd } })
  const chosen = (...group_: Deployment[]) => group(group_, { by: 'cost-based-routing' }).call().at
  expect(chosen(deployment('a', price(2n)), deployment('b', price(1n)), deployment('c'))).toBe('b')
  expect(chosen(deployment('a', price(2n)), deployment('b', { ...price(1n), order: 1 }))).toBe('a')
  expect(chosen(deployment('a'), deployment('b'))).toBe('a')
})

test('usage-based-routing: the fewest tokens of the last minute by weight; calls under way count with their input', async () => {
  const { call, pass } = group([deployment('a'), deployment('b')], { by: 'usage-based-routing' })
  const [first, second] = [call(), call()]
  expect([first.at, second.at]).toEqual(['a', 'b'])
  // What an upstream has refused is none of its tokens.
  await second.answer(500)
  expect(call().at).toBe('b')
  expect([call().at, call().at].sort()).toEqual(['a', 'b'])
  await first.answer()
  pass(61_000)
  expect(call().at).toBe('a')

  const weighed = group([deployment('a'), deployment('b', { weight: 2 })], { by: 'usage-based-routing' })
  expect(Array.from({ length: 6 }, () => weighed.call().at).sort()).toEqual(['a', 'a', 'b', 'b', 'b', 'b'])
})

test('cost-based-routing: by tokens in and out together, else by the unit that the model has', () => {
  const chosen = (...prices: object[]) =>
    group(
      prices.map((one, at) => deployment(`d${at}`, { prices: one })),
      { by: 'cost-based-routing' },
    ).call().at
  expect(chosen({ input: 5n }, { input: 1n, output: 3n })).toBe('d1')
  expect(chosen({ output: 3n }, { input: 1n, output: 3n })).toBe('d0')
  expect(chosen({ input: 3n }, { output: 2n })).toBe('d1')
  for (const unit of ['image', 'character', 'audioSecond', 'searchUnit', 'request'])
    expect(chosen({ [unit]: 2n }, { [unit]: 1n })).toBe('d1')
  expect(chosen({}, { image: 9n })).toBe('d1')
})

test('weights share calls: each deployment has its part of the numbers from 0 to 1', () => {
  const at = (random: number) =>
    group([deployment('a', { weight: 1 }), deployment('b', { weight: 3 })], undefined, random).call().at
  expect([at(0), at(0.24), at(0.25), at(0.99)]).toEqual(['a', 'a', 'b', 'b'])
})
