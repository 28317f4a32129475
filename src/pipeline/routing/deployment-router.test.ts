/** Which deployments a call tries, one after another, and what it fails with. */
import { afterEach, beforeEach, describe, expect, spyOn, test } from 'bun:test'
import type { Call, FallbackModel } from '../../core/call.ts'
import type { Deployment } from '../../core/deployment.ts'
import { GatewayError } from '../../core/errors.ts'
import { noOverrides } from '../../core/overrides.ts'
import type { Policy } from '../../core/policy.ts'
import type { Transport, UpstreamResponse } from '../../core/transport.ts'
import { JsonBody } from '../../lib/json/json-body.ts'
import { TimerWheel } from '../../lib/timer-wheel.ts'
import { callPolicies } from '../admission/admission.ts'
import { CallControl } from '../call-control.ts'
import { Router } from './deployment-router.ts'
import { deployment, speechCall } from '../../../tests/support/routing-fixture.ts'

let slept: number[] = []
let sleeping: { mockRestore(): void }
const clock = { nowMs: 1_000_000, epochMs: () => clock.nowMs, monotonicMs: () => clock.nowMs }
beforeEach(() => {
  slept = []
  sleeping = spyOn(Bun, 'sleep').mockImplementation(async ms => {
    slept.push(ms as number)
    clock.nowMs += ms as number
  })
})
afterEach(() => sleeping.mockRestore())

/** What an upstream answers: a status, with words for a failure. */
type Answer = number | { readonly status: number; readonly error: object; readonly headers?: Record<string, string> }

const tooLong: Answer = { status: 400, error: { code: 'context_length_exceeded', message: 'too long' } }
const filtered: Answer = { status: 400, error: { code: 'content_filter', message: 'flagged' } }
const limited: Answer = { status: 429, error: { message: 'slow down' }, headers: { 'retry-after': '7' } }
const said = (message: string): Answer => ({ status: 500, error: { message } })

interface Given {
  readonly settings?: object
  readonly policy?: Partial<Policy>
  readonly random?: number
  readonly take?: () => unknown
}

/** `answers`: by deployment, in the order of the requests; the last one stays. */
function rig(answers: Record<string, Answer | readonly Answer[]>, { settings, policy, random = 0, take }: Given = {}) {
  const asked: string[] = []
  const counts: Record<string, number> = {}
  const passedOn: string[] = []
  const blocked = new Set<string>()
  const ended: [string, string | undefined][] = []
  let current: Call
  const transport: Transport = {
    send() {
      const { id } = current.attempt!.deployment!
      const all = [answers[id] ?? 200].flat() as Answer[]
      const before = counts[id] ?? 0
      counts[id] = before + 1
      asked.push(id)
      return { response: Promise.resolve(responseOf(all[Math.min(before, all.length - 1)]!)), sent: true, cancel() {} }
    },
    connections: () => ({ busy: 0, idle: 0 }),
    close() {},
  }
  const router = new Router({
    transport,
    credentials: {} as never,
    timers: new TimerWheel(clock, 50),
    clock,
    limiter: { take: take ?? (() => ({ allowed: true, release() {}, keep() {} })) } as never,
    random: () => random,
    policies: callPolicies(policy ? [policy as Policy] : []),
    isBlocked: id => blocked.has(id),
    countFallback: (from, to) => void passedOn.push(`${from}>${to}`),
    countAttempt: ({ id }, error) => void ended.push([id, error]),
  })
  const call = async (candidates: readonly Deployment[], more: Partial<Call> = {}) => {
    const record = speechCall(
      clock,
      { retries: 0, attemptsMax: 6, allowedFails: 3, cooldownMs: 5000, fallbacks: {}, ...settings },
      candidates,
    )
    Object.assign(record, more)
    current = record
    asked.length = 0
    const result = await new Promise<unknown>(resolve =>
      router.run(new CallControl(record, () => {}), { answered: resolve, failed: resolve }),
    )
    const error = result instanceof GatewayError ? result : undefined
    const { progress } = record
    return { asked: asked.join(' '), error, kind: error?.kind, progress }
  }
  return { call, router, passedOn, blocked, ended }
}

