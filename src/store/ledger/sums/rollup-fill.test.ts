/** Days from before there were sums by entity, or with rows of a program of before, are filled in steps. */
import { afterEach, describe, expect, test } from 'bun:test'
import { migrate } from '../../database/migrate.ts'
import { openDatabase } from '../../database/open.ts'
import { openLedgerDatabase } from '../ledger-database.ts'
import type { LedgerDatabase } from '../ledger-database.ts'
import { exampleRow, makePlace } from '../ledger-fixture.ts'
import { deleteOldSums } from '../ledger-retention.ts'
import { decodeRecord, encodeSettlement } from '../journal/ledger-record.ts'
import { rebuildRollup, rollupDifferences } from './rollup-check.ts'
import { derivedTables } from './rollup-derived.ts'
import { areTotalsFilled, fillStep, isFilled, noteMissed } from './rollup-fill.ts'
import { fillTotalsStep, totalsDifferences } from './rollup-totals.ts'
import { narrowSums, readUsage, usageStatement } from './usage-query.ts'
import { dayMs } from '../../../lib/clock.ts'

const cleanups: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})

const today = 20_000
const span = { firstDay: today - 3, lastDay: today }

const rows = Array.from({ length: 90 }, (_, at) => {
  const record = decodeRecord(
    encodeSettlement(
      exampleRow({
        started_at_ms: (today - (at % 4)) * dayMs + at,
        key_id: `key-${at % 7}`,
        user_id: at % 5 === 0 ? null : `user-${at % 5}`,
        team_id: at % 3 === 0 ? null : `team-${at % 3}`,
        organization_id: at % 2 === 0 ? null : 'organization',
        end_user: at % 4 === 0 ? null : `customer-${at % 4}`,
        request_tags: at % 6 === 0 ? null : [`tag-${at % 2}`, 'every'],
        model: `model-${at % 2}`,
        cost_nano_usd: at % 8 === 0 ? null : String(at * 1000),
      }),
    ),
  )
  if (record?.kind !== 'settlement') throw new Error('a row is no settlement')
  return record.values
})

const run = (database: LedgerDatabase, ...texts: string[]) => database.change(texts.map(text => ({ text, values: [] })))

async function fillAll(database: LedgerDatabase): Promise<number> {
  let steps = 0
  while (await fillStep(database)) steps++
  return steps
}

async function differences(database: LedgerDatabase): Promise<object[]> {
  const found = []
  for (let day = span.firstDay; day <= span.lastDay; day++) found.push(...(await rollupDifferences(database, day)))
  return [...found, ...(await totalsDifferences(database))]
}

async function fillTotals(database: LedgerDatabase): Promise<void> {
  while (await fillTotalsStep(database));
}

const partCount = derivedTables.flatMap(table => table.scopes).length

