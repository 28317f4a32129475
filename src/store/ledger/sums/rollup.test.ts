/** The daily sums equal the rows, in any split into batches, with rows stored twice or refused. */
import { afterEach, describe, expect, test } from 'bun:test'
import type { LedgerRow } from '../../../core/ledger/ledger-columns.ts'
import { openLedgerDatabase } from '../ledger-database.ts'
import type { LedgerDatabase } from '../ledger-database.ts'
import { exampleRow, makePlace } from '../ledger-fixture.ts'
import { readRow } from '../reads/ledger-query.ts'
import { decodeRecord, encodeSettlement } from '../journal/ledger-record.ts'
import type { ColumnValue } from '../journal/ledger-record.ts'
import { dayOf, daysWithin, rebuildRollup, rollupDifferences } from './rollup-check.ts'
import { foldSums } from './fold-sums.ts'
import { dayMs } from '../../../lib/clock.ts'

const cleanups: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})

const servers = [
  { name: 'SQLite', url: undefined },
  ...(process.env.TEST_DATABASE_URL ? [{ name: 'Postgres', url: process.env.TEST_DATABASE_URL }] : []),
]

async function open(url: string | undefined): Promise<LedgerDatabase> {
  const place = await makePlace(url)
  cleanups.push(() => place.remove())
  const database = await openLedgerDatabase(place.databaseUrl)
  cleanups.push(() => database.close())
  return database
}

/** As the journal gives it to the database. */
function stored(row: LedgerRow): readonly ColumnValue[] {
  const record = decodeRecord(encodeSettlement(row))
  if (record?.kind !== 'settlement') throw new Error('not a settlement')
  return record.values
}

