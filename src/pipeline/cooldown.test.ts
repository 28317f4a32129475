import { expect, test } from 'bun:test'
import type { Deployment } from '../core/deployment.ts'
import { GatewayError } from '../core/errors.ts'
import type { RouterSettings } from '../core/settings.ts'
import type { Clock } from '../lib/clock.ts'
import { Cooldowns } from './cooldown.ts'
import type { Cooldown } from './cooldown.ts'

const deployment = { id: 'd-1', modelName: 'fast', target: { model: 'm' } } as Deployment
const settings: RouterSettings = { retries: 0, allowedFails: 3, cooldownMs: 5000, fallbacks: {} }
const broken = new GatewayError('upstream-failed', 'it said 500')

function started() {
  let nowMs = 1000
  const begun: Cooldown[] = []
  const clock = { monotonicMs: () => nowMs, epochMs: () => nowMs } as Clock
  return {
    cooldowns: new Cooldowns(clock, cooldown => begun.push(cooldown)),
    begun,
    pass: (ms: number) => void (nowMs += ms),
  }
}

test('failures in a row make it cool down, which is told once per cooldown', () => {
  const { cooldowns, begun, pass } = started()
  cooldowns.failed(deployment, broken, settings)
  cooldowns.failed(deployment, broken, settings)
  expect(cooldowns.remainingMs(deployment)).toBe(0)
  expect(begun).toEqual([])
  expect(cooldowns.coolingDown()).toEqual([])
  cooldowns.failed(deployment, broken, settings)
  // A call that was under way when the cooldown began.
  cooldowns.failed(deployment, broken, settings)
  expect(cooldowns.remainingMs(deployment)).toBe(5000)
  expect(begun).toEqual([{ deployment, cooldownMs: 5000, failsInARow: 3, error: broken }])
  expect(cooldowns.coolingDown()).toEqual([deployment])
  pass(5000)
  expect(cooldowns.coolingDown()).toEqual([])
  cooldowns.failed(deployment, broken, settings)
  expect(begun.map(cooldown => cooldown.failsInARow)).toEqual([3, 5])
})

test('a rate limit makes it cool down at once, as long as the provider said, but no longer than a minute', () => {
  const { cooldowns, begun } = started()
  cooldowns.failed(deployment, new GatewayError('upstream-rate-limited', 'slower', { retryAfterMs: 600_000 }), settings)
  expect(cooldowns.isRateLimited(deployment)).toBe(true)
  expect(begun.map(cooldown => cooldown.cooldownMs)).toEqual([60_000])
})

test('a success ends the count, and the cooldown', () => {
  const { cooldowns, begun } = started()
  for (let at = 0; at < 5; at++) {
    cooldowns.failed(deployment, broken, settings)
    cooldowns.failed(deployment, broken, settings)
    cooldowns.succeeded(deployment)
  }
  expect(begun).toEqual([])
  for (let at = 0; at < 3; at++) cooldowns.failed(deployment, broken, settings)
  cooldowns.succeeded(deployment)
  expect(cooldowns.remainingMs(deployment)).toBe(0)
})
