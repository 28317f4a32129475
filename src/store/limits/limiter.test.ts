/** Limits of one process: never more than allowed in any 60 seconds, all scopes or none. */
import { expect, test } from 'bun:test'
import type { LimitScope, LimitVerdict } from '../../core/tenancy/limits.ts'
import type { Clock } from '../../lib/clock.ts'
import { BudgetCounters } from './budget-counters.ts'
import { MemoryLimiter } from './limiter-memory.ts'
import { refusalOfRedis } from './redis-refusal.ts'

class TestClock implements Clock {
  nowMs = 1_000_000
  epochMs = () => this.nowMs
  monotonicMs = () => this.nowMs
}

const scope = (id: string, more: Partial<LimitScope> = {}): LimitScope => ({
  id,
  requestsPerMinute: null,
  tokensPerMinute: null,
  parallelRequests: null,
  ...more,
})
/** Without budgets every verdict comes at once. */
function limiterOf(clock: Clock) {
  const limiter = new MemoryLimiter(clock, new BudgetCounters({ clock }))
  return {
    take: (scopes: readonly LimitScope[], tokens: number) => limiter.take(scopes, tokens) as LimitVerdict,
    get size() {
      return limiter.size
    },
  }
}
const release = (verdict: LimitVerdict, tokens = 0) => verdict.allowed && verdict.release(tokens)

test('never more than the limit in any 60 s, and all of it when asked steadily', () => {
  let seed = 11
  const random = () => (seed = (seed * 1103515245 + 12345) % 2147483648) / 2147483648
  for (const limit of [1, 3, 10, 57]) {
    const clock = new TestClock()
    const limiter = limiterOf(clock)
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
  const limiter = limiterOf(clock)
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

test('retry-after and reset are never above the window, at any moment at which the limit is used up', () => {
  for (let phaseMs = 0; phaseMs < 500; phaseMs += 10) {
    const clock = new TestClock()
    clock.nowMs += phaseMs
    const limiter = limiterOf(clock)
    const scopes = [scope('key:a', { requestsPerMinute: 1, tokensPerMinute: 10 })]
    const ask = (limit: object) => limiter.take([scope('key:a', limit)], 5)
    limiter.take(scopes, 10)
    for (const refused of [ask({ requestsPerMinute: 1 }), ask({ tokensPerMinute: 10 })]) {
      if (refused.allowed) throw new Error('a second request passed')
      expect(refused.retryAfterMs).toBeWithin(59_000, 60_001)
      expect(refused.state.resetMs).toBeWithin(59_000, 60_001)
    }
  }
})

test('requests and tokens of one scope may be taken one after the other: each is booked once', () => {
  const limiter = limiterOf(new TestClock())
  const head = [scope('key:a', { requestsPerMinute: 2, parallelRequests: 1 })]
  const tokens = [scope('key:a', { tokensPerMinute: 100 })]
  const [first, second] = [limiter.take(head, 0), limiter.take(tokens, 60)]
  expect([first.allowed, second.allowed, limiter.take(head, 0).allowed]).toEqual([true, true, false])
  release(first, 10)
  release(second, 10)
  expect(limiter.take(head, 0)).toMatchObject({ allowed: true, requests: { remaining: 0 } })
  expect(limiter.take(tokens, 90)).toMatchObject({ allowed: true, tokens: { remaining: 0 } })
  expect(limiter.take(tokens, 1).allowed).toBe(false)
})

test('a refusal in one scope takes nothing from the others', () => {
  const limiter = limiterOf(new TestClock())
  const user = scope('user:u', { requestsPerMinute: 5 })
  for (let at = 0; at < 3; at++) limiter.take([scope('key:a', { requestsPerMinute: 2 }), user], 0)
  const other = limiter.take([scope('key:b', { requestsPerMinute: 9 }), user], 0)
  expect(other).toMatchObject({ allowed: true, requests: { limit: 5, remaining: 2 } })
})

test('tokens are booked as used, and the difference is given back', () => {
  const limiter = limiterOf(new TestClock())
  const limits = [scope('key:a', { tokensPerMinute: 100 })]
  release(limiter.take(limits, 60), 10)
  const second = limiter.take(limits, 60)
  expect(second).toMatchObject({ allowed: true, tokens: { remaining: 30 } })
  release(second, 95)
  expect(limiter.take(limits, 1)).toMatchObject({ allowed: false, kind: 'tokens' })
})

test('parallel slots come back once, however often they are released', () => {
  const limiter = limiterOf(new TestClock())
  const limits = [scope('key:a', { parallelRequests: 2 })]
  const [a, b] = [limiter.take(limits, 0), limiter.take(limits, 0)]
  expect(limiter.take(limits, 0)).toMatchObject({ allowed: false, kind: 'parallel_requests' })
  release(a)
  release(a)
  expect(limiter.take(limits, 0).allowed).toBe(true)
  expect(limiter.take(limits, 0).allowed).toBe(false)
  release(b)
})

test('a parallel limit that changes while calls run holds at once, lower and higher', () => {
  const limiter = limiterOf(new TestClock())
  const take = (parallelRequests: number) => limiter.take([scope('key:a', { parallelRequests })], 0)
  const held = [take(3), take(3), take(3)]
  for (const next of held) {
    expect(take(1).allowed).toBe(false)
    release(next)
  }
  expect([take(1).allowed, take(1).allowed, take(3).allowed, take(3).allowed]).toEqual([true, false, true, true])
  expect(take(3).allowed).toBe(false)
})

test('who does not call any more is forgotten', () => {
  const clock = new TestClock()
  const limiter = limiterOf(clock)
  for (let at = 0; at < 1000; at++) release(limiter.take([scope(`key:${at}`, { requestsPerMinute: 1 })], 0))
  clock.nowMs += 120_000
  limiter.take([scope('key:x', { requestsPerMinute: 1 })], 0)
  expect(limiter.size).toBe(1)
})

test('why Redis refuses a connection, for every answer and however its bytes are split', async () => {
  const answering = async (pieces: string[], pauseMs = 1) => {
    let asked = ''
    const server = Bun.listen({
      hostname: '127.0.0.1',
      port: 0,
      socket: {
        async data(socket, bytes) {
          asked += bytes.toString()
          if (asked.length > bytes.length) return
          for (const piece of pieces) {
            socket.write(piece)
            await Bun.sleep(pauseMs)
          }
          if (pieces.length === 0) socket.end()
        },
      },
    })
    const reason = await refusalOfRedis(`redis://me:p%40ss@127.0.0.1:${server.port}`)
    server.stop(true)
    expect(asked).toBe('*3\r\n$4\r\nAUTH\r\n$2\r\nme\r\n$4\r\np@ss\r\n*1\r\n$4\r\nPING\r\n')
    return reason
  }
  expect(await answering(['+OK\r\n+PONG\r\n'])).toBeUndefined()
  const refusal = '-NOAUTH Authentication required.\r\n-NOAUTH Authentication required.\r\n'
  expect(await answering([refusal])).toBe('NOAUTH Authentication required.')
  expect(await answering([...refusal.slice(0, 40)])).toBe('NOAUTH Authentication required.')
  expect(await answering(['+OK\r\n', '-LOADING Redis is loading\r\n'])).toBe('LOADING Redis is loading')
  expect(await answering([])).toContain('closed the connection')
  expect(await answering(['+OK\r\n'], 700)).toContain('timeout')
  expect(await refusalOfRedis('redis+unix:///run/redis.sock')).toBeUndefined()
  expect(await refusalOfRedis('not a url')).toBeUndefined()
})
