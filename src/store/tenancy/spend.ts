/** What was spent by keys, teams and the like, from the daily sums of the ledger. */
import type { SQL } from 'bun'
import type { SpendKind } from '../../core/tenancy-store.ts'
import { Where } from './where.ts'

/** The condition and the column of each kind in `ledger_daily`. */
const sources: Readonly<Record<SpendKind, readonly [scope: string, column: string]>> = {
  key: ['key', 'key_id'],
  user: ['key', 'user_id'],
  team: ['key', 'team_id'],
  customer: ['customer', 'entity'],
  tag: ['tag', 'entity'],
}

/** Nano-dollars by id, of all calls in the sums; ids without any are missing. */
export async function spentOf(sql: SQL, kind: SpendKind, ids: readonly string[]): Promise<Map<string, bigint>> {
  if (ids.length === 0) return new Map()
  const [scope, column] = sources[kind]
  const where = new Where()
  where.equal('scope', scope)
  where.among(column, [...new Set(ids)])
  const rows = await where.sums(sql, 'ledger_daily', column, 'cost_nano_usd')
  return new Map(rows.map(({ name, total }) => [name, BigInt(total)]))
}
