/** How long calls took: counts by hour and day equal the rows, wherever they are kept. */
import { afterEach, describe, expect, test } from 'bun:test'
import { latencyBucketOf } from '../../../core/ledger/latency.ts'
import type { LatencyGroup } from '../../../core/ledger/latency.ts'
import type { LedgerRow } from '../../../core/ledger/ledger-columns.ts'
import { latencyStatement, readLatency } from './latency-query.ts'
import { openLedgerDatabase } from '../ledger-database.ts'
import type { LedgerDatabase } from '../ledger-database.ts'
import { exampleRow, makePlace } from '../ledger-fixture.ts'
import type { LedgerPlace } from '../ledger-fixture.ts'
import { decodeRecord, encodeSettlement } from '../journal/ledger-record.ts'
import { deleteOldSums, foldLatency } from '../ledger-retention.ts'
import { rebuildRollup, rollupDifferences } from './rollup-check.ts'
import { dayMs } from '../../../lib/clock.ts'

const cleanups: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})

const servers = [
  { name: 'SQLite', url: undefined },
  ...(process.env.TEST_DATABASE_URL ? [{ name: 'Postgres', url: process.env.TEST_DATABASE_URL }] : []),
]
const firstDay = 20_000

async function open(url: string | undefined): Promise<{ place: LedgerPlace; database: LedgerDatabase }> {
  const place = await makePlace(url)
  cleanups.push(() => place.remove())
  const database = await openLedgerDatabase(place.databaseUrl)
  cleanups.push(() => database.close())
  return { place, database }
}

async function insert(database: LedgerDatabase, rows: readonly LedgerRow[]): Promise<void> {
  const values = rows.map(row => {
    const record = decodeRecord(encodeSettlement(row))
    if (record?.kind !== 'settlement') throw new Error('not a settlement')
    return record.values
  })
  for (let at = 0; at < values.length; at += 50) await database.insert(values.slice(at, at + 50))
}

/** Calls of three days, of which some do not count. */
const mixedRows = (count: number): LedgerRow[] =>
  Array.from({ length: count }, (_, at) =>
    exampleRow({
      started_at_ms: firstDay * dayMs + Math.floor((at * 3 * dayMs) / count),
      model: `model-${at % 3}`,
      deployment_id: `deployment-${at % 4}`,
      duration_ms: 0.5 + (at % 97) * 41,
      stream: at % 2 === 0,
      first_byte_ms: at % 5 === 0 ? null : 0.5 + (at % 13),
      outcome: at % 7 === 0 ? 'error' : 'success',
      attempts: at % 11 === 0 ? 0 : 1,
      cache_hit_kind: at % 17 === 0 ? 'exact' : null,
    }),
  )

const countsOf = (rows: readonly LedgerRow[]): string[] => {
  const counts = new Map<string, number>()
  const count = (name: string) => counts.set(name, (counts.get(name) ?? 0) + 1)
  for (const row of rows) {
    if (row.outcome !== 'success' || row.attempts === 0 || row.cache_hit_kind !== null) continue
    const place = `${Math.floor(row.started_at_ms / dayMs)} ${row.model} ${row.deployment_id}`
    count(`${place} total ${latencyBucketOf(row.duration_ms)}`)
    if (row.stream && row.first_byte_ms !== null) count(`${place} first_byte ${latencyBucketOf(row.first_byte_ms)}`)
  }
  return [...counts].map(([name, calls]) => `${name}: ${calls}`).toSorted()
}

const shown = (groups: readonly LatencyGroup[]): string[] =>
  groups
    .flatMap(({ start, model, deploymentId, measure, counts }) =>
      counts.flatMap((calls, bucket) =>
        calls === 0 ? [] : [`${start} ${model} ${deploymentId} ${measure} ${bucket}: ${calls}`],
      ),
    )
    .toSorted()

const byDay = async (database: LedgerDatabase) =>
  readLatency(
    await database.select(
      latencyStatement({
        unit: 'day',
        first: firstDay,
        last: firstDay + 2,
        groups: ['start', 'model', 'deployment_id'],
      }),
    ),
  )

for (const { name, url } of servers)
  describe(name, () => {
    test('counts are those of the rows, also after hours were added to their days, and later rows came', async () => {
      const { database } = await open(url)
      const rows = mixedRows(600)
      await insert(database, rows)
      expect(shown(await byDay(database))).toEqual(countsOf(rows))
      const hours = async () => {
        const query = latencyStatement({
          unit: 'hour',
          first: firstDay * 24,
          last: firstDay * 24 + 23,
          groups: ['start'],
        })
        return readLatency(await database.select(query)).filter(one => one.measure === 'total').length
      }
      expect(await hours()).toBe(24)
      let folds = 0
      while (await foldLatency(database, firstDay + 2)) folds++
      expect([folds, await hours()]).toEqual([2, 0])
      expect(shown(await byDay(database))).toEqual(countsOf(rows))
      const later = mixedRows(90)
      await insert(database, later)
      await insert(database, later)
      expect(shown(await byDay(database))).toEqual(countsOf([...rows, ...later]))
      for (const day of [0, 1, 2]) expect(await rollupDifferences(database, firstDay + day)).toEqual([])
    })

    test('counts that were changed by hand are found, and made anew from the rows', async () => {
      const { database } = await open(url)
      const rows = mixedRows(300)
      await insert(database, rows)
      await foldLatency(database, firstDay + 1)
      await database.change([{ text: 'update ledger_latency set b3 = b3 + 1', values: [] }])
      const found = await rollupDifferences(database, firstDay)
      expect(found.map(one => one.scope)).toEqual(['latency'])
      for (const day of [0, 1, 2]) await rebuildRollup(database, firstDay + day)
      for (const day of [0, 1, 2]) expect(await rollupDifferences(database, firstDay + day)).toEqual([])
      expect(shown(await byDay(database))).toEqual(countsOf(rows))
    })

    test('counts are deleted with the sums of their day', async () => {
      const { database } = await open(url)
      await insert(database, mixedRows(100))
      while (await foldLatency(database, firstDay + 3));
      while (await deleteOldSums(database, { firstDay: firstDay + 2, rows: 10 }));
      expect(new Set((await byDay(database)).map(one => one.start))).toEqual(new Set([firstDay + 2]))
    })
  })
