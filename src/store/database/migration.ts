import type { SQL } from 'bun'
import type { Database } from './open.ts'

/**
 * One step, by a number that grows. `up` runs in the transaction of `migrate`, on SQLite and on Postgres. A step that
 * was released never changes: databases out there have it behind them. It only adds (tables, columns that may be null
 * or have a default, indexes that are not unique), because replicas of the version before go on writing while it runs
 * and after it; `additive-steps.test.ts` reads its statements.
 */
export interface Migration {
  readonly id: number
  readonly name: string
  /** The columns of the ledger with this number (`since`) come with it. */
  readonly bringsColumns?: true
  /** Programs that do not know this step cannot use the database any more: there is no way back behind it. */
  readonly isBreaking?: true
  up(sql: SQL, kind: Database['kind']): Promise<void>
}
