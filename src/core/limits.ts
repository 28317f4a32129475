/** Limits of requests, tokens and parallel calls. Implemented by `store/limits`. */

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
}

/** How much of a limit is left. */
export interface LimitState {
  readonly limit: number
  readonly remaining: number
  /** Until the window starts anew. */
  readonly resetMs: number
}

/** The decision of the limits on a call. */
export type LimitVerdict =
  | {
      readonly allowed: true
      /** The tightest scope, for the headers; absent = no such limit. */
      readonly requests?: LimitState
      readonly tokens?: LimitState
      /** Releases the parallel slot and counts the tokens that were really used. Call exactly once. */
      release(tokensUsed: number): void
    }
  | {
      readonly allowed: false
      readonly scope: string
      readonly kind: 'requests' | 'tokens' | 'parallel_requests'
      readonly state: LimitState
      readonly retryAfterMs: number
    }

/** Counts requests, tokens and parallel calls. */
export interface Limiter {
  /**
   * `tokens` is what the call is expected to use at least (its input). Throws or rejects with `overloaded` where limits
   * cannot be checked.
   */
  take(scopes: readonly LimitScope[], tokens: number): LimitVerdict | Promise<LimitVerdict>
}
