/** Verdicts made of counters. */
import type { LimitRefusal, LimitState, LimitVerdict, OwnUses } from '../../core/tenancy/limits.ts'
import type { BudgetScope } from './budget-counters.ts'
import type { CallNeed, Counter } from './grant-counter.ts'
import { windowMs } from '../../lib/sliding-window.ts'

/**
 * The verdict on a call that a counter has no room for. `waitMs` = until there can be room; `isReserved` = what is in
 * the way is reserved, not spent.
 */
export function counterRefusal(
  counter: Counter,
  waitMs: number,
  { isReserved = false }: { readonly isReserved?: boolean } = {},
): LimitVerdict {
  const { scope, kind, limit, remaining, money } = counter
  if (money) {
    // What is free is never below 0, however much more than the maximum was spent.
    const left = Math.min(remaining, limit - money.budget.spent)
    return budgetRefusal(money.scope, left, { isReserved, nowMs: money.clock.epochMs() })
  }
  const retryAfterMs = Math.max(Math.ceil(waitMs), 1)
  const resetMs = kind === 'parallel_requests' ? retryAfterMs : windowMs
  return {
    allowed: false,
    scope,
    kind,
    state: { limit, remaining: kind === 'parallel_requests' ? 0 : remaining, resetMs },
    retryAfterMs,
  }
}

/** After so long it is worth while to ask again where only reservations are in the way. */
const reservedRetryMs = 1000

/**
 * A call that a budget has no room for. `left` = not spent, in nano-dollars, below 0 where more than the maximum was
 * spent; `isReserved` = it would fit but for what other calls have reserved; `nowMs` = since 1970.
 */
export function budgetRefusal(
  { id, budget }: BudgetScope,
  left: number,
  { isReserved, nowMs }: { readonly isReserved: boolean; readonly nowMs: number },
): LimitRefusal {
  const resetMs = budget.endMs === null ? Infinity : Math.max(budget.endMs - nowMs, 1)
  return {
    allowed: false,
    scope: id,
    kind: 'budget',
    state: { limit: budget.maxNanoUsd, remaining: left, resetMs },
    retryAfterMs: isReserved ? Math.min(reservedRetryMs, resetMs) : resetMs,
  }
}

/** What a call took. */
export interface ReservedAmounts {
  readonly counters: readonly Counter[]
  readonly need: CallNeed
  /** Monotonic. */
  readonly takenMs: number
}

interface Releaser {
  release(taking: ReservedAmounts, used: UsedAmounts): void
}

/** What a call used. */
export interface UsedAmounts extends CallNeed {
  /** The money stays counted as it was taken. */
  readonly isKept: boolean
  readonly own?: OwnUses | undefined
}

/** The verdict on a call that is let through. */
export class CounterReservation {
  readonly allowed = true
  requests: LimitState | undefined = undefined
  tokens: LimitState | undefined = undefined
  readonly #limiter: Releaser
  readonly #taking: ReservedAmounts
  #released = false

  constructor(limiter: Releaser, taking: ReservedAmounts) {
    this.#limiter = limiter
    this.#taking = taking
    for (const { kind, limit, remaining } of taking.counters) {
      if (kind === 'parallel_requests' || kind === 'budget') continue
      const known = this[kind]
      if (!known || remaining < known.remaining) this[kind] = { limit, remaining, resetMs: windowMs }
    }
  }

  release(tokensUsed: number, nanoUsd = 0, own?: OwnUses): void {
    if (this.#released) return
    this.#released = true
    this.#limiter.release(this.#taking, { tokens: Math.round(tokensUsed), nanoUsd, isKept: false, own })
  }

  keep(): void {
    if (this.#released) return
    this.#released = true
    this.#limiter.release(this.#taking, { ...this.#taking.need, isKept: true })
  }
}
