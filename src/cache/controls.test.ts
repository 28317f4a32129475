import { expect, test } from 'bun:test'
import type { Call } from '../core/call.ts'
import { noCacheControls } from '../core/cache/cache-settings.ts'
import { lacksVerdict, markHit, ttlOf } from './cache-call.ts'
import { controlsOf } from './controls.ts'

const of = (header?: string, own: object = {}, allowed: string[] = []) =>
  controlsOf({
    overrides: { cache: { ...noCacheControls, ...own } },
    headers: { get: () => header },
    caller: { key: { allowedCacheControls: allowed } },
  } as unknown as Call)

test('the header says what the body may say too', () => {
  expect(of('no-cache')).toMatchObject({ noCache: true, noStore: false })
  expect(of('No-Store')).toMatchObject({ noCache: false, noStore: true })
  expect(of('max-age=5').ageMaxMs).toBe(5000)
  expect(of('max-age=5, s-maxage="7"').ageMaxMs).toBe(7000)
  expect(of('max-age=soon', { ageMaxMs: 3 }).ageMaxMs).toBe(3)
  expect(of('private', { noCache: true, noStore: true })).toMatchObject({
    noCache: true,
    noStore: true,
    ageMaxMs: undefined,
  })
  expect(of()).toEqual(noCacheControls)
})

test('a key may use what it is allowed: the body is refused otherwise, the header is passed over', () => {
  expect(of('no-cache, no-store', {}, ['no-cache'])).toMatchObject({ noCache: true, noStore: false })
  expect(of('max-age=5', {}, ['s-maxage']).ageMaxMs).toBeUndefined()
  expect(of(undefined, { names: ['ttl'] }, ['ttl'])).toMatchObject({ names: ['ttl'] })
  expect(of(undefined, { names: ['ttl'] })).toMatchObject({ names: ['ttl'] })
  expect(() => of(undefined, { names: ['ttl', 'no-cache'] }, ['ttl'])).toThrow(/this key may not set `cache.no-cache`/)
})

test('a hit says so, with its age in whole seconds; a ttl of the call wins; a guardrail without a verdict is told', () => {
  const call = { responseHeaders: {} as Record<string, string>, models: { settings: { headerPrefix: 'x' } } }
  markHit(call as unknown as Call, 1999)
  expect(call.responseHeaders).toEqual({ 'x-cache-hit': 'true', age: '1' })
  const ttl = (ttlMs?: number) => ttlOf({ settings: { ttlMs: 5 }, controls: { ttlMs } } as never)
  expect([ttl(), ttl(7)]).toEqual([5, 7])
  const lacks = (guardrailOutcomes?: object[]) => lacksVerdict({ guardrailOutcomes } as unknown as Call)
  expect([lacks(), lacks([{ isUnanswered: false }]), lacks([{}, { isUnanswered: true }])]).toEqual([false, false, true])
})
