/**
 * The same limits across replicas. Redis holds the truth; a replica holds grants, from which most calls are decided
 * without a round trip. Granted and spent amounts of all replicas never exceed a limit, at any distance to Redis. What
 * no grant covers waits for Redis. See docs/decisions/0013-grants-over-redis.md.
 */
import type { GatewayError } from '../../core/errors.ts'
import type { BudgetAmount, StoredAmount } from '../../core/tenancy/limits.ts'
import type { Limiter, LimitScope, LimitUse, LimitVerdict } from '../../core/tenancy/limits.ts'
import type { WithoutRedis } from '../../core/settings.ts'
import { atEndOfTick } from '../../lib/end-of-tick.ts'
import type { TickTask } from '../../lib/end-of-tick.ts'
import { Batch, WaitingCall } from './grant-batch.ts'
import type { AnsweredCall } from './grant-batch.ts'
import { hasBudget } from './budget-counters.ts'
import type { BudgetCounters } from './budget-counters.ts'
import type { CallNeed, Counter } from './grant-counter.ts'
import { CounterTable } from './grant-counter-table.ts'
import { GenerationState } from './grant-generation.ts'
import { exchangeScript, limitKeys, parametersOf, readExchange } from './grant-script.ts'
import { spendMs } from './exchange-terms.ts'
import type { ExchangeAnswer, LimitKeys } from './grant-script.ts'
import { GrantRetries, retryPauseMaxMs } from './grant-retries.ts'
import { ReplicaStanding } from './grant-standing.ts'
import { counterRefusal, CounterReservation } from './grant-verdict.ts'
import type { ReservedAmounts, UsedAmounts } from './grant-verdict.ts'
import { RedisLink } from './redis-link.ts'
import { ownShareOf, shownShare, uncheckable } from './without-redis.ts'

/** How often a replica reports itself, checks its grants, and probes a Redis that does not answer. */
const tickMs = 1000
/** How long a call waits for what other replicas hold. For Redis itself it waits less: see `RedisLink`. */
const decisionMs = 5000
/** Time to give back what is held at the end, and how often that is looked at. */
const [leaveMs, leavePollMs] = [1000, 5]

interface RedisLimiterOptions {
  readonly url: string
  /** Its replicas share limits with each other, and with no others that use the same Redis. */
  readonly installation: string
  /** Begins the id of this replica; absent = empty. */
  readonly idPrefix?: string | undefined
  readonly budgets: BudgetCounters
  /** As configured now. */
  withoutRedis(): WithoutRedis
  /** Redis stopped or began to answer, or does not answer for another reason than before. */
  reportReachable(reachable: boolean, reason?: string): void
}

/**
 * Limits that replicas of an installation share. `start` comes before the first `take`. A verdict comes at once where
 * grants cover it, else within the time to Redis, 5 s at most. `take` throws or rejects with `overloaded` when Redis is
 * away and the configuration says to refuse. What a limiter that is killed held expires; `close` gives it back.
 */
