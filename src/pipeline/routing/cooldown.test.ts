import { expect, test } from 'bun:test'
import type { Deployment } from '../../core/deployment.ts'
import { GatewayError } from '../../core/errors.ts'
import type { RouterSettings } from '../../core/settings.ts'
import type { Clock } from '../../lib/clock.ts'
import { Cooldowns, countFor } from './cooldown.ts'
import type { Cooldown } from './cooldown.ts'

const deployment = { id: 'd-1', modelName: 'fast', target: { model: 'm' } } as Deployment
const settings = { retries: 0, allowedFails: 3, cooldownMs: 5000 } as RouterSettings
const broken = new GatewayError('upstream-failed', 'it said 500')
const limited = (retryAfterMs?: number) => new GatewayError('upstream-rate-limited', 'slower', { retryAfterMs })

function started() {
  let nowMs = 1000
  const begun: Cooldown[] = []
  const clock = { monotonicMs: () => nowMs, epochMs: () => nowMs } as Clock
  const cooldowns = new Cooldowns(clock, cooldown => begun.push(cooldown))
  /** An attempt that is sent now. */
  const attempt = () => {
    const made = { sentMs: nowMs, settled: false }
    cooldowns.begin(deployment, made)
    return made
  }
  const fail = (at = attempt(), error = broken, cut = false) =>
    cooldowns.failed(deployment, at, { error, settings, cut })
  return {
    cooldowns,
    begun,
    attempt,
    fail,
    is: () => cooldowns.availability(deployment),
    pass: (ms: number) => void (nowMs += ms),
  }
}

test('failures in a row make it cool down, which is reported once per cooldown', () => {
  const { cooldowns, begun, fail, is, pass } = started()
  fail()
  fail()
  expect([is(), begun, cooldowns.coolingDown()]).toEqual(['healthy', [], []])
  fail()
  expect(is()).toBe('cooling')
  expect(cooldowns.remainingMs(deployment)).toBe(5000)
  expect(begun).toEqual([{ deployment, cooldownMs: 5000, failsInARow: 3, error: broken }])
  expect(cooldowns.coolingDown()).toEqual([deployment])
  pass(5000)
  expect([is(), cooldowns.coolingDown()]).toEqual(['half-open', []])
})

test('what was sent before a cooldown neither lengthens nor ends it', () => {
  const { cooldowns, begun, attempt, fail, is, pass } = started()
  const [late, good] = [attempt(), attempt()]
  pass(1)
  for (let at = 0; at < 3; at++) fail()
  cooldowns.completed(deployment, good)
  fail(late)
  expect([is(), cooldowns.remainingMs(deployment)]).toEqual(['cooling', 5000])
  pass(5000)
  fail(late)
  expect([is(), begun.length]).toEqual(['half-open', 1])
})

test('after a cooldown one probe at a time; each that fails doubles the next cooldown, up to a minute', () => {
  const { begun, attempt, fail, is, pass } = started()
  for (let at = 0; at < 3; at++) fail()
  for (let at = 0; at < 6; at++) {
    pass(60_000)
    expect(is()).toBe('half-open')
    const probe = attempt()
    expect(is()).toBe('cooling')
    fail(probe)
  }
  expect(begun.map(cooldown => cooldown.cooldownMs)).toEqual([5000, 10_000, 20_000, 40_000, 60_000, 60_000, 60_000])
})

test('a probe that succeeds ends all of it; one that says nothing makes room for the next', () => {
  const { cooldowns, attempt, fail, is, pass } = started()
  for (let at = 0; at < 3; at++) fail()
  pass(5000)
  const left = attempt()
  cooldowns.released(deployment, left)
  expect(is()).toBe('half-open')
  const forgotten = attempt()
  expect(is()).toBe('cooling')
  forgotten.settled = true
  expect(is()).toBe('half-open')
  cooldowns.completed(deployment, attempt())
  expect(is()).toBe('healthy')
  fail()
  fail()
  expect(is()).toBe('healthy')
})

