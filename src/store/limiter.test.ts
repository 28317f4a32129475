/** Limits: never more than allowed in any 60 seconds, all scopes or none, across replicas with Redis. */
import { describe, expect, test } from 'bun:test'
import type { LimitScope, LimitVerdict } from '../core/ports.ts'
import type { Clock } from '../lib/clock.ts'
import { systemClock } from '../lib/clock.ts'
import { MemoryLimiter } from './limiter-memory.ts'
import { RedisLimiter } from './limiter-redis.ts'

class TestClock implements Clock {
  nowMs = 1_000_000
  epochMs = () => this.nowMs
  monotonicMs = () => this.nowMs
}

const scope = (id: string, more: Partial<LimitScope> = {}): LimitScope => ({
  id, requestsPerMinute: null, tokensPerMinute: null, parallelRequests: null, ...more,
})
const release = (verdict: LimitVerdict, tokens = 0) => verdict.allowed && verdict.release(tokens)

test('never more than the limit in any 60 s, and all of it when asked steadily', () => {
  let seed = 11
  const random = () => (seed = (seed * 1103515245 + 12345) % 2147483648) / 2147483648
  for (const limit of [1, 3, 10, 57]) {
    const clock = new TestClock()
    const limiter = new MemoryLimiter(clock)
    const taken: number[] = []
    for (let at = 0; at < 4000; at++) {
      clock.nowMs += random() * (random() < 0.05 ? 20_000 : 300)
      const verdict = limiter.take([scope('key:a', { requestsPerMinute: limit })], 0)
      if (verdict.allowed) taken.push(clock.nowMs)
      release(verdict)
    }
    let from = 0
    for (const [at, now] of taken.entries()) {
      while (taken[from]! <= now - 60_000) from++
      expect(at - from + 1).toBeLessThanOrEqual(limit)
    }
    expect(taken.length).toBeGreaterThan(limit * 3)
  }
})

test('retry-after is the time after which a request passes', () => {
  const clock = new TestClock()
  const limiter = new MemoryLimiter(clock)
  const ask = () => limiter.take([scope('key:a', { requestsPerMinute: 2 })], 0)
  ask()
  clock.nowMs += 7_000
  ask()
  const refused = ask()
  if (refused.allowed) throw new Error('a third request passed')
  expect(refused.retryAfterMs).toBeWithin(52_000, 53_501)
  clock.nowMs += refused.retryAfterMs - 300
  expect(ask().allowed).toBe(false)
  clock.nowMs += 300
  expect(ask().allowed).toBe(true)
})

test('a refusal in one scope takes nothing from the others', () => {
  const limiter = new MemoryLimiter(new TestClock())
  const user = scope('user:u', { requestsPerMinute: 5 })
  for (let at = 0; at < 3; at++) limiter.take([scope('key:a', { requestsPerMinute: 2 }), user], 0)
  const other = limiter.take([scope('key:b', { requestsPerMinute: 9 }), user], 0)
  expect(other).toMatchObject({ allowed: true, requests: { limit: 5, remaining: 2 } })
})

test('tokens are booked as used, and the difference is given back', () => {
  const limiter = new MemoryLimiter(new TestClock())
  const limits = [scope('key:a', { tokensPerMinute: 100 })]
  release(limiter.take(limits, 60), 10)
  const second = limiter.take(limits, 60)
  expect(second).toMatchObject({ allowed: true, tokens: { remaining: 30 } })
  release(second, 95)
  expect(limiter.take(limits, 1)).toMatchObject({ allowed: false, kind: 'tokens' })
})

test('parallel slots come back once, however often they are released', () => {
  const limiter = new MemoryLimiter(new TestClock())
  const limits = [scope('key:a', { parallelRequests: 2 })]
  const [a, b] = [limiter.take(limits, 0), limiter.take(limits, 0)]
  expect(limiter.take(limits, 0)).toMatchObject({ allowed: false, kind: 'parallel_requests' })
  release(a)
  release(a)
  expect(limiter.take(limits, 0).allowed).toBe(true)
  expect(limiter.take(limits, 0).allowed).toBe(false)
  release(b)
})

test('who does not call any more is forgotten', () => {
  const clock = new TestClock()
  const limiter = new MemoryLimiter(clock)
  for (let at = 0; at < 1000; at++) release(limiter.take([scope(`key:${at}`, { requestsPerMinute: 1 })], 0))
  clock.nowMs += 120_000
  limiter.take([scope('key:x', { requestsPerMinute: 1 })], 0)
  expect(limiter.size).toBe(1)
})

const url = process.env.TEST_REDIS_URL
if (!url) console.log('skipped: limits across replicas (set TEST_REDIS_URL)')

describe.if(url !== undefined)('on Redis', () => {
  const open = async (address = url!) => {
    const changes: boolean[] = []
    const limiter = new RedisLimiter({ url: address, fallback: new MemoryLimiter(systemClock), reportReachable: now => changes.push(now) })
    await limiter.connect().catch(() => {})
    return { limiter, changes }
  }

  test('two replicas together let through the limit and no more', async () => {
    const replicas = await Promise.all([open(), open()])
    const limits = [scope(`key:${crypto.randomUUID()}`, { requestsPerMinute: 20, tokensPerMinute: 10_000 })]
    const verdicts = await Promise.all(Array.from({ length: 60 }, (_, at) => replicas[at % 2]!.limiter.take(limits, 5)))
    expect(verdicts.filter(one => one.allowed).length).toBe(20)
    const refused = verdicts.find(one => !one.allowed)!
    expect(refused).toMatchObject({ allowed: false, kind: 'requests', state: { limit: 20, remaining: 0 } })
    for (const { limiter } of replicas) limiter.close()
  })

  test('slots are shared and given back', async () => {
    const replicas = await Promise.all([open(), open()])
    const limits = [scope(`key:${crypto.randomUUID()}`, { parallelRequests: 1 })]
    const held = await replicas[0]!.limiter.take(limits, 0)
    expect((await replicas[1]!.limiter.take(limits, 0)).allowed).toBe(false)
    release(held)
    await Bun.sleep(50)
    expect((await replicas[1]!.limiter.take(limits, 0)).allowed).toBe(true)
    for (const { limiter } of replicas) limiter.close()
  })

  test('without Redis each replica goes on by itself, within 100 ms', async () => {
    const { limiter, changes } = await open('redis://127.0.0.1:1')
    const from = performance.now()
    const verdict = await limiter.take([scope('key:a', { requestsPerMinute: 1 })], 0)
    expect(verdict.allowed).toBe(true)
    expect(performance.now() - from).toBeLessThan(100)
    expect(changes).toEqual([false])
    limiter.close()
  })
})
