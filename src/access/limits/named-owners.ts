/** Whose customers and tags a call may name, and where the default budget of its end user counts. */
import { managesAll } from '../../core/caller.ts'
import type { Caller } from '../../core/caller.ts'
import type { BudgetSettings } from '../../core/tenancy/budgets.ts'
import type { TenantDirectory } from '../../core/tenancy/tenancy-store.ts'
import { GatewayError } from '../../core/errors.ts'
import type { Customer, NamedBudget, NameOwner, SpendingFields } from '../../core/tenancy/tenancy.ts'
import { withBudget } from '../caller.ts'
import type { LimitOwner } from './limit-scopes.ts'

type NameRules = Pick<BudgetSettings, 'unownedLimits' | 'endUser'>

/**
 * Why calls of the caller may not name this customer or tag: it is of another team or organization (`foreign`), or it
 * limits calls and is of none (`unowned`), so that any tenant could use it up. undefined = they may. `isLimited` = it
 * has limits or a budget by which calls can be refused.
 */
export function namingProblem(
  caller: Caller,
  { teamId, organizationId }: NameOwner,
  isLimited: boolean,
  { unownedLimits }: NameRules,
): 'foreign' | 'unowned' | undefined {
  if (managesAll(caller)) return undefined
  if (teamId !== null) return caller.team?.id === teamId ? undefined : 'foreign'
  if (organizationId !== null) return caller.organization?.id === organizationId ? undefined : 'foreign'
  return unownedLimits === 'refuse' && !isOperators(caller) && isLimited ? 'unowned' : undefined
}

/** A key of no user, team or organization, which administrators alone make: as of the operator's own application. */
const isOperators = ({ user, team, organization }: Caller): boolean => !user && !team && !organization

const numbers = ['maxBudgetNanoUsd', 'requestsPerMinute', 'tokensPerMinute', 'parallelRequests'] as const
const maps = ['modelMaxBudget', 'modelRequestsPerMinute', 'modelTokensPerMinute'] as const

/** Calls can be refused for it. */
export function limitsCalls(fields: SpendingFields): boolean {
  return numbers.some(name => fields[name] !== null) || maps.some(name => Object.keys(fields[name]).length > 0)
}

/** The same of a customer, with what the configuration says of all of them. */
export function isLimitedCustomer(customer: Customer, { endUser }: NameRules): boolean {
  return limitsCalls(customer) || (endUser !== null && (endUser.budgetId !== null || limitsCalls(endUser)))
}

/**
 * What the configuration sets for end users, with the named budget of which it sets the id. Throws GatewayError where
 * that is not there: it is not known then what may be spent.
 */
function endUserDefaults(rule: SpendingFields, budget: NamedBudget | undefined): SpendingFields {
  if (rule.budgetId === null) return rule
  if (!budget)
    throw new GatewayError(
      'forbidden',
      'calls of end users are refused: the budget that `default_end_user_params.budget_id` names does not exist; ' +
        'an administrator makes it by POST /budget/new',
      { param: 'user' },
    )
  let found = withNamed.get(budget)
  if (found?.rule !== rule) withNamed.set(budget, (found = { rule, fields: withBudget(rule, budget) }))
  return found.fields
}

const withNamed = new WeakMap<NamedBudget, { readonly rule: SpendingFields; readonly fields: SpendingFields }>()

/** What holds for a stored customer: where it sets nothing, what `defaults` say. null = they say nothing. */
export function customerFields(customer: SpendingFields, defaults: SpendingFields | null): SpendingFields {
  return defaults === null ? customer : withDefaults(customer, defaults)
}

/** The end user that a call names. */
interface NamedEndUser {
  readonly id: string
  /** undefined = it is not stored. */
  readonly customer: Customer | undefined
  /** Of all end users (`endUserDefaults`); null = none. */
  readonly defaults: SpendingFields | null
}

/**
 * The limits of the end user that a call names; undefined = there are none. Who is not stored has the budget of the
 * configuration once for each tenant, the operator being one: another's keys, which may use the same id, cannot spend
 * it.
 */
function customerLimits(
  caller: Caller,
  { id, customer, defaults }: NamedEndUser,
  { unownedLimits }: Pick<NameRules, 'unownedLimits'>,
): LimitOwner | undefined {
  if (customer) return { id: `customer:${id}`, fields: customerFields(customer, defaults) }
  if (defaults === null) return undefined
  if (unownedLimits === 'allow' || isOperators(caller)) return { id: `customer:${id}`, fields: defaults }
  const [kind, tenantId] = tenantOf(caller)
  return { id: `customer_of_${kind}:${encodeURIComponent(tenantId)}/${id}`, fields: defaults }
}

/**
 * The limits of the end user of a call; undefined = none. Throws GatewayError where the budget that the configuration
 * names for end users does not exist.
 */
export function endUserLimits(
  caller: Caller,
  id: string,
  tenants: Pick<TenantDirectory, 'lookup'>,
  rules: NameRules,
): LimitOwner | undefined | Promise<LimitOwner | undefined> {
  const rule = rules.endUser
  const limits = (customer: Customer | undefined, budget: NamedBudget | undefined): LimitOwner | undefined =>
    customerLimits(caller, { id, customer, defaults: rule && endUserDefaults(rule, budget) }, rules)
  const customer = tenants.lookup('customer', id)
  if (rule?.budgetId == null)
    return customer instanceof Promise ? customer.then(one => limits(one, undefined)) : limits(customer, undefined)
  const budget = tenants.lookup('budget', rule.budgetId)
  if (!(customer instanceof Promise || budget instanceof Promise)) return limits(customer, budget)
  return Promise.all([customer, budget]).then(found => limits(...found))
}

function tenantOf({ team, organization, user }: Caller): [kind: string, id: string] {
  if (team) return ['team', team.id]
  return organization ? ['organization', organization.id] : ['user', user!.id]
}

/** One object for the same defaults, so that what is compiled from it is found again. */
const known = new WeakMap<SpendingFields, WeakMap<SpendingFields, SpendingFields>>()

function withDefaults(fields: SpendingFields, defaults: SpendingFields): SpendingFields {
  let ofDefaults = known.get(defaults)
  if (!ofDefaults) known.set(defaults, (ofDefaults = new WeakMap()))
  let found = ofDefaults.get(fields)
  if (!found) ofDefaults.set(fields, (found = merged(fields, defaults)))
  return found
}

/** A budget has its own period. */
function merged(fields: SpendingFields, defaults: SpendingFields): SpendingFields {
  const { maxBudgetNanoUsd, budgetDuration, budgetResetAtMs } = defaults
  const money =
    fields.maxBudgetNanoUsd === null && maxBudgetNanoUsd !== null
      ? { maxBudgetNanoUsd, budgetDuration, budgetResetAtMs }
      : {}
  return {
    ...fields,
    ...money,
    requestsPerMinute: fields.requestsPerMinute ?? defaults.requestsPerMinute,
    tokensPerMinute: fields.tokensPerMinute ?? defaults.tokensPerMinute,
    parallelRequests: fields.parallelRequests ?? defaults.parallelRequests,
    modelRequestsPerMinute: { ...defaults.modelRequestsPerMinute, ...fields.modelRequestsPerMinute },
    modelTokensPerMinute: { ...defaults.modelTokensPerMinute, ...fields.modelTokensPerMinute },
    modelMaxBudget: { ...defaults.modelMaxBudget, ...fields.modelMaxBudget },
  }
}