function responseOf(answer: Answer): UpstreamResponse {
  const { status, error = {}, headers = {} } = typeof answer === 'number' ? { status: answer } : answer
  const bytes = status < 300 ? '{}' : JSON.stringify({ error })
  const body = { bytes: async () => Buffer.from(bytes), pipe() {}, pause() {}, resume() {} }
  const all: Record<string, string> = { 'content-type': 'application/json', ...headers }
  return { status, header: (name: string) => all[name], body } as unknown as UpstreamResponse
}

const spoken = JsonBody.read(Buffer.from('{"model":"m","input":"hello","voice":"v"}'))
/** The call names a file of its upstream. */
const files = { localIds: new Map(), bodyFor: () => spoken }
const [a, b, c] = ['a', 'b', 'c'].map(id => deployment(id)) as [Deployment, Deployment, Deployment]
const model = (name: string, ...deployments: Deployment[]): FallbackModel => ({ name, deployments })
const alone = (id: string, more: Partial<Deployment> = {}) => deployment(id, { modelName: id, ...more })

describe('retries', () => {
  test('are as many as the settings or the client say, at the deployments that have not failed first', async () => {
    const settings = { retries: 2 }
    expect(await rig({}, { settings }).call([a, b])).toMatchObject({
      asked: 'a',
      kind: undefined,
      progress: { retries: 0 },
    })
    expect(await rig({ a: 500 }, { settings }).call([a, b])).toMatchObject({ asked: 'a b', progress: { retries: 1 } })
    const failing = { a: 500, b: 503, c: 502 }
    expect(await rig(failing, { settings }).call([a, b, c])).toMatchObject({ asked: 'a b c', kind: 'upstream-broken' })
    expect(await rig(failing).call([a, b, c])).toMatchObject({ asked: 'a', kind: 'upstream-failed' })
    const overrides = { ...noOverrides, retries: 1 }
    expect(await rig(failing, { settings }).call([a, b, c], { overrides })).toMatchObject({ asked: 'a b' })
  })

  test('are none for what would fail anywhere', async () => {
    const settings = { retries: 3 }
    expect(await rig({ a: 400 }, { settings }).call([a, b])).toMatchObject({ asked: 'a', kind: 'upstream-refused' })
  })

  test('at a deployment that has failed wait longer each time, and only for what passes', async () => {
    const settings = { retries: 3, allowedFails: 9 }
    const done = await rig({ a: [500, 503, 500, 200] }, { settings, random: 0.5 }).call([a])
    expect(done).toMatchObject({ asked: 'a a a a', kind: undefined, progress: { retries: 3, waitedMs: 900 } })
    expect(slept).toEqual([200, 300, 400])
    expect(await rig({ a: 502 }, { settings }).call([a])).toMatchObject({ asked: 'a', kind: 'upstream-broken' })
    expect(await rig({ a: [limited, 200] }, { settings }).call([a])).toMatchObject({ asked: 'a' })
  })

  test('by kind of error are what the policy grants, also of what is not tried again otherwise', async () => {
    const settings = { retries: 0, allowedFails: 9, retryPolicy: { BadRequestError: 1, InternalServerError: 0 } }
    expect(await rig({ a: 400 }, { settings }).call([a])).toMatchObject({ asked: 'a a', kind: 'upstream-refused' })
    const more = { ...settings, retries: 5 }
    expect(await rig({ a: 500 }, { settings: more }).call([a, b])).toMatchObject({ asked: 'a' })
    const own = { ...settings, retryPolicies: { m: { BadRequestError: 2 } } }
    expect(await rig({ a: 400 }, { settings: own }).call([a])).toMatchObject({ asked: 'a a a' })
    const other = { ...settings, retryPolicies: { x: { BadRequestError: 2 } } }
    expect(await rig({ a: 400 }, { settings: other }).call([a])).toMatchObject({ asked: 'a a' })
  })

  test('that a policy grants at a deployment in cooldown wait for its end', async () => {
    const settings = { retryPolicy: { RateLimitError: 1 } }
    expect(await rig({ a: [limited, 200] }, { settings }).call([a])).toMatchObject({ asked: 'a a', kind: undefined })
    expect(slept).toEqual([7100])
  })

  test('end with the bound of requests for one call, and leave one for each model that has not been tried', async () => {
    const settings = { retries: 9, attemptsMax: 3, allowedFails: 9 }
    expect(await rig({ a: 500 }, { settings }).call([a])).toMatchObject({ asked: 'a a a' })
    const failing = { a: 500, x: 500 }
    const fallbacksInOrder = [model('x', alone('x'))]
    expect(await rig(failing, { settings }).call([a], { fallbacksInOrder })).toMatchObject({ asked: 'a a x' })
  })

  test('end where the limits of the caller have no room', async () => {
    const settings = { retries: 9, allowedFails: 9 }
    let left = 1
    const policy = { admitAttempt: () => left-- > 0 }
    expect(await rig({ a: 500 }, { settings, policy }).call([a])).toMatchObject({
      asked: 'a a',
      progress: { retries: 1 },
    })
  })

  test('end when two deployments have said the same of the request', async () => {
    const settings = { retries: 9 }
    const words = 'this picture has no pixels'
    const { call, router } = rig({ a: said(words), b: said(words) }, { settings })
    const { asked, error } = await call([a, b, c])
    expect([asked, error!.isRequests]).toEqual(['a b', true])
    expect(router.coolingDown()).toEqual([])
    const vague = 'an internal error has happened'
    expect(await rig({ a: said(vague), b: said(vague) }, { settings }).call([a, b, c])).toMatchObject({
      asked: 'a b c',
    })
  })
})

