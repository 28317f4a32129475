/** Trouble that is met many times a second while it lasts, told so that a log stays readable. */

/** How often lasting trouble is told again. */
const repeatMs = 60_000

/** What is told, and to whom. */
interface TroubleOptions {
  /** `the journal cannot be synced`: a reason follows. */
  readonly begins: string
  /** `the journal is synced again`. */
  readonly ends: string
  readonly report: (problem: string) => void
  /** Milliseconds since some fixed moment. */
  readonly nowMs: () => number
}

/** Told when it begins, once a minute while it lasts, and when it is over. */
export class Trouble {
  readonly #options: TroubleOptions
  #told = false
  #toldAtMs = -Infinity
  /** Times it was met since it was told. */
  #untold = 0

  constructor(options: TroubleOptions) {
    this.#options = options
  }

  /** Met, perhaps again. What comes and goes within a minute is told once. */
  met(error: unknown): void {
    const { begins, report, nowMs } = this.#options
    this.#untold++
    if (nowMs() - this.#toldAtMs < repeatMs) return
    report(`${begins}: ${String(error)}${this.#untold > 1 ? ` (${this.#untold} times)` : ''}`)
    this.#told = true
    this.#toldAtMs = nowMs()
    this.#untold = 0
  }

  /** It went well. */
  over(): void {
    if (this.#told) this.#options.report(this.#options.ends)
    this.#told = false
  }
}
