/** Limits of deployments where the limiter answers later, or not at all. */
import { expect, test } from 'bun:test'
import type { Call } from '../../core/call.ts'
import type { Deployment } from '../../core/deployment.ts'
import type { LimitReservation, LimitVerdict } from '../../core/tenancy/limits.ts'
import { DeploymentLimits } from './deployment-limits.ts'

const limits = { requestsPerMinute: null, tokensPerMinute: 100 }
const deployment = { id: 'd', rateLimits: limits } as unknown as Deployment
const callOf = (tokens: number, attempt: object = {}) =>
  ({ estimatedInputTokens: () => tokens, attempt: { status: 0, ...attempt } }) as unknown as Call
const attempt = () => ({ sentMs: 0, settled: false })
const refusal: LimitVerdict = {
  allowed: false,
  scope: 'deployment:d',
  kind: 'tokens',
  state: { limit: 100, remaining: 10, resetMs: 60_000 },
  retryAfterMs: 5000,
}

function limitsOver(verdict: () => LimitVerdict | Promise<LimitVerdict>) {
  const clock = { nowMs: 0, epochMs: () => clock.nowMs, monotonicMs: () => clock.nowMs }
  const asked: unknown[] = []
  const limiter = {
    take(scopes: unknown, tokens: number) {
      asked.push([scopes, tokens])
      return verdict()
    },
  }
  const found = new DeploymentLimits(limiter, clock)
  return { found, clock, asked, take: (call: Call) => found.take(deployment, limits, attempt(), call) }
}

test('a refusal holds for calls of as many tokens until its time is over, or the limits are others', async () => {
  const { found, clock, asked, take } = limitsOver(async () => refusal)
  expect(await take(callOf(50))).toBe(false)
  expect(asked).toEqual([
    [[{ id: 'deployment:d', requestsPerMinute: null, tokensPerMinute: 100, parallelRequests: null }], 50],
  ])
  const waits = (tokens: number, one = deployment) => found.waitMs(one, callOf(tokens))
  expect([waits(50), waits(90), waits(49)]).toEqual([5000, 5000, 0])
  expect(waits(50, { ...deployment, rateLimits: { ...limits } })).toBe(0)
  clock.nowMs = 5000
  expect(waits(50)).toBe(0)
})

test('where limits cannot be checked the call goes on, and counts nowhere', async () => {
  const throwing = limitsOver(() => {
    throw new Error('away')
  })
  expect(throwing.take(callOf(1))).toBe(true)
  expect(await limitsOver(() => Promise.reject(new Error('away'))).take(callOf(1))).toBe(true)
})

test('an attempt counts what it used: reported, reserved where nothing is known, and none of what was refused', () => {
  const released: number[] = []
  const reservation: LimitReservation = { allowed: true, release: tokens => void released.push(tokens), keep() {} }
  const { found } = limitsOver(() => reservation)
  for (const end of [
    callOf(20, { status: 200, usage: { inputTokens: 30, outputTokens: 4 } }),
    callOf(20, { status: 200, relay: { usage: { inputTokens: 31, outputTokens: 5 } } }),
    callOf(20),
    callOf(20, { status: 429 }),
    undefined,
  ]) {
    const one = attempt()
    expect(found.take(deployment, limits, one, callOf(20))).toBe(true)
    found.ended(one, end)
    found.ended(one, end)
  }
  expect(released).toEqual([34, 36, 20, 0, 0])
})