describe('fallbacks', () => {
  test('are tried in order after a failure that another model may not have', async () => {
    const { call, passedOn } = rig({ a: 500, x: 500 })
    const fallbacksInOrder = [model('x', alone('x')), model('y', alone('y')), model('z', alone('z'))]
    const { asked, progress, kind } = await call([a], { fallbacksInOrder })
    expect([asked, kind, progress.fallbacks, progress.model]).toEqual(['a x y', undefined, 2, 'y'])
    expect(passedOn).toEqual(['m>x', 'x>y'])
    expect(await rig({ a: 400 }).call([a], { fallbacksInOrder })).toMatchObject({
      asked: 'a',
      kind: 'upstream-refused',
    })
  })

  test('for what is too long or filtered are those of that kind alone', async () => {
    const more = {
      fallbacksInOrder: [model('x', alone('x'))],
      contextWindowFallbacks: [model('y', alone('y'))],
      contentPolicyFallbacks: [model('z', alone('z'))],
    }
    expect(await rig({ a: tooLong }).call([a], more)).toMatchObject({ asked: 'a y', kind: undefined })
    expect(await rig({ a: filtered }).call([a], more)).toMatchObject({ asked: 'a z', kind: undefined })
    expect(await rig({ a: 500, x: tooLong, y: filtered }).call([a], more)).toMatchObject({ asked: 'a x y z' })
    expect(await rig({ a: tooLong, y: tooLong }).call([a], more)).toMatchObject({
      asked: 'a y',
      kind: 'context-too-long',
    })
  })

  test('without a deployment, or without room in limits of their model, are passed over', async () => {
    const fallbacksInOrder = [model('w'), model('x', alone('x')), model('y', alone('y'))]
    const refusal = new GatewayError('budget-exceeded', 'x has none left')
    const refuses = (...names: string[]) => ({
      admitModel: async (_: Call, name: string) => (names.includes(name) ? refusal : undefined),
    })
    expect(await rig({ a: 500 }, { policy: refuses('x') }).call([a], { fallbacksInOrder })).toMatchObject({
      asked: 'a y',
      progress: { fallbacks: 1 },
    })
    expect((await rig({ a: 500 }, { policy: refuses('x', 'y') }).call([a], { fallbacksInOrder })).error).toBe(refusal)
    const tried = await rig({ a: 500, x: 502 }, { policy: refuses('y') }).call([a], { fallbacksInOrder })
    expect([tried.asked, tried.kind]).toEqual(['a x', 'upstream-broken'])
    const larger = { contextWindowFallbacks: [model('x', alone('x'))] }
    expect(await rig({ a: tooLong }, { policy: refuses('x') }).call([a], larger)).toMatchObject({
      kind: 'context-too-long',
    })
  })

  test('that cannot be given the files of the call are passed over', async () => {
    const fallbacksInOrder = [model('x', alone('x')), model('y', alone('y'))]
    const among = async (group: readonly Deployment[], name: string) => {
      if (name === 'x') throw new Error('not there')
      return group
    }
    const namedFiles = { ...files, among } as never
    expect(await rig({ a: 500 }).call([a], { fallbacksInOrder, namedFiles })).toMatchObject({ asked: 'a y' })
  })

  test('end with the bound of requests, and where the caller has no room', async () => {
    const fallbacksInOrder = [model('x', alone('x')), model('y', alone('y'))]
    const failing = { a: 500, x: 502, y: 503 }
    const settings = { attemptsMax: 2 }
    expect(await rig(failing, { settings }).call([a], { fallbacksInOrder })).toMatchObject({
      asked: 'a x',
      kind: 'upstream-broken',
    })
    const policy = { admitAttempt: () => false }
    expect(await rig(failing, { policy }).call([a], { fallbacksInOrder })).toMatchObject({
      asked: 'a',
      kind: 'upstream-failed',
    })
  })
})

