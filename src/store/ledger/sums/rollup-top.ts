/**
 * Table `ledger_daily_top`: who spent most on each day (UTC) that has many sums, so that a report of all callers reads
 * the sums of those alone. It chooses, the amounts are always those of `ledger_daily`: a day may be some minutes old
 * here. Kept by the ledger's worker beside storing rows (docs/decisions/0056).
 */
import type { TopSpenders, TopSpendersQuery, UsageField, UsageScope } from '../../../core/ledger/usage-report.ts'
import type { Database } from '../../database/open.ts'
import type { LedgerDatabase, LedgerSource } from '../ledger-database.ts'
import { storableParameter } from '../reads/conditions.ts'
import { totals } from './rollup-derived.ts'
import type { DerivedScope } from './rollup-derived.ts'
import { dayMs } from '../../../lib/clock.ts'

/** Entities that are kept for a day and field. */
const keptMax = 100
/** A day of fewer sums has no rows here. */
const rankedSumsMin = 1000
/** Up to so many sums of a span are simply read. */
const readMax = 10_000
/** Sums of the dearest that are read; no more than a report lists, so that nothing of them is cut. */
const shownSumsMax = 2000
/** How old the choice of a day may be that can still change. */
const changingMs = 600_000

/** Keys of an entity that are kept for a day, and of how many sums the entity has to have on it. */
const keptKeys = 20
const ownedSumsMin = 60
/** Up to so many sums of an entity are read whole; without a choice, so many of the newest say which keys are shown. */
const ownedReadMax = 5000
/** Of a longer span the keys are chosen by its last days. */
const rankedDaysMax = 400

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

/**
 * The table, that of the days that are in it, and `ledger_daily_top_keys`: the keys of one entity that spent most on a
 * day, only of entities with many sums on it.
 */
export function createTopTexts(kind: Database['kind']): string[] {
  const [integer, options] = kind === 'sqlite' ? ['integer', 'strict, without rowid'] : ['bigint', '']
  return [
    `create table ledger_daily_top (scope text not null, field text not null, day integer not null,
      entity text not null, cost_nano_usd ${integer} not null, primary key (scope, field, day, entity)) ${options}`,
    `create table ledger_daily_ranked (day integer primary key, ranked_at_ms ${integer} not null)`,
    `create table ledger_daily_top_keys (scope text not null, entity text not null, day integer not null,
      key_id text not null, cost_nano_usd ${integer} not null, primary key (day, scope, entity, key_id)) ${options}`,
  ]
}

/** Whose keys are chosen, and where its sums by key stand. */
const owners = {
  user: { scope: 'key', column: 'user_id' },
  team: { scope: 'key', column: 'team_id' },
  organization: { scope: 'key', column: 'organization_id' },
  tag: { scope: 'tag', column: 'entity' },
} as const satisfies Readonly<Record<string, { readonly scope: UsageScope; readonly column: UsageField }>>

/** `$1` = the day. */
function topKeysText({ scope, column }: (typeof owners)[keyof typeof owners]): string {
  return `select entity, key_id, cast(cost as text) as cost from (
    select ${column} as entity, key_id, sum(cost_nano_usd) as cost, sum(count(*)) over (partition by ${column}) as sums,
      row_number() over (partition by ${column} order by sum(cost_nano_usd) desc, key_id) as place
    from ledger_daily where scope = '${scope}' and day = $1 and ${column} <> '' group by ${column}, key_id) as ranked
    where place <= ${keptKeys} and sums > ${ownedSumsMin}`
}

/** Stores rows of `[scope, entity, day, key_id, cost]`, given as JSON in `$1`. */
function addTopKeysText(kind: Database['kind']): string {
  const rows =
    kind === 'sqlite'
      ? `select ${[0, 1, 2, 3, 4].map(at => `value ->> ${at}`).join(', ')} from json_each($1)`
      : `select value ->> 0, value ->> 1, (value ->> 2)::integer, value ->> 3, (value ->> 4)::bigint
          from json_array_elements($1::text::json)`
  return `insert into ledger_daily_top_keys ${rows}`
}

/**
 * The newest day that is missing, or is of today or yesterday and too old here; undefined = none is. `small` = days
 * that were found to have few sums, and cannot change.
 */
export async function dayToRank(source: LedgerSource, nowMs: number, small: Set<number>): Promise<number | undefined> {
  const today = Math.floor(nowMs / dayMs)
  const due = await source.select({
    text: `select day from (select distinct day from ledger_daily where scope = 'total') as days
      where not exists (select 1 from ledger_daily_ranked as ranked
        where ranked.day = days.day and (ranked.day < $1 or ranked.ranked_at_ms > $2)) order by day desc`,
    values: [today - 1, nowMs - changingMs],
  })
  for (const day of due.map(row => Number(row.day))) {
    if (small.has(day)) continue
    if ((await countSums(source, { scope: 'key', firstDay: day, lastDay: day }, rankedSumsMin)) >= rankedSumsMin)
      return day
    if (day < today - 1) small.add(day)
  }
  return undefined
}

