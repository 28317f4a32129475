/** What one replica knows and holds of one counter. All times are monotonic milliseconds. */
import type { BudgetCounter, BudgetScope } from './budget-counters.ts'
import type { CounterKind, CounterReport } from './exchange-terms.ts'
import type { Clock } from '../../lib/clock.ts'
import { SlidingWindow } from '../../lib/sliding-window.ts'

/** A grant covers the use of three seconds; the next one is requested when that of one second is left. */
const grantSeconds = 3
/** After a recall every change is reported at once, and nothing is asked for ahead. */
const eagerMs = 5000
/** What was not granted in full is not requested again before. */
const aheadPauseMs = 250
/** How long a report of changes waits for others to go with: what is held counts in full meanwhile. */
const reportMs = 5000
/** Running calls are reported anew before the counter's key in Redis expires. */
const renewMs = 30_000

/** Redis begins with what was read of the database so short a time before it was asked. */
const newReadingMs = 1000

/** The present generation of Redis, as this replica knows it. */
export interface Generation {
  /** 0 = none. */
  readonly number: number
  /** When all replicas were known to have reported everything in it; Infinity = they are not. */
  readonly settledMs: number
}

/** What a call takes: of each scope what it counts. */
export interface CallNeed {
  readonly tokens: number
  readonly nanoUsd: number
}

/** What a counter of money knows beside its grants. */
export interface CounterMoney {
  readonly budget: BudgetCounter
  readonly scope: BudgetScope
  /** Of this process in the table of spending. */
  readonly writer: string
  /** By which its period ends. */
  readonly clock: Pick<Clock, 'epochMs'>
}

interface CounterStart {
  readonly kind: CounterKind
  readonly scope: string
  /** Its key in Redis. */
  readonly key: string
  readonly limit: number
  readonly nowMs: number
}

/** Requests, tokens, parallel calls or money of one scope. */
export class Counter {
  readonly kind: CounterKind
  readonly scope: string
  readonly key: string
  readonly #window: SlidingWindow | undefined
  #limit: number
  /** Granted and not spent. */
  unspent = 0
  /** Granted, and set aside for calls that wait for other counters. */
  reserved = 0
  /** Of parallel calls: how many run. Of money: what running calls have reserved. */
  running = 0
  /** Of money alone. */
  money: CounterMoney | undefined = undefined
  /** What other processes spent, as was reported to Redis; undefined = Redis does not know. */
  #reportedOthers: ReadonlyMap<string, number> | undefined
  /** Of money: Redis begins with what was read of the database since. */
  #baseSinceMs = Infinity
  /** Of money, when Redis answered last: settled here and reserved by running calls. Before, settled at the start. */
  #usedAtAnswer = 0
  /** Of money, likewise: held here. */
  #heldAtAnswer = 0
  /** Of money, likewise: neither spent nor held by any replica. undefined = Redis has not answered yet. */
  #freeAtAnswer: number | undefined
  /** Calls that wait for it. */
  waiting = 0
  /** In an exchange that is not answered yet: in no other meanwhile. */
  isBusy = false
  /** Its place in the exchange that is being put together, from 1; 0 = it is not in it. */
  place = 0
  /** Redis does not know its present state. */
  isChanged = false
  /** Until then every change is reported at once. */
  eagerUntilMs = 0
  /** Until then there is certainly no room under a limit of `refusedLimit`. */
  refusedUntilMs = 0
  refusedLimit = 0
  #room = 0
  #usedSinceSent = 0
  #usedInTick = 0
  #usedInLastTick = 0
  #perSecond = 0
  #unspentMin = 0
  #aheadAfterMs = 0
  #reportedMs: number

  constructor({ kind, scope, key, limit, nowMs }: CounterStart) {
    this.kind = kind
    this.scope = scope
    this.key = key
    this.#limit = limit
    this.#room = limit
    this.#reportedMs = nowMs
    if (kind === 'requests' || kind === 'tokens') this.#window = new SlidingWindow(nowMs)
  }

  get limit(): number {
    return this.#limit
  }