test('a client waits no longer than the cooldown, whatever the provider said', () => {
  const { cooldowns, attempt, fail } = started()
  expect(cooldowns.waitMs(deployment, limited(3_600_000))).toBe(3_600_000)
  fail(attempt(), limited(3_600_000))
  const waits = [limited(3_600_000), limited(7000), limited()].map(error => cooldowns.waitMs(deployment, error))
  expect(waits).toEqual([60_000, 7000, undefined])
})

test('a rate limit makes it cool down at once, as long as the provider said, but no longer than a minute', () => {
  const { cooldowns, begun, attempt, fail, is, pass } = started()
  const late = attempt()
  fail(attempt(), limited(600_000))
  expect(is()).toBe('rate-limited')
  expect(begun.map(cooldown => cooldown.cooldownMs)).toEqual([60_000])
  pass(50_000)
  fail(late, limited(20_000))
  expect(cooldowns.remainingMs(deployment)).toBe(20_000)
})

test('what fails stays unwell until a success, also while its provider limits the rate; a limit alone is not unwell', () => {
  const { cooldowns, attempt, fail, pass } = started()
  fail(attempt(), limited(1000))
  expect(cooldowns.unwell()).toEqual([])
  pass(1000)
  fail()
  expect(cooldowns.unwell()).toEqual([deployment])
  fail(attempt(), limited(60_000))
  pass(60_000)
  fail(attempt(), limited(1000))
  expect(cooldowns.unwell()).toEqual([deployment])
  pass(60_000)
  cooldowns.completed(deployment, attempt())
  expect(cooldowns.unwell()).toEqual([])
})

test('refused keys and missing models make it cool down at once', () => {
  for (const kind of ['upstream-credentials', 'upstream-model-missing'] as const) {
    const { attempt, fail, is } = started()
    fail(attempt(), new GatewayError(kind, 'no'))
    expect(is()).toBe('cooling')
  }
})

test('a success ends the count', () => {
  const { cooldowns, begun, attempt, fail } = started()
  for (let at = 0; at < 5; at++) {
    fail()
    fail()
    cooldowns.began(deployment, attempt())
  }
  expect(begun).toEqual([])
})

test('where answers are cut only a complete answer is a success', () => {
  const { cooldowns, attempt, fail, is, pass } = started()
  for (let at = 0; at < 3; at++) {
    const stream = attempt()
    cooldowns.began(deployment, stream)
    fail(stream, broken, true)
  }
  expect(is()).toBe('cooling')
  pass(5000)
  const probe = attempt()
  cooldowns.began(deployment, probe)
  expect(is()).toBe('cooling')
  cooldowns.completed(deployment, probe)
  expect(is()).toBe('healthy')
})

test('without a cooldown time nothing cools down', () => {
  const { cooldowns, attempt, is } = started()
  for (let at = 0; at < 9; at++)
    cooldowns.failed(deployment, attempt(), { error: broken, settings: { ...settings, cooldownMs: 0 } })
  expect(is()).toBe('healthy')
})

test('the long answer of a probe keeps the others away for no longer than the cooldown was', () => {
  const { cooldowns, begun, attempt, fail, is, pass } = started()
  for (let at = 0; at < 3; at++) fail(attempt(), broken, true)
  pass(5000)
  const long = attempt()
  pass(100_000)
  expect(is()).toBe('cooling')
  cooldowns.began(deployment, long)
  pass(4999)
  expect(is()).toBe('cooling')
  pass(1)
  expect(is()).toBe('half-open')
  const next = attempt()
  expect(is()).toBe('cooling')
  pass(60_000)
  expect(is()).toBe('cooling')
  fail(long, broken, true)
  expect([is(), begun.at(-1)!.cooldownMs]).toEqual(['cooling', 10_000])
  cooldowns.completed(deployment, next)
  expect(is()).toBe('healthy')
})

test('failures of a kind with a count of its own cool down at that count, also those that do so at once otherwise', () => {
  const policy = { ...settings, allowedFailsPolicy: { RateLimitError: 3, InternalServerError: 1 } }
  const { cooldowns, attempt, is } = started()
  const fail = (error: GatewayError) => cooldowns.failed(deployment, attempt(), { error, settings: policy })
  fail(limited())
  fail(limited())
  expect(is()).toBe('healthy')
  fail(limited())
  expect(is()).toBe('rate-limited')
  const other = started()
  other.cooldowns.failed(deployment, other.attempt(), { error: broken, settings: policy })
  expect(other.is()).toBe('cooling')
})

