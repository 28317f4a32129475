/** Sums of the cache by hour: of all replicas, without counting anything twice. */
import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { testServers } from '../database/database-fixture.ts'
import type { TestDatabase } from '../database/database-fixture.ts'
import { openDatabase } from '../database/open.ts'
import type { Database } from '../database/open.ts'
import { countCacheHours } from './cache-hours.ts'
import type { RunningCacheHours } from './cache-hours.ts'
import { hourMs } from '../../lib/clock.ts'

for (const server of testServers('sums of the cache by hour'))
  describe(server.name, () => {
    let place: TestDatabase
    let database: Database
    let nowMs = 1000 * hourMs
    const running: RunningCacheHours[] = []
    beforeEach(async () => {
      place = await server.createMigrated()
      database = await openDatabase(place.url)
      nowMs = 1000 * hourMs
    })
    afterEach(async () => {
      for (const one of running.splice(0)) await one.stop()
      await database.close()
      await place.remove()
    })

    const start = () => {
      const counts = { hits: new Map<'exact' | 'semantic', number>(), misses: 0, savedNanoUsd: 0n }
      const hours = countCacheHours({ database, clock: { epochMs: () => nowMs }, counts: () => counts })
      running.push(hours)
      return { counts, hours }
    }

    test('what two replicas count is one sum for each hour, and asking again adds nothing', async () => {
      const [one, two] = [start(), start()]
      expect(await one.hours.since(0)).toEqual([])
      one.counts.hits.set('exact', 2)
      one.counts.savedNanoUsd = 70n
      two.counts.misses = 3
      await Promise.all([one.hours.since(0), two.hours.since(0), two.hours.since(0)])
      nowMs += hourMs
      one.counts.hits.set('exact', 3).set('semantic', 1)
      one.counts.savedNanoUsd = 2n ** 60n
      await one.hours.since(0)
      expect(await two.hours.since(0)).toEqual([
        { hour: 1000, hits: new Map([['exact', 2]]), misses: 3, savedNanoUsd: 70n },
        {
          hour: 1001,
          hits: new Map([
            ['exact', 1],
            ['semantic', 1],
          ]),
          misses: 0,
          savedNanoUsd: 2n ** 60n - 70n,
        },
      ])
      expect((await two.hours.since(1001)).map(one => one.hour)).toEqual([1001])
    })

    test('the end of a process writes what is left, and sums that are too old go', async () => {
      const first = start()
      first.counts.misses = 1
      await first.hours.stop()
      nowMs += 401 * 24 * hourMs
      const second = start()
      second.counts.misses = 1
      expect((await second.hours.since(0)).map(({ hour, misses }) => [hour, misses])).toEqual([[1000 + 401 * 24, 1]])
    })
  })
