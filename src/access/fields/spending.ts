/** Limits and budgets: what is wrong with fields that only work together. */
import type { SpendingFields } from '../../core/tenancy/tenancy.ts'
import { iso } from './answers.ts'

/** The field to be mended, by its name in the API. */
interface SpendingProblem {
  readonly field: string
  readonly msg: string
}

/** What a change begins with: nothing for a new object. `nowMs` = since 1970. */
interface SpendingChange {
  readonly before: Partial<SpendingFields>
  readonly nowMs: number
}
/** What is wrong with fields that only work together, as they would stand after a change; undefined = nothing. */
export function spendingProblem(
  fields: Partial<SpendingFields>,
  { before, nowMs }: SpendingChange,
): SpendingProblem | undefined {
  const { budgetIncreaseNanoUsd: raised = null, budgetIncreaseUntilMs: until = null } = fields
  if ((raised === null) !== (until === null)) {
    const field = raised === null ? 'temp_budget_increase' : 'temp_budget_expiry'
    return { field, msg: 'temp_budget_increase and temp_budget_expiry need each other' }
  }
  if (raised === null && fields.budgetIncreaseReason != null)
    return { field: 'temp_budget_reason', msg: 'temp_budget_reason needs temp_budget_increase' }
  // A raise that has ended may be sent again unchanged, together with other changes.
  if (until !== null && until <= nowMs && until !== before.budgetIncreaseUntilMs)
    return {
      field: 'temp_budget_expiry',
      msg:
        `temp_budget_expiry is past (${iso(until)}): the budget would not be raised; give a later moment, or ` +
        'null for both fields to end a raise',
    }
  const { softBudgetNanoUsd: soft = null, maxBudgetNanoUsd: max = null } = fields
  if (soft !== null && max !== null && soft > max)
    return { field: 'soft_budget', msg: 'soft_budget must be at most max_budget' }
  return undefined
}
