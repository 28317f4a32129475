/**
 * A text that every client may request: made anew only as often as a budget allows, its bytes shared by all readers.
 */
import type { Clock } from '../lib/clock.ts'

/** Bounds the CPU of rendering, and what slow readers of different versions keep in memory. */
const bytesPerSecond = 1024 * 1024
/** Spent at once: a small text is always made anew. */
const burstBytes = 1024 * 1024

/** The latest version, or the one before while the budget is used up. */
export class CachedExposition {
  readonly #render: () => string
  readonly #clock: Pick<Clock, 'monotonicMs'>
  #bytes: Uint8Array | undefined
  #budgetBytes = burstBytes
  #filledAtMs: number

  constructor(render: () => string, clock: Pick<Clock, 'monotonicMs'>) {
    this.#render = render
    this.#clock = clock
    this.#filledAtMs = clock.monotonicMs()
  }

  /** Must not be changed. A version larger than the budget is paid for before the next one is made. */
  bytes(): Uint8Array {
    const nowMs = this.#clock.monotonicMs()
    const earned = ((nowMs - this.#filledAtMs) / 1000) * bytesPerSecond
    this.#filledAtMs = nowMs
    this.#budgetBytes = Math.min(this.#budgetBytes + earned, burstBytes)
    if (this.#bytes && this.#budgetBytes <= 0) return this.#bytes
    this.#bytes = Buffer.from(this.#render())
    this.#budgetBytes -= this.#bytes.length
    return this.#bytes
  }
}
