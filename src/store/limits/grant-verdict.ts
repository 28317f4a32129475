/** Verdicts made of counters. */
import type { LimitState, LimitVerdict } from '../../core/limits.ts'
import type { Counter } from './grant-counter.ts'
import { windowMs } from './sliding-window.ts'

/** A call that a counter has no room for. `waitMs` = until there can be room. */
export function refusal({ scope, kind, limit, remaining }: Counter, waitMs: number): LimitVerdict {
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

/** What a call took. */
export interface Taking {
  readonly counters: readonly Counter[]
  readonly tokens: number
  /** Monotonic. */
  readonly takenMs: number
}

interface Releaser {
  release(taking: Taking, tokensUsed: number): void
}

/** The verdict on a call that is let through. */
export class Taken {
  readonly allowed = true
  requests: LimitState | undefined = undefined
  tokens: LimitState | undefined = undefined
  readonly #limiter: Releaser
  readonly #taking: Taking
  #released = false

  constructor(limiter: Releaser, taking: Taking) {
    this.#limiter = limiter
    this.#taking = taking
    for (const { kind, limit, remaining } of taking.counters) {
      if (kind === 'parallel_requests') continue
      const known = this[kind]
      if (!known || remaining < known.remaining) this[kind] = { limit, remaining, resetMs: windowMs }
    }
  }

  release(tokensUsed: number): void {
    if (this.#released) return
    this.#released = true
    this.#limiter.release(this.#taking, Math.round(tokensUsed))
  }
}
