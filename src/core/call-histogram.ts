/** Counts of calls over time, as endpoints ask for them. Implemented by `store/ledger/histogram.ts`. */
import type { LedgerQuery } from './ledger.ts'

/** Which calls are counted, from when to when, in how many equal parts. Times are milliseconds since 1970. */
export interface HistogramQuery extends Omit<LedgerQuery, 'limit' | 'cursor'> {
  readonly fromMs: number
  readonly toMs: number
  /** Parts of the span, 1 at least. Days, where they are counted, are no more than these. */
  readonly bars: number
  /** Sums of the present day are whole up to now. */
  readonly nowMs: number
}

/** The calls that began between two moments, the second exclusive. */
export interface HistogramBar {
  readonly fromMs: number
  readonly toMs: number
  readonly calls: number
  /** Of them: what did not succeed. */
  readonly failed: number
}

/** Oldest first, without gaps up to the end of the span. */
export interface CallHistogram {
  readonly bars: readonly HistogramBar[]
  /** From here on all calls are counted; later than the span begins = there are too many before. */
  readonly countedFromMs: number
  /**
   * `part` = rows were counted, in equal parts of the span. `day` = there were too many: sums of whole days (UTC),
   * which also have calls whose rows are deleted by now.
   */
  readonly unit: 'part' | 'day'
}
