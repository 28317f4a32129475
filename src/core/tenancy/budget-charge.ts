/** What a call counts in budgets, as its row of the ledger says it. */
import type { BudgetAmount, LimitScope } from './limits.ts'

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

/** An amount that is reserved in each of some scopes. */
export interface ScopeReservation {
  readonly scopes: readonly LimitScope[]
  /** Nano-dollars. */
  readonly nanoUsd: number
}

/** What a call has reserved in budgets; undefined = nothing. */
export interface ReservedBudgets {
  readonly reserved: BudgetReservation | undefined
  /** In budgets of single models, where it was passed on. */
  readonly byModel: readonly ScopeReservation[] | undefined
  readonly atProviders: readonly ScopeReservation[] | undefined
}

/** What a call is charged in its budgets. */
export interface BudgetCharge {
  /** Nano-dollars: the cost, or what was reserved where the cost is not known. */
  readonly nanoUsd: number
  /**
   * As in `BudgetScopes`; `START:AMOUNT SCOPE` where a budget is charged another amount, `START-AMOUNT SCOPE` (or
   * `START:AMOUNT-AMOUNT SCOPE`) where it gets back what was reserved.
   */
  readonly list: readonly string[]
}

/** What a batch reserves, or is charged, in one period of one budget. */
export interface BatchAmount extends BudgetAmount {
  /** It is the budget of this model, which its requests alone count in; null = of all of them. */
  readonly model: string | null
}

/** What is charged in one period of one budget. */
export interface ChargedAmount extends BudgetAmount {
  /** What was stored as reserved, and comes back with the charge. */
  readonly returnedNanoUsd?: number
}

/** A name of a process, by which its amounts are distinguished from those of others. */
export type SpendWriter = string

/** The list for the ledger. Milliseconds since 1970. */
export function budgetScopesOf(writer: SpendWriter, scopes: readonly LimitScope[]): BudgetScopes {
  const budgets = scopes.flatMap(({ id, budget }) => (budget ? [`${budget.startMs} ${id}`] : []))
  return { scopes, list: [writer, ...budgets] }
}

/** The list of a charge whose budgets are not all charged `nanoUsd`. */
export function chargeList(writer: SpendWriter, amounts: readonly ChargedAmount[], nanoUsd: number): readonly string[] {
  const textOf = ({ scope, startMs, nanoUsd: own, returnedNanoUsd: returned = 0 }: ChargedAmount) =>
    `${startMs}${own === nanoUsd ? '' : `:${own}`}${returned === 0 ? '' : `-${returned}`} ${scope}`
  return [writer, ...amounts.map(textOf)]
}

/**
 * What a call is charged if nothing is ever known of its end: what it has reserved, in each budget. undefined = it has
 * no budget, or is free.
 */
export function reservedCharge(
  { reserved, byModel, atProviders }: ReservedBudgets,
  writer: SpendWriter,
): BudgetCharge | undefined {
  if (byModel === undefined && atProviders === undefined)
    return reserved && { nanoUsd: reserved.nanoUsd, list: reserved.budgets.list }
  const amounts = new Map<string, BudgetAmount>()
  const note = (scopes: readonly LimitScope[], nanoUsd: number) => {
    for (const { id, budget } of scopes) {
      const known = amounts.get(id)?.nanoUsd ?? 0
      if (budget && nanoUsd > known) amounts.set(id, { scope: id, startMs: budget.startMs, nanoUsd })
    }
  }
  if (reserved) note(reserved.budgets.scopes, reserved.nanoUsd)
  for (const { scopes, nanoUsd } of byModel ?? []) note(scopes, nanoUsd)
  for (const { scopes, nanoUsd } of atProviders ?? []) note(scopes, nanoUsd)
  const all = [...amounts.values()]
  if (all.length === 0) return undefined
  const nanoUsd = Math.max(...all.map(one => one.nanoUsd))
  return { nanoUsd, list: chargeList(writer, all, nanoUsd) }
}

/** One budget of such a list. */
export interface ChargedPeriod {
  readonly scope: string
  readonly startMs: number
  /** Decimal text; undefined = that of the row. */
  readonly nanoUsd: string | undefined
  /** Likewise, what comes back; undefined = nothing. */
  readonly returnedNanoUsd: string | undefined
}

const periodForm = /^(\d{1,16})(?::(\d{1,19}))?(?:-(\d{1,19}))? (.+)$/s

/** Reads a list that `chargeList` made. */
export function readBudgetScopes(list: readonly string[]): {
  readonly writer: SpendWriter
  readonly periods: readonly ChargedPeriod[]
} {
  const [writer = '', ...budgets] = list
  const periods = budgets.flatMap(text => {
    const [, startMs, nanoUsd, returnedNanoUsd, scope] = periodForm.exec(text) ?? []
    return scope === undefined ? [] : [{ scope, startMs: Number(startMs), nanoUsd, returnedNanoUsd }]
  })
  return { writer, periods }
}