/** What is chosen for a day: for `ledger_daily_top` and `ledger_daily_top_keys`, without the day. */
export interface DayRanking {
  readonly top: readonly (readonly [scope: string, field: string, entity: string, costNanoUsd: string])[]
  readonly keys: readonly (readonly [owner: string, entity: string, keyId: string, costNanoUsd: string])[]
}

/** Reads all sums of a day: some tenths of a second on SQLite. */
export async function rankingOf(source: LedgerSource, day: number): Promise<DayRanking> {
  const top: [string, string, string, string][] = []
  for (const { scope, field, source: sums } of choices) {
    const order = `order by cost desc, entity limit ${keptMax}`
    const text = `select entity, cast(cost as text) as total from (${sums}) as sums ${order}`
    for (const row of await source.select({ text, values: [day] }))
      top.push([scope, field, String(row.entity), String(row.total)])
  }
  const keys: [string, string, string, string][] = []
  for (const [owner, sums] of Object.entries(owners))
    for (const row of await source.select({ text: topKeysText(sums), values: [day] }))
      keys.push([owner, String(row.entity), String(row.key_id), String(row.cost)])
  return { top, keys }
}

/** Stores what was chosen for a day at a moment, in place of what was. */
export async function storeRanking(
  database: LedgerDatabase,
  { day, nowMs }: { readonly day: number; readonly nowMs: number },
  { top, keys }: DayRanking,
): Promise<void> {
  const placeholders = top.map((_, at) => `(${[1, 2, 3, 4, 5].map(one => `$${5 * at + one}`).join(', ')})`)
  const topValues = top.flatMap(([scope, field, entity, cost]) => [scope, field, day, entity, cost])
  const keyRows = keys.map(([owner, entity, keyId, cost]) => [owner, entity, day, keyId, cost])
  await database.change([
    { text: 'delete from ledger_daily_top where day = $1', values: [day] },
    { text: 'delete from ledger_daily_top_keys where day = $1', values: [day] },
    { text: addTopKeysText(database.kind), values: [JSON.stringify(keyRows)] },
    ...(top.length === 0
      ? []
      : [{ text: `insert into ledger_daily_top values ${placeholders.join(', ')}`, values: topValues }]),
    {
      text: `insert into ledger_daily_ranked values ($1, $2)
        on conflict (day) do update set ranked_at_ms = excluded.ranked_at_ms`,
      values: [day, nowMs],
    },
  ])
}

/**
 * Whose sums a report shows of a span; null = it has so few sums that all of them can be read. Who was never among the
 * dearest of a day is missing also where all days together would be much.
 */
export async function topSpendersOf(database: LedgerSource, query: TopSpendersQuery): Promise<TopSpenders | null> {
  const entities = query.entities?.map(storableParameter)
  if (entities !== undefined) {
    if (entities.length === 0 || (await countOwned(database, query, entities)) < ownedReadMax) return null
    return { entities, keys: await keysOf(database, query, entities) }
  }
  if ((await countSums(database, query, readMax)) < readMax) return null
  const chosen = await topOf(database, query)
  const top = chosen.length > 0 ? chosen : await topOfAllDays(database, query)
  // Neither is there, which is so for moments after an upgrade.
  if (top.length === 0) return null
  if (query.most !== undefined) return { entities: top.slice(0, query.most), keys: null }
  const isOfKeys = query.scope === 'key' && query.field === 'key_id'
  if (ownerOf(query) === undefined) {
    const shown = await asManyAsAreRead(database, query, top, isOfKeys ? 'entity' : query.field)
    return isOfKeys ? { entities: [], keys: shown } : { entities: shown, keys: null }
  }
  // With tags, the sums of one key are scattered over all tags and days: keys are not listed.
  if (query.scope !== 'key') return { entities: top, keys: [] }
  const ofKeys = { ...query, field: 'key_id' } as const
  const keys = chosen.length > 0 ? await topOf(database, ofKeys) : await topOfAllDays(database, ofKeys)
  return { entities: top, keys: await asManyAsAreRead(database, query, keys, 'entity') }
}

/** Among the dearest of the days, by what they spent on those; the dearest first. */
async function topOf(database: LedgerSource, { scope, field, firstDay, lastDay }: TopSpendersQuery): Promise<string[]> {
  const rows = await database.select({
    text: `select entity from ledger_daily_top where scope = $1 and field = $2 and day >= $3 and day <= $4
      group by entity order by sum(cost_nano_usd) desc, entity limit ${keptMax}`,
    values: [scope, field, firstDay, lastDay],
  })
  return rows.map(row => String(row.entity))
}

