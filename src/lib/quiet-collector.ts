import { releaseProgramPages } from './program-pages.ts'

/** How often is looked, and after how many looks without work memory is given back: soon, and thoroughly. */
const lookMs = 500
const soonLooks = 2
const thoroughLooks = 5
/** Fewer touches than this since the start, and what is compiled is the code of starting. */
const warmTouches = 100
/** So many touches, or looks that saw work, bring back pages enough that giving them up again is worth a slower call. */
const burstTouches = 1000
const burstLooks = 6

/** Asked twice a second at most. */
interface QuietCollectorOptions {
  /** Work is under way that a pause of some milliseconds would disturb. */
  readonly isBusy: () => boolean
  /** What calls left to be done is not done yet; what it needs would only be fetched again. */
  readonly isSettling: () => boolean
}

/**
 * Gives memory back when a burst is over: the collector of the runtime waits for the next allocation, which
 * a quiet process does not make, and so it would keep the memory of its busiest second for a minute. The first
 * quiet moment after the start drops the code that only starting needed, if calls have not made it hot by then.
 */
export class QuietCollector {
  readonly #options: QuietCollectorOptions
  readonly #timer: ReturnType<typeof setInterval>
  #touches = 0
  #touchesSeen = 0
  #touchesAtRelease = -burstTouches
  #busyLooks = 0
  #isStarting = true
  #quiet = 0

  constructor(options: QuietCollectorOptions) {
    this.#options = options
    this.#timer = setInterval(() => this.#look(), lookMs)
    this.#timer.unref()
  }

  /** Something was done. Costs nothing. */
  touch(): void {
    this.#touches++
  }

  stop(): void {
    clearInterval(this.#timer)
  }

  #look(): void {
    if (this.#touches !== this.#touchesSeen || this.#options.isBusy()) {
      this.#touchesSeen = this.#touches
      this.#busyLooks++
      this.#quiet = 0
    } else if (this.#quiet < thoroughLooks) {
      this.#quiet++
      if (this.#quiet === soonLooks) this.#collect()
      if (this.#quiet > soonLooks && this.#options.isSettling()) this.#quiet = soonLooks
      if (this.#touches - this.#touchesAtRelease < burstTouches && this.#busyLooks < burstLooks) return
      // Compiled code that nobody ran for a while goes in a second collection, and what it alone held in a third.
      if (this.#quiet === thoroughLooks - 1) Bun.gc(true)
      if (this.#quiet === thoroughLooks) this.#release()
    }
  }

  #collect(): void {
    // Whatever the calls run through compiles again, from source, within some milliseconds.
    if (this.#isStarting && this.#touches < warmTouches) Bun.shrink()
    else Bun.gc(true)
    this.#isStarting = false
  }

  #release(): void {
    this.#touchesAtRelease = this.#touches
    this.#busyLooks = 0
    Bun.gc(true)
    releaseProgramPages()
  }
}
