/** Whose sums are shown where there are too many to read all of them. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { openLedgerDatabase } from '../ledger-database.ts'
import type { LedgerDatabase } from '../ledger-database.ts'
import { makePlace, rankDay } from '../ledger-fixture.ts'
import type { LedgerPlace } from '../ledger-fixture.ts'
import { deleteOldSums } from '../ledger-retention.ts'
import { rollupColumns, sumNames } from './rollup-table.ts'
import { topSpendersOf } from './rollup-top.ts'
import { rebuildTotals, refillStatements } from './rollup-totals.ts'

const today = 20_000
const noon = (today + 0.5) * 86_400_000
const [keys, models] = [250, 100]

describe.each([
  ['SQLite', undefined],
  ...(process.env.TEST_DATABASE_URL ? [['Postgres', process.env.TEST_DATABASE_URL] as const] : []),
] as const)('%s', (_, url) => {
  let place: LedgerPlace
  let database: LedgerDatabase
  /** One sum for each key and model; `cost` in SQL of the key's number `k`. */
  const addDay = async (day: number, cost: string, ofKeys = keys) => {
    const values: Record<string, string> = {
      scope: "'key'",
      day: String(day),
      entity: "'key-' || k",
      key_id: "'key-' || k",
    }
    for (const name of sumNames) values[name] = '0'
    values.cost_nano_usd = cost
    values.model = "'model-' || m"
    const numbers = (name: string, to: number) =>
      `${name}(${name}) as (select 0 union all select ${name} + 1 from ${name} where ${name} < ${to - 1})`
    await database.change([
      {
        text: `insert into ledger_daily (${rollupColumns.join(', ')})
          with recursive ${numbers('k', ofKeys)}, ${numbers('m', models)}
          select ${rollupColumns.map(name => values[name] ?? "''").join(', ')} from k, m`,
        values: [],
      },
      {
        text: `insert into ledger_daily (${rollupColumns.join(', ')}) values (${rollupColumns
          .map(name =>
            name === 'scope'
              ? "'total'"
              : name === 'day'
                ? String(day)
                : sumNames.some(one => one === name)
                  ? '0'
                  : "''",
          )
          .join(', ')})`,
        values: [],
      },
    ])
  }
  const asked = { scope: 'key', field: 'key_id', firstDay: today - 30, lastDay: today } as const

  beforeAll(async () => {
    place = await makePlace(url)
    database = await openLedgerDatabase(place.databaseUrl)
  })
  afterAll(async () => {
    await database.close()
    await place.remove()
  })

  test('few sums are all read, and a day of few is not ranked', async () => {
    await addDay(today - 5, 'k', 3)
    const small = new Set<number>()
    expect(await rankDay(database, noon, small)).toBe(false)
    expect([...small]).toEqual([today - 5])
    expect(await topSpendersOf(database, asked)).toBeNull()
  })

  test('of very many sums those of the dearest of all days are chosen, as many as are read quickly', async () => {
    await addDay(today - 1, 'k')
    await addDay(today, 'case when k = 7 then 1000000 else k end')
    const small = new Set<number>()
    // Nothing is ranked yet, and no totals are there: everything is read.
    expect(await topSpendersOf(database, asked)).toBeNull()
    for (const day of [today - 1, today]) await database.change(refillStatements(day))
    await rebuildTotals(database)
    // Until then those of all kept days.
    expect((await topSpendersOf(database, asked))!.keys!.slice(0, 2)).toEqual(['key-7', 'key-249'])
    expect(await rankDay(database, noon, small)).toBe(true)
    expect(await rankDay(database, noon, small)).toBe(true)
    expect(await rankDay(database, noon, small)).toBe(false)
    const chosen = (await topSpendersOf(database, asked))!
    expect(chosen.entities).toEqual([])
    expect(chosen.keys!.slice(0, 3)).toEqual(['key-7', 'key-249', 'key-248'])
    // 100 or 200 sums each, of 2,000.
    expect(chosen.keys!.length).toBeGreaterThanOrEqual(10)
    expect(chosen.keys!.length).toBeLessThanOrEqual(20)
    expect(await topSpendersOf(database, { ...asked, firstDay: today - 5, lastDay: today - 5 })).toBeNull()
  })

  test('one that alone has more sums than are read is shown with few of its keys', async () => {
    await database.change([{ text: "update ledger_daily set team_id = 'all' where scope = 'key'", values: [] }])
    const top = "insert into ledger_daily_top values ('key', 'team_id', $1, 'all', 1)"
    await database.change([{ text: top, values: [today - 1] }])
    expect(await topSpendersOf(database, { ...asked, field: 'team_id' })).toEqual({
      entities: ['all'],
      keys: expect.any(Array),
    })
  })

  test('a day that can still change is ranked again after ten minutes, an older one is not', async () => {
    const small = new Set<number>()
    expect(await rankDay(database, noon + 599_000, small)).toBe(false)
    expect(await rankDay(database, noon + 601_000, small)).toBe(true)
    expect(await rankDay(database, noon + 601_000, small)).toBe(true)
    expect(await rankDay(database, noon + 601_000, small)).toBe(false)
    expect(await rankDay(database, noon + 7 * 86_400_000, small)).toBe(false)
  })

  test('the choice goes with the sums it is of', async () => {
    while (await deleteOldSums(database, { firstDay: today, rows: 50_000 }));
    const days = await database.select({ text: 'select distinct day from ledger_daily_top', values: [] })
    expect(days.map(row => Number(row.day))).toEqual([today])
  })
})
