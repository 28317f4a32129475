/**
 * The clock of the database: leases that replicas grant each other begin and end by it, since their own clocks may be
 * minutes apart.
 */
import type { Clock } from '../../lib/clock.ts'

/** A reading that took longer says too little. */
const readingMsMax = 2000
/** Within this the clocks count as the same: it is shorter than any lease by far, and readings vary. */
const sameWithinMs = 1000

/** The own clock until the database has said its time, as SQLite never does: it has the clock of this machine. */
export class SharedClock implements Clock {
  readonly #own: Clock
  #aheadMs = 0

  constructor(own: Clock) {
    this.#own = own
  }

  /** What the database's clock is ahead of the own one; negative = behind. */
  get aheadMs(): number {
    return this.#aheadMs
  }

  epochMs(): number {
    return this.#own.epochMs() + this.#aheadMs
  }

  monotonicMs(): number {
    return this.#own.monotonicMs()
  }

  /** Begins a reading; its end is given the time that the database had meanwhile. */
  reads(): (databaseMs: number) => void {
    const fromMs = this.#own.epochMs()
    return databaseMs => {
      const tookMs = this.#own.epochMs() - fromMs
      // The own clock may have jumped, too.
      if (!(tookMs >= 0 && tookMs <= readingMsMax)) return
      const aheadMs = Math.round(databaseMs - fromMs - tookMs / 2)
      this.#aheadMs = Math.abs(aheadMs) <= sameWithinMs ? 0 : aheadMs
    }
  }
}