describe('while all deployments of a model cool down', () => {
  const cold = async (given: Record<string, Answer | readonly Answer[]>, more: Given = {}) => {
    const made = rig(given, { ...more, settings: { allowedFails: 1, ...more.settings } })
    await made.call([a])
    expect(made.router.coolingDown()).toEqual([a])
    return made
  }

  test('a call goes to its fallback at once, and without one to them all the same', async () => {
    const { call } = await cold({ a: [500, 200] })
    const fallbacksInOrder = [model('x', alone('x'))]
    expect(await call([a], { fallbacksInOrder })).toMatchObject({ asked: 'x', progress: { fallbacks: 1 } })
    expect(await call([a])).toMatchObject({ asked: 'a', kind: undefined })
  })

  test('a call whose fallbacks fail tries them in the end', async () => {
    const { call } = await cold({ a: [500, 200], x: 500 })
    const fallbacksInOrder = [model('x', alone('x'))]
    expect(await call([a], { fallbacksInOrder })).toMatchObject({
      asked: 'x a',
      kind: undefined,
      progress: { model: '' },
    })
    const refused = await cold({ a: [500, 200], x: 400 })
    expect(await refused.call([a], { fallbacksInOrder })).toMatchObject({ asked: 'x', kind: 'upstream-refused' })
    const full = await cold({ a: [500, 200], x: 500 }, { policy: { admitAttempt: () => false } })
    expect(await full.call([a], { fallbacksInOrder })).toMatchObject({ asked: 'x', kind: 'upstream-failed' })
  })

  test('and their provider asked for a wait, calls are refused with it', async () => {
    const { call } = await cold({ a: limited })
    const { asked, error } = await call([a])
    expect([asked, error!.kind, error!.retryAfterMs]).toEqual(['', 'upstream-rate-limited', 7000])
    expect(error!.message).toBe("every deployment of 'm' is rate limited by its provider; try again later")
    const fallbacksInOrder = [model('x', alone('x'))]
    expect(await rig({}).call([a], { fallbacksInOrder })).toMatchObject({ asked: 'a' })
  })
})

describe('deployments that may not be tried', () => {
  test('are those that an administrator has blocked; where all are, the call says so', async () => {
    const { call, blocked } = rig({})
    blocked.add('a')
    expect(await call([a, b])).toMatchObject({ asked: 'b' })
    blocked.add('b')
    expect(await call([a, b])).toMatchObject({ asked: '', kind: 'model-blocked' })
    expect(await call([a])).toMatchObject({ asked: '', kind: 'model-blocked' })
  })

  test('are drained ones, but for calls that name them or a file of theirs', async () => {
    const drained = deployment('a', { weight: 0 })
    const { call } = rig({})
    expect(await call([drained, b])).toMatchObject({ asked: 'b' })
    const refused = await call([drained])
    expect([refused.kind, refused.asked]).toEqual(['upstream-overloaded', ''])
    expect(refused.error!.message).toContain('is drained')
    expect(await call([drained], { model: 'a' })).toMatchObject({ asked: 'a' })
    expect(await call([drained], { namedFiles: files as never })).toMatchObject({ asked: 'a' })
  })

  test('are those at their own limits, until these have room', async () => {
    const rateLimits = { requestsPerMinute: 1, tokensPerMinute: null }
    const full = { allowed: false, kind: 'requests', retryAfterMs: 3000, scope: 'x', state: {} }
    const { call } = rig({}, { take: () => full })
    const own = deployment('a', { rateLimits })
    expect(await call([own, b])).toMatchObject({ asked: 'b', progress: { attempts: 1, retries: 0 } })
    const { error, asked } = await call([own])
    expect([asked, error!.kind, error!.retryAfterMs]).toEqual(['', 'upstream-rate-limited', 3000])
    expect(error!.message).toContain('is at its limit of requests or tokens a minute')
    clock.nowMs += 2500
    expect((await call([own])).error!.retryAfterMs).toBe(1000)
  })

  test('are passed over where they cannot take the request, which counts as no attempt', async () => {
    const strange = deployment('a', {
      mode: 'chat',
      target: { ...a.target, provider: { name: 'p', speaks: {} } as never },
    })
    const { call, ended } = rig({})
    expect(await call([strange, b])).toMatchObject({ asked: 'b', progress: { attempts: 1, retries: 0 } })
    expect(ended).toHaveLength(2)
    expect((await call([strange])).asked).toBe('')
  })
})

