/** Work that continues after its request was answered. Implemented by `pipeline/background/background-work.ts`. */

/**
 * Milliseconds without a renewal after which stored work counts as abandoned by its date alone: its process has ended.
 * Clocks of replicas, and steps of one, differ by less.
 */
export const abandonedAfterMs = 86_400_000

/** The error of a run whose work another process ends, which cannot distinguish a crash from a stop. */
export const lostProcess = 'has ended, or reaches neither database nor Redis; what it cost is in the ledger'

/** Work that continues after its request was answered. */
export interface DetachedRuns {
  /**
   * `work` must not reject; `signal` aborts on `cancel` and when the program stops. Throws `rate-limited` when the key
   * has its share of the places, `overloaded` when none is free, and `conflict` when a run of this id goes on.
   */
  start(run: { readonly id: string; readonly keyId: string }, work: (signal: AbortSignal) => Promise<void>): void
  /** Nothing happens when no such run is in this process. */
  cancel(id: string): void
}
