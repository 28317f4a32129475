/** How many rows of the journal one transaction stores. */

/** A row takes 8.0 us in a batch of 500, 8.8 in one of 250, 10.9 in one of 100. */
export const batchRowsMax = 500
/** For a thread that has to wait for the processor: its transaction blocks the other writers meanwhile. */
const disturbedBatchRows = 250
/** A batch that takes longer has waited: 500 rows need 4 ms of the processor. */
const undisturbedMsMax = 8

/** Of a thread that calls may keep waiting, because it has the lowest priority. */
export class BatchSize {
  /** The last batch did not wait for the processor. */
  #isUndisturbed = false

  /** `isBackground` = the thread has the lowest priority now. */
  rowsMax(isBackground: boolean): number {
    return isBackground && !this.#isUndisturbed ? disturbedBatchRows : batchRowsMax
  }

  /** Stores a batch, which says how large the next one may be. */
  async timed<Result>(store: () => Promise<Result>): Promise<Result> {
    const startMs = performance.now()
    const result = await store()
    this.#isUndisturbed = performance.now() - startMs < undisturbedMsMax
    return result
  }
}
