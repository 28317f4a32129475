/** Amounts of the last minute, in buckets of 250 ms. */

/** The length of a window. */
export const windowMs = 60_000
const bucketMs = 250
/** One more than the window has: the oldest bucket counts until all of it is a minute old. */
const bucketCount = windowMs / bucketMs + 1

/**
 * A sliding window of the last minute in buckets of 250 ms. Never more than the limit in any 60 s. Times are monotonic
 * milliseconds.
 */
export class SlidingWindow {
  total = 0
  readonly #buckets = new Float64Array(bucketCount)
  #last: number

  constructor(nowMs: number) {
    this.#last = Math.floor(nowMs / bucketMs)
  }

  /** Drops what is older than the window. To be called before the total is read and before `add`. */
  advance(nowMs: number): void {
    const current = Math.floor(nowMs / bucketMs)
    if (current - this.#last >= bucketCount) {
      this.#buckets.fill(0)
      this.total = 0
      this.#last = current
    }
    while (this.#last < current) {
      this.#last++
      const at = this.#last % bucketCount
      this.total -= this.#buckets[at]!
      this.#buckets[at] = 0
    }
  }

  /** Counts `amount` from the time of the last `advance`. */
  add(amount: number): void {
    this.#buckets[this.#last % bucketCount]! += amount
    this.total += amount
  }

  /** Subtracts what was added at `atMs`, unless it has left the window. */
  giveBack(amount: number, atMs: number): void {
    const bucket = Math.floor(atMs / bucketMs)
    if (this.#last - bucket >= bucketCount) return
    const at = bucket % bucketCount
    const given = Math.min(amount, this.#buckets[at]!)
    this.#buckets[at]! -= given
    this.total -= given
  }

  /** What was counted at `atMs` becomes `amount`: a smaller one is as old, what is more counts from `nowMs`. */
  correct(counted: number, amount: number, { atMs, nowMs }: { readonly atMs: number; readonly nowMs: number }): void {
    this.advance(nowMs)
    if (amount > counted) this.add(amount - counted)
    else this.giveBack(counted - amount, atMs)
  }

  /** Milliseconds until the total is at most `total`, to the nearest step; never more than the window. */
  waitMs(total: number, nowMs: number): number {
    let left = this.total
    for (let bucket = this.#last - bucketCount + 1; bucket <= this.#last; bucket++) {
      if (left <= total) break
      if (bucket < 0) continue
      left -= this.#buckets[bucket % bucketCount]!
      if (left <= total) return Math.min(Math.max((bucket + bucketCount) * bucketMs - nowMs, 1), windowMs)
    }
    return left <= total ? 0 : windowMs
  }

  /**
   * What is in the window, oldest first: `[age, amount, age, amount, ...]`, ages in whole milliseconds at `nowMs`. An
   * age is that of the end of its bucket, so it is never more than the real one; that of the present bucket is below 0.
   */
  ages(nowMs: number): number[] {
    const pairs: number[] = []
    for (let bucket = this.#last - bucketCount + 1; bucket <= this.#last; bucket++) {
      const amount = bucket < 0 ? 0 : this.#buckets[bucket % bucketCount]!
      if (amount > 0) pairs.push(Math.floor(nowMs - (bucket + 1) * bucketMs), amount)
    }
    return pairs
  }
}
