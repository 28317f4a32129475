/** How many rows of the journal one transaction stores. */

/** A row of few keys takes 8.0 us in a batch of 500, 8.8 in one of 250, 10.9 in one of 100. */
export const batchRowsMax = 500
/**
 * While more rows wait than one batch: with a thousand keys every row changes another page of each index, so that a row
 * takes 17 us less in a batch of 2,000. Other writers wait for 40 ms.
 */
const behindBatchRows = 2000
/** For a thread that has to wait for the processor: its transaction blocks the other writers meanwhile. */
const disturbedBatchRows = 250
/** A batch that takes so many times what its rows take at best has waited. */
const disturbedTimes = 2
/** How fast the best time is forgotten: rows of more keys take longer. */
const forgottenPerBatch = 1.05

/** Of a thread that calls may keep waiting, because it has the lowest priority. */
export class BatchSize {
  /** The last batch did not wait for the processor. */
  #isUndisturbed = false
  /** The last batch was full. */
  #isBehind = false
  /** Milliseconds of a row, at best. */
  #bestRowMs = Infinity

  /** `isBackground` = the thread has the lowest priority now. */
  rowsMax(isBackground: boolean): number {
    if (isBackground && !this.#isUndisturbed) return disturbedBatchRows
    return this.#isBehind ? behindBatchRows : batchRowsMax
  }

  /** Stores a batch of so many rows, which says how large the next one may be. */
  async timed<Result>(rows: number, { isBehind }: { readonly isBehind: boolean }, store: () => Promise<Result>) {
    const startMs = performance.now()
    const result = await store()
    this.#isBehind = isBehind
    // What a transaction takes without rows says nothing.
    if (rows < disturbedBatchRows) return result
    const rowMs = (performance.now() - startMs) / rows
    this.#isUndisturbed = rowMs < this.#bestRowMs * disturbedTimes
    this.#bestRowMs = Math.min(rowMs, this.#bestRowMs * forgottenPerBatch)
    return result
  }
}
