/** Rows of the ledger on their way to other systems: each of them exactly once by its id. Kept by `store`. */
import type { LedgerRow } from './ledger-columns.ts'
import type { ExportDestination } from './usage-export.ts'

/** A row that a destination has not got yet. */
export interface WaitingRow {
  readonly id: string
  /** Failures before. */
  readonly attempts: number
  /** null = it was deleted from the ledger. */
  readonly row: LedgerRow | null
}

/** A row that will never be sent, as `usage_given_up` keeps it: enough to bill it by hand. */
export interface GivenUpRow extends Pick<WaitingRow, 'id' | 'attempts'> {
  readonly reason: string
  /** Milliseconds since 1970; null = the ledger has the row no longer, and nothing else is known either. */
  readonly startedAtMs: number | null
  /** As the destination knows the customer. */
  readonly customer: string | null
  /** The usage that would have been sent to it. */
  readonly amount: string | null
}

/** How many rows wait, and how many will never be sent: because too many did, or because it was too late for them. */
export interface OutboxState {
  readonly destination: ExportDestination
  readonly waiting: number
  readonly skipped: number
  readonly givenUp: number
}

/** The rows that wait. All times are milliseconds since 1970. Every method rejects while the database is away. */
export interface UsageOutbox {
  /** From now on rows are put in for these destinations, and for no others. */
  use(destinations: readonly ExportDestination[]): Promise<void>
  /** Takes rows that are due, oldest first, which no other worker takes while the lease lasts. */
  lease(of: {
    readonly destination: ExportDestination
    readonly owner: string
    readonly nowMs: number
    readonly leaseMs: number
    readonly limit: number
  }): Promise<WaitingRow[]>
  /** They have arrived. */
  delivered(destination: ExportDestination, ids: readonly string[]): Promise<void>
  /** They have not: they are tried again from then on. */
  failed(destination: ExportDestination, ids: readonly string[], dueAtMs: number): Promise<void>
  /** They never will: each is noted once, with its reason. */
  giveUp(destination: ExportDestination, rows: readonly GivenUpRow[], nowMs: number): Promise<void>
  /** Counts what waits, and stops or begins to put rows in by it. */
  measure(waitingMax: number): Promise<void>
  /** As of the last measure. */
  state(): readonly OutboxState[]
}
