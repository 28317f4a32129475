import { expect, test } from 'bun:test'
import type { Call } from '../../core/call.ts'
import type { Deployment } from '../../core/deployment.ts'
import type { RoutingStrategy } from '../../core/settings.ts'
import { DeploymentStats } from './deployment-stats.ts'

const deployment = { id: 'a', target: { model: 'm' } } as Deployment
const other = { id: 'b', target: { model: 'm' } } as Deployment

function started({ by = 'latency-based-routing', stream = false, input = 10 } = {}) {
  const clock = { nowMs: 1000, epochMs: () => clock.nowMs, monotonicMs: () => clock.nowMs }
  const stats = new DeploymentStats(clock)
  const call = {
    stream,
    estimatedInputTokens: () => input,
    attempt: { status: 200, usage: { inputTokens: 3, outputTokens: 4 } },
  }
  const begin = () => {
    const attempt = { sentMs: clock.nowMs, settled: false }
    stats.begin(deployment, attempt, call as unknown as Call, { by } as RoutingStrategy)
    return attempt
  }
  const mean = (forgetMs = 60_000) => stats.meanTimeOf(deployment, stream, forgetMs)
  return { stats, clock, begin, mean, call: call as unknown as Call }
}

test('attempts run from their beginning to their end, which comes once', () => {
  const { stats, begin } = started()
  expect(stats.runningAt(deployment)).toBe(0)
  const [one, two] = [begin(), begin()]
  expect([stats.runningAt(deployment), stats.runningAt(other)]).toEqual([2, 0])
  stats.ended(one, undefined)
  stats.ended(one, undefined)
  expect(stats.runningAt(deployment)).toBe(1)
  stats.ended(two, undefined)
  expect(stats.runningAt(deployment)).toBe(0)
})

test('a whole answer is as fast as its tokens, and the last one has a fifth of the mean', () => {
  const { stats, clock, begin, mean } = started()
  expect(mean()).toBeUndefined()
  const one = begin()
  clock.nowMs += 100
  stats.answered(one, 10)
  expect(mean()).toBe(10)
  stats.ended(one, undefined)
  expect(mean()).toBe(10)
  const two = begin()
  clock.nowMs += 40
  stats.answered(two, 0)
  expect(mean()).toBe(16)
  clock.nowMs += 500
  expect([mean(500), mean(499)]).toEqual([16, undefined])
})

test('a stream is as fast as its first content, whatever its tokens are, and apart from whole answers', () => {
  const { stats, clock, begin, mean } = started({ stream: true })
  const one = begin()
  clock.nowMs += 100
  stats.answered(one, 10)
  expect([mean(), stats.meanTimeOf(deployment, false, 60_000)]).toEqual([100, undefined])
})

test('an end without an answer before it is measured where it is one, or a timeout, and not of other failures', () => {
  for (const [error, ms] of [
    [undefined, 100],
    ['upstream-timeout', 100],
    ['upstream-failed', undefined],
  ] as const) {
    const { stats, clock, begin, mean } = started()
    const one = begin()
    clock.nowMs += 100
    stats.ended(one, error)
    expect(mean()).toBe(ms)
  }
})

test('tokens of the last minute are those of the input, then those that were used', () => {
  const { stats, clock, begin, call } = started({ by: 'usage-based-routing' })
  const [one, two] = [begin(), begin()]
  expect(stats.tokensAt(deployment)).toBe(20)
  stats.used(one, call)
  expect(stats.tokensAt(deployment)).toBe(17)
  stats.used(two, undefined)
  expect(stats.tokensAt(deployment)).toBe(7)
  clock.nowMs += 61_000
  expect([stats.tokensAt(deployment), stats.tokensAt(other)]).toEqual([0, 0])
  const unasked = started()
  unasked.begin()
  expect(unasked.stats.tokensAt(deployment)).toBe(0)
})