export class RedisLimiter implements Limiter, TickTask {
  readonly #options: RedisLimiterOptions
  readonly #link: RedisLink
  readonly #keys: LimitKeys
  readonly #counters: CounterTable
  /** Counters that the next exchange reports. */
  readonly #unreported = new Set<Counter>()
  #queue: WaitingCall[] = []
  readonly #retries = new GrantRetries(calls => {
    this.#queue.unshift(...calls)
    this.#schedule()
  })
  #isScheduled = false
  readonly #standing: ReplicaStanding
  /** Ids of the other replicas, as of the last answer; undefined = Redis has not answered yet. */
  #others: readonly string[] | undefined
  #sentMs = -Infinity
  readonly #generation = new GenerationState()
  /** The question that finds out whether a Redis that is away answers again. */
  #probing: Promise<void> | undefined
  #timer: ReturnType<typeof setInterval> | undefined
  #closed = false

  constructor(options: RedisLimiterOptions) {
    this.#options = options
    this.#standing = new ReplicaStanding(options.idPrefix)
    this.#link = new RedisLink(options)
    this.#keys = limitKeys(options.installation)
    this.#counters = new CounterTable(options.budgets, this.#keys)
    options.budgets.onReread = ({ latest }) => this.#reportBudgets([latest])
  }

  /** false = Redis is away: what is held decides, then the configuration. */
  get reachable(): boolean {
    return this.#link.reachable
  }

  /** Questions sent to Redis. */
  get roundTrips(): number {
    return this.#link.roundTrips
  }

  /** Replicas that share the limits, this one included, as Redis last reported; undefined = it has not answered yet. */
  get replicas(): number | undefined {
    return this.#others && this.#others.length + 1
  }

  /** Counters now in memory: those used in the last minute, held, or with calls under way. */
  get size(): number {
    return this.#counters.size
  }

  /** Connects and stays connected. Never rejects: see `reportReachable`. */
  async start(): Promise<void> {
    await this.#send(new Batch())
    await this.#link.explained()
    this.#timer = setInterval(() => this.#tick(), tickMs)
    this.#timer.unref()
    void this.#link.readMail(
      () => this.#keys.mail(this.#standing.replica),
      key => this.#recalled([key]),
    )
  }

  take(scopes: readonly LimitScope[], tokens: number, nanoUsd = 0): LimitVerdict | Promise<LimitVerdict> {
    const missing = this.#options.budgets.missing(scopes)
    if (missing) return missing.then(() => this.take(scopes, tokens, nanoUsd))
    const nowMs = performance.now()
    const counters = this.#counters.of(scopes, nowMs)
    const need = { tokens: Math.ceil(tokens), nanoUsd }
    if (this.#fits(counters, need, nowMs)) return this.#spend(counters, need, nowMs)
    if (!this.#link.reachable) {
      const reading = this.#reading(counters)
      return reading?.then(() => this.take(scopes, tokens, nanoUsd)) ?? this.#withoutRedis(counters, need, nowMs)
    }
    const certain = counters.find(one => nowMs < one.refusedUntilMs && one.refusedLimit === one.limit)
    if (certain) return counterRefusal(certain, certain.refusedUntilMs - nowMs)
    const call = new WaitingCall(counters, need, nowMs)
    this.#enqueue(call)
    return call.verdict
  }

  /** Gives back what is held, if Redis answers within a second. */
  async close(): Promise<void> {
    if (this.#closed) return
    clearInterval(this.#timer)
    if (this.#link.reachable) {
      this.#standing.isLeaving = true
      const from = performance.now()
      this.#recalled([...this.#counters.keys()])
      void this.#send(new Batch())
      const isReported = () => this.#unreported.size === 0 && !this.#counters.values().some(one => one.isBusy)
      for (; performance.now() - from < leaveMs; await Bun.sleep(leavePollMs))
        if (isReported() && this.#standing.answeredMs >= from) break
    }
    this.#closed = true
    this.#retries.close()
    this.#link.close()
    for (const call of [...this.#queue, ...this.#retries.calls]) this.#decideWithoutRedis(call)
  }

  prepare(scopes: readonly LimitScope[]): Promise<void> | undefined {
    return this.#options.budgets.missing(scopes)
  }

  refresh(scopes: readonly LimitScope[]): Promise<void> | undefined {
    return this.#options.budgets.upToDate(scopes)
  }

  /** As far as it was learned from Redis; before the first call, as far as the database knows. */
  budgetLeft(scope: LimitScope): number {
    return hasBudget(scope) ? this.#counters.moneyLeft(scope) : Infinity
  }

  use(scope: LimitScope): LimitUse {
    const counted = this.#counters.useOf(scope)
    if (!hasBudget(scope)) return counted
    const budget = this.#options.budgets.find(scope)
    // Grants of other replicas are no reservations: `budgetLeft`, which counts them, would show money as reserved
    // while no call is under way.
    const reservedNanoUsd = this.#counters.budget(budget)?.running ?? 0
    return { ...counted, spentNanoUsd: budget.spent, reservedNanoUsd }
  }

  charge(amounts: readonly BudgetAmount[], returned?: readonly BudgetAmount[]): void {
    this.#reportBudgets(this.#options.budgets.charge(amounts, returned))
  }

  stored(amounts: readonly StoredAmount[]): void {
    this.#reportBudgets(this.#options.budgets.stored(amounts))
  }

  recount(scopes: readonly LimitScope[]): void {
    this.#options.budgets.recount(scopes)
  }

  /** Reports what this process knows of budgets in use. */
  #reportBudgets(scopes: readonly LimitScope[]): void {
    for (const counter of this.#counters.of(scopes, performance.now())) {
      counter.isChanged = true
      // There may be room again.
      counter.refusedUntilMs = 0
      this.#report(counter)
    }
  }

  /** Whether what is held covers the call. Grants that Redis may have given to others are not spent any more. */
  #fits(counters: readonly Counter[], need: CallNeed, nowMs: number): boolean {
    if (nowMs - this.#standing.answeredMs > spendMs) return counters.length === 0
    for (const counter of counters) if (counter.unspent < counter.amount(need)) return false
    return true
  }

  #spend(counters: readonly Counter[], need: CallNeed, nowMs: number): LimitVerdict {
    for (const counter of counters) {
      counter.spend(counter.amount(need), nowMs)
      if (!counter.isBusy && counter.wantedAhead(nowMs) > 0) this.#report(counter)
    }
    return new CounterReservation(this, { counters, need, takenMs: nowMs })
  }

  #report(counter: Counter): void {
    this.#unreported.add(counter)
    this.#schedule()
  }

  /** Called once by each verdict. */
  release({ counters, need, takenMs }: ReservedAmounts, { tokens, nanoUsd, isKept, own }: UsedAmounts): void {
    const nowMs = performance.now()
    for (const counter of counters) {
      if (counter.kind === 'tokens') {
        const used = Math.round(own?.get(counter.scope)?.tokens ?? tokens)
        if (!counter.correct(need.tokens, used, { takenMs, nowMs })) this.#report(counter)
      } else if (counter.kind === 'parallel_requests') counter.releaseSlot()
      else if (counter.money) {
        const { budget, scope } = counter.money
        const used = own?.get(scope.id)?.nanoUsd ?? nanoUsd
        if (isKept) this.#options.budgets.keep(budget, used, takenMs)
        else this.#options.budgets.settle(budget, scope, used)
        // What is stored as spent must not count as running for as long as a replica that died does.
        if (!counter.settle(need.nanoUsd, used, isKept) || isKept) this.#report(counter)
      }
      if (counter.isChanged && (nowMs < counter.eagerUntilMs || !this.#link.reachable)) {
        counter.drop()
        this.#report(counter)
      }
    }
  }

  /** What others have spent of budgets is read once after Redis has gone: a budget may not have been in use here. */
  #reading(counters: readonly Counter[]): Promise<void> | undefined {
    return this.#counters.renewed(counters, this.#closed ? undefined : this.#link.awaySinceMs)
  }

  /** Spends a share of each limit, or refuses. Throws `overloaded`. */
  #withoutRedis(counters: readonly Counter[], need: CallNeed, nowMs: number): LimitVerdict {
    const { share, reason } = this.#ownShare()
    if (share === 0) throw uncheckable(reason)
    for (const counter of counters) {
      const amount = counter.amount(need)
      if (!counter.fitsShare(amount, share, nowMs))
        return counterRefusal(counter, counter.shareWaitMs(amount, share, nowMs), { isReserved: true })
    }
    this.#standing.isOverspent = true
    for (const counter of counters) counter.spendBeyond(counter.amount(need), nowMs)
    return new CounterReservation(this, { counters, need, takenMs: nowMs })
  }

  readonly #ownShare = () => ownShareOf(this.#options.withoutRedis(), this.replicas)

  /** What holds while Redis is away, for operators. */
  get withoutRedis(): string {
    return shownShare(this.#ownShare())
  }

  #decideWithoutRedis(call: WaitingCall): void {
    if (call.isDecided) return
    call.giveBack()
    const { counters, need } = call
    const reading = this.#reading(counters)
    // Redis may answer again by then.
    if (reading) return void reading.then(() => (this.#closed ? this.#decideWithoutRedis(call) : this.#enqueue(call)))
    const nowMs = performance.now()
    try {
      const isHeld = this.#fits(counters, need, nowMs)
      call.decide(isHeld ? this.#spend(counters, need, nowMs) : this.#withoutRedis(counters, need, nowMs))
    } catch (error) {
      call.refuse(error as GatewayError)
    }
  }

  #enqueue(call: WaitingCall): void {
    this.#queue.push(call)
    this.#schedule()
  }

  #schedule(): void {
    if (this.#isScheduled || this.#closed) return
    this.#isScheduled = true
    atEndOfTick(this)
  }

  /** Sends what waits, in as few scripts as possible. */
  endOfTick(): void {
    this.#isScheduled = false
    if (this.#closed) return
    if (!this.#link.reachable) return this.#drainQueue()
    for (;;) {
      const batch = this.#nextBatch(performance.now())
      if (batch.counters.length === 0) return
      void this.#send(batch)
    }
  }

  #drainQueue(): void {
    const waiting = [...this.#queue, ...this.#retries.take()]
    this.#queue = []
    for (const call of waiting) this.#decideWithoutRedis(call)
  }

  /** Calls in order, as far as none of their counters is in another exchange; then what is to be reported. */
  #nextBatch(nowMs: number): Batch {
    const batch = new Batch()
    const mayUseHeld = nowMs - this.#standing.answeredMs <= spendMs
    const left: WaitingCall[] = []
    for (const call of this.#queue) {
      if (call.isDecided) continue
      if (mayUseHeld && call.counters.every(one => one.place === 0 && one.unspent >= one.amount(call.need)))
        call.decide(this.#spend(call.counters, call.need, nowMs))
      else if (batch.isFull || !batch.add(call, mayUseHeld)) left.push(call)
    }
    this.#queue = left
    for (const counter of this.#unreported) {
      if (batch.isFull) break
      if (!counter.isBusy && counter.place === 0) batch.include(counter)
    }
    batch.seal(nowMs, this.#generation.present)
    for (const counter of batch.counters) this.#unreported.delete(counter)
    return batch
  }

  async #send(batch: Batch): Promise<void> {
    const sentMs = performance.now()
    this.#sentMs = sentMs
    const asking = this.#standing.next(sentMs)
    const { keys, values } = parametersOf(this.#keys, {
      ...asking,
      generation: this.#generation.present.number,
      reportedGeneration: this.#generation.reportedNumber,
      keys: batch.counters.map(counter => counter.key),
      reports: batch.reports,
      calls: batch.calls,
      others: this.#others ?? [],
    })
    let answer: ExchangeAnswer | undefined
    try {
      answer = readExchange(await this.#link.ask(exchangeScript, keys, values))
    } catch (error) {
      this.#failed(batch, error)
      return
    }
    if (this.#closed) return
    if (!answer) {
      this.#again(batch)
      return this.#schedule()
    }
    const wasAway = !this.#link.reachable
    // Others may have been granted what was held before.
    if (wasAway) for (const counter of this.#counters.values()) counter.drop()
    this.#standing.answered(asking, sentMs)
    this.#others = answer.others
    // Before the verdicts, of which some may spend what is held.
    await this.#link.answered()
    if (this.#generation.learn(answer, performance.now())) this.#tellAll()
    this.#answered(batch, answer, sentMs)
    if (wasAway) this.#reportAll()
    this.#recalled(answer.mail)
    this.#schedule()
  }

  /** Every report is the whole state: what Redis did with this one is undone or kept by the next. */
  #again({ counters, waiting }: Batch): void {
    for (const counter of counters) {
      counter.isBusy = false
      counter.isChanged = true
      this.#unreported.add(counter)
    }
    for (const call of waiting) call.giveBack()
    this.#queue.unshift(...waiting)
  }

  #failed(batch: Batch, error: unknown): void {
    if (this.#closed) return
    this.#again(batch)
    if (this.#link.failed(error)) setTimeout(() => this.#schedule(), retryPauseMaxMs)
    else this.#schedule()
  }

  #answered(batch: Batch, answer: ExchangeAnswer, sentMs: number): void {
    const nowMs = performance.now()
    batch.counters.forEach((counter, at) => {
      const { granted, spent, heldByOthers, needsBase } = answer.counters[at]!
      counter.isBusy = false
      this.#generation.told(counter, batch.generation)
      this.#renewBase(counter, counter.baseNeeded(needsBase, nowMs))
      counter.granted(granted, batch.wanted[at]!, nowMs)
      counter.learn(spent, heldByOthers)
      this.#dropRecalled(counter, nowMs)
    })
    batch.waiting.forEach((call, at) =>
      this.#settle(call, { batch, answer: answer.calls[at]!, sentMs, nowMs }, answer.nowMs),
    )
    this.#retries.schedule()
    if (this.#generation.isWhole()) void this.#send(new Batch())
  }

  /** Redis may have lost what it was told: all of it is told again, also of budgets that are at rest here. */
  #tellAll(): void {
    this.#counters.of(this.#options.budgets.withOwn(), performance.now())
    for (const counter of this.#counters.values()) counter.forgetOthers()
    this.#reportAll()
    this.#generation.begin(this.#counters.values())
  }

  /** Redis needs what the database says now of a budget: it is told once that was read. */
  #renewBase(counter: Counter, sinceMs: number | undefined): void {
    if (!counter.money || sinceMs === undefined) return
    const reading = this.#options.budgets.readSince(
      counter.money.budget,
      Math.max(this.#generation.present.settledMs, sinceMs),
    )
    void reading.then(() => {
      counter.forgetOthers()
      this.#report(counter)
    })
  }

  #settle(call: WaitingCall, { batch, answer, sentMs, nowMs }: AnsweredCall, redisMs: number): void {
    const { counters, need, reserved } = call
    if (answer.decision === 'taken' && !call.isDecided) {
      call.reserved = []
      for (const counter of counters)
        if (reserved.includes(counter)) counter.spendReserved(counter.amount(need), nowMs)
        else counter.spendBeyond(counter.amount(need), nowMs)
      return call.decide(new CounterReservation(this, { counters, need, takenMs: nowMs }))
    }
    call.giveBack()
    for (const counter of reserved) this.#dropRecalled(counter, nowMs)
    // It was decided meanwhile: the next report corrects what Redis booked for it.
    if (call.isDecided) return counters.forEach(counter => this.#report(counter))
    const counter = batch.counters[answer.counter]!
    if (answer.decision === 'later' && nowMs - call.sinceMs < decisionMs) {
      call.firstRequestedMs ||= redisMs
      call.attempts++
      call.short = { counter, waitMs: answer.waitMs }
      this.#retries.add(call)
      return
    }
    if (answer.isCertain) {
      counter.refusedUntilMs = sentMs + answer.waitMs
      counter.refusedLimit = counter.limit
    }
    call.decide(counterRefusal(counter, answer.waitMs))
  }

  /** What was recalled since it was requested, or set aside, goes back. */
  #dropRecalled(counter: Counter, nowMs: number): void {
    if (counter.unspent === 0 || nowMs >= counter.eagerUntilMs) return
    counter.drop()
    this.#report(counter)
  }

  /** Other replicas run short of these: what is held and not spent goes back at once. */
  #recalled(keys: readonly string[]): void {
    const nowMs = performance.now()
    for (const key of keys) {
      const counter = this.#counters.get(key)
      if (!counter) continue
      counter.recall(nowMs)
      this.#report(counter)
    }
  }

  #reportAll(): void {
    for (const counter of this.#counters.values()) {
      counter.isChanged = true
      this.#unreported.add(counter)
    }
  }

  #tick(): void {
    const nowMs = performance.now()
    this.#options.budgets.sweep()
    for (const call of [...this.#queue, ...this.#retries.calls])
      if (nowMs - call.sinceMs > decisionMs) call.refuseForShortage()
    for (const counter of this.#counters.values()) {
      if (counter.tick(nowMs)) this.#unreported.add(counter)
      if (counter.isEmpty(nowMs) && !this.#unreported.has(counter)) this.#counters.delete(counter)
    }
    if (!this.#link.reachable) this.#probing ??= this.#send(new Batch()).finally(() => (this.#probing = undefined))
    else {
      this.#schedule()
      // Behind the reports, which also show that this replica lives.
      setImmediate(() => setImmediate(() => void (nowMs - this.#sentMs > tickMs * 0.9 && this.#send(new Batch()))))
    }
  }
}
