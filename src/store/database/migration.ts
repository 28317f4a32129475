import type { SQL } from 'bun'
import type { Database } from './open.ts'

/**
 * One step, by a number that grows. `up` runs in the transaction of `migrate`, on SQLite and on Postgres. A step that
 * was released never changes: databases out there have it behind them.
 */
export interface Migration {
  readonly id: number
  readonly name: string
  /** The columns of the ledger with this number (`since`) come with it. */
  readonly bringsColumns?: true
  up(sql: SQL, kind: Database['kind']): Promise<void>
}
