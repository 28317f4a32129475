/** Whose customers and tags a call may name, and where the default budget of its end user counts. */
import { managesAll } from '../../core/caller.ts'
import type { Caller } from '../../core/caller.ts'
import type { BudgetSettings } from '../../core/tenancy/budgets.ts'
import { unlimited } from '../../core/tenancy/tenancy.ts'
import type { Customer, NameOwner, SpendingFields } from '../../core/tenancy/tenancy.ts'
import type { LimitOwner } from './limit-scopes.ts'

type NameRules = Pick<BudgetSettings, 'unownedLimits' | 'endUser'>

/**
 * Why calls of the caller may not name this customer or tag: it is of another team or organization (`foreign`), or it
 * limits calls and is of none (`unowned`), so that any tenant could use it up. undefined = they may. `fields` = its
 * limits and budget.
 */
export function namingProblem(
  caller: Caller,
  { teamId, organizationId }: NameOwner,
  fields: SpendingFields,
  { unownedLimits }: NameRules,
): 'foreign' | 'unowned' | undefined {
  if (managesAll(caller)) return undefined
  if (teamId !== null) return caller.team?.id === teamId ? undefined : 'foreign'
  if (organizationId !== null) return caller.organization?.id === organizationId ? undefined : 'foreign'
  return unownedLimits === 'refuse' && !isOperators(caller) && limitsCalls(fields) ? 'unowned' : undefined
}

/** A key of no user, team or organization, which administrators alone make: as of the operator's own application. */
const isOperators = ({ user, team, organization }: Caller): boolean => !user && !team && !organization

const numbers = ['maxBudgetNanoUsd', 'requestsPerMinute', 'tokensPerMinute', 'parallelRequests'] as const
const maps = ['modelMaxBudget', 'modelRequestsPerMinute', 'modelTokensPerMinute'] as const

/** Calls can be refused for it. */
export function limitsCalls(fields: SpendingFields): boolean {
  return numbers.some(name => fields[name] !== null) || maps.some(name => Object.keys(fields[name]).length > 0)
}

/** What holds for a stored customer: one without a budget of its own has that of the configuration. */
export function customerFields(customer: Customer, { endUser }: NameRules): SpendingFields {
  return endUser === null || customer.maxBudgetNanoUsd !== null ? customer : withDefault(customer, endUser)
}

/**
 * The limits of the end user that a call names; undefined = there are none. Who is not stored has the budget of the
 * configuration once for each tenant, the operator being one: another's keys, which may use the same id, cannot spend
 * it.
 */
export function customerLimits(
  caller: Caller,
  endUser: string,
  customer: Customer | undefined,
  rules: NameRules,
): LimitOwner | undefined {
  if (customer) return { id: `customer:${endUser}`, fields: customerFields(customer, rules) }
  if (rules.endUser === null) return undefined
  const fields = withDefault(unlimited, rules.endUser)
  if (rules.unownedLimits === 'allow' || isOperators(caller)) return { id: `customer:${endUser}`, fields }
  const [kind, id] = tenantOf(caller)
  return { id: `customer_of_${kind}:${encodeURIComponent(id)}/${endUser}`, fields }
}

function tenantOf({ team, organization, user }: Caller): [kind: string, id: string] {
  if (team) return ['team', team.id]
  return organization ? ['organization', organization.id] : ['user', user!.id]
}

/** One object for the same default, so that what is compiled from it is found again. */
const defaults = new WeakMap<object, WeakMap<object, SpendingFields>>()

function withDefault(fields: SpendingFields, rule: NonNullable<NameRules['endUser']>): SpendingFields {
  let ofRule = defaults.get(rule)
  if (!ofRule) defaults.set(rule, (ofRule = new WeakMap()))
  let found = ofRule.get(fields)
  if (!found) ofRule.set(fields, (found = { ...fields, ...rule }))
  return found
}
