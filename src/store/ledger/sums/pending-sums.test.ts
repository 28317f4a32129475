/** Sums of batches with many keys wait in a table of their own, and are the sums of the rows all the time. */
import { afterEach, describe, expect, test } from 'bun:test'
import { decodeRecord, encodeSettlement } from '../journal/ledger-record.ts'
import { openLedgerDatabase } from '../ledger-database.ts'
import type { LedgerDatabase } from '../ledger-database.ts'
import { exampleRow, intentOf, ledgerRig, makePlace } from '../ledger-fixture.ts'
import { dayMs } from '../../../lib/clock.ts'
import { foldSums } from './fold-sums.ts'
import { rebuildRollup, rollupDifferences } from './rollup-check.ts'
import { rebuildTotals, totalsDifferences } from './rollup-totals.ts'

const rig = ledgerRig()
const cleanups: (() => Promise<unknown>)[] = []
afterEach(async () => {
  await rig.end()
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})

const day = 20_000
const keys = 150

const callOf = (at: number) =>
  exampleRow({
    started_at_ms: day * dayMs + at,
    key_id: `key-${at % keys}`,
    user_id: `user-${at % 40}`,
    team_id: at % 3 === 0 ? null : `team-${at % 5}`,
    organization_id: at % 2 === 0 ? null : 'organization',
    end_user: at % 4 === 0 ? null : `customer-${at % 7}`,
    request_tags: at % 6 === 0 ? null : [`tag-${at % 2}`, 'every'],
    model: `model-${at % 2}`,
    cost_nano_usd: at % 8 === 0 ? null : String(at * 1000),
  })

const batch = (from: number) =>
  Array.from({ length: 300 }, (_, at) => {
    const record = decodeRecord(encodeSettlement(callOf(from + at)))
    if (record?.kind !== 'settlement') throw new Error('a row is no settlement')
    return record.values
  })

async function counted(database: LedgerDatabase): Promise<{ pending: number; moved: number }> {
  const [found] = await database.select({
    text: `select (select count(*) from ledger_pending_sums) as pending,
      (select coalesce(sum(requests), 0) from ledger_daily where scope = 'key') as moved`,
    values: [],
  })
  return { pending: Number(found!.pending), moved: Number(found!.moved) }
}

const differences = async (database: LedgerDatabase) => [
  ...(await rollupDifferences(database, day)),
  ...(await totalsDifferences(database)),
]

describe.each([
  ['SQLite', undefined],
  ...(process.env.TEST_DATABASE_URL ? [['Postgres', process.env.TEST_DATABASE_URL] as const] : []),
] as const)('%s', (_, url) => {
  const opened = async () => {
    const place = await makePlace(url)
    cleanups.push(() => Promise.resolve(place.remove()))
    const open = async () => {
      const database = await openLedgerDatabase(place.databaseUrl)
      cleanups.push(() => database.close())
      return database
    }
    return { database: await open(), open }
  }

  test('a batch of few keys is seen at once, one of many after it was moved; both are right before and after', async () => {
    const { database } = await opened()
    expect(await database.insert(batch(0).slice(0, 2))).toEqual({ hasPendingSums: false })
    expect(await counted(database)).toEqual({ pending: 0, moved: 2 })
    expect(await database.insert(batch(10))).toEqual({ hasPendingSums: true })
    expect(await database.insert(batch(200))).toEqual({ hasPendingSums: true })
    const before = await counted(database)
    expect(before.moved).toBe(2)
    expect(before.pending).toBeGreaterThan(2 * keys)
    expect(await differences(database)).toEqual([])
    await foldSums(database)
    expect(await counted(database)).toEqual({ pending: 0, moved: 602 })
    expect(await differences(database)).toEqual([])
    await foldSums(database)
    expect(await counted(database)).toEqual({ pending: 0, moved: 602 })
  })

  test('a day that is made anew counts no pending sum twice, and the rows of a batch that is sent again none', async () => {
    const { database } = await opened()
    const rows = batch(0)
    await database.insert(rows)
    await rebuildRollup(database, day)
    expect(await counted(database)).toEqual({ pending: 0, moved: 300 })
    await database.insert([...rows, ...batch(5000)])
    await foldSums(database)
    expect(await counted(database)).toEqual({ pending: 0, moved: 600 })
    expect(await differences(database)).toEqual([])
  })

  test('two that move while others store, and totals are made anew, lose nothing and count nothing twice', async () => {
    const { database, open } = await opened()
    const others = [await open(), await open()]
    // SQLite has one writer, which waits for the lock of others only for a while.
    const together = (works: (() => Promise<unknown>)[]) =>
      url
        ? Promise.all(works.map(work => work()))
        : works.reduce((before, work) => before.then(work), Promise.resolve<unknown>(null))
    for (let round = 0; round < 6; round++)
      await together([
        () => database.insert(batch(round * 1000)),
        () => foldSums(others[0]!),
        () => others[0]!.insert(batch(round * 1000 + 300)),
        () => foldSums(others[1]!),
        () => rebuildTotals(others[1]!),
        () => others[1]!.insert(batch(round * 1000 + 600).slice(0, 3)),
      ])
    expect(await differences(database)).toEqual([])
    await foldSums(database)
    expect(await counted(database)).toEqual({ pending: 0, moved: 6 * 603 })
    expect(await differences(database)).toEqual([])
  })

  test('a ledger that is flushed or closed leaves none behind', async () => {
    const place = await rig.place(url)
    const ledger = await rig.open(place)
    for (let at = 0; at < 300; at++) {
      const row = callOf(at)
      ledger.begin(intentOf(row))
      ledger.settle(row)
    }
    expect(await ledger.flush()).toBe(true)
    const database = await openLedgerDatabase(place.databaseUrl)
    cleanups.push(() => database.close())
    expect(await counted(database)).toEqual({ pending: 0, moved: 300 })
    for (let at = 300; at < 600; at++) {
      const row = callOf(at)
      ledger.begin(intentOf(row))
      ledger.settle(row)
    }
    await ledger.close()
    expect(await counted(database)).toEqual({ pending: 0, moved: 600 })
    expect(await differences(database)).toEqual([])
  })
})
