/** Moves sums that wait in `ledger_pending_sums` to where reports read them. */
import type { LedgerDatabase, LedgerStatement } from '../ledger-database.ts'
import { foldTexts } from './pending-sums.ts'
import { lockRows } from './rollup-totals.ts'

/** Statements that move them all, in a transaction that begins with `lockRows`. */
export const foldStatements: readonly LedgerStatement[] = foldTexts.map(text => ({ text, values: [] }))

/** Moves all pending sums, if there are any. Those of other replicas, and of processes that were killed, count too. */
export async function foldSums(database: LedgerDatabase): Promise<void> {
  const found = await database.select({ text: 'select 1 as found from ledger_pending_sums limit 1', values: [] })
  if (found.length > 0) await database.change([...lockRows(database), ...foldStatements])
}
