/** Bounds the attempts at deployments that have already failed, so that retries cannot multiply an outage. */
import type { Clock } from '../../lib/clock.ts'

/** Every fifth call pays for an attempt. */
const callsPerAttempt = 5
/** Attempts that are added beside those, so that few calls can be retried too. */
const attemptsPerSecond = 10
/** The most attempts that are saved up, also what each group starts with. */
const attemptsMax = 20
const savedMax = attemptsMax * callsPerAttempt

interface Budget {
  /** In calls: `callsPerAttempt` of them are one attempt. */
  saved: number
  refilledMs: number
}

/** One budget for each group of deployments, by the configured model name: 20 % of its calls, and 10 a second. */
export class RetryBudgets {
  readonly #clock: Clock
  /** Only of groups that have needed one. */
  readonly #budgets = new Map<string, Budget>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** A call has come to the group. */
  called(modelName: string): void {
    const budget = this.#budgets.size === 0 ? undefined : this.#budgets.get(modelName)
    if (budget) budget.saved = Math.min(budget.saved + 1, savedMax)
  }

  /** Takes one attempt; false = there is none. */
  take(modelName: string): boolean {
    const nowMs = this.#clock.monotonicMs()
    let budget = this.#budgets.get(modelName)
    if (!budget) this.#budgets.set(modelName, (budget = { saved: savedMax, refilledMs: nowMs }))
    const refill = ((nowMs - budget.refilledMs) / 1000) * attemptsPerSecond * callsPerAttempt
    budget.saved = Math.min(budget.saved + refill, savedMax)
    budget.refilledMs = nowMs
    if (budget.saved < callsPerAttempt) return false
    budget.saved -= callsPerAttempt
    return true
  }
}
