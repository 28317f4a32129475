/** Sessions stay where their last turn was served, within what the router would choose anyway. */
import { expect, test } from 'bun:test'
import type { RunningCall, SessionAffinity } from '../../core/call.ts'
import { bareKey } from '../../core/caller.ts'
import type { Deployment } from '../../core/deployment.ts'
import type { SessionPin, SharedPins } from '../../core/session-pins.ts'
import { SessionPins } from './session-pins.ts'

const deployment = (id: string, more: Partial<Deployment> = {}): Deployment =>
  ({ id, modelName: 'm', weight: 1, order: 0, ...more }) as Deployment
const [a, b, c] = ['a', 'b', 'c'].map(id => deployment(id)) as [Deployment, Deployment, Deployment]
const level = [a, b]
const ttlMs = 3_600_000

interface Said {
  readonly session?: string | null
  readonly traceparent?: string
  readonly team?: string
  readonly operation?: string
  readonly affinityMs?: number
}

function callOf({ session = 's', traceparent, team, operation = 'chat', ...said }: Said = {}): RunningCall {
  return {
    operation,
    sessionId: session,
    body: undefined,
    headers: new Headers(traceparent === undefined ? {} : { traceparent }),
    caller: { key: { ...bareKey, id: 'k', teamId: team ?? null } },
    models: { settings: { router: { affinityMs: 'affinityMs' in said ? said.affinityMs : ttlMs } } },
    affinity: undefined,
  } as unknown as RunningCall
}

function rig(shared?: SharedPins) {
  const clock = { nowMs: 10_000_000, monotonicMs: () => clock.nowMs }
  const pins = new SessionPins(clock, shared)
  const affinity = (call: RunningCall, homeId = ''): SessionAffinity => {
    const found = pins.affinityOf(call)!
    found.homeId = homeId
    return found
  }
  /** A turn of the session that `to` serves. */
  const turn = (to: Deployment, said: Said = {}, homeId = '') => {
    const call = callOf(said)
    affinity(call, homeId)
    pins.served(call, to)
  }
  const at = (said: Said = {}, among = level) => pins.pinned(affinity(callOf(said)), among)?.id
  return { clock, pins, affinity, turn, at }
}

test('a session stays at the deployment that served its last turn, and moves once', () => {
  const { turn, at } = rig()
  expect(at()).toBeUndefined()
  turn(a)
  expect([at(), at(), at({ session: 'other' })]).toEqual(['a', 'a', undefined])
  turn(b)
  expect([at(), at()]).toEqual(['b', 'b'])
  expect(at({}, [a, c])).toBeUndefined()
})

test('a pin lives for its time after the last turn', () => {
  const { clock, turn, at } = rig()
  turn(a)
  clock.nowMs += ttlMs
  expect(at()).toBe('a')
  turn(a)
  clock.nowMs += ttlMs
  expect(at()).toBe('a')
  clock.nowMs += 1
  expect(at()).toBeUndefined()
})

test('sessions of other teams, and of other models, are others', () => {
  const { turn, at } = rig()
  turn(a, { team: 'one' })
  expect([at({ team: 'one' }), at({ team: 'two' })]).toEqual(['a', undefined])
  expect(at({ team: 'one' }, [deployment('a', { modelName: 'n' })])).toBeUndefined()
})

test('calls that are no chats, that name a trace alone, or with affinity off are of no session', () => {
  const { pins } = rig()
  const trace = '4bf92f3577b34da6a3ce929d0e0e4736'
  const traced = { session: trace, traceparent: `00-${trace}-00f067aa0ba902b7-01` }
  for (const said of [{ operation: 'embeddings' }, traced, { session: null }, { affinityMs: undefined }])
    expect(pins.affinityOf(callOf(said))).toBeUndefined()
  expect(pins.affinityOf(callOf({ operation: 'completions' }))).toBeDefined()
})

test('the hash says the same everywhere, shares by weight, and moves none but those of a lost deployment', () => {
  const { pins, affinity } = rig()
  const other = rig()
  const three = [deployment('a', { weight: 2 }), b, c]
  const homes = Array.from({ length: 4000 }, (_, at) => {
    const said = { session: `s${at}` }
    const home = pins.byHash(affinity(callOf(said)), three).id
    expect(other.pins.byHash(other.affinity(callOf(said)), [...three].reverse()).id).toBe(home)
    const without = pins.byHash(affinity(callOf(said)), three.slice(0, 2)).id
    if (home !== 'c') expect(without).toBe(home)
    return home
  })
  const share = (id: string) => homes.filter(one => one === id).length / homes.length
  expect(share('a')).toBeWithin(0.47, 0.53)
  expect(share('b')).toBeWithin(0.22, 0.28)
  expect(share('c')).toBeWithin(0.22, 0.28)
})

test('replicas are told of a session that is not where the hash says, once and then now and again', () => {
  const told: [string, number][] = []
  const { clock, turn } = rig({ put: (_, id, ms) => void told.push([id, ms]), follow() {} })
  turn(a, {}, 'a')
  turn(a, {}, 'a')
  expect(told).toEqual([])
  turn(b, {}, 'a')
  turn(b, {}, 'a')
  expect(told).toEqual([['b', ttlMs]])
  clock.nowMs += ttlMs / 2
  turn(b, {}, 'a')
  expect(told).toEqual([
    ['b', ttlMs],
    ['b', ttlMs],
  ])
  turn(a, {}, 'a')
  expect(told.at(-1)).toEqual(['a', ttlMs])
})

test('what another replica tells counts, unless it is older than what is known', () => {
  let hear: (pin: SessionPin) => void = () => {}
  let key = 0
  const { clock, turn, at } = rig({ put: one => void (key = one), follow: listener => void (hear = listener) })
  turn(b, {}, 'a')
  clock.nowMs += 1000
  hear({ key, deploymentId: 'a', ageMs: 2000 })
  expect(at()).toBe('b')
  hear({ key, deploymentId: 'a', ageMs: 500 })
  expect(at()).toBe('a')
})
