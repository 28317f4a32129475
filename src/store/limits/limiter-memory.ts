/** Limits of one process: exact, and synchronous but for budgets that are not read yet or have no room for a moment. */
import { hasBudget } from './budget-counters.ts'
import type { BudgetCounter, BudgetCounters, BudgetScope } from './budget-counters.ts'
import { BudgetQueue } from './budget-queue.ts'
import type { BudgetWaiter } from './budget-queue.ts'
import { budgetRefusal } from './grant-verdict.ts'
import type {
  BudgetAmount,
  Limiter,
  LimitRefusal,
  LimitScope,
  LimitState,
  LimitReservation,
  LimitUse,
  LimitVerdict,
  OwnUses,
  StoredAmount,
} from '../../core/tenancy/limits.ts'
import type { Clock } from '../../lib/clock.ts'
import { SlidingWindow, windowMs } from '../../lib/sliding-window.ts'

const sweepMs = 30_000

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

/** What a call needs, and when it asks. */
interface Need {
  readonly tokens: number
  readonly nanoUsd: number
  readonly nowMs: number
}

/**
 * A minute is the last 60 s, in steps of 250 ms. A call that is refused is not counted. One that alone exceeds its
 * token limit is allowed when nothing else counts, because it never could be otherwise. Releasing twice does nothing.
 * A verdict is a promise only where a budget is read from the database, or is full of reservations that may shrink.
 */
export class MemoryLimiter implements Limiter {
  readonly #clock: Clock
  readonly #budgets: BudgetCounters
  readonly #queue = new BudgetQueue()
  readonly #scopes = new Map<string, Scope>()
  #sweptMs: number

  constructor(clock: Clock, budgets: BudgetCounters) {
    this.#clock = clock
    this.#budgets = budgets
    this.#sweptMs = clock.monotonicMs()
  }

  /** Scopes now in memory: those used in the last minute or with calls under way. */
  get size(): number {
    return this.#scopes.size
  }

  take(scopes: readonly LimitScope[], tokens: number, nanoUsd = 0): LimitVerdict | Promise<LimitVerdict> {
    const missing = this.#budgets.missing(scopes)
    if (missing) return this.#takeAfter(missing, scopes, tokens, nanoUsd)
    const outcome = this.#attempt(scopes, tokens, nanoUsd)
    return 'allowed' in outcome ? outcome : this.#wait(outcome, scopes, tokens, nanoUsd)
  }

  /** Apart from `take`, as `#wait`: what a closure captures is allocated whenever its function is entered. */
  #takeAfter(
    missing: Promise<void>,
    scopes: readonly LimitScope[],
    tokens: number,
    nanoUsd: number,
  ): Promise<LimitVerdict> {
    return missing.then(() => this.take(scopes, tokens, nanoUsd))
  }

  #wait(
    { full }: BudgetWaiter,
    scopes: readonly LimitScope[],
    tokens: number,
    nanoUsd: number,
  ): LimitVerdict | Promise<LimitVerdict> {
    return this.#queue.add(full, () => this.#attempt(scopes, tokens, nanoUsd))
  }

  prepare(scopes: readonly LimitScope[]): Promise<void> | undefined {
    return this.#budgets.missing(scopes)
  }

  refresh(scopes: readonly LimitScope[]): Promise<void> | undefined {
    return this.#budgets.upToDate(scopes)
  }

  budgetLeft(scope: LimitScope): number {
    if (!hasBudget(scope)) return Infinity
    const counter = this.#budgets.find(scope)
    return scope.budget.maxNanoUsd - counter.spent - counter.reserved
  }

  use(scope: LimitScope): LimitUse {
    const nowMs = this.#clock.monotonicMs()
    const counted = this.#scopes.get(scope.id)
    counted?.requests?.advance(nowMs)
    counted?.tokens?.advance(nowMs)
    const money = hasBudget(scope) ? this.#budgets.find(scope) : undefined
    return {
      requests: scope.requestsPerMinute === null ? null : (counted?.requests?.total ?? 0),
      tokens: scope.tokensPerMinute === null ? null : (counted?.tokens?.total ?? 0),
      parallelRequests: scope.parallelRequests === null ? null : (counted?.parallel ?? 0),
      spentNanoUsd: money?.spent ?? null,
      reservedNanoUsd: money?.reserved ?? null,
    }
  }

  charge(amounts: readonly BudgetAmount[], returned?: readonly BudgetAmount[]): void {
    this.#wake(this.#budgets.charge(amounts, returned))
  }

  stored(amounts: readonly StoredAmount[]): void {
    this.#wake(this.#budgets.stored(amounts))
  }

  #wake(scopes: readonly BudgetScope[]): void {
    for (const scope of scopes) this.#queue.wake(this.#budgets.find(scope))
  }

  recount(scopes: readonly LimitScope[]): void {
    this.#budgets.recount(scopes)
  }

  #attempt(scopes: readonly LimitScope[], tokens: number, nanoUsd: number): LimitVerdict | BudgetWaiter {
    const nowMs = this.#clock.monotonicMs()
    if (nowMs - this.#sweptMs > sweepMs) this.#sweep(nowMs)
    const need = { tokens, nanoUsd, nowMs }
    const rates: Rate[] = []
    const money: Money[] = []
    for (const limits of scopes) {
      if (!isRate(limits)) continue
      const counted = this.#scope(limits, nowMs)
      const refusal = refuse(counted, limits, need)
      if (refusal) return refusal
      rates.push({ limits, counted })
    }
    for (const scope of scopes) {
      if (!hasBudget(scope)) continue
      const counter = this.#budgets.find(scope)
      const { maxNanoUsd } = scope.budget
      if (nanoUsd > 0 && counter.spent + counter.reserved + nanoUsd > maxNanoUsd) {
        const isReserved = counter.spent + nanoUsd <= maxNanoUsd
        const nowMs = this.#budgets.clock.epochMs()
        const refusal = budgetRefusal(scope, maxNanoUsd - counter.spent, { isReserved, nowMs })
        return isReserved ? { full: counter, refusal } : refusal
      }
      money.push({ scope, counter })
    }
    return this.#taken({ rates, money, need })
  }

  #taken(taking: ReservedAmounts): LimitVerdict {
    const { rates, money, need } = taking
    for (const { limits, counted } of rates) {
      if (limits.requestsPerMinute !== null) counted.requests?.add(1)
      if (limits.tokensPerMinute !== null) counted.tokens?.add(need.tokens)
      if (limits.parallelRequests !== null) counted.parallel++
      counted.holders++
    }
    for (const { counter } of money) {
      counter.reserved += need.nanoUsd
      counter.holders++
    }
    return new MemoryReservation(this, taking)
  }

  /** Called once by each verdict. `nanoUsd` undefined = all that was taken stays counted. */
  release({ rates, money, need }: ReservedAmounts, { tokens, nanoUsd, own }: UsedAmounts): void {
    const nowMs = rates.length === 0 ? need.nowMs : this.#clock.monotonicMs()
    for (const { limits, counted } of rates) {
      counted.holders--
      if (limits.parallelRequests !== null) counted.parallel--
      if (limits.tokensPerMinute === null || !counted.tokens) continue
      counted.tokens.correct(need.tokens, own?.get(limits.id)?.tokens ?? tokens, { atMs: need.nowMs, nowMs })
    }
    for (const { scope, counter } of money) {
      counter.holders--
      counter.reserved -= need.nanoUsd
      if (nanoUsd === undefined) this.#budgets.keep(counter, need.nanoUsd, need.nowMs)
      else this.#budgets.settle(counter, scope, own?.get(scope.id)?.nanoUsd ?? nanoUsd)
    }
    for (const { counter } of money) this.#queue.wake(counter)
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
    this.#budgets.sweep()
  }
}