test('every attempt is counted with its end, and a failure is noted of its deployment', async () => {
  const { call, ended, router } = rig({ a: 500 }, { settings: { retries: 1 } })
  await call([a, b])
  expect(ended).toEqual([
    ['a', 'upstream-failed'],
    ['b', undefined],
  ])
  expect(router.upstreams.noteOf('a')?.failure).toMatchObject({ kind: 'upstream-failed' })
  expect(router.upstreams.noteOf('b')?.failure).toBeNull()
})

test('a timeout that the client has set says nothing about the deployment', async () => {
  const overrides = { ...noOverrides, timeoutMs: 5 }
  const failing = { a: { status: 408, error: { message: 'late' } } }
  const { call, router } = rig(failing, { settings: { allowedFails: 1 } })
  expect(await call([a], { overrides })).toMatchObject({ asked: 'a', kind: 'upstream-timeout' })
  expect([router.coolingDown(), router.upstreams.noteOf('a')?.failure]).toEqual([[], null])
  await call([a])
  expect(router.coolingDown()).toEqual([a])
  const other = rig({ a: 500 }, { settings: { allowedFails: 1 } })
  await other.call([a], { overrides })
  expect(other.router.coolingDown()).toEqual([a])
})

test('the failures that two deployments share are forgiven both', async () => {
  const words = 'this picture has no pixels'
  const settings = { retries: 9, allowedFails: 1 }
  const { call, router } = rig({ a: said(words), b: said(words) }, { settings })
  await call([a, b])
  expect(router.coolingDown()).toEqual([])
})

test('a retry after a cooldown waits for no longer than a minute and a second', async () => {
  const settings = { retryPolicy: { RateLimitError: 1 } }
  const hour: Answer = { status: 429, error: { message: 'slow down' }, headers: { 'retry-after': '3600' } }
  expect(await rig({ a: [hour, 200] }, { settings }).call([a])).toMatchObject({ asked: 'a a', kind: undefined })
  expect(slept).toEqual([60_100])
  expect(await rig({ a: [hour, 200] }, { settings, random: 4.5 }).call([a])).toMatchObject({ asked: 'a a' })
  expect(slept).toEqual([60_100, 61_000])
  expect(await rig({ a: [hour, 200] }, { settings, random: 4.6 }).call([a])).toMatchObject({ asked: 'a' })
})

test('a call that has failed once is no probe where another deployment is healthy', async () => {
  const settings = { retries: 1, allowedFails: 1, cooldownMs: 1000 }
  const { call, router } = rig({ a: [500, 200], b: 500 }, { settings })
  await call([a], { overrides: { ...noOverrides, retries: 0 } })
  clock.nowMs += 1000
  expect(router.coolingDown()).toEqual([])
  expect((await call([b, a, c])).asked).toBe('b c')
  expect((await call([a])).asked).toBe('a')
})

test('a call is told when its first byte came, waits included', async () => {
  const { call } = rig({ a: [500, 200] }, { settings: { retries: 1, allowedFails: 9 } })
  expect((await call([a])).progress).toMatchObject({ firstByteMs: 100, waitedMs: 100 })
})

test('a deployment that has become full meanwhile is passed over, without a retry', async () => {
  const rateLimits = { requestsPerMinute: 1, tokensPerMinute: null }
  const full = { allowed: false, kind: 'requests', retryAfterMs: 3000, scope: 'x', state: {} }
  const { call } = rig({ a: 500 }, { take: () => full, settings: { retries: 1, allowedFails: 9 } })
  const own = deployment('b', { rateLimits })
  expect(await call([a, own, c])).toMatchObject({ asked: 'a c', kind: undefined, progress: { attempts: 2 } })
})
