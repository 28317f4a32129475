/**
 * What was spent of budgets. The ledger's writer adds the cost of each row to `budget_spend`, one amount for each
 * process that made calls, in the transaction of the rows. A process adds to these what it has settled itself: of its
 * own amount the larger one counts, so that nothing is missed and nothing counts twice, whenever the table is read.
 */
import { GatewayError } from '../../core/errors.ts'
import type { BudgetAmount, BudgetPeriod, LimitScope, StoredAmount } from '../../core/tenancy/limits.ts'
import type { Clock } from '../../lib/clock.ts'

/** Reads what is stored of budgets. */
export interface BudgetSpend {
  /** The name under which this process's amounts are stored. */
  readonly writer: string
  /**
   * Nano-dollars of a period by writer. Of a first reading this process's amount holds everything that it journalled
   * before it was asked. Rejects while the database cannot be read.
   */
  read(scope: string, startMs: number, isFirst: boolean): Promise<ReadonlyMap<string, number>>
}

/** What other processes spent is read again this often, while the budget is in use. */
const refreshMs = 15_000
/** Likewise, where nothing else reports it. */
const lonelyRefreshMs = 2000
/** Between readings that calls overtook. */
const recountPauseMs = 1000
/** Unused for so long, a counter is forgotten: what it counted has long been stored. */
const idleMs = 15 * 60_000
const sweepMs = 60_000

/** A budget and its present period. */
export type BudgetScope = LimitScope & { readonly budget: BudgetPeriod }

/** Whether the money of a scope is limited. */
export const hasBudget = (scope: LimitScope): scope is BudgetScope => scope.budget !== undefined

/** One period of one budget. Nano-dollars. */
export class BudgetCounter {
  readonly scope: string
  readonly startMs: number
  /** Names the scope and the period. */
  readonly period: string
  /** As it was asked for last. */
  latest: BudgetScope
  /** Settled by other processes, and what came back of reservations, below 0; as last read or reported. */
  others: ReadonlyMap<string, number> = new Map()
  othersSum = 0
  /** Settled by this process. */
  own = 0
  /** Of calls that are under way here. */
  reserved = 0
  /** Takings that are not released. */
  holders = 0
  usedMs: number
  loadedMs = -Infinity
  /** When the last reading that has ended was begun. */
  readMs = -Infinity
  loading: Promise<void> | undefined
  /** Calls wait for this reading, though something is known. */
  renewing: Promise<void> | undefined
  /** What this process has settled is to be read again: it may have stored more than it knows. */
  isDoubtful = false
  /** Before then it is not: calls ended while it was read last. */
  recountAfterMs = -Infinity
  /** When what this process has settled was read again. */
  recountedMs = -Infinity
  /** In which it was read; empty = it is not known. */
  database = ''
  /** The soft limit of this period was passed, and reported. */
  isAlerted = false
  /** Counts charges: a reading that one of them overtook is repeated. */
  settlements = 0

  constructor(scope: BudgetScope, nowMs: number) {
    this.scope = scope.id
    this.startMs = scope.budget.startMs
    this.period = `${scope.id}@${scope.budget.startMs}`
    this.latest = scope
    this.usedMs = nowMs
  }

  get isLoaded(): boolean {
    return this.loadedMs > -Infinity
  }

  /** Settled by all processes, as far as it is known here. */
  get spent(): number {
    return this.othersSum + this.own
  }

  /** What this process has settled. */
  count(nanoUsd: number): void {
    this.own += nanoUsd
    this.settlements++
  }

  /** Another database answers. What this process settles from now on is added to what is read there. */
  replaced(): void {
    this.isDoubtful = true
    this.recountAfterMs = -Infinity
    if (this.isLoaded) this.loadedMs = Number.MIN_SAFE_INTEGER
  }

  /** What is stored: of each amount the larger one is newer. `isAll` = nothing else was ever stored. */
  learn(amounts: Iterable<readonly [writer: string, nanoUsd: number]>, isAll = false): void {
    const others = isAll ? new Map<string, number>() : new Map(this.others)
    for (const [writer, nanoUsd] of amounts)
      if (Math.abs(nanoUsd) > Math.abs(others.get(writer) ?? 0)) others.set(writer, nanoUsd)
    this.others = others
    this.othersSum = others.values().reduce((sum, amount) => sum + amount, 0)
  }
}

interface BudgetCountersOptions {
  /** Absent = nothing is stored: each process begins with nothing spent. */
  readonly spend?: BudgetSpend | undefined
  /** That of all replicas, by which periods begin. */
  readonly clock: Clock
  /** A budget has reached its soft limit: called once a period and process. */
  softReached?(scope: BudgetScope, spentNanoUsd: number): void
}

/** What it was read from may say more by now. */
const isOld = ({ isDoubtful, recountAfterMs, usedMs, loadedMs }: BudgetCounter): boolean =>
  (isDoubtful && usedMs >= recountAfterMs) || usedMs - loadedMs > refreshMs

