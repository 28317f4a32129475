/** Deletes what the ledger keeps no longer, in steps of so many rows as the caller says. */
import type { LedgerDatabase, LedgerStatement } from './ledger-database.ts'
import { deleteHoursText, foldLatencyText, latencyKey } from './sums/latency-table.ts'
import { derivedTables } from './sums/rollup-derived.ts'
import { lockRows, uncounted } from './sums/rollup-totals.ts'
import { dayMs, hourMs } from '../../lib/clock.ts'

/** Rows of `installation`: days from which on rows, and sums, are complete. */
const marks = { rows: 'ledger_rows_from_day', sums: 'ledger_sums_from_day' } as const

/** What a step deletes. */
export interface DeletedStep {
  /** Since 1970, UTC: everything before this day goes. */
  readonly firstDay: number
  /** Rows of a step. */
  readonly rows: number
  /** Of the ledger's rows; a partition of it on Postgres. */
  readonly table?: string
}

/**
 * Deletes some rows of calls that began before a day. true = there may be more. The day is noted in the same
 * transaction: sums of earlier days cannot be checked or made from rows any more.
 */
export async function deleteOldRows(
  database: LedgerDatabase,
  { firstDay, rows, table = 'ledger' }: DeletedStep,
): Promise<boolean> {
  const old = `select request_id from ${table} where started_at_ms < $1 order by started_at_ms limit ${rows}`
  const statement = { text: `delete from ${table} where request_id in (${old})`, values: [firstDay * dayMs] }
  return deleteStep(database, { mark: marks.rows, firstDay, rows, old, statement })
}

/** The same for sums by day, for those of entities, who spent most, and how long calls took. */
export async function deleteOldSums(database: LedgerDatabase, { firstDay, rows }: DeletedStep): Promise<boolean> {
  const rowAddress = database.kind === 'sqlite' ? 'rowid' : 'ctid'
  const old = `select ${rowAddress} from ledger_daily where day < $1 limit ${rows}`
  const statement = { text: `delete from ledger_daily where ${rowAddress} in (${old})`, values: [firstDay] }
  const before = uncounted('ledger_daily', `${rowAddress} in (${old})`, [firstDay])
  if (await deleteStep(database, { mark: marks.sums, firstDay, rows, old, statement, before })) return true
  const others: readonly { readonly name: string; readonly key: string; readonly condition?: string }[] = [
    ...derivedTables.map(table => ({ name: table.name, key: table.key.join(', ') })),
    { name: 'ledger_daily_top', key: 'scope, field, day, entity' },
    { name: 'ledger_daily_top_keys', key: 'day, scope, entity, key_id' },
    { name: 'ledger_latency', key: latencyKey.join(', '), condition: "unit = 'day' and start < $1" },
  ]
  for (const { name, key, condition = 'day < $1' } of others) {
    const oldOnes = `select ${key} from ${name} where ${condition} limit ${rows}`
    const deletion = { text: `delete from ${name} where (${key}) in (${oldOnes})`, values: [firstDay] }
    const before = uncounted(name, `(${key}) in (${oldOnes})`, [firstDay])
    const step = { mark: marks.sums, firstDay, rows, old: oldOnes, statement: deletion, before }
    if (await deleteStep(database, step)) return true
  }
  return false
}

/** Adds how long calls took before a day, which is kept by hour, to the days of these hours. true = there was some. */
export async function foldLatency(database: LedgerDatabase, firstDay: number): Promise<boolean> {
  const [oldest] = await database.select({
    text: "select min(start) as hour from ledger_latency where unit = 'hour'",
    values: [],
  })
  const hoursPerDay = dayMs / hourMs
  if (oldest?.hour == null || Number(oldest.hour) >= firstDay * hoursPerDay) return false
  // A day at a time: a transaction is short.
  const day = Math.floor(Number(oldest.hour) / hoursPerDay) + 1
  await database.change([foldLatencyText, deleteHoursText].map(text => ({ text, values: [day] })))
  return true
}

interface Step {
  readonly mark: string
  readonly firstDay: number
  readonly rows: number
  readonly old: string
  readonly statement: LedgerStatement
  /** What has to be done with the rows before, while no others are stored. */
  readonly before?: readonly LedgerStatement[]
}

async function deleteStep(database: LedgerDatabase, step: Step): Promise<boolean> {
  const { mark, firstDay, rows, old, statement, before = [] } = step
  // Nothing is locked where there is nothing to do.
  const found = await database.select({
    text: `select 1 as found from (${old}) as old limit 1`,
    values: statement.values,
  })
  if (found.length === 0) return false
  const changed = await database.change([
    ...(before.length > 0 ? lockRows(database) : []),
    ...before,
    statement,
    noteDay(mark, firstDay),
  ])
  return changed.at(-2) === rows
}

const noteDay = (mark: string, day: number): LedgerStatement => ({
  text: `insert into installation (name, value) values ($1, $2) on conflict (name) do update set value = excluded.value
    where cast(installation.value as integer) < cast(excluded.value as integer)`,
  values: [mark, String(day)],
})

/** The first day of which nothing was deleted; 0 = nothing ever was. */
export async function firstWholeDay(database: LedgerDatabase): Promise<number> {
  const rows = await database.select({
    text: 'select value from installation where name in ($1, $2)',
    values: [marks.rows, marks.sums],
  })
  return Math.max(0, ...rows.map(row => Number(row.value)))
}
