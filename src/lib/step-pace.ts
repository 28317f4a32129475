/** How large the next step of background work is, and how long it rests: so that others hardly wait. */

/** Milliseconds and items. */
export interface StepPaceOptions {
  /** What a step shall take. */
  readonly targetMs: number
  readonly itemsMin: number
  readonly itemsMax: number
  /** After a step it rests for this many times as long as the step took. */
  readonly restTimes: number
}

/** Of one kind of work. It begins with the smallest step: how fast the disk is now is not known yet. */
export class StepPace {
  readonly #options: StepPaceOptions
  #items: number

  constructor(options: StepPaceOptions) {
    this.#options = options
    this.#items = options.itemsMin
  }

  /** Of the next step. */
  get items(): number {
    return this.#items
  }

  /** After a step of `items`. Returns how long to rest, in milliseconds. */
  took(ms: number): number {
    const { targetMs, itemsMin, itemsMax, restTimes } = this.#options
    // At most twice as many: one quick step may have found little to do.
    const next = Math.trunc(this.#items * Math.min(2, targetMs / Math.max(ms, 0.01)))
    this.#items = Math.max(itemsMin, Math.min(itemsMax, next))
    return ms * restTimes
  }
}
