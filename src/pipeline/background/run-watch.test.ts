/** Runs of a process that has lost the database alone: the others know over Redis that it works on them. */
import { expect, test } from 'bun:test'
import { createRunLeases } from '../../store/objects/run-leases.ts'
import { until } from '../../../tests/support/until.ts'
import { watchRuns } from './run-watch.ts'

const redisUrl = process.env.TEST_REDIS_URL

/** Reads the run every second, by its own clock, until it gives it up. Resolves with the seconds; null = never. */
async function givesUpAfter(isKept: () => Promise<boolean>, secondsMax: number): Promise<number | null> {
  let nowMs = 1_000_000
  const other = watchRuns({
    store: { renew: () => Promise.reject(new Error('works on none')) },
    clock: { epochMs: () => nowMs, monotonicMs: () => nowMs },
    isAlone: () => false,
    answersSinceMs: () => 0,
    leases: { keep: async () => {}, isKept },
  })
  for (let second = 0; second <= secondsMax; second++, nowMs += 1000)
    if (await other.isAbandoned({ id: 'run', updatedAtMs: 7 })) return second
  return null
}

test('a run that its process keeps over Redis is not ended; one that is in neither is, after three seconds', async () => {
  expect(await givesUpAfter(async () => true, 100)).toBe(null)
  expect(await givesUpAfter(async () => false, 100)).toBe(3)
})

test('where Redis cannot be asked a run is ended after half a minute', async () => {
  expect(await givesUpAfter(() => Promise.reject(new Error('away')), 100)).toBe(30)
})

test.each(['refuses', 'hangs'])('a process keeps its runs over Redis while the database %s', async how => {
  const kept: string[] = []
  let renewals = 0
  const renew = () => {
    renewals++
    return how === 'hangs' ? new Promise<never>(() => {}) : Promise.reject(new Error('away'))
  }
  const watch = watchRuns({
    store: { renew },
    clock: { epochMs: Date.now, monotonicMs: () => performance.now() },
    isAlone: () => false,
    answersSinceMs: () => undefined,
    leases: { keep: async ids => void kept.push(...ids), isKept: async () => false },
    renewalMs: 5,
  })
  const held = watch.hold('run')
  held.renew({ expiresAtMs: Infinity, ended: () => kept.push('ended') })
  await until(() => kept.length >= 3, 'it is kept')
  held.release()
  expect(new Set(kept)).toEqual(new Set(['run']))
  expect(renewals > 1).toBe(how === 'refuses')
})

test('while the database answers nothing is kept', async () => {
  let renewals = 0
  const watch = watchRuns({
    store: { renew: async ids => (renewals++, new Map(ids.map(id => [id, 'in_progress']))) },
    clock: { epochMs: Date.now, monotonicMs: () => performance.now() },
    isAlone: () => false,
    answersSinceMs: () => 0,
    leases: { keep: () => expect.unreachable(), isKept: async () => false },
    renewalMs: 5,
  })
  const held = watch.hold('run')
  held.renew({ expiresAtMs: Infinity, ended: () => expect.unreachable() })
  await until(() => renewals >= 3, 'it is renewed')
  held.release()
})

test.skipIf(redisUrl === undefined)('what one process keeps another one sees, in its installation alone', async () => {
  const installation = crypto.randomUUID()
  const [owner, other, foreign] = [installation, installation, 'x'].map(name =>
    createRunLeases({ redisUrl: redisUrl!, installation: name }),
  ) as [ReturnType<typeof createRunLeases>, ReturnType<typeof createRunLeases>, ReturnType<typeof createRunLeases>]
  expect(await other.isKept('run')).toBe(false)
  await owner.keep(['run', 'resp_1 key'])
  expect([await other.isKept('run'), await other.isKept('resp_1 key'), await other.isKept('third')]).toEqual([
    true,
    true,
    false,
  ])
  expect(await foreign.isKept('run')).toBe(false)
  for (const one of [owner, other, foreign]) one.close()
})
