/** Limits of one process: exact and synchronous. */
import type { Limiter, LimitScope, LimitState, LimitVerdict } from '../../core/limits.ts'
import type { Clock } from '../../lib/clock.ts'
import { SlidingWindow, windowMs } from './sliding-window.ts'

const sweepMs = 30_000

type Refusal = Extract<LimitVerdict, { allowed: false }>

class Scope {
  requests: SlidingWindow | undefined = undefined
  tokens: SlidingWindow | undefined = undefined
  parallel = 0
  /** Takings that are not released: the scope is kept for them. */
  holders = 0
  usedMs: number

  constructor(nowMs: number) {
    this.usedMs = nowMs
  }
}

/**
 * A minute is the last 60 s, in steps of 250 ms. A call that is refused is not counted. One that alone exceeds its
 * token limit is allowed when nothing else counts, because it never could be otherwise. Releasing twice does nothing.
 */
export class MemoryLimiter implements Limiter {
  readonly #clock: Clock
  readonly #scopes = new Map<string, Scope>()
  #sweptMs: number

  constructor(clock: Clock) {
    this.#clock = clock
    this.#sweptMs = clock.monotonicMs()
  }

  /** Scopes now in memory: those used in the last minute or with calls under way. */
  get size(): number {
    return this.#scopes.size
  }

  take(scopes: readonly LimitScope[], tokens: number): LimitVerdict {
    const nowMs = this.#clock.monotonicMs()
    if (nowMs - this.#sweptMs > sweepMs) this.#sweep(nowMs)
    const held: Scope[] = []
    for (const limits of scopes) {
      const scope = this.#scope(limits, nowMs)
      const refusal = refuse(scope, limits, { tokens, nowMs })
      if (refusal) return refusal
      held.push(scope)
    }
    for (let at = 0; at < scopes.length; at++) {
      const limits = scopes[at]!
      const scope = held[at]!
      if (limits.requestsPerMinute !== null) scope.requests?.add(1)
      if (limits.tokensPerMinute !== null) scope.tokens?.add(tokens)
      if (limits.parallelRequests !== null) scope.parallel++
      scope.holders++
    }
    return new Taken({ limits: scopes, held, tokens, nowMs, clock: this.#clock })
  }

  #scope({ id, requestsPerMinute, tokensPerMinute }: LimitScope, nowMs: number): Scope {
    let scope = this.#scopes.get(id)
    if (!scope) this.#scopes.set(id, (scope = new Scope(nowMs)))
    // A window takes 2 KB: none for what has no limit.
    if (requestsPerMinute !== null) scope.requests ??= new SlidingWindow(nowMs)
    if (tokensPerMinute !== null) scope.tokens ??= new SlidingWindow(nowMs)
    scope.requests?.advance(nowMs)
    scope.tokens?.advance(nowMs)
    scope.usedMs = nowMs
    return scope
  }

  /** Forgets scopes without a call for a minute: memory follows the traffic, not the number of keys. */
  #sweep(nowMs: number): void {
    this.#sweptMs = nowMs
    for (const [id, scope] of this.#scopes)
      if (scope.holders === 0 && nowMs - scope.usedMs > windowMs + sweepMs) this.#scopes.delete(id)
  }
}

function refuse(scope: Scope, limits: LimitScope, now: { tokens: number; nowMs: number }): Refusal | undefined {
  const { requestsPerMinute, tokensPerMinute, parallelRequests } = limits
  const { requests, tokens } = scope
  if (requests && requestsPerMinute !== null && requests.total + 1 > requestsPerMinute)
    return refusal(limits.id, 'requests', requests, { limit: requestsPerMinute, room: 1, nowMs: now.nowMs })
  if (tokens && tokensPerMinute !== null && tokens.total + now.tokens > tokensPerMinute && tokens.total > 0)
    return refusal(limits.id, 'tokens', tokens, { limit: tokensPerMinute, room: now.tokens, nowMs: now.nowMs })
  if (parallelRequests !== null && scope.parallel + 1 > parallelRequests) {
    const state = { limit: parallelRequests, remaining: 0, resetMs: 1000 }
    return { allowed: false, scope: limits.id, kind: 'parallel_requests', state, retryAfterMs: 1000 }
  }
  return undefined
}

function refusal(
  scope: string,
  kind: 'requests' | 'tokens',
  window: SlidingWindow,
  { limit, room, nowMs }: { limit: number; room: number; nowMs: number },
): Refusal {
  return {
    allowed: false,
    scope,
    kind,
    state: { limit, remaining: Math.max(limit - window.total, 0), resetMs: window.waitMs(0, nowMs) },
    retryAfterMs: window.waitMs(Math.max(limit - room, 0), nowMs),
  }
}

interface Taking {
  readonly limits: readonly LimitScope[]
  readonly held: readonly Scope[]
  readonly tokens: number
  readonly nowMs: number
  readonly clock: Clock
}

class Taken {
  readonly allowed = true
  requests: LimitState | undefined = undefined
  tokens: LimitState | undefined = undefined
  readonly #taking: Taking
  #released = false

  constructor(taking: Taking) {
    this.#taking = taking
    for (let at = 0; at < taking.limits.length; at++) {
      const { requests, tokens } = taking.held[at]!
      const { requestsPerMinute, tokensPerMinute } = taking.limits[at]!
      if (requests && requestsPerMinute !== null) this.requests = tighter(this.requests, requestsPerMinute, requests)
      if (tokens && tokensPerMinute !== null) this.tokens = tighter(this.tokens, tokensPerMinute, tokens)
    }
  }

  release(tokensUsed: number): void {
    if (this.#released) return
    this.#released = true
    const { limits, held, tokens, nowMs, clock } = this.#taking
    const releasedMs = clock.monotonicMs()
    for (let at = 0; at < limits.length; at++) {
      const scope = held[at]!
      scope.holders--
      if (limits[at]!.parallelRequests !== null) scope.parallel--
      if (limits[at]!.tokensPerMinute === null || !scope.tokens) continue
      scope.tokens.advance(releasedMs)
      if (tokensUsed > tokens) scope.tokens.add(tokensUsed - tokens)
      else scope.tokens.giveBack(tokens - tokensUsed, nowMs)
    }
  }
}

function tighter(known: LimitState | undefined, limit: number, window: SlidingWindow): LimitState {
  const remaining = Math.max(limit - window.total, 0)
  return known && known.remaining <= remaining ? known : { limit, remaining, resetMs: windowMs }
}
