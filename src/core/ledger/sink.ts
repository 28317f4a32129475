/** The contract of a sink: a system that gets finished calls beside the ledger. */
import type { LedgerRow } from './ledger-columns.ts'

/** Rows arrive in order of the outbox, some of them more than once where an answer was lost. */
export interface Sink {
  /** Rows that it takes at once. */
  readonly rowsMax: number
  /** Resolves when all of them have arrived; rejects where that is not known. */
  send(rows: readonly LedgerRow[]): Promise<void>
}
