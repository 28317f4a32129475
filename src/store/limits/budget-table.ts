/** Reads table `budget_spend` for the limits, and notes in `budget_alerts` who notifies the operator. */
import type { SQL } from 'bun'
import { answerInTime, unlessSilent } from '../database/open.ts'
import type { Database } from '../database/open.ts'
import type { BudgetScope, BudgetSpend } from './budget-counters.ts'

/** What of the ledger a first reading waits for. */
export interface StoredLedger {
  /** false = the database does not take rows, or not in time. */
  flush(): Promise<boolean>
  /** Everything that earlier processes left is stored. */
  readonly isReplayed: boolean
}

interface BudgetTableOptions {
  readonly database: Pick<Database, 'sql' | 'isSilent'>
  readonly ledger: StoredLedger
  /** Of this process, see `BudgetSpend`. */
  readonly writer: string
}

const waitMs = 5000
const pollMs = 50

/**
 * Of a first reading the amounts are whole: it waits, 5 s at most, until what this process and earlier ones of its data
 * directory journalled is stored, and rejects where it is not. A reading takes 5 s at most, with this, and rejects at
 * once where the database is known to be silent.
 */
export function openBudgetSpend({ database, ledger, writer }: BudgetTableOptions): BudgetSpend {
  const { sql } = database
  return {
    writer,
    async read(scope, startMs, isFirst) {
      const rows = await answerInTime(
        unlessSilent(database, async () => {
          if (isFirst) await stored(ledger)
          return (await sql`
            select writer, spent_nano_usd from budget_spend
            where scope = ${scope} and window_start_ms = ${startMs}`) as { writer: string; spent_nano_usd: unknown }[]
        }),
      )
      return new Map(rows.map(row => [row.writer, Number(row.spent_nano_usd)]))
    },
  }
}

async function stored(ledger: StoredLedger): Promise<void> {
  for (const from = performance.now(); ; await Bun.sleep(pollMs)) {
    if ((await ledger.flush()) && ledger.isReplayed) return
    if (performance.now() - from > waitMs) throw new Error('rows of the ledger are not stored yet')
  }
}

/** true = this replica notifies the operator, and no other does: of one period of a budget only one gets true. */
export async function claimBudgetAlert(sql: SQL, { id, budget }: BudgetScope): Promise<boolean> {
  const rows = (await answerInTime(
    Promise.resolve(
      sql`insert into budget_alerts (scope, window_start_ms) values (${id}, ${budget.startMs})
        on conflict (scope, window_start_ms) do nothing returning scope`,
    ),
  )) as unknown[]
  return rows.length > 0
}
