/** Deletes bodies that are too old, or too many: days as a whole on Postgres, small steps elsewhere. */
import type { Database } from '../database/open.ts'
import { toNumber } from '../database/open.ts'
import { dropOldestDay } from './day-partitions.ts'

/** Of a step: some milliseconds of the write lock of SQLite. */
const stepRows = 20
const pauseMs = 3

/** Deletes every day before `firstDay`. */
export async function deleteOldDays({ kind, sql }: Database, firstDay: number): Promise<void> {
  if (kind === 'postgres') {
    while (await dropOldestDay(sql, firstDay));
    return
  }
  for (;;) {
    const deleted = (await sql`
      delete from call_bodies where rowid in (select rowid from call_bodies where day < ${firstDay} limit ${stepRows})
      returning 1 as deleted`) as unknown[]
    if (deleted.length < stepRows) return
    await Bun.sleep(pauseMs)
  }
}

/** Deletes the oldest until all together have at most `bytesMax`, as their contents say. */
export async function deleteBeyond(database: Database, bytesMax: number): Promise<void> {
  const { kind, sql } = database
  const days = (await sql`select day, sum(bytes) as bytes from call_bodies group by day order by day`) as {
    day: unknown
    bytes: unknown
  }[]
  let bytes = days.reduce((sum, one) => sum + toNumber(one.bytes), 0)
  const newest = toNumber(days.at(-1)?.day ?? 0)
  for (const one of days) {
    if (bytes <= bytesMax) return
    const day = toNumber(one.day)
    if (kind === 'postgres' && day < newest) {
      await deleteOldDays(database, day + 1)
      bytes -= toNumber(one.bytes)
    } else bytes = await deleteOldestOf(database, { day, bytes, bytesMax })
  }
}

/** In steps, within one day; resolves with what is left of all. */
async function deleteOldestOf(
  { sql }: Database,
  { day, bytes, bytesMax }: { readonly day: number; readonly bytes: number; readonly bytesMax: number },
): Promise<number> {
  let left = bytes
  while (left > bytesMax) {
    const deleted = (await sql`
      delete from call_bodies where day = ${day} and request_id in
        (select request_id from call_bodies where day = ${day} order by request_id limit ${stepRows})
      returning bytes`) as { bytes: unknown }[]
    if (deleted.length === 0) return left
    for (const one of deleted) left -= toNumber(one.bytes)
    await Bun.sleep(pauseMs)
  }
  return left
}
