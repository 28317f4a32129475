/** The budgets of a caller, compiled: their present periods change only when one of them ends. */
import { budgetScopesOf } from '../../core/tenancy/budget-charge.ts'
import type { BudgetScopes } from '../../core/tenancy/budget-charge.ts'
import type { BudgetDefinition, BudgetDuration } from '../../core/tenancy/budgets.ts'
import { budgetNanoUsdMax } from '../../core/tenancy/limits.ts'
import type { BudgetPeriod, LimitScope } from '../../core/tenancy/limits.ts'
import type { SpendingFields } from '../../core/tenancy/tenancy.ts'
import { budgetWindow, readBudgetDuration } from './budget-window.ts'

/** A scope's own budget and those of a model in it, under any of its names, from the fields of a stored object. */
export function budgetDefinitions(id: string, fields: SpendingFields, names: readonly string[]): BudgetDefinition[] {
  const found: BudgetDefinition[] = []
  const { maxBudgetNanoUsd: max, softBudgetNanoUsd: soft, budgetIncreaseNanoUsd, budgetIncreaseUntilMs } = fields
  if (max !== null || soft !== null)
    found.push({
      id,
      maxNanoUsd: exact(max),
      softNanoUsd: soft === null ? null : exact(soft),
      duration: durationOf(fields.budgetDuration),
      resetAtMs: fields.budgetResetAtMs,
      spendResetAtMs: fields.spendResetAtMs,
      raise:
        budgetIncreaseNanoUsd === null || budgetIncreaseUntilMs === null
          ? null
          : { nanoUsd: exact(budgetIncreaseNanoUsd), untilMs: budgetIncreaseUntilMs },
    })
  for (const name of names) {
    const ofModel = Object.hasOwn(fields.modelMaxBudget, name) ? fields.modelMaxBudget[name] : undefined
    if (ofModel)
      found.push({
        id: `${id}:model:${name}`,
        maxNanoUsd: exact(ofModel.maxBudgetNanoUsd),
        softNanoUsd: null,
        duration: durationOf(ofModel.budgetDuration),
        resetAtMs: null,
        spendResetAtMs: null,
        raise: null,
      })
  }
  return found
}

/** null = no maximum. Sums of money are exact up to nine million dollars; a larger maximum counts as that. */
function exact(nanoUsd: bigint | null): number {
  return nanoUsd === null || nanoUsd > budgetNanoUsdMax ? budgetNanoUsdMax : Number(nanoUsd)
}

/** A text that is no duration was refused when it was stored; should one be there, the budget never resets. */
function durationOf(text: string | null): BudgetDuration | undefined {
  const read = text === null ? undefined : readBudgetDuration(text)
  return read && 'unit' in read ? read : undefined
}

interface CurrentPeriod {
  readonly budgets: BudgetScopes
  readonly fromMs: number
  /** From then on the periods, or their maximums, are others. */
  readonly untilMs: number
}

/** Budgets that hold together for the same calls. */
export class BudgetPlan {
  readonly #definitions: readonly BudgetDefinition[]
  readonly #timeZone: string
  readonly #writer: string
  #present: CurrentPeriod | undefined

  /** `writer`: see `budgetScopesOf`. */
  constructor(definitions: readonly BudgetDefinition[], { timeZone, writer }: { timeZone: string; writer: string }) {
    this.#definitions = definitions
    this.#timeZone = timeZone
    this.#writer = writer
  }

  /** The scopes with their present periods, and what the ledger says of them. */
  at(nowMs: number): BudgetScopes {
    const present = this.#present
    if (present && nowMs >= present.fromMs && nowMs < present.untilMs) return present.budgets
    let fromMs = 0
    let untilMs = Infinity
    const scopes = this.#definitions.map((definition): LimitScope => {
      const { resetAtMs, spendResetAtMs } = definition
      const window = budgetWindow(definition.duration, { timeZone: this.#timeZone, resetAtMs }, nowMs)
      const { endMs } = window
      let { startMs } = window
      if (spendResetAtMs !== null && spendResetAtMs > startMs) {
        // Another replica's clock may be ahead of this one.
        if (spendResetAtMs <= nowMs) startMs = spendResetAtMs
        else untilMs = Math.min(untilMs, spendResetAtMs)
      }
      fromMs = Math.max(fromMs, startMs)
      untilMs = Math.min(untilMs, endMs ?? Infinity)
      const { raise, softNanoUsd } = definition
      const isRaised = raise !== null && nowMs < raise.untilMs
      if (isRaised) untilMs = Math.min(untilMs, raise.untilMs)
      else if (raise) fromMs = Math.max(fromMs, raise.untilMs)
      const maxNanoUsd = Math.min(definition.maxNanoUsd + (isRaised ? raise.nanoUsd : 0), budgetNanoUsdMax)
      const budget: BudgetPeriod = { maxNanoUsd, softNanoUsd, startMs, endMs }
      return { id: definition.id, requestsPerMinute: null, tokensPerMinute: null, parallelRequests: null, budget }
    })
    this.#present = { budgets: budgetScopesOf(this.#writer, scopes), fromMs, untilMs }
    return this.#present.budgets
  }
}
