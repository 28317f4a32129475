/**
 * Table `ledger_daily_top`: who spent most on each day (UTC) that has many sums, so that a report of everybody reads
 * the sums of those alone. It chooses, the amounts are always those of `ledger_daily`: a day may be some minutes old
 * here. Kept by the ledger's worker beside storing rows (docs/decisions/0056).
 */
import type { DearestQuery, UsageField, UsageScope } from '../../core/usage-report.ts'
import type { Database } from '../database/open.ts'
import type { LedgerDatabase } from './ledger-database.ts'

/** Of a day and field that are kept. */
const keptMax = 100
/** A day of fewer sums has no rows here. */
const rankedSumsMin = 1000
/** Up to so many sums of a span are simply read. */
const readMax = 10_000
/** Sums of the dearest that are read; no more than a report lists, so that nothing of them is cut. */
const shownSumsMax = 2000
/** How old the choice of a day may be that can still change. */
const changingMs = 600_000
const dayMs = 86_400_000

/** By which fields there is a choice, and what is read for it: what teams, users and tags spent is summed already. */
const choices: readonly { readonly scope: UsageScope; readonly field: UsageField; readonly source: string }[] = [
  { scope: 'key', field: 'key_id', source: sumsOf('key', 'entity') },
  { scope: 'key', field: 'user_id', source: spentOf('user') },
  { scope: 'key', field: 'team_id', source: spentOf('team') },
  { scope: 'key', field: 'organization_id', source: sumsOf('key', 'organization_id') },
  { scope: 'customer', field: 'entity', source: sumsOf('customer', 'entity') },
  { scope: 'tag', field: 'entity', source: spentOf('tag') },
]

function sumsOf(scope: UsageScope, column: string): string {
  return `select ${column} as entity, sum(cost_nano_usd) as cost from ledger_daily
    where scope = '${scope}' and day = $1 and ${column} <> '' group by ${column}`
}

function spentOf(scope: 'user' | 'team' | 'tag'): string {
  return `select entity, cost_nano_usd as cost from ledger_daily_spend where scope = '${scope}' and day = $1`
}

/** The table, and that of the days that are in it. */
export function createTopTexts(kind: Database['kind']): string[] {
  const [integer, options] = kind === 'sqlite' ? ['integer', 'strict, without rowid'] : ['bigint', '']
  return [
    `create table ledger_daily_top (scope text not null, field text not null, day integer not null,
      entity text not null, cost_nano_usd ${integer} not null, primary key (scope, field, day, entity)) ${options}`,
    `create table ledger_daily_ranked (day integer primary key, ranked_at_ms ${integer} not null)`,
  ]
}

/**
 * Chooses for one day: the newest that is missing, or is of today or yesterday and too old here. `small` = days that
 * were found to have few sums, and cannot change. false = nothing was to be done.
 */
export async function rankDay(database: LedgerDatabase, nowMs: number, small: Set<number>): Promise<boolean> {
  const today = Math.floor(nowMs / dayMs)
  const due = await database.select({
    text: `select day from (select distinct day from ledger_daily where scope = 'total') as days
      where not exists (select 1 from ledger_daily_ranked as ranked
        where ranked.day = days.day and (ranked.day < $1 or ranked.ranked_at_ms > $2)) order by day desc`,
    values: [today - 1, nowMs - changingMs],
  })
  for (const day of due.map(row => Number(row.day))) {
    if (small.has(day)) continue
    if ((await countSums(database, 'key', day, day, rankedSumsMin)) < rankedSumsMin) {
      if (day < today - 1) small.add(day)
      continue
    }
    await rank(database, day, nowMs)
    return true
  }
  return false
}

async function rank(database: LedgerDatabase, day: number, nowMs: number): Promise<void> {
  // Reads first: on SQLite the write lock is taken for the result alone.
  const found: [string, string, number, string, string][] = []
  for (const { scope, field, source } of choices) {
    const order = `order by cost desc, entity limit ${keptMax}`
    const text = `select entity, cast(cost as text) as total from (${source}) as sums ${order}`
    for (const row of await database.select({ text, values: [day] }))
      found.push([scope, field, day, String(row.entity), String(row.total)])
  }
  const places = found.map((_, at) => `(${[1, 2, 3, 4, 5].map(one => `$${5 * at + one}`).join(', ')})`)
  await database.change([
    { text: 'delete from ledger_daily_top where day = $1', values: [day] },
    ...(found.length === 0
      ? []
      : [{ text: `insert into ledger_daily_top values ${places.join(', ')}`, values: found.flat() }]),
    {
      text: `insert into ledger_daily_ranked values ($1, $2)
        on conflict (day) do update set ranked_at_ms = excluded.ranked_at_ms`,
      values: [day, nowMs],
    },
  ])
}

/**
 * The dearest values of a field in a span, as many as have few sums together, the dearest first; null = the span has so
 * few sums that all of them can be read, or no choice was made yet. Who was never among the dearest of a day is missing
 * also where all days together would be much.
 */
export async function dearestOf(database: LedgerDatabase, query: DearestQuery): Promise<string[] | null> {
  const { scope, field, firstDay, lastDay } = query
  if ((await countSums(database, scope, firstDay, lastDay, readMax)) < readMax) return null
  const column = field === 'key_id' && scope === 'key' ? 'entity' : field
  const top = await database.select({
    text: `select entity from ledger_daily_top where scope = $1 and field = $2 and day >= $3 and day <= $4
      group by entity order by sum(cost_nano_usd) desc, entity limit ${keptMax}`,
    values: [scope, field, firstDay, lastDay],
  })
  if (top.length === 0) return null
  const chosen: string[] = []
  let left = shownSumsMax
  for (const row of top) {
    const entity = String(row.entity)
    const [found] = await database.select({
      text: `select count(*) as sums from (select 1 from ledger_daily
        where scope = $1 and ${column} = $2 and day >= $3 and day <= $4 limit ${shownSumsMax + 1}) as counted`,
      values: [scope, entity, firstDay, lastDay],
    })
    left -= Number(found!.sums)
    if (left < 0) break
    chosen.push(entity)
  }
  return chosen
}

async function countSums(
  database: LedgerDatabase,
  scope: UsageScope,
  firstDay: number,
  lastDay: number,
  most: number,
): Promise<number> {
  const [found] = await database.select({
    text: `select count(*) as sums from (select 1 from ledger_daily where scope = $1 and day >= $2 and day <= $3
      limit ${most}) as counted`,
    values: [scope, firstDay, lastDay],
  })
  return Number(found!.sums)
}
