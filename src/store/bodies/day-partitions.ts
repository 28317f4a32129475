/** Days of `call_bodies` on Postgres: each is a partition, which is made before its first row and dropped whole. */
import type { SQL } from 'bun'
import { sqlState } from '../../lib/error-code.ts'

const table = 'call_bodies'
const nameOf = (day: number): string => `${table}_d${day}`

/** `duplicate_object`, `duplicate_table`, `invalid_object_definition` (it is a partition), `unique_violation` */
const madeByAnother = /^(42710|42P07|42P17|42809|23505)$/

/** Makes the partition of a day if it is missing. Readers and writers of other days do not wait. */
export async function makeDay(sql: SQL, day: number): Promise<void> {
  const name = nameOf(day)
  // Attached, not made as a partition: that would lock all days.
  await sql.unsafe(`create table if not exists ${name} (like ${table} including defaults)`).catch(ignoreMade)
  await sql
    .unsafe(`alter table ${table} attach partition ${name} for values from (${day}) to (${day + 1})`)
    .catch(ignoreMade)
}

function ignoreMade(error: unknown): void {
  if (!madeByAnother.test(sqlState(error))) throw error
}

/** No partition takes the row: `check_violation`. */
export function isMissingDay(error: unknown): boolean {
  return sqlState(error) === '23514'
}

/**
 * Drops the oldest partition whose day is before `firstDay`. false = there is none. It is detached first, which waits
 * for statements that read it and lets all others go on (postgresql.org/docs/current/sql-altertable.html).
 */
export async function dropOldestDay(sql: SQL, firstDay: number): Promise<boolean> {
  const days = await partitionsBefore(sql, firstDay)
  const [oldest] = days
  if (!oldest) return false
  const { name, state } = oldest
  if (state === 'attached') await sql.unsafe(`alter table ${table} detach partition ${name} concurrently`)
  if (state === 'pending') await sql.unsafe(`alter table ${table} detach partition ${name} finalize`)
  await sql.unsafe(`drop table if exists ${name}`)
  return true
}

interface Partition {
  readonly name: string
  readonly day: number
  /** `pending` = its detaching was interrupted; `detached` = its dropping was. */
  readonly state: 'attached' | 'pending' | 'detached'
}

async function partitionsBefore(sql: SQL, firstDay: number): Promise<Partition[]> {
  const rows = (await sql`
    select c.relname as name, i.inhdetachpending as pending
    from pg_class c left join pg_inherits i on i.inhrelid = c.oid
    where c.relkind = 'r' and c.relnamespace = (select relnamespace from pg_class where oid = ${table}::regclass)
      and c.relname ~ ${`^${table}_d[0-9]+$`}`) as { name: string; pending: boolean | null }[]
  return rows
    .map(({ name, pending }): Partition => {
      const state = pending === null ? 'detached' : pending ? 'pending' : 'attached'
      return { name, day: Number(name.slice(table.length + 2)), state }
    })
    .filter(({ day }) => day < firstDay)
    .toSorted((a, b) => a.day - b.day)
}