test('a deployment may have a cooldown of its own length', () => {
  const { cooldowns, attempt } = started()
  const patient = { ...deployment, cooldownMs: 20_000 }
  cooldowns.failed(patient, attempt(), { error: limited(), settings })
  expect(cooldowns.remainingMs(patient)).toBe(20_000)
})

test("a request's fault counts no longer, ends the cooldown that it began, and is forgiven ten times at most", () => {
  const { cooldowns, attempt, fail, is, pass } = started()
  fail()
  fail()
  const last = attempt()
  fail(last)
  expect(is()).toBe('cooling')
  expect([cooldowns.forgive(deployment, last), is()]).toEqual([true, 'healthy'])
  pass(1)
  fail()
  expect(is()).toBe('cooling')
  const other = started()
  for (let at = 0; at < 10; at++) expect(other.cooldowns.forgive(deployment, other.attempt())).toBe(true)
  expect(other.cooldowns.forgive(deployment, other.attempt())).toBe(false)
  other.cooldowns.completed(deployment, other.attempt())
  expect(other.cooldowns.forgive(deployment, other.attempt())).toBe(true)
})

test('cooldowns that hold are told with what remains of them, and no others', () => {
  const { cooldowns, attempt, fail, pass } = started()
  fail()
  expect(cooldowns.held()).toEqual([])
  fail(attempt(), limited(5000))
  pass(1000)
  expect(cooldowns.held()).toEqual([{ deploymentId: 'd-1', model: 'm', remainingMs: 4000 }])
  pass(4000)
  expect([cooldowns.held(), cooldowns.remainingMs(deployment)]).toEqual([[], 0])
})

test('a failure within a cooldown lengthens it only where the provider asks for more', () => {
  const { cooldowns, attempt, fail } = started()
  fail(attempt(), limited(5000))
  fail(attempt(), limited(3000))
  expect(cooldowns.remainingMs(deployment)).toBe(5000)
  fail(attempt(), limited(9000))
  expect(cooldowns.remainingMs(deployment)).toBe(9000)
  fail(attempt(), new GatewayError('upstream-failed', 'no', { retryAfterMs: 20_000 }))
  expect(cooldowns.remainingMs(deployment)).toBe(9000)
  fail(attempt(), limited(600_000))
  expect(cooldowns.remainingMs(deployment)).toBe(60_000)
})

test('a refusal is counted as a bad request only with the status 400', () => {
  const counts = { BadRequestError: 4, ContentPolicyViolationError: 5 }
  expect(countFor(new GatewayError('upstream-refused', 'no'), counts)).toBe(4)
  expect(countFor(new GatewayError('upstream-refused', 'no', { status: 404 }), counts)).toBeUndefined()
  expect(countFor(new GatewayError('content-policy', 'no', { status: 403 }), counts)).toBe(5)
  expect(countFor(new GatewayError('upstream-broken', 'no'), counts)).toBeUndefined()
  expect(countFor(new GatewayError('upstream-refused', 'no'), undefined)).toBeUndefined()
})

test('a failed attempt that is forgiven counts one less, and its probe makes room for the next', () => {
  const { cooldowns, begun, attempt, fail, is, pass } = started()
  fail()
  fail()
  cooldowns.forgive(deployment, attempt())
  fail()
  expect(is()).toBe('healthy')
  fail()
  expect([is(), begun.length]).toEqual(['cooling', 1])
  pass(5000)
  const probe = attempt()
  expect(is()).toBe('cooling')
  cooldowns.forgive(deployment, probe)
  expect(is()).toBe('half-open')
})

test('what is forgiven without a failure before takes nothing from those that follow', () => {
  const { cooldowns, attempt, fail, is } = started()
  cooldowns.forgive(deployment, attempt())
  fail()
  const last = attempt()
  fail(last)
  cooldowns.forgive(deployment, last)
  fail()
  expect(is()).toBe('healthy')
  fail()
  expect(is()).toBe('cooling')
  const one = started()
  one.fail()
  one.cooldowns.forgive(deployment, one.attempt())
  one.fail()
  one.fail()
  expect(one.is()).toBe('healthy')
})
