/** The steps that make the schema of the database. A new one is a row of the list at the end (see CONTRIBUTING.md). */
import { baselineStatements } from './baseline/baseline.ts'
import { createPendingTexts } from '../ledger/sums/pending-sums.ts'
import { addToolPermissions } from '../tenancy/tool-permissions.ts'
import type { Database } from './open.ts'

/**
 * One step. Its statements run in the transaction of `migrate`, on SQLite and on Postgres. A step that was released
 * never changes: databases out there have it behind them. It only adds (tables, columns that may be null or have a
 * default, indexes that are not unique; `drop index if exists`), because replicas of the version before go on writing
 * while it runs and after it; `additive-steps.test.ts` reads its statements.
 */
export interface Migration {
  /** One more than that of the step before. */
  readonly id: number
  /** What the step does, in words. */
  readonly name: string
  readonly statements: readonly string[] | ((kind: Database['kind']) => readonly string[])
  /** The columns of the ledger whose `since` is this `id` come before the statements. */
  readonly bringsColumns?: true
  /** Programs that do not know this step cannot use the database any more: there is no way back behind it. */
  readonly isBreaking?: true
}

/** The first step. */
export const baseline: Migration = { id: 1, name: 'baseline', statements: baselineStatements }

/** Of a key. */
const addSessionBudget = 'alter table virtual_keys add column max_budget_per_session_nano_usd text'

/** All steps, but for those that only bring columns of the ledger. */
export const migrations: readonly Migration[] = [
  baseline,
  {
    id: 2,
    name: 'sums of many keys wait, and what of a vendor was used',
    statements: kind => [...createPendingTexts(kind), ...addToolPermissions, addSessionBudget],
    bringsColumns: true,
  },
]
