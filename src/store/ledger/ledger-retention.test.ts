/** Old rows and sums are deleted step by step, and what is kept stays checked. */
import { afterEach, expect, test } from 'bun:test'
import { dayMs, systemClock } from '../../lib/clock.ts'
import { openLedgerDatabase } from './ledger-database.ts'
import { exampleRow, ledgerRig, record } from './ledger-fixture.ts'
import { LedgerMaintenance, maintenanceIntervalMs } from './ledger-maintenance.ts'
import { deleteOldRows, deleteOldSums, firstWholeDay } from './ledger-retention.ts'
import { openLedger } from './ledger.ts'
import { ThrottledReport } from './throttled-report.ts'
import { dayOf, daysWithin, rollupDifferences } from './sums/rollup-check.ts'
import { until } from '../../../tests/support/until.ts'

const rig = ledgerRig()
afterEach(() => rig.end())

const servers = [
  { name: 'SQLite', url: undefined },
  ...(process.env.TEST_DATABASE_URL ? [{ name: 'Postgres', url: process.env.TEST_DATABASE_URL }] : []),
]
const today = dayOf(systemClock.epochMs())
const everyDay = { firstDay: 0, lastDay: today }

for (const { name, url } of servers) {
  /** `counts[i]` rows on the day `i` days ago. */
  async function ledgerOf(counts: readonly number[]) {
    const place = await rig.place(url)
    const ledger = await rig.open(place)
    for (const [ago, count] of counts.entries())
      for (let at = 0; at < count; at++)
        record(ledger, exampleRow({ started_at_ms: (today - ago) * dayMs + at, key_id: `key-${at}` }))
    await ledger.close()
    const database = await openLedgerDatabase(place.databaseUrl)
    rig.cleanups.push(() => database.close())
    const count = async (table: string) =>
      Number((await database.select({ text: `select count(*) as n from ${table}`, values: [] }))[0]!.n)
    return { place, database, count }
  }

  test(`${name}: rows are deleted in steps, sums stay, and kept days are still checked`, async () => {
    const { database, count } = await ledgerOf([3, 2, 1200])
    const sums = await count('ledger_daily')
    let steps = 0
    while (await deleteOldRows(database, { firstDay: today - 1, rows: 500 })) steps++
    expect(steps).toBe(2)
    expect(await count('ledger')).toBe(5)
    expect(await count('ledger_daily')).toBe(sums)
    expect(await firstWholeDay(database)).toBe(today - 1)
    const days = await daysWithin(database, everyDay)
    expect(days).toEqual([today - 1, today])
    for (const day of days) expect(await rollupDifferences(database, day)).toEqual([])
  })

  test(`${name}: sums are deleted by their own age`, async () => {
    const { database, count } = await ledgerOf([1, 1, 600])
    let steps = 1
    while (await deleteOldSums(database, { firstDay: today - 1, rows: 500 })) steps++
    expect(steps).toBe(2)
    expect(await count('ledger')).toBe(602)
    expect(await count('ledger_daily_spend')).toBe(2 * 3)
    expect(await daysWithin(database, everyDay)).toEqual([today - 1, today])
    expect(await deleteOldSums(database, { firstDay: today - 1, rows: 500 })).toBe(false)
  })

  test(`${name}: a running ledger deletes by the setting, also when it changes`, async () => {
    const { place, count } = await ledgerOf([2, 2, 2, 2])
    let rowsMs: number | null = null
    const ledger = await openLedger({
      databaseUrl: place.databaseUrl,
      journalDirectory: place.journal,
      clock: systemClock,
      retention: () => ({ rowsMs, sumsMs: rowsMs && rowsMs + dayMs }),
    })
    rig.cleanups.push(() => ledger.close())
    await Bun.sleep(1200)
    expect(await count('ledger')).toBe(8)
    rowsMs = dayMs
    await until(async () => (await count('ledger')) === 4)
    const group = { scope: 'total', ...everyDay, groups: ['day'], order: 'day', limit: 10 } as const
    await until(async () => (await ledger.usage(group)).length === 3)
  })

  test(`${name}: a setting that changes during a step counts in the next one, which is due at once`, async () => {
    const { database, count } = await ledgerOf([2, 2, 2])
    let ms = 0
    let isDue = false
    const change = () => maintenance.keep({ rowsMs: dayMs, sumsMs: null })
    const maintenance = new LedgerMaintenance({
      connect: async () => database,
      askForRanking: day => maintenance.ranked(day, undefined),
      nowMs: () => ms,
      // First read behind the setting.
      epochMs() {
        if (isDue) change()
        isDue = false
        return systemClock.epochMs()
      },
      failures: new ThrottledReport({ failing: 'failing', recovered: 'recovered', report: () => {}, nowMs: () => ms }),
    })
    for (; (await maintenance.step()) !== undefined; ms += 1000);
    ms += maintenanceIntervalMs
    isDue = true
    for (let step = 0; step < 3; step++, ms += 1000) await maintenance.step()
    expect(await count('ledger')).toBe(4)
  })

  test(`${name}: old rows are deleted beside calls that never stop`, async () => {
    const { place, count } = await ledgerOf([1, 1, 600])
    const ledger = await openLedger({
      databaseUrl: place.databaseUrl,
      journalDirectory: place.journal,
      clock: systemClock,
      retention: () => ({ rowsMs: dayMs, sumsMs: null }),
    })
    const calls = setInterval(() => record(ledger, exampleRow()), 5)
    rig.cleanups.push(async () => {
      clearInterval(calls)
      await ledger.close()
    })
    const old = `ledger where started_at_ms < ${(today - 1) * dayMs}`
    await until(async () => (await count(old)) === 0)
  })
}
