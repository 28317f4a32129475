/** Whose customers and tags a call may name, and whose budget its end user has. */
import { describe, expect, test } from 'bun:test'
import { bareKey, masterCaller } from '../../core/caller.ts'
import type { Caller } from '../../core/caller.ts'
import { unlimited } from '../../core/tenancy/tenancy.ts'
import type { Customer } from '../../core/tenancy/tenancy.ts'
import { customerFields, customerLimits, limitsCalls, namingProblem } from './named-owners.ts'

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
    expect(namingProblem(callerOf({ team }), owner, unlimited, refuse)).toBeUndefined()
    expect(namingProblem(callerOf({ team: { id: 'blue' }, organization }), owner, unlimited, refuse)).toBe('foreign')
    expect(namingProblem(callerOf({ organization }), owner, unlimited, allow)).toBe('foreign')
  })

  test('of an organization is named by calls of this organization alone', () => {
    const owner = { teamId: null, organizationId: 'org' }
    expect(namingProblem(callerOf({ organization }), owner, limited, refuse)).toBeUndefined()
    expect(namingProblem(callerOf({ organization: { id: 'other' } }), owner, unlimited, allow)).toBe('foreign')
    expect(namingProblem(callerOf(), owner, unlimited, allow)).toBe('foreign')
  })

  test('of nobody that limits calls is named by the operator alone, unless the configuration allows it to all', () => {
    for (const more of [{ team }, { organization }, { user }]) {
      expect(namingProblem(callerOf(more), nobodys, limited, refuse)).toBe('unowned')
      expect(namingProblem(callerOf(more), nobodys, limited, allow)).toBeUndefined()
      expect(namingProblem(callerOf(more), nobodys, unlimited, refuse)).toBeUndefined()
    }
    expect(namingProblem(callerOf(), nobodys, limited, refuse)).toBeUndefined()
  })

  test('of anybody is named by an administrator whose key is not restricted', () => {
    const owner = { teamId: 'red', organizationId: null }
    expect(namingProblem(masterCaller, owner, limited, refuse)).toBeUndefined()
    expect(namingProblem({ ...masterCaller, restriction: 'models' }, owner, limited, refuse)).toBe('foreign')
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
  const endUser = { maxBudgetNanoUsd: 7n, budgetDuration: '1d' }
  const rules = { unownedLimits: 'refuse', endUser } as const
  const customer = (maxBudgetNanoUsd: bigint | null) =>
    ({ ...limited, id: 'c', maxBudgetNanoUsd, budgetDuration: '30d' }) as unknown as Customer

  test('has its own budget where it is stored with one, else that of the configuration beside its own limits', () => {
    const rich = customer(9n)
    expect(customerFields(rich, rules)).toBe(rich)
    expect(customerFields(customer(null), rules)).toMatchObject({ ...endUser, requestsPerMinute: 5 })
    const poor = customer(null)
    expect(customerFields(poor, refuse)).toBe(poor)
    expect(customerLimits(callerOf({ team }), 'c', rich, rules)).toEqual({ id: 'customer:c', fields: rich })
    expect(customerLimits(callerOf({ team }), 'c', rich, refuse)).toEqual({ id: 'customer:c', fields: rich })
  })

  test('that is not stored has the budget of the configuration once for each tenant, the operator being one', () => {
    const idOf = (more: object, unownedLimits: 'allow' | 'refuse' = 'refuse') =>
      customerLimits(callerOf(more), 'x', undefined, { unownedLimits, endUser })?.id
    expect(idOf({})).toBe('customer:x')
    expect(idOf({ team, organization, user }, 'allow')).toBe('customer:x')
    expect(idOf({ team, organization, user })).toBe('customer_of_team:red/x')
    expect(idOf({ organization, user })).toBe('customer_of_organization:org/x')
    expect(idOf({ user: { id: 'a/b' } })).toBe('customer_of_user:a%2Fb/x')
    const fields = customerLimits(callerOf({ team }), 'x', undefined, rules)!.fields
    expect(fields).toEqual({ ...unlimited, ...endUser })
    expect(customerLimits(callerOf(), 'y', undefined, rules)!.fields).toBe(fields)
  })

  test('that is not stored has no limits where the configuration sets none', () => {
    expect(customerLimits(callerOf({ team }), 'x', undefined, refuse)).toBeUndefined()
    expect(customerLimits(callerOf(), 'x', undefined, allow)).toBeUndefined()
  })
})
