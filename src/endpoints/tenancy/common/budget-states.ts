/** Reads how budgets stand now. */
import { BudgetPlan, budgetDefinitions } from '../../../access/limits/budget-plan.ts'
import { shownBudgetState } from '../../../access/limits/budget-state.ts'
import { withBudget } from '../../../access/caller.ts'
import type { BudgetDefinition, BudgetRule } from '../../../core/tenancy/budgets.ts'
import type { Services } from '../../../core/endpoint.ts'
import type { SpendingFields } from '../../../core/tenancy/tenancy.ts'
import { dateTime, described, integer, nullable, number, shape, text } from '../../openapi/schema.ts'
import type { ValueOf } from '../../openapi/schema.ts'

const dollars = nullable(number)

/** How a budget stands, as the API shows it: the properties of a schema. */
export const budgetStateFields = {
  max_budget: described('Dollars, raises that hold now included; null = only a soft budget.', dollars),
  soft_budget: described('Dollars at which an alert is raised; null = there is no such amount.', dollars),
  spent: described('Dollars that calls of the present period have cost.', number),
  reserved: described('Dollars that calls under way at this replica may cost at most.', number),
  left: described('Dollars that may be spent still, without what calls at other replicas reserve.', dollars),
  budget_duration: described('When spending begins at 0 again; null = it never does.', nullable(text)),
  period_start: described('When the present period began; null = the budget never begins anew.', nullable(dateTime)),
  budget_reset_at: described('When the present period ends; null = it never does.', nullable(dateTime)),
  forecast: described(
    'Dollars that will be spent at the end of the period, in a straight line from its beginning.',
    dollars,
  ),
  reached_at: described('When the maximum is reached by the forecast; null = not in this period.', nullable(dateTime)),
}
/** The schema allows how a budget stands, or null. */
export const ownBudgetSchema = described(
  'How the budget stands in its present period; null = it has none.',
  nullable(shape(budgetStateFields)),
)
/** The schema allows the limits that hold for one object. */
export const heldLimitsSchema = shape({
  rpm_limit: nullable(integer),
  tpm_limit: nullable(integer),
  max_parallel_requests: nullable(integer),
})
/** What holds for one stored object, as the API shows it: the properties of a schema. */
export const spendingStateFields = {
  budget: ownBudgetSchema,
  limits: described(
    'The limits that hold: its own, and where it has none those of its named budget.',
    heldLimitsSchema,
  ),
}
const spendingStateSchema = shape(spendingStateFields)

/** A budget, and its duration as it was written; null = it never begins anew. */
export interface DefinedBudget {
  readonly definition: BudgetDefinition
  readonly duration: string | null
}

/** In the order of `budgets`, as the API shows them. Rejects with `overloaded` while the database cannot be read. */
export async function budgetStates(
  { limiter, sharedClock, current }: Pick<Services, 'limiter' | 'sharedClock' | 'current'>,
  budgets: readonly DefinedBudget[],
) {
  const { timeZone } = current.settings.budgets
  const nowMs = sharedClock.epochMs()
  const present = budgets.map(({ definition, duration }) => {
    // Nothing is written, so the name of the writer does not matter.
    const [scope] = new BudgetPlan([definition], { timeZone, writer: '' }).at(nowMs).scopes
    return { scope: scope!, duration }
  })
  await limiter.refresh(present.map(({ scope }) => scope))
  return present.map(({ scope, duration }) => {
    const { spentNanoUsd, reservedNanoUsd } = limiter.use(scope)
    const use = { spentNanoUsd: spentNanoUsd ?? 0, reservedNanoUsd: reservedNanoUsd ?? 0 }
    return shownBudgetState(scope.budget!, use, { duration, nowMs })
  })
}

/**
 * The budget and the limits of one stored object, with what its named budget sets, and for customers the configuration.
 * Errors: those of `budgetStates`.
 */
export async function spendingStateOf(
  services: Pick<Services, 'limiter' | 'sharedClock' | 'current' | 'tenancy'>,
  kind: 'key' | 'user' | 'team' | 'organization' | 'customer',
  own: SpendingFields & { readonly id: string },
): Promise<ValueOf<typeof spendingStateSchema>> {
  const named = own.budgetId === null ? undefined : await services.tenancy.find('budget', own.budgetId)
  const { endUser } = services.current.settings.budgets
  const stored = withBudget<SpendingFields>(own, named)
  const fields = kind === 'customer' ? withDefaultBudget(stored, endUser) : stored
  const [definition] = budgetDefinitions(`${kind}:${own.id}`, fields, [])
  const limits = {
    rpm_limit: fields.requestsPerMinute,
    tpm_limit: fields.tokensPerMinute,
    max_parallel_requests: fields.parallelRequests,
  }
  if (!definition) return { budget: null, limits }
  const [budget] = await budgetStates(services, [{ definition, duration: fields.budgetDuration }])
  return { budget: budget!, limits }
}

/** Customers without a maximum of their own have the one of the configuration. */
const withDefaultBudget = (fields: SpendingFields, rule: BudgetRule | null): SpendingFields =>
  rule !== null && fields.maxBudgetNanoUsd === null ? { ...fields, ...rule } : fields