describe.each([
  ['SQLite', undefined],
  ...(process.env.TEST_DATABASE_URL ? [['Postgres', process.env.TEST_DATABASE_URL] as const] : []),
] as const)('%s', (_, url) => {
  const place = async () => {
    const made = await makePlace(url)
    cleanups.push(() => made.remove())
    return made.databaseUrl
  }
  const opened = async (databaseUrl: string) => {
    const database = await openLedgerDatabase(databaseUrl)
    cleanups.push(() => database.close())
    return database
  }

  test('days from before the step are filled from the daily sums, part by part, the newest first', async () => {
    const databaseUrl = await place()
    const before = await openLedgerDatabase(databaseUrl)
    await before.insert(rows)
    await run(
      before,
      ...[
        'ledger_daily_spend',
        'ledger_daily_calls',
        'ledger_daily_top_keys',
        'ledger_daily_unfilled',
        'ledger_totals',
        'ledger_totals_unfilled',
      ].map(name => `drop table ${name}`),
      'delete from migrations where id in (65, 90, 91)',
    )
    await before.close()
    const migrated = await openDatabase(databaseUrl)
    await migrate(migrated)
    await migrated.close()
    const database = await opened(databaseUrl)
    expect(await isFilled(database, span)).toBe(false)
    // New rows count once, before their day is filled and after.
    await database.insert([rows[0]!.with(0, 'new-1')])
    for (let step = 0; step < partCount; step++) expect(await fillStep(database)).toBe(true)
    expect(await isFilled(database, { firstDay: today, lastDay: today })).toBe(true)
    expect(await isFilled(database, span)).toBe(false)
    await database.insert([rows[0]!.with(0, 'new-2')])
    expect(await fillAll(database)).toBe(3 * partCount)
    expect(await isFilled(database, span)).toBe(true)
    expect(await areTotalsFilled(database)).toBe(false)
    await database.insert([rows[0]!.with(0, 'new-3')])
    await fillTotals(database)
    await database.insert([rows[0]!.with(0, 'new-4')])
    expect(await areTotalsFilled(database)).toBe(true)
    expect(await differences(database)).toEqual([])
  })

  test('rows of a program of before are found, and are in reports at once', async () => {
    const database = await opened(await place())
    await database.insert(rows)
    await fillTotals(database)
    expect(await isFilled(database, span)).toBe(true)
    expect(await noteMissed(database)).toBe(false)
    // As that program stores a row of today: its sums, and what was spent alone.
    await run(
      database,
      ...["'total'", "'key'"].map(
        scope => `update ledger_daily set requests = requests + 1 where scope = ${scope} and day = ${today}
          and model = 'model-0' ${scope === "'key'" ? "and entity = 'key-0'" : ''}`,
      ),
    )
    expect(await isFilled(database, span)).toBe(false)
    expect(await isFilled(database, { ...span, lastDay: today - 1 })).toBe(true)
    expect(await noteMissed(database)).toBe(true)
    expect(await fillAll(database)).toBe(partCount)
    expect(await areTotalsFilled(database)).toBe(false)
    await fillTotals(database)
    expect(await areTotalsFilled(database)).toBe(true)
    expect(await totalsDifferences(database)).toEqual([])
    expect(await isFilled(database, span)).toBe(true)
    expect(await noteMissed(database)).toBe(false)
  })

  test('totals follow when days are made anew or deleted', async () => {
    const database = await opened(await place())
    await database.insert(rows)
    await fillTotals(database)
    expect(await totalsDifferences(database)).toEqual([])
    await run(database, `update ledger set cost_nano_usd = 7 where started_at_ms < ${(today - 2) * dayMs}`)
    await rebuildRollup(database, today - 3)
    expect(await totalsDifferences(database)).toEqual([])
    while (await deleteOldSums(database, { firstDay: today - 1, rows: 5 }))
      expect(await areTotalsFilled(database)).toBe(true)
    expect(await totalsDifferences(database)).toEqual([])
    while (await deleteOldSums(database, { firstDay: today + 1, rows: 500 }));
    expect(await database.select({ text: 'select * from ledger_totals', values: [] })).toEqual([])
  })

  test('totals of days that a program of before has deleted are made anew', async () => {
    const database = await opened(await place())
    await database.insert(rows)
    await fillTotals(database)
    expect(await noteMissed(database)).toBe(false)
    await run(
      database,
      ...['ledger_daily', 'ledger_daily_spend'].map(name => `delete from ${name} where day < ${today}`),
    )
    expect(await noteMissed(database)).toBe(true)
    expect(await areTotalsFilled(database)).toBe(false)
    await fillTotals(database)
    expect(await totalsDifferences(database)).toEqual([])
    expect(await noteMissed(database)).toBe(false)
  })

  test('a report is the same from the sums by entity as from the daily sums', async () => {
    const database = await opened(await place())
    await database.insert(rows)
    const all = { firstDay: 0, lastDay: 100_000_000 }
    const called = ['day', 'model', 'provider', 'upstream_model', 'route'] as const
    const queries = [
      { scope: 'key', groups: ['day'], where: { team_id: ['team-1', 'team-2'] } },
      { scope: 'key', groups: ['day', 'team_id'], where: { team_id: ['team-1', 'team-2', 'none'] } },
      { scope: 'key', groups: called, where: { team_id: ['team-1'], model: ['model-1'] } },
      { scope: 'key', groups: called, where: { organization_id: ['organization'] } },
      { scope: 'key', groups: ['user_id'], where: { user_id: ['user-1', 'user-2'] } },
      { scope: 'tag', groups: called, where: { entity: ['every'] } },
      { scope: 'tag', groups: ['entity'] },
      { scope: 'tag', groups: called },
      { scope: 'customer', groups: called },
      { scope: 'total', groups: ['day'] },
      { scope: 'total', groups: [], ...all },
      { scope: 'key', groups: ['key_id'], ...all },
      { scope: 'key', groups: ['user_id'], ...all, where: { user_id: ['user-1', 'user-2'] } },
      { scope: 'tag', groups: ['entity'], ...all },
      { scope: 'customer', groups: ['entity'], ...all },
    ] as const
    for (const part of queries) {
      const query = { ...span, order: 'cost' as const, limit: 1000, ...part }
      const narrow = narrowSums(query)!
      const read = async (statement: ReturnType<typeof usageStatement>) => readUsage(await database.select(statement))
      const expected = await read(usageStatement(query))
      expect(expected.length).toBeGreaterThan(0)
      expect([part, await read(usageStatement(query, narrow))]).toEqual([part, expected])
    }
    expect(narrowSums({ ...span, scope: 'key', groups: ['day', 'key_id'], order: 'day', limit: 1 })).toBeUndefined()
  })
})
