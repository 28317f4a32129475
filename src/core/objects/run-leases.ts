/** A second word for runs, beside the database: their process is alive, though it cannot renew them there. */

/** Implemented by `store/objects/run-leases.ts`. */
export interface RunLeases {
  /** To be repeated every second while it is needed. Rejects when it cannot be said. */
  keep(runIds: readonly string[]): Promise<void>
  /** Whether a process has said so in the last seconds. Rejects when it cannot be asked. */
  isKept(runId: string): Promise<boolean>
}