function refuse(scope: Scope, limits: LimitScope, now: Need): LimitRefusal | undefined {
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
): LimitRefusal {
  return {
    allowed: false,
    scope,
    kind,
    state: { limit, remaining: Math.max(limit - window.total, 0), resetMs: window.waitMs(0, nowMs) },
    retryAfterMs: window.waitMs(Math.max(limit - room, 0), nowMs),
  }
}

/** A scope of the call that limits requests, tokens or parallel calls. */
interface Rate {
  readonly limits: LimitScope
  readonly counted: Scope
}

const isRate = ({ requestsPerMinute, tokensPerMinute, parallelRequests }: LimitScope): boolean =>
  requestsPerMinute !== null || tokensPerMinute !== null || parallelRequests !== null

/** One that has a budget. */
interface Money {
  readonly scope: BudgetScope
  readonly counter: BudgetCounter
}

interface ReservedAmounts {
  readonly rates: readonly Rate[]
  readonly money: readonly Money[]
  readonly need: Need
}

interface UsedAmounts {
  readonly tokens: number
  readonly nanoUsd: number | undefined
  readonly own?: OwnUses | undefined
}

class MemoryReservation implements LimitReservation {
  readonly allowed = true
  declare requests?: LimitState
  declare tokens?: LimitState
  readonly #limiter: MemoryLimiter
  readonly #taking: ReservedAmounts
  #released = false

  constructor(limiter: MemoryLimiter, taking: ReservedAmounts) {
    this.#limiter = limiter
    this.#taking = taking
    for (const { limits, counted } of taking.rates) {
      const { requests, tokens } = counted
      const { requestsPerMinute, tokensPerMinute } = limits
      if (requests && requestsPerMinute !== null) this.requests = tighter(this.requests, requestsPerMinute, requests)
      if (tokens && tokensPerMinute !== null) this.tokens = tighter(this.tokens, tokensPerMinute, tokens)
    }
  }

  release(tokens: number, nanoUsd = 0, own?: OwnUses): void {
    if (this.#released) return
    this.#released = true
    this.#limiter.release(this.#taking, { tokens, nanoUsd, own })
  }

  keep(): void {
    if (this.#released) return
    this.#released = true
    this.#limiter.release(this.#taking, { tokens: this.#taking.need.tokens, nanoUsd: undefined })
  }
}

function tighter(known: LimitState | undefined, limit: number, window: SlidingWindow): LimitState {
  const remaining = Math.max(limit - window.total, 0)
  return known && known.remaining <= remaining ? known : { limit, remaining, resetMs: windowMs }
}
