/** Reports a failure that may repeat many times a second, so that a log stays readable. */

/** How often a failure that lasts is reported again. */
const repeatMs = 60_000

/** The texts and where they go. */
interface ThrottledReportOptions {
  /** `the journal cannot be synced`: the reason is added. */
  readonly failing: string
  /** `the journal is synced again`. */
  readonly recovered: string
  readonly report: (problem: string) => void
  /** Milliseconds since some fixed moment. */
  readonly nowMs: () => number
}

/** Reports when a failure begins, once a minute while it lasts, and when it is over. */
export class ThrottledReport {
  readonly #options: ThrottledReportOptions
  #isReported = false
  #reportedAtMs = -Infinity
  /** Failures since the last report. */
  #unreported = 0
  /** Since it began. */
  #failures = 0

  constructor(options: ThrottledReportOptions) {
    this.#options = options
  }

  /** Once more, perhaps. A failure that comes and goes within a minute is reported once. */
  failed(error: unknown): void {
    const { failing, report, nowMs } = this.#options
    this.#unreported++
    this.#failures++
    if (nowMs() - this.#reportedAtMs < repeatMs) return
    report(`${failing}: ${String(error)}${this.#unreported > 1 ? ` (${this.#unreported} times)` : ''}`)
    this.#isReported = true
    this.#reportedAtMs = nowMs()
    this.#unreported = 0
  }

  succeeded(): void {
    const { recovered, report } = this.#options
    if (this.#isReported) report(`${recovered}${this.#failures > 1 ? ` (failed ${this.#failures} times)` : ''}`)
    this.#isReported = false
    this.#failures = 0
  }
}
