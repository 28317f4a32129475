/** Calls that wait until reservations of a budget shrink to what calls really cost. */
import type { LimitRefusal, LimitVerdict } from '../../core/tenancy/limits.ts'
import type { BudgetCounter } from './budget-counters.ts'

/** How long a call waits at most: as long as one that waits for other replicas. */
const waitMs = 5000
/** Calls that wait for one budget; further ones are refused at once. */
const waitersMax = 10_000

/** A call would fit if nothing were reserved in `full`. */
export interface BudgetWaiter {
  readonly full: BudgetCounter
  readonly refusal: LimitRefusal
}

type Attempt = () => LimitVerdict | BudgetWaiter

interface WaitingAttempt {
  readonly attempt: Attempt
  readonly resolve: (verdict: LimitVerdict) => void
  readonly timer: ReturnType<typeof setTimeout>
  isDecided: boolean
}

/** One queue for each budget that is full, in the order of arrival. */
export class BudgetQueue {
  readonly #queues = new Map<BudgetCounter, WaitingAttempt[]>()

  /** The verdict when there is room, or at the end of the wait. */
  add(full: BudgetCounter, attempt: Attempt): Promise<LimitVerdict> {
    const { promise, resolve } = Promise.withResolvers<LimitVerdict>()
    const timer = setTimeout(() => this.#decide(waiting, attempt()), waitMs)
    const waiting: WaitingAttempt = { attempt, resolve, timer, isDecided: false }
    if (!this.#enqueue(full, waiting)) this.#decide(waiting, attempt())
    return promise
  }

  /** Something reserved was given back: calls are let through as far as they fit. */
  wake(counter: BudgetCounter): void {
    const queue = this.#queues.get(counter)
    if (!queue) return
    let at = 0
    for (; at < queue.length; at++) {
      const waiting = queue[at]!
      if (waiting.isDecided) continue
      const outcome = waiting.attempt()
      if ('allowed' in outcome) this.#decide(waiting, outcome)
      else if (outcome.full === counter) break
      else if (!this.#enqueue(outcome.full, waiting)) this.#decide(waiting, outcome)
    }
    queue.splice(0, at)
    if (queue.length === 0) this.#queues.delete(counter)
  }

  #enqueue(full: BudgetCounter, waiting: WaitingAttempt): boolean {
    let queue = this.#queues.get(full)
    if (!queue) this.#queues.set(full, (queue = []))
    if (queue.length >= waitersMax) return false
    queue.push(waiting)
    return true
  }

  #decide(waiting: WaitingAttempt, outcome: LimitVerdict | BudgetWaiter): void {
    if (waiting.isDecided) return
    waiting.isDecided = true
    clearTimeout(waiting.timer)
    waiting.resolve('allowed' in outcome ? outcome : outcome.refusal)
  }
}
