/** How often is looked, and how many looks without work make a quiet process. */
const lookMs = 500
const quietLooks = 2

/**
 * Gives memory back when a burst is over: the collector of the runtime waits for the next allocation, which
 * a quiet process does not make, and so it would keep the memory of its busiest second for a minute.
 */
export class QuietCollector {
  readonly #isBusy: () => boolean
  readonly #timer: ReturnType<typeof setInterval>
  #touched = false
  #quiet = 0

  /** `isBusy`: work is under way that a pause of some milliseconds would disturb. */
  constructor(isBusy: () => boolean) {
    this.#isBusy = isBusy
    this.#timer = setInterval(() => this.#look(), lookMs)
    this.#timer.unref()
  }

  /** Something was done. Costs nothing. */
  touch(): void {
    this.#touched = true
  }

  stop(): void {
    clearInterval(this.#timer)
  }

  #look(): void {
    if (this.#touched || this.#isBusy()) {
      this.#touched = false
      this.#quiet = 0
    } else if (this.#quiet < quietLooks && ++this.#quiet === quietLooks) Bun.gc(true)
  }
}
