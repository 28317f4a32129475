/** Counts of calls over time, as endpoints ask for them. Implemented by `store/ledger/reads/histogram.ts`. */

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
  /**
   * Which of the newest calls were counted: of those that began from `newestFromMs` on these, and no others. A client
   * that learns of calls as they end knows by it which ones to add.
   */
  readonly newestIds: readonly string[]
  readonly newestFromMs: number
}
