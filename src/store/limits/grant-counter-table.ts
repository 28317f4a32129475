/** The counters of one replica: those that calls used lately, or that hold something. */
import type { LimitScope, LimitUse } from '../../core/tenancy/limits.ts'
import { hasBudget } from './budget-counters.ts'
import type { BudgetCounter, BudgetCounters, BudgetScope } from './budget-counters.ts'
import { Counter } from './grant-counter.ts'
import type { CounterKind } from './exchange-terms.ts'
import type { LimitKeys } from './grant-script.ts'

type CountersByKind = { [kind in CounterKind]?: Counter }

/** By scope and kind, and by key in Redis. */
export class CounterTable {
  readonly #budgets: BudgetCounters
  readonly #keys: LimitKeys
  readonly #scopes = new Map<string, CountersByKind>()
  readonly #byKey = new Map<string, Counter>()

  constructor(budgets: BudgetCounters, keys: LimitKeys) {
    this.#budgets = budgets
    this.#keys = keys
  }

  get size(): number {
    return this.#byKey.size
  }

  keys(): MapIterator<string> {
    return this.#byKey.keys()
  }

  values(): MapIterator<Counter> {
    return this.#byKey.values()
  }

  /** By its key in Redis. */
  get(key: string): Counter | undefined {
    return this.#byKey.get(key)
  }

  /** undefined = the budget was not used lately. */
  budget({ period }: BudgetCounter): Counter | undefined {
    return this.#scopes.get(period)?.budget
  }

  /** In nano-dollars. */
  moneyLeft(scope: BudgetScope): number {
    const budget = this.#budgets.find(scope)
    const left = scope.budget.maxNanoUsd - budget.spent
    const counter = this.budget(budget)
    return counter ? Math.min(counter.remaining, left) : left
  }

  /** null = not used here lately. Money is reported by others. */
  useOf({ id, requestsPerMinute, tokensPerMinute, parallelRequests }: LimitScope): LimitUse {
    const kinds = this.#scopes.get(id)
    const used = (counter: Counter | undefined, limit: number | null) =>
      counter === undefined || limit === null ? null : Math.max(limit - counter.remaining, 0)
    return {
      requests: used(kinds?.requests, requestsPerMinute),
      tokens: used(kinds?.tokens, tokensPerMinute),
      parallelRequests: used(kinds?.parallel_requests, parallelRequests),
      spentNanoUsd: null,
      reservedNanoUsd: null,
    }
  }

  /** Every counter of a call. Money: after `BudgetCounters.missing`. */
  of(scopes: readonly LimitScope[], nowMs: number): Counter[] {
    const counters: Counter[] = []
    for (const scope of scopes) {
      const { id, requestsPerMinute, tokensPerMinute, parallelRequests } = scope
      if (requestsPerMinute !== null) counters.push(this.#counter('requests', id, requestsPerMinute, nowMs))
      if (tokensPerMinute !== null) counters.push(this.#counter('tokens', id, tokensPerMinute, nowMs))
      if (parallelRequests !== null) counters.push(this.#counter('parallel_requests', id, parallelRequests, nowMs))
      if (hasBudget(scope)) counters.push(this.#ofBudget(scope, nowMs))
    }
    return counters
  }

  /** See `BudgetCounters.renewed`; `sinceMs` undefined = nothing is read. */
  renewed(counters: readonly Counter[], sinceMs: number | undefined): Promise<void> | undefined {
    const budgets = counters.flatMap(({ money }) => money?.budget ?? [])
    return sinceMs === undefined ? undefined : this.#budgets.renewed(budgets, sinceMs)
  }

  delete({ key, kind, scope }: Counter): void {
    this.#byKey.delete(key)
    const kinds = this.#scopes.get(scope)
    if (!kinds) return
    delete kinds[kind]
    if (Object.keys(kinds).length === 0) this.#scopes.delete(scope)
  }

  #counter(kind: CounterKind, id: string, limit: number, nowMs: number): Counter {
    let kinds = this.#scopes.get(id)
    if (!kinds) this.#scopes.set(id, (kinds = {}))
    let counter = kinds[kind]
    if (!counter) {
      kinds[kind] = counter = new Counter({ kind, scope: id, key: this.#keys.counter(kind, id), limit, nowMs })
      this.#byKey.set(counter.key, counter)
    }
    counter.limit = limit
    return counter
  }

  #ofBudget(scope: BudgetScope, nowMs: number): Counter {
    // Each period has a counter of its own: calls of the one before are settled in theirs.
    const budget = this.#budgets.find(scope)
    const counter = this.#counter('budget', budget.period, scope.budget.maxNanoUsd, nowMs)
    const { writer, clock } = this.#budgets
    if (!counter.money) counter.begin({ budget, scope, writer, clock }, nowMs)
    else if (counter.money.budget !== budget || counter.money.scope !== scope)
      counter.money = { ...counter.money, budget, scope }
    return counter
  }
}
