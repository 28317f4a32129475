/** What a call counts in budgets, as its row of the ledger says it. */
import type { LimitScope } from './limits.ts'

/** The budgets that a call counts in, with the beginnings of their present periods. */
export interface BudgetScopes {
  readonly scopes: readonly LimitScope[]
  /** For the ledger: the process, then `START SCOPE` for each budget. */
  readonly list: readonly string[]
}

/** What a call reserved before it was made. */
export interface BudgetReservation {
  readonly budgets: BudgetScopes
  /** Nano-dollars. */
  readonly nanoUsd: number
  /** What one request to an upstream can cost at most. */
  readonly boundNanoUsd: number
}

/** What a call is charged in its budgets. */
export interface BudgetCharge {
  /** Nano-dollars: the cost, or what was reserved where the cost is not known. */
  readonly nanoUsd: number
  /** As in `BudgetScopes`. */
  readonly list: readonly string[]
}

/** A name of a process, by which its amounts are told from those of others. */
export type SpendWriter = string

/** The list for the ledger. Milliseconds since 1970. */
export function budgetScopesOf(writer: SpendWriter, scopes: readonly LimitScope[]): BudgetScopes {
  const budgets = scopes.flatMap(({ id, budget }) => (budget ? [`${budget.startMs} ${id}`] : []))
  return { scopes, list: [writer, ...budgets] }
}

/** Reads such a list. */
export function readBudgetScopes(list: readonly string[]): {
  readonly writer: SpendWriter
  readonly periods: readonly { readonly scope: string; readonly startMs: number }[]
} {
  const [writer = '', ...budgets] = list
  const periods = budgets.flatMap(text => {
    const space = text.indexOf(' ')
    const startMs = Number(text.slice(0, space))
    return space > 0 && Number.isSafeInteger(startMs) ? [{ scope: text.slice(space + 1), startMs }] : []
  })
  return { writer, periods }
}
