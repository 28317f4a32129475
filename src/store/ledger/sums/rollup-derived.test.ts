/** Sums by entity follow from the daily sums, with every row, with days that are made anew, and with those that are deleted. */
import { afterEach, describe, expect, test } from 'bun:test'
import { columnIndex } from '../../../core/ledger/ledger-columns.ts'
import { openLedgerDatabase } from '../ledger-database.ts'
import type { LedgerDatabase } from '../ledger-database.ts'
import { exampleRow, makePlace } from '../ledger-fixture.ts'
import { deleteOldSums } from '../ledger-retention.ts'
import { decodeRecord, encodeSettlement } from '../journal/ledger-record.ts'
import { foldSums } from './fold-sums.ts'
import { rebuildRollup, rollupDifferences } from './rollup-check.ts'
import { derivedTables, totals } from './rollup-derived.ts'
import { rebuildTotals, totalsDifferences } from './rollup-totals.ts'
import { narrowSums, readUsage, usageStatement } from './usage-query.ts'
import { dayMs } from '../../../lib/clock.ts'

const cleanups: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})

const today = 20_000
const keyAt = columnIndex('key_id')
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

async function differences(database: LedgerDatabase): Promise<object[]> {
  const found = []
  for (let day = span.firstDay; day <= span.lastDay; day++) found.push(...(await rollupDifferences(database, day)))
  return [...found, ...(await totalsDifferences(database))]
}

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

  test('they are made anew from the daily sums, some entities at a time, while rows are stored', async () => {
    const database = await opened(await place())
    // More keys than a step makes.
    const more = Array.from({ length: 450 }, (_, at) => rows[0]!.with(0, `more-${at}`).with(keyAt, `many-${at}`))
    await database.insert([...rows, ...more])
    await foldSums(database)
    expect(await differences(database)).toEqual([])
    await run(database, ...[...derivedTables, totals].map(({ name }) => `delete from ${name}`))
    expect(await differences(database)).not.toEqual([])
    for (let day = span.firstDay; day <= span.lastDay; day++) await rebuildRollup(database, day)
    const rebuilt = rebuildTotals(database)
    await database.insert([rows[0]!.with(0, 'meanwhile')])
    await rebuilt
    await database.insert([rows[0]!.with(0, 'afterwards')])
    expect(await differences(database)).toEqual([])
    const [stored] = await database.select({ text: 'select count(*) as totals from ledger_totals', values: [] })
    expect(Number(stored!.totals)).toBeGreaterThan(450)
  })

  test('totals follow when days are made anew or deleted', async () => {
    const database = await opened(await place())
    await database.insert(rows)
    expect(await totalsDifferences(database)).toEqual([])
    await run(database, `update ledger set cost_nano_usd = 7 where started_at_ms < ${(today - 2) * dayMs}`)
    await rebuildRollup(database, today - 3)
    expect(await totalsDifferences(database)).toEqual([])
    while (await deleteOldSums(database, { firstDay: today - 1, rows: 5 }));
    expect(await totalsDifferences(database)).toEqual([])
    while (await deleteOldSums(database, { firstDay: today + 1, rows: 500 }));
    expect(await database.select({ text: 'select * from ledger_totals', values: [] })).toEqual([])
  })

  test('a report is the same from the sums by entity as from the daily sums', async () => {
    const database = await opened(await place())
    await database.insert(rows)
    await foldSums(database)
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
      expect([part, narrowSums(query)]).not.toEqual([part, null])
      const read = async (statement: ReturnType<typeof usageStatement>) => readUsage(await database.select(statement))
      const expected = await read(usageStatement(query, null))
      expect(expected.length).toBeGreaterThan(0)
      expect([part, await read(usageStatement(query))]).toEqual([part, expected])
    }
    expect(narrowSums({ ...span, scope: 'key', groups: ['day', 'key_id'], order: 'day', limit: 1 })).toBeNull()
  })
})
