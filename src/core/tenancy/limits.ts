/** Limits of requests, tokens, parallel calls and money. Implemented by `store/limits`. */

/**
 * One limit to be checked: all scopes of a call are taken together or not at all. Of a scope only what it limits is
 * taken: requests and tokens of the same scope may be taken one after the other.
 */
export interface LimitScope {
  /** `key:ID` or `user:ID`. */
  readonly id: string
  readonly requestsPerMinute: number | null
  readonly tokensPerMinute: number | null
  readonly parallelRequests: number | null
  /** Absent = its money is not limited. */
  readonly budget?: BudgetPeriod
}

/** The present period of a budget. Money is in whole nano-dollars, at most `budgetNanoUsdMax`. */
export interface BudgetPeriod {
  /** Raises that hold now are in it. */
  readonly maxNanoUsd: number
  /** From this amount on the operator is notified, once a period; null = never. */
  readonly softNanoUsd: number | null
  /** Milliseconds since 1970; 0 = it never begins anew. */
  readonly startMs: number
  /** Milliseconds since 1970; null = never. */
  readonly endMs: number | null
}

/** Nine million dollars: sums of nano-dollars below it are exact in floating-point numbers, here and in Redis. */
export const budgetNanoUsdMax = 9_000_000_000_000_000

/** How much of a limit is left. */
export interface LimitState {
  readonly limit: number
  readonly remaining: number
  /** Until the window starts anew; Infinity = it never does. */
  readonly resetMs: number
}

/**
 * What counts against one scope now, as far as this process knows: requests and tokens of the last minute, calls and
 * reservations under way. null = it does not know, or the scope has no such limit.
 */
export interface LimitUse {
  readonly requests: number | null
  readonly tokens: number | null
  readonly parallelRequests: number | null
  /** Nano-dollars that calls of the present period have cost. */
  readonly spentNanoUsd: number | null
  /** Nano-dollars that calls under way at this process may cost at most. */
  readonly reservedNanoUsd: number | null
}

/** Some scope has no room for a call. */
export interface LimitRefusal {
  readonly allowed: false
  readonly scope: string
  readonly kind: 'requests' | 'tokens' | 'parallel_requests' | 'budget'
  readonly state: LimitState
  /** Infinity = waiting does not help. */
  readonly retryAfterMs: number
}

/** What was used in scopes of single models, by their ids. */
export type OwnUses = ReadonlyMap<string, { readonly tokens: number; readonly nanoUsd: number }>

/** A call that is let through. */
export interface LimitReservation {
  readonly allowed: true
  /** The tightest scope, for the headers; absent = no such limit. */
  readonly requests?: LimitState
  readonly tokens?: LimitState
  /**
   * Releases the parallel slot, counts the tokens and the money that were really used; `own` = of scopes that count
   * only a part of them. Call exactly once.
   */
  release(tokensUsed: number, nanoUsdUsed?: number, own?: OwnUses): void
  /**
   * In place of `release`: the money stays counted as spent, as the database says it too. It comes back by what is
   * stored there (`Limiter.stored`). No soft limit is reported.
   */
  keep(): void
}

/** Money in one period of one budget. */
export interface BudgetAmount {
  /** Of `LimitScope.id`. */
  readonly scope: string
  /** The start of the period, in milliseconds since 1970. */
  readonly startMs: number
  readonly nanoUsd: number
}

/** What is stored of a period under one name, all in all. It only grows; below 0 = what came back. */
export interface StoredAmount extends BudgetAmount {
  readonly writer: string
}

/** The decision of the limits on a call. */
export type LimitVerdict = LimitReservation | LimitRefusal

/** Counts requests, tokens, parallel calls and money. */
export interface Limiter {
  /**
   * `tokens` is what the call is expected to use at least (its input), `nanoUsd` what it can cost at most. A call that
   * only the reservations of others leave no room for waits for these, 5 s at most. Throws or rejects with `overloaded`
   * where limits cannot be checked.
   */
  take(scopes: readonly LimitScope[], tokens: number, nanoUsd?: number): LimitVerdict | Promise<LimitVerdict>
  /**
   * Reads what was spent of budgets that are not known yet; undefined = all are. Rejects with `overloaded`.
   */
  prepare(scopes: readonly LimitScope[]): Promise<void> | undefined
  /**
   * The same for budgets that are shown to people: what was read more than two seconds ago is read again, where the
   * database answers.
   */
  refresh(scopes: readonly LimitScope[]): Promise<void> | undefined
  /** Nano-dollars of a budget that is known, beside everything spent and reserved; Infinity = it has none. */
  budgetLeft(scope: LimitScope): number
  /** For people who look at a limit; of a budget after `prepare`. Counts nothing. */
  use(scope: LimitScope): LimitUse
  /**
   * Counts money that was not reserved before, or whose reservation is stored: of batches, known at their end. What
   * they had reserved, `returned`, comes back in the same moment.
   */
  charge(amounts: readonly BudgetAmount[], returned?: readonly BudgetAmount[]): void
  /** The database has changed by these: reservations of batches that never began came back. */
  stored(amounts: readonly StoredAmount[]): void
  /** It is not known whether amounts of this process were stored: they are read again with the next use. */
  recount(scopes: readonly LimitScope[]): void
}
