/** Reads how budgets stand now. */
import { BudgetPlan, budgetDefinitions } from '../../../access/limits/budget-plan.ts'
import { shownBudgetState } from '../../../access/limits/budget-state.ts'
import { withBudget } from '../../../access/caller.ts'
import type { BudgetDefinition, BudgetRule } from '../../../core/tenancy/budgets.ts'
import type { Services } from '../../../core/endpoint.ts'
import type { SpendingFields } from '../../../core/tenancy/tenancy.ts'

/** A budget, and its duration as it was written; null = it never begins anew. */
export interface DefinedBudget {
  readonly definition: BudgetDefinition
  readonly duration: string | null
}

/** In the order of `budgets`, as the API shows them. Rejects with `overloaded` while the database cannot be read. */
export async function budgetStates(
  { limiter, sharedClock, current }: Pick<Services, 'limiter' | 'sharedClock' | 'current'>,
  budgets: readonly DefinedBudget[],
): Promise<Record<string, unknown>[]> {
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

/** What holds for one stored object, as the API shows it. */
interface SpendingState {
  /** null = it has no budget. */
  readonly budget: Record<string, unknown> | null
  readonly limits: Readonly<Record<'rpm_limit' | 'tpm_limit' | 'max_parallel_requests', number | null>>
}

/**
 * The budget and the limits of one stored object, with what its named budget sets, and for customers the configuration.
 * Errors: those of `budgetStates`.
 */
export async function spendingStateOf(
  services: Pick<Services, 'limiter' | 'sharedClock' | 'current' | 'tenancy'>,
  kind: 'key' | 'user' | 'team' | 'organization' | 'customer',
  own: SpendingFields & { readonly id: string },
): Promise<SpendingState> {
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
