/** Moves sums that wait in `ledger_pending_sums` to where reports read them. */
import type { LedgerDatabase, LedgerStatement } from '../ledger-database.ts'
import { foldTexts } from './pending-sums.ts'

/** Statements of a transaction that moves them all. */
export const foldStatements = (kind: LedgerDatabase['kind']): LedgerStatement[] =>
  foldTexts(kind).map(text => ({ text, values: [] }))

/** Moves all pending sums, if there are any. Those of other replicas, and of processes that were killed, count too. */
export async function foldSums(database: LedgerDatabase): Promise<void> {
  const found = await database.select({ text: 'select 1 as found from ledger_pending_sums limit 1', values: [] })
  if (found.length > 0) await database.change(foldStatements(database.kind))
}
