/** For tests: budgets over a table in memory, written as the ledger's writer does it. */
import type { LimitReservation, LimitVerdict } from '../../core/tenancy/limits.ts'
import type { Clock } from '../../lib/clock.ts'
import type { BudgetScope, BudgetSpend } from './budget-counters.ts'

/** Time as the test says. */
export class TestClock implements Clock {
  nowMs = 1_000_000
  epochMs = () => this.nowMs
  monotonicMs = () => this.nowMs
}

interface Row {
  readonly writer: string
  readonly scopes: readonly BudgetScope[]
  readonly nanoUsd: number
}

/** A ledger with its table of spending: rows wait in the journal of their process until they are stored. */
export class TestLedger {
  readonly rows: Row[] = []
  readonly #stored = new Map<string, Map<string, number>>()
  #waiting: Row[] = []

  settle(row: Row): void {
    this.rows.push(row)
    this.#waiting.push(row)
  }

  /** Stores what waits, of one process or of all. */
  store(writer?: string): void {
    const isDue = (row: Row) => writer === undefined || row.writer === writer
    for (const row of this.#waiting.filter(isDue))
      for (const { id, budget } of row.scopes) {
        const key = `${id}@${budget.startMs}`
        const amounts = this.#stored.get(key) ?? new Map<string, number>()
        amounts.set(row.writer, (amounts.get(row.writer) ?? 0) + row.nanoUsd)
        this.#stored.set(key, amounts)
      }
    this.#waiting = this.#waiting.filter(row => !isDue(row))
  }

  /** What is stored now. */
  backUp(): () => void {
    const rows = this.rows.length
    const stored = structuredClone(this.#stored)
    return () => {
      this.#stored.clear()
      for (const [key, amounts] of structuredClone(stored)) this.#stored.set(key, amounts)
      // What waits in journals comes into the database that is there then.
      const kept = this.rows.splice(rows).filter(row => this.#waiting.includes(row))
      this.rows.push(...kept)
    }
  }

  spendOf(writer: string): BudgetSpend {
    return {
      writer,
      read: async (scope, startMs) => {
        this.store(writer)
        return new Map(this.#stored.get(`${scope}@${startMs}`))
      },
    }
  }

  /** What the rows say. */
  sum({ id, budget }: BudgetScope): number {
    const counted = this.rows.filter(({ scopes }) =>
      scopes.some(one => one.id === id && one.budget.startMs === budget.startMs),
    )
    return counted.reduce((sum, row) => sum + row.nanoUsd, 0)
  }
}

/** A scope without limits but a budget; `id` is one of its own unless it is given. */
export function budgetOf(
  maxNanoUsd: number,
  { id = `key:${crypto.randomUUID()}`, startMs = 0, softNanoUsd = null as number | null } = {},
): BudgetScope {
  const endMs = startMs === 0 ? null : startMs + 86_400_000
  const budget = { maxNanoUsd, softNanoUsd, startMs, endMs }
  return { id, requestsPerMinute: null, tokensPerMinute: null, parallelRequests: null, budget }
}

/** Throws where the call was refused. */
export function takenOf(verdict: LimitVerdict): LimitReservation {
  if (!verdict.allowed) throw new Error(`refused by ${verdict.scope}`)
  return verdict
}