/** Those that spent most on all kept days, as long as none is chosen for the days of the span. */
async function topOfAllDays(database: LedgerSource, { scope, field }: TopSpendersQuery): Promise<string[]> {
  const total = totalScopes[scope === 'key' ? field : scope]
  if (total === undefined) return []
  const rows = await database.select({
    text: `select entity from ${totals.name} where scope = $1 order by cost_nano_usd desc, entity limit ${keptMax}`,
    values: [total],
  })
  return rows.map(row => String(row.entity))
}

const totalScopes: Readonly<Record<string, DerivedScope | undefined>> = {
  key_id: 'key',
  user_id: 'user',
  team_id: 'team',
  customer: 'customer',
  tag: 'tag',
}

/** The first of them, while they have few sums together. */
async function asManyAsAreRead(
  database: LedgerSource,
  { scope, firstDay, lastDay }: TopSpendersQuery,
  values: readonly string[],
  column: string,
): Promise<string[]> {
  const chosen: string[] = []
  let left = shownSumsMax
  for (let from = 0; from < values.length; from += countedTogether) {
    const some = values.slice(from, from + countedTogether)
    const counts = some.map(
      (_, at) => `select ${at} as at, count(*) as sums from (select 1 from ledger_daily
        where scope = $1 and ${column} = $${at + 4} and day >= $2 and day <= $3 limit ${shownSumsMax + 1}) as counted`,
    )
    const text = counts.join(' union all ')
    const found = await database.select({ text, values: [scope, firstDay, lastDay, ...some] })
    const sumsAt = new Map(found.map(row => [Number(row.at), Number(row.sums)]))
    for (const [at, value] of some.entries()) {
      left -= sumsAt.get(at) ?? 0
      if (left < 0) return chosen
      chosen.push(value)
    }
  }
  return chosen
}

/** Entities in one statement: each is the way to the server and back. */
const countedTogether = 20

type Owner = keyof typeof owners

/** undefined = no keys are chosen for entities of this field. */
const ownerOf = ({ scope, field }: TopSpendersQuery): Owner | undefined =>
  (Object.keys(owners) as Owner[]).find(name => owners[name].scope === scope && owners[name].column === field)

const listText = (first: number, values: readonly unknown[]): string =>
  values.map((_, at) => `$${first + at}`).join(', ')

async function countOwned(
  database: LedgerSource,
  { scope, field, firstDay, lastDay }: TopSpendersQuery,
  entities: readonly string[],
): Promise<number> {
  const [found] = await database.select({
    text: `select count(*) as sums from (select 1 from ledger_daily where scope = $1 and day >= $2 and day <= $3
      and ${field} in (${listText(4, entities)}) limit ${ownedReadMax}) as counted`,
    values: [scope, firstDay, lastDay, ...entities],
  })
  return Number(found!.sums)
}

/** The keys of these entities that spent most. */
async function keysOf(database: LedgerSource, query: TopSpendersQuery, entities: readonly string[]): Promise<string[]> {
  const { scope, field, firstDay, lastDay } = query
  const owner = ownerOf(query)
  // One day a query: with an exact day the further columns of the index are used, too.
  const days = Array.from({ length: Math.min(lastDay - firstDay + 1, rankedDaysMax) }, (_, at) => lastDay - at)
  const chosen =
    owner === undefined
      ? []
      : await database.select({
          text: `select key_id from ledger_daily_top_keys where scope = $1 and day in (${listText(2, days)})
            and entity in (${listText(2 + days.length, entities)}) group by key_id
            order by sum(cost_nano_usd) desc, key_id limit ${keptKeys}`,
          values: [owner, ...days, ...entities],
        })
  const rows =
    chosen.length > 0
      ? chosen
      : await database.select({
          text: `select key_id from (select key_id, cost_nano_usd from ledger_daily where scope = $1 and day >= $2
            and day <= $3 and ${field} in (${listText(4, entities)}) order by day desc limit ${ownedReadMax}) as newest
            group by key_id order by sum(cost_nano_usd) desc, key_id limit ${keptKeys}`,
          values: [scope, firstDay, lastDay, ...entities],
        })
  return rows.map(row => String(row.key_id))
}

/** At most `most`. */
async function countSums(
  database: LedgerSource,
  { scope, firstDay, lastDay }: Pick<TopSpendersQuery, 'scope' | 'firstDay' | 'lastDay'>,
  most: number,
): Promise<number> {
  const [found] = await database.select({
    text: `select count(*) as sums from (select 1 from ledger_daily where scope = $1 and day >= $2 and day <= $3
      limit ${most}) as counted`,
    values: [scope, firstDay, lastDay],
  })
  return Number(found!.sums)
}