/** Numbers from 0 to 1, always the same for a seed (mulberry32). */
function randomOf(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

const firstDay = 20_000
const days = 3

function randomRow(random: () => number): LedgerRow {
  const one = <T>(...choices: T[]): T => choices[Math.floor(random() * choices.length)]!
  const user = one(null, 'ann', "o'hara", '\u00e9mile "q" \\n')
  return exampleRow({
    started_at_ms: firstDay * dayMs + Math.floor(random() * days * dayMs),
    outcome: one('success', 'success', 'error', 'client_closed'),
    model: one('small', 'large', 'a\tb'),
    deployment_id: one(null, 'd1', 'd2'),
    provider: one(null, 'openai'),
    key_id: one('key-1', 'key-2', 'key-3'),
    user_id: user,
    team_id: one(null, 'team-1'),
    organization_id: one(null, 'org-1'),
    end_user: one(null, 'customer', ''),
    client_name: one(null, 'curl'),
    request_tags: one(null, ['a'], ['a', 'b,"c"'], ['\u2028', '\\']),
    input_tokens: one(null, 0, 12, 987_654_321_012),
    output_tokens: one(null, 7),
    cached_input_tokens: one(null, 5),
    cost_nano_usd: one(null, '0', '123456789', '900719925474099'),
    attempts: one(0, 1, 3),
  })
}

/** Sums by key and day, counted from the rows in another way than the database and the program count them. */
function byKeyAndDay(rows: readonly LedgerRow[]): Record<string, string> {
  const groups = Map.groupBy(rows, row => `${row.key_id} ${dayOf(row.started_at_ms)}`)
  return Object.fromEntries(
    [...groups].map(([group, members]) => {
      const total = (of: (row: LedgerRow) => bigint) => members.reduce((sum, row) => sum + of(row), 0n)
      const cost = total(row => BigInt(row.cost_nano_usd ?? 0))
      return [group, `${members.length} ${total(row => BigInt(row.input_tokens ?? 0))} ${cost}`]
    }),
  )
}

async function sumsByKeyAndDay(database: LedgerDatabase, scope: string): Promise<Record<string, string>> {
  const rows = await database.select({
    text: `select key_id, day, cast(sum(requests) as text) as requests, cast(sum(input_tokens) as text) as input,
      cast(sum(cost_nano_usd) as text) as cost from ledger_daily where scope = $1 group by key_id, day`,
    values: [scope],
  })
  return Object.fromEntries(rows.map(row => [`${row.key_id} ${row.day}`, `${row.requests} ${row.input} ${row.cost}`]))
}

/** Nano-dollars of all, users, teams and tags by day, counted from the rows. */
function spentInRows(rows: readonly LedgerRow[]): Record<string, string> {
  const spent: Record<string, bigint> = {}
  for (const row of rows) {
    const entities = [
      ['all', ''],
      ['user', row.user_id],
      ['team', row.team_id],
      ...(row.request_tags ?? []).map(tag => ['tag', tag]),
    ]
    for (const [scope, entity] of entities) {
      const name = `${scope} ${entity} ${dayOf(row.started_at_ms)}`
      if (entity != null) spent[name] = (spent[name] ?? 0n) + BigInt(row.cost_nano_usd ?? 0)
    }
  }
  return Object.fromEntries(Object.entries(spent).map(([name, nanoUsd]) => [name, String(nanoUsd)]))
}

async function spentInTable(database: LedgerDatabase): Promise<Record<string, string>> {
  const text = 'select scope, entity, day, cast(cost_nano_usd as text) as cost from ledger_daily_spend'
  const rows = await database.select({ text, values: [] })
  return Object.fromEntries(rows.map(row => [`${row.scope} ${row.entity} ${row.day}`, String(row.cost)]))
}

async function allDifferences(database: LedgerDatabase): Promise<object[]> {
  const found = []
  for (const day of await daysWithin(database, { firstDay: 0, lastDay: 100_000 }))
    found.push(...(await rollupDifferences(database, day)))
  return found
}

for (const { name, url } of servers)
  describe(name, () => {
    for (const seed of [1, 2, 3])
      test(`sums equal the rows after batches of every size, repeated and in any order (seed ${seed})`, async () => {
        const database = await open(url)
        const random = randomOf(seed)
        const rows = Array.from({ length: 400 }, () => randomRow(random))
        for (let at = 0; at < rows.length; ) {
          const size = 1 + Math.floor(random() * 60)
          const batch = rows.slice(Math.max(0, at - Math.floor(random() * 20)), at + size)
          await database.insert(batch.map(stored).toSorted(() => random() - 0.5))
          at += size
        }
        expect(await allDifferences(database)).toEqual([])
        await foldSums(database)
        expect(await allDifferences(database)).toEqual([])
        expect(await sumsByKeyAndDay(database, 'key')).toEqual(byKeyAndDay(rows))
        expect(await spentInTable(database)).toEqual(spentInRows(rows))
      })

    test('a row twice in one batch counts once', async () => {
      const database = await open(url)
      const row = exampleRow()
      await database.insert([stored(row), stored(row)])
      expect(await sumsByKeyAndDay(database, 'key')).toEqual(byKeyAndDay([row]))
    })

    test('rows with impossible counts are all stored, and count as much as one call can have', async () => {
      const database = await open(url)
      const most = { cost_nano_usd: String(2n ** 63n - 1n), input_tokens: Number.MAX_SAFE_INTEGER }
      const rows = Array.from({ length: 5 }, () => exampleRow(most))
      for (const row of rows) await database.insert([stored(row)])
      expect(await allDifferences(database)).toEqual([])
      const counted = rows.map(row => ({ ...row, cost_nano_usd: '1000000000000000', input_tokens: 1e12 }))
      expect(await sumsByKeyAndDay(database, 'key')).toEqual(byKeyAndDay(counted))
    })

    test('sums that were changed by hand are found, and made anew from the rows', async () => {
      const database = await open(url)
      const rows = Array.from({ length: 20 }, (_, at) =>
        exampleRow({ started_at_ms: (firstDay + (at % 2)) * dayMs, request_tags: ['x'], team_id: 'team' }),
      )
      await database.insert(rows.map(stored))
      const change = (text: string) => database.change([{ text, values: [] }])
      expect(await change(`update ledger_daily set requests = requests + 1 where scope = 'tag'`)).toEqual([2])
      await change(`delete from ledger_daily where scope = 'key' and day = ${firstDay}`)
      await change(`update ledger_daily_spend set cost_nano_usd = 7 where scope = 'team' and day = ${firstDay}`)
      expect(await allDifferences(database)).toEqual([
        { day: firstDay, scope: 'key', wrong: 0, missing: 1 },
        { day: firstDay, scope: 'tag', wrong: 1, missing: 1 },
        { day: firstDay, scope: 'team in ledger_daily_spend', wrong: 1, missing: 1 },
        { day: firstDay + 1, scope: 'tag', wrong: 1, missing: 1 },
      ])
      for (const day of [firstDay, firstDay + 1]) await rebuildRollup(database, day)
      expect(await allDifferences(database)).toEqual([])
      expect(await sumsByKeyAndDay(database, 'tag')).toEqual(byKeyAndDay(rows))
      expect(await spentInTable(database)).toEqual(spentInRows(rows))
    })

    test('one row with a time thousands of years away is found without asking for each day between', async () => {
      const database = await open(url)
      const today = Math.floor(Date.now() / dayMs)
      const rows = [today, today + 5, 99_999_999].map(day =>
        exampleRow({ request_id: `at ${day}`, started_at_ms: day * dayMs }),
      )
      await database.insert(rows.map(stored))
      const everything = { firstDay: 0, lastDay: 100_000_000 }
      expect(await daysWithin(database, everything)).toEqual([today, today + 5, 99_999_999])
      expect(await daysWithin(database, { firstDay: today + 1, lastDay: today + 9 })).toEqual([today + 5])
    })

    test('a row whose list was changed by hand is read without it', async () => {
      const database = await open(url)
      await database.insert([stored(exampleRow({ request_id: 'odd', request_tags: ['a'] }))])
      for (const text of ['garbage', '{"a":1}']) {
        await database.change([{ text: 'update ledger set request_tags = $1', values: [text] }])
        const [found] = await database.select({ text: 'select * from ledger', values: [] })
        expect(readRow(found!)).toMatchObject({ request_id: 'odd', request_tags: null })
      }
    })
  })