/** The counters of all budgets in use, each read from the database once before it is used. */
export class BudgetCounters {
  readonly #options: BudgetCountersOptions
  readonly #counters = new Map<string, BudgetCounter>()
  /** Of other periods than the one asked for last, by period: calls under way are counted in theirs. */
  readonly #former = new Map<string, BudgetCounter>()
  #sweptMs = 0
  #database = ''

  constructor(options: BudgetCountersOptions) {
    this.#options = options
  }

  get size(): number {
    return this.#counters.size
  }

  /** That of all replicas, by which periods begin. */
  get clock(): Clock {
    return this.#options.clock
  }

  /** Of the scope's period; calls of another one keep theirs. */
  find(scope: BudgetScope): BudgetCounter {
    let counter = this.#counters.get(scope.id)
    if (counter?.startMs !== scope.budget.startMs) {
      if (counter) this.#former.set(counter.period, counter)
      counter = this.#ofPeriod(scope)
      this.#counters.set(scope.id, counter)
    }
    counter.latest = scope
    return counter
  }

  /** A period comes back with the clock, or for a call that was identified before a reset and is admitted after it. */
  #ofPeriod(scope: BudgetScope): BudgetCounter {
    const nowMs = this.#options.clock.monotonicMs()
    const counter = new BudgetCounter(scope, nowMs)
    const former = this.#former.get(counter.period)
    if (former) {
      this.#former.delete(counter.period)
      return former
    }
    if (!this.#options.spend) {
      counter.loadedMs = nowMs
      counter.readMs = Infinity
    }
    return counter
  }

  /**
   * undefined = everything is known; else resolves when it is. Rejects with `overloaded`. What is asked for is in use:
   * it is kept, and read again now and then.
   */
  missing(scopes: readonly LimitScope[]): Promise<void> | undefined {
    let waits: Promise<void>[] | undefined
    let nowMs: number | undefined
    for (const scope of scopes) {
      if (!hasBudget(scope)) continue
      const counter = this.find(scope)
      counter.usedMs = nowMs ??= this.#options.clock.monotonicMs()
      if (!counter.isLoaded) (waits ??= []).push(this.#load(counter))
      else if (this.#options.spend && isOld(counter)) this.#refresh(counter)
    }
    return waits && Promise.all(waits).then(() => {})
  }

  /** For people who look: nothing else may have asked for it lately. Rejects as `missing`. */
  async upToDate(scopes: readonly LimitScope[]): Promise<void> {
    const counters = scopes.filter(hasBudget).map(scope => this.find(scope))
    const nowMs = this.#options.clock.monotonicMs()
    for (const counter of counters) counter.usedMs = nowMs
    await Promise.all(counters.map(one => (one.isLoaded ? one.loading?.catch(() => {}) : this.#load(one))))
    await this.renewed(counters, nowMs - lonelyRefreshMs)
  }

  /**
   * What was read before `sinceMs`, when the last other word of it came, is read again, once: undefined = nothing is to
   * be waited for. Never rejects: what is known goes on to count.
   */
  renewed(counters: readonly BudgetCounter[], sinceMs: number): Promise<void> | undefined {
    if (!this.#options.spend) return undefined
    let waits: Promise<void>[] | undefined
    for (const counter of counters) {
      if (counter.loadedMs < sinceMs) {
        counter.loadedMs = this.#options.clock.monotonicMs()
        counter.renewing = this.#load(counter)
          .catch(() => {})
          .finally(() => (counter.renewing = undefined))
      } else if (counter.usedMs - counter.loadedMs > lonelyRefreshMs) this.#refresh(counter)
      if (counter.renewing) (waits ??= []).push(counter.renewing)
    }
    return waits && Promise.all(waits).then(() => {})
  }

  /**
   * Reads a budget again unless a reading that was begun at `sinceMs` or later has ended. Never rejects: where the
   * database cannot be read, what is known goes on to count.
   */
  async readSince(counter: BudgetCounter, sinceMs: number): Promise<void> {
    while (counter.readMs < sinceMs)
      await this.#load(counter).catch(() => (counter.readMs = this.#options.clock.monotonicMs()))
  }

  /** Budgets in which this process has settled something, in their present periods: the latest of each. */
  withOwn(): BudgetScope[] {
    return [...this.#counters.values()].filter(one => one.own !== 0).map(one => one.latest)
  }

  /** Counts what a call cost. */
  settle(counter: BudgetCounter, scope: BudgetScope, nanoUsd: number): void {
    counter.count(nanoUsd)
    this.#tellSoft(counter, scope)
  }

  /** Counts what a batch may cost, which is stored already: what was read since `takenMs` may have it too. */
  keep(counter: BudgetCounter, nanoUsd: number, takenMs: number): void {
    counter.count(nanoUsd)
    if (counter.recountedMs >= takenMs) counter.isDoubtful = true
  }

  /**
   * Counts what was not reserved in the periods that are in use here, and what comes back with it; of others the
   * database has it before they are used. The scopes that it counted in.
   */
  charge(amounts: readonly BudgetAmount[], returned: readonly BudgetAmount[] = []): BudgetScope[] {
    const counters = this.#inUse(amounts)
    for (const [counter, { nanoUsd }] of counters) counter.count(nanoUsd)
    const writer = `-${this.writer}`
    for (const [counter, { nanoUsd }] of this.#inUse(returned))
      counter.learn([[writer, (counter.others.get(writer) ?? 0) - nanoUsd]])
    if (returned.length > 0) for (const [counter] of counters) this.#tellSoft(counter, counter.latest)
    return counters.map(([counter]) => counter.latest)
  }

  /** What came back; the scopes that it counted in. What was spent is known again: soft limits are reported. */
  stored(amounts: readonly StoredAmount[]): BudgetScope[] {
    const counters = this.#inUse(amounts)
    for (const [counter, { writer, nanoUsd }] of counters) counter.learn([[writer, nanoUsd]])
    for (const [counter] of counters) this.#tellSoft(counter, counter.latest)
    return counters.map(([counter]) => counter.latest)
  }

  /** Called with each budget that was read after the database was replaced. */
  onReread: (counter: BudgetCounter) => void = () => {}

  /**
   * Names the database that answers. Where it is another one than before, all budgets are read anew with their next
   * use, and what was known before counts no more.
   */
  nameDatabase(database: string): void {
    const isFirst = this.#database === ''
    if (database === this.#database) return
    this.#database = database
    for (const counters of [this.#counters, this.#former])
      for (const counter of counters.values())
        if (isFirst) counter.database = database
        else counter.replaced()
  }

  /** What this process has settled is read again, once no call ends meanwhile. */
  recount(scopes: readonly LimitScope[]): void {
    for (const scope of scopes) if (hasBudget(scope)) this.find(scope).isDoubtful = true
  }

  #inUse<Amount extends BudgetAmount>(amounts: readonly Amount[]): [BudgetCounter, Amount][] {
    return amounts.flatMap(amount => {
      const { scope, startMs } = amount
      const present = this.#counters.get(scope)
      const counter = present?.startMs === startMs ? present : this.#former.get(`${scope}@${startMs}`)
      // A reading that may have begun before is repeated.
      if (counter?.isLoaded === false) counter.settlements++
      return counter?.isLoaded ? [[counter, amount]] : []
    })
  }

  #tellSoft(counter: BudgetCounter, scope: BudgetScope): void {
    const { softNanoUsd } = scope.budget
    if (softNanoUsd === null || counter.isAlerted || counter.spent < softNanoUsd) return
    counter.isAlerted = true
    this.#options.softReached?.(scope, counter.spent)
  }

  /** The name of this process's amounts. */
  get writer(): string {
    return this.#options.spend?.writer ?? 'here'
  }

  /** Forgets what is idle; to be called now and then. */
  sweep(): void {
    const nowMs = this.#options.clock.monotonicMs()
    if (nowMs - this.#sweptMs < sweepMs) return
    this.#sweptMs = nowMs
    for (const [id, counter] of this.#counters)
      if (counter.holders === 0 && nowMs - counter.usedMs > idleMs) this.#counters.delete(id)
    for (const [period, counter] of this.#former) if (counter.holders === 0) this.#former.delete(period)
  }

  /** A reading that failed is tried again later; what is known goes on to count. */
  #refresh(counter: BudgetCounter): void {
    counter.loadedMs = counter.usedMs
    this.#load(counter).catch(() => {})
  }

  #load(counter: BudgetCounter): Promise<void> {
    return (counter.loading ??= this.#read(counter).finally(() => (counter.loading = undefined)))
  }

  async #read(counter: BudgetCounter): Promise<void> {
    const { spend, clock } = this.#options
    if (!spend) return
    const { scope, startMs, isLoaded } = counter
    for (;;) {
      const { settlements: before, own: ownBefore, database: databaseBefore } = counter
      const database = this.#database
      const fromMs = clock.monotonicMs()
      const isWhole = !isLoaded || counter.isDoubtful
      const amounts = new Map(await spend.read(scope, startMs, isWhole).catch(unreadable))
      const isOvertaken = counter.settlements !== before
      if ((!isLoaded && isOvertaken) || database !== this.#database) continue
      const isReplaced = isLoaded && databaseBefore !== database
      // Exact once nothing is settled meanwhile: until then what was settled since may be in both.
      if (isReplaced) counter.own = (amounts.get(spend.writer) ?? 0) + counter.own - ownBefore
      counter.database = database
      // Later it is the other way round: the table follows what is settled here.
      if (isWhole && !isOvertaken) {
        counter.own = amounts.get(spend.writer) ?? 0
        counter.isDoubtful = false
        if (isLoaded) counter.recountedMs = clock.monotonicMs()
      } else if (isWhole) counter.recountAfterMs = clock.monotonicMs() + recountPauseMs
      amounts.delete(spend.writer)
      counter.learn(amounts, isReplaced)
      counter.readMs = fromMs
      counter.loadedMs = clock.monotonicMs()
      if (isReplaced && this.#counters.get(counter.scope) === counter) this.onReread(counter)
      return
    }
  }
}

function unreadable(cause: unknown): never {
  throw new GatewayError(
    'overloaded',
    'what was spent of a budget cannot be read from the database now; try again later',
    { cause },
  )
}