  /** A lower limit drops what is held: it was granted under the higher one. */
  set limit(limit: number) {
    if (limit === this.#limit) return
    if (limit < this.#limit) {
      this.drop()
      this.#heldAtAnswer = 0
    }
    if (this.#freeAtAnswer !== undefined) this.#freeAtAnswer += limit - this.#limit
    this.#room += limit - this.#limit
    this.#limit = limit
  }

  /** Its budget is known. */
  begin(money: CounterMoney, nowMs: number): void {
    this.money = money
    this.#baseSinceMs = nowMs - newReadingMs
    this.#usedAtAnswer = money.budget.own
  }

  /** What a call takes. */
  amount({ tokens, nanoUsd }: CallNeed): number {
    return this.kind === 'tokens' ? tokens : this.kind === 'budget' ? nanoUsd : 1
  }

  /** What is left of the limit for this replica, as far as it knows. */
  get remaining(): number {
    return Math.max(Math.min(this.#room, this.#limit), 0)
  }

  /** Takes `amount` of what is held. */
  spend(amount: number, nowMs: number): void {
    this.unspent -= amount
    if (this.unspent < this.#unspentMin) this.#unspentMin = this.unspent
    this.#room -= amount
    this.#usedSinceSent += amount
    this.#book(amount, nowMs)
  }

  /** Books what was set aside before. */
  spendReserved(amount: number, nowMs: number): void {
    this.reserved -= amount
    this.#room -= amount
    this.#usedSinceSent += amount
    this.#book(amount, nowMs)
  }

  /** Books what Redis has booked already, or what no grant covers. */
  spendBeyond(amount: number, nowMs: number): void {
    this.#book(amount, nowMs)
  }

  #book(amount: number, nowMs: number): void {
    this.isChanged = true
    // Of money the use is what calls cost, known at their end: reservations are larger and come back.
    if (!this.money) this.#usedInTick += amount
    if (!this.#window) {
      this.running += amount
      return
    }
    this.#window.advance(nowMs)
    this.#window.add(amount)
  }

  /** The slot of an ended call stays here for the next one, unless more run than a lowered limit allows. */
  releaseSlot(): void {
    this.running--
    this.#room++
    if (this.#room > 0) this.unspent++
    this.#usedSinceSent--
    this.isChanged = true
  }

  /**
   * A call that reserved money ended: what is left over stays here for the next one. false = more was used than is
   * held: to be reported now. `isKept` = a batch has begun, from which no use of the next seconds follows.
   */
  settle(reserved: number, used: number, isKept: boolean): boolean {
    const excess = used - reserved
    this.running -= reserved
    this.#room -= excess
    this.#usedSinceSent += excess
    if (!isKept) this.#usedInTick += used
    this.isChanged = true
    const isCovered = this.unspent >= excess
    this.unspent = Math.max(this.unspent - excess, 0)
    // A maximum that was lowered meanwhile gives nothing back.
    if (this.#room < 0) this.unspent = 0
    return isCovered
  }

  /** Redis may have lost what other processes spent. */
  forgetOthers(): void {
    this.#reportedOthers = undefined
    this.isChanged = true
  }

  /**
   * Redis has answered whether it needs what the database says now. When the reading must have begun that it is told
   * next: undefined = it needs none.
   */
  baseNeeded(isNeeded: boolean, nowMs: number): number | undefined {
    this.#baseSinceMs = isNeeded ? nowMs - newReadingMs : Infinity
    return isNeeded ? this.#baseSinceMs : undefined
  }

  /** Corrects what was booked at `takenMs` to what was used. false = more was used than is held: to be reported. */
  correct(taken: number, used: number, { takenMs, nowMs }: { takenMs: number; nowMs: number }): boolean {
    if (taken === used || !this.#window) return true
    const excess = used - taken
    this.#window.advance(nowMs)
    this.#room -= excess
    this.#usedSinceSent += excess
    this.isChanged = true
    if (excess < 0) {
      this.#window.giveBack(-excess, takenMs)
      return true
    }
    this.#window.add(excess)
    this.#usedInTick += excess
    const isCovered = this.unspent >= excess
    this.unspent -= Math.min(this.unspent, excess)
    return isCovered
  }

  /** Gives up what is not spent. */
  drop(): void {
    if (this.unspent > 0) this.isChanged = true
    this.unspent = 0
    this.#unspentMin = 0
  }

  /** Another replica runs short of it. */
  recall(nowMs: number): void {
    this.drop()
    this.eagerUntilMs = nowMs + eagerMs
    this.isChanged = true
  }

  /** How much to ask for ahead; 0 = enough is held, or others are short of it. */
  wantedAhead(nowMs: number): number {
    if (this.kind === 'parallel_requests' || nowMs < this.eagerUntilMs || nowMs < this.#aheadAfterMs) return 0
    const perSecond = Math.max(this.#perSecond, this.#usedInTick / grantSeconds)
    return this.unspent > perSecond ? 0 : Math.ceil(perSecond * grantSeconds - this.unspent)
  }

  /** Its state as sent to Redis. `wanted` = what is asked for ahead. */
  report(nowMs: number, wanted: number, generation: Generation): CounterReport {
    this.isBusy = true
    this.isChanged = false
    this.#usedSinceSent = 0
    this.#reportedMs = nowMs
    this.#window?.advance(nowMs)
    const rest = this.#window ? JSON.stringify(this.#window.ages(nowMs)) : this.running
    const eager = Math.max(Math.ceil(this.eagerUntilMs - nowMs), 0)
    const state = [this.kind, this.#limit, this.unspent + this.reserved, wanted, eager, rest] as const
    if (!this.money) return state
    const { budget, writer } = this.money
    const isReported = this.#reportedOthers === budget.others
    this.#reportedOthers = budget.others
    // An older reading lacks what others have spent since, who may have reported it to a Redis that lost it.
    const isNew = budget.readMs >= Math.max(generation.settledMs, this.#baseSinceMs)
    const others = isReported ? 0 : [...budget.others].flat()
    return [...state, writer, budget.own, others, isNew ? generation.number : 0, budget.database]
  }

  /** Adds a grant. */
  granted(amount: number, wanted: number, nowMs: number): void {
    this.unspent += amount
    if (amount < wanted) this.#aheadAfterMs = nowMs + aheadPauseMs
  }

  /** What Redis knows of all replicas, as of the report. */
  learn(spent: number, heldByOthers: number): void {
    if (this.money) {
      this.#usedAtAnswer = this.money.budget.own + this.running
      this.#heldAtAnswer = this.unspent + this.reserved
      // What was used since the report came from what was held in it.
      this.#freeAtAnswer = this.#limit - spent - heldByOthers - this.#heldAtAnswer - this.#usedSinceSent
    }
    this.#room = this.#limit - spent - heldByOthers - this.#usedSinceSent
  }

  /** Once a second: measures the use, and gives up what is not needed. Whether a report is due. */
  tick(nowMs: number): boolean {
    this.#perSecond = (this.#perSecond + this.#usedInTick) / 2
    const isIdle = this.#usedInTick === 0 && this.#usedInLastTick === 0
    this.#usedInLastTick = this.#usedInTick
    this.#usedInTick = 0
    if (isIdle) this.#perSecond = 0
    const surplus = this.#window ? (isIdle ? this.unspent : 0) : Math.min(this.#unspentMin, this.unspent)
    this.#unspentMin = this.unspent - surplus
    if (surplus > 0) {
      this.unspent -= surplus
      return (this.isChanged = true)
    }
    const sinceMs = nowMs - this.#reportedMs
    // So that others know what was spent, and so does a Redis that has lost it.
    if (this.money && this.#reportedOthers !== this.money.budget.others) return (this.isChanged = true)
    return (this.isChanged && sinceMs > reportMs) || (this.running > 0 && sinceMs > renewMs)
  }

  /** Nothing is held, spent in the last minute, or under way. */
  isEmpty(nowMs: number): boolean {
    this.#window?.advance(nowMs)
    const used = this.running + this.unspent + this.reserved + this.waiting + (this.#window?.total ?? 0)
    return used === 0 && !this.isBusy && !this.isChanged
  }

  /** Whether `amount` fits into a share of the limit that this replica may use by itself. */
  fitsShare(amount: number, share: number, nowMs: number): boolean {
    if (this.money) {
      const { own, othersSum } = this.money.budget
      const usedSince = own + this.running - this.#usedAtAnswer
      // The database shows, late, what others have spent since.
      const room = this.#limit - othersSum - this.#usedAtAnswer
      // What is held here may have been granted after others were answered, who count it as free: it is no addition.
      const held = this.#heldAtAnswer
      const free = Math.max(Math.min((this.#freeAtAnswer ?? Infinity) + held, room), 0)
      return usedSince + amount <= Math.min(Math.max(held, Math.floor(free * share)), room)
    }
    this.#window?.advance(nowMs)
    return this.running + (this.#window?.total ?? 0) + amount <= Math.floor(this.#limit * share)
  }

  /** Until `amount` fits into that share. */
  shareWaitMs(amount: number, share: number, nowMs: number): number {
    const room = Math.max(Math.floor(this.#limit * share) - amount, 0)
    return this.#window ? Math.max(this.#window.waitMs(room, nowMs), 1) : 1000
  }
}
