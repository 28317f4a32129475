/** Whose customers and tags a call may name, and whose budget its end user has. */
import { describe, expect, test } from 'bun:test'
import { bareKey, masterCaller } from '../../core/caller.ts'
import type { Caller } from '../../core/caller.ts'
import { unlimited } from '../../core/tenancy/tenancy.ts'
import type { Customer, NamedBudget } from '../../core/tenancy/tenancy.ts'
import type { TenantDirectory } from '../../core/tenancy/tenancy-store.ts'
import type { LimitOwner } from './limit-scopes.ts'
import { endUserLimits, isLimitedCustomer, limitsCalls, namingProblem } from './named-owners.ts'

const callerOf = (more: object = {}): Caller => ({ role: 'key', key: { ...bareKey, id: 'k' }, ...more }) as Caller
const team = { id: 'red' }
const organization = { id: 'org' }
const user = { id: 'u' }
const limited = { ...unlimited, requestsPerMinute: 5 }
const refuse = { unownedLimits: 'refuse', endUser: null } as const
const allow = { unownedLimits: 'allow', endUser: null } as const
const nobodys = { teamId: null, organizationId: null }

describe('a customer or tag', () => {
  test('of a team is named by calls of this team alone, whatever the organization', () => {
    const owner = { teamId: 'red', organizationId: 'org' }
    expect(namingProblem(callerOf({ team }), owner, false, refuse)).toBeUndefined()
    expect(namingProblem(callerOf({ team: { id: 'blue' }, organization }), owner, false, refuse)).toBe('foreign')
    expect(namingProblem(callerOf({ organization }), owner, false, allow)).toBe('foreign')
  })

  test('of an organization is named by calls of this organization alone', () => {
    const owner = { teamId: null, organizationId: 'org' }
    expect(namingProblem(callerOf({ organization }), owner, true, refuse)).toBeUndefined()
    expect(namingProblem(callerOf({ organization: { id: 'other' } }), owner, false, allow)).toBe('foreign')
    expect(namingProblem(callerOf(), owner, false, allow)).toBe('foreign')
  })

  test('of nobody that limits calls is named by the operator alone, unless the configuration allows it to all', () => {
    for (const more of [{ team }, { organization }, { user }]) {
      expect(namingProblem(callerOf(more), nobodys, true, refuse)).toBe('unowned')
      expect(namingProblem(callerOf(more), nobodys, true, allow)).toBeUndefined()
      expect(namingProblem(callerOf(more), nobodys, false, refuse)).toBeUndefined()
    }
    expect(namingProblem(callerOf(), nobodys, true, refuse)).toBeUndefined()
  })

  test('of anybody is named by an administrator whose key is not restricted', () => {
    const owner = { teamId: 'red', organizationId: null }
    expect(namingProblem(masterCaller, owner, true, refuse)).toBeUndefined()
    expect(namingProblem({ ...masterCaller, restriction: 'models' }, owner, true, refuse)).toBe('foreign')
  })

  test('limits calls with any number, also 0, and with any limit of a model', () => {
    expect(limitsCalls(unlimited)).toBe(false)
    for (const name of ['maxBudgetNanoUsd', 'requestsPerMinute', 'tokensPerMinute', 'parallelRequests'])
      expect(limitsCalls({ ...unlimited, [name]: 0 })).toBe(true)
    for (const name of ['modelMaxBudget', 'modelRequestsPerMinute', 'modelTokensPerMinute'])
      expect(limitsCalls({ ...unlimited, [name]: { fast: 1 } })).toBe(true)
    expect(limitsCalls({ ...unlimited, softBudgetNanoUsd: 1n })).toBe(false)
  })
})

describe('the end user of a call', () => {
  const endUser = { ...unlimited, maxBudgetNanoUsd: 7n, budgetDuration: '1d' }
  const rules = { unownedLimits: 'refuse', endUser } as const
  const customer = (maxBudgetNanoUsd: bigint | null) =>
    ({ ...limited, id: 'c', maxBudgetNanoUsd, budgetDuration: '30d' }) as unknown as Customer
  const stored = (found: Customer | undefined, budget?: NamedBudget) => ({
    lookup: ((kind: string) => (kind === 'budget' ? budget : found)) as TenantDirectory['lookup'],
  })
  const limitsOf = (
    more: object,
    found: Customer | undefined,
    under: Parameters<typeof endUserLimits>[3],
    budget?: NamedBudget,
  ) => endUserLimits(callerOf(more), found?.id ?? 'x', stored(found, budget), under) as LimitOwner | undefined

  test('has its own budget where it is stored with one, else that of the configuration beside its own limits', () => {
    const [rich, poor] = [customer(9n), customer(null)]
    expect(limitsOf({ team }, rich, rules)).toMatchObject({
      id: 'customer:c',
      fields: { maxBudgetNanoUsd: 9n, budgetDuration: '30d', requestsPerMinute: 5 },
    })
    expect(limitsOf({ team }, poor, rules)!.fields).toMatchObject({
      maxBudgetNanoUsd: 7n,
      budgetDuration: '1d',
      requestsPerMinute: 5,
    })
    expect(limitsOf({ team }, poor, refuse)).toEqual({ id: 'customer:c', fields: poor })
    expect(limitsOf({ team }, rich, rules)!.fields).toBe(limitsOf({}, rich, rules)!.fields)
  })

  test('that is not stored has the budget of the configuration once for each tenant, the operator being one', () => {
    const idOf = (more: object, unownedLimits: 'allow' | 'refuse' = 'refuse') =>
      limitsOf(more, undefined, { unownedLimits, endUser })?.id
    expect(idOf({})).toBe('customer:x')
    expect(idOf({ team, organization, user }, 'allow')).toBe('customer:x')
    expect(idOf({ team, organization, user })).toBe('customer_of_team:red/x')
    expect(idOf({ organization, user })).toBe('customer_of_organization:org/x')
    expect(idOf({ user: { id: 'a/b' } })).toBe('customer_of_user:a%2Fb/x')
    const { fields } = limitsOf({ team }, undefined, rules)!
    expect(fields).toEqual(endUser)
    expect(limitsOf({}, undefined, rules)!.fields).toBe(fields)
  })

  test('that is not stored has no limits where the configuration sets none', () => {
    expect(limitsOf({ team }, undefined, refuse)).toBeUndefined()
    expect(limitsOf({}, undefined, allow)).toBeUndefined()
  })

  test('has what a named budget sets where the configuration names one, and is refused until that exists', () => {
    const named = { ...rules, endUser: { ...unlimited, tokensPerMinute: 50, budgetId: 'free' } }
    const budget = { ...unlimited, id: 'free', maxBudgetNanoUsd: 3n, requestsPerMinute: 2 } as unknown as NamedBudget
    expect(limitsOf({}, undefined, named, budget)!.fields).toMatchObject({
      maxBudgetNanoUsd: 3n,
      requestsPerMinute: 2,
      tokensPerMinute: 50,
    })
    expect(limitsOf({}, customer(9n), named, budget)!.fields).toMatchObject({
      maxBudgetNanoUsd: 9n,
      requestsPerMinute: 5,
      tokensPerMinute: 50,
    })
    expect(() => limitsOf({}, undefined, named)).toThrow('default_end_user_params.budget_id')
    expect(isLimitedCustomer({ ...customer(null), ...unlimited } as unknown as Customer, named)).toBe(true)
    expect(isLimitedCustomer({ ...customer(null), ...unlimited } as unknown as Customer, refuse)).toBe(false)
  })
})
