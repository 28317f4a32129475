/** Where limits and budgets of a call count, and what its budgets are at a moment. */
import { describe, expect, test } from 'bun:test'
import { bareKey, masterCaller } from '../../core/caller.ts'
import type { Caller } from '../../core/caller.ts'
import type { ModelDirectory } from '../../core/model-directory.ts'
import type { Settings } from '../../core/settings.ts'
import { unlimited } from '../../core/tenancy/tenancy.ts'
import type { SpendingFields } from '../../core/tenancy/tenancy.ts'
import { BudgetPlan, budgetDefinitions } from './budget-plan.ts'
import { CallerLimits } from './limit-scopes.ts'

const none = { requestsPerMinute: null, tokensPerMinute: null, parallelRequests: null }
const settings = (more: object = {}): Settings =>
  ({
    userLimits: none,
    rateLimitCounts: 'calls',
    budgets: { all: null, timeZone: 'UTC' },
    ...more,
  }) as unknown as Settings
/** Knows no model: each has the one name that it is asked for. */
const index = { settings: { aliases: {} }, resolve: () => [] } as unknown as ModelDirectory
const usd = (dollars: number) => ({ maxBudgetNanoUsd: BigInt(dollars) * 1_000_000_000n })
const callerOf = (key: Partial<SpendingFields>, more: object = {}): Caller =>
  ({ role: 'key', key: { ...bareKey, id: 'k', ...key }, ...more }) as Caller
const limitsOf = (caller: Caller, more?: object) => new CallerLimits(caller, settings(more), 'w')
const idsAt = (plan: BudgetPlan | undefined, nowMs: number) => plan?.at(nowMs).scopes.map(({ id }) => id)

test('limits of key, user, team, member, organization, tags and derivations all count', () => {
  const rpm = (requestsPerMinute: number) => ({ ...unlimited, requestsPerMinute })
  const caller = callerOf(rpm(1), {
    user: { id: 'u', ...rpm(2) },
    team: { id: 't', ...rpm(3) },
    member: { kind: 'team', groupId: 't', userId: 'u', ...rpm(4) },
    organization: { id: 'o', ...rpm(5) },
    memberships: [{ kind: 'organization', groupId: 'o', userId: 'u', ...rpm(6) }],
    tags: [{ id: 'nightly', ...rpm(7) }],
    derived: [{ id: 'd', ...rpm(8) }],
  })
  const ids = ['key:k', 'user:u', 'derived:d', 'team:t', 'member:t/u', 'organization:o', 'organization_member:o/u']
  expect(limitsOf(caller).all.map(({ id }) => id)).toEqual([...ids, 'tag:nightly'])
  expect(limitsOf(masterCaller).all).toEqual([])
})

test('limits and budgets of a model count in scopes of their own, beside those of what the call names', () => {
  const team = { ...unlimited, id: 't', modelTokensPerMinute: { fast: 100 }, ...usd(5) }
  const budget = { fast: { ...usd(1), budgetDuration: '1d' } }
  const caller = callerOf({ modelRequestsPerMinute: { fast: 2 }, modelMaxBudget: budget }, { team })
  const customer = { id: 'customer:c', fields: { ...unlimited, tokensPerMinute: 9, ...usd(2) } }
  const limits = limitsOf(caller, { budgets: { all: { ...usd(9), budgetDuration: '1mo' }, timeZone: 'UTC' } })
  expect(limits.ofModel('slow', index).limits).toEqual([])
  expect(limits.ofModel('fast', index, [customer]).limits).toEqual([
    { id: 'key:k:model:fast', ...none, requestsPerMinute: 2 },
    { id: 'team:t:model:fast', ...none, tokensPerMinute: 100 },
    { id: 'customer:c', ...none, tokensPerMinute: 9 },
  ])
  const ids = ['key:k:model:fast', 'team:t', 'customer:c', 'gateway']
  expect(idsAt(limits.ofModel('fast', index, [customer]).plan, 1)).toEqual(ids)
  expect(idsAt(limits.ofModel('constructor', index).plan, 1)).toEqual(['team:t', 'gateway'])
  expect(limits.ofModel('fast', index, [customer])).toBe(limits.ofModel('fast', index, [customer]))
})

test('defaults hold for users without limits of their own, and for a key without a user as if it were one', () => {
  const userLimits = { ...none, requestsPerMinute: 5 }
  const ids = (caller: Caller) => limitsOf(caller, { userLimits }).all.map(one => [one.id, one.requestsPerMinute])
  expect(ids(callerOf({}))).toEqual([['user:key:k', 5]])
  expect(ids(callerOf({}, { user: { ...unlimited, id: 'u' } }))).toEqual([['user:u', 5]])
  expect(ids(callerOf({}, { user: { ...unlimited, id: 'u', requestsPerMinute: 9 } }))).toEqual([['user:u', 9]])
})

test('without limits and budgets there is nothing to be asked', () => {
  const limits = limitsOf(callerOf({}))
  expect([limits.all, limits.ofModel('m', index)]).toEqual([
    [],
    { limits: [], ofModel: [], plan: undefined, modelPlan: undefined },
  ])
})

test('a raise counts until its end, a period until its, and a key that is made anew keeps both', () => {
  const hour = 3_600_000
  const day = Date.UTC(2026, 10, 23)
  const fields = { ...unlimited, ...usd(1), budgetDuration: '1d' }
  const raised = { ...fields, budgetIncreaseNanoUsd: 2_000_000_000n, budgetIncreaseUntilMs: day + 6 * hour }
  const planOf = () => new BudgetPlan(budgetDefinitions('key:k', raised, ['m']), { timeZone: 'UTC', writer: 'w' })
  const plan = planOf()
  const periods = [0, 5, 6, 23, 24].map(hours => plan.at(day + hours * hour).scopes[0]!.budget!)
  expect(periods.map(({ maxNanoUsd, startMs }) => [maxNanoUsd / 1e9, (startMs - day) / hour])).toEqual([
    [3, 0],
    [3, 0],
    [1, 0],
    [1, 0],
    [1, 24],
  ])
  // Back before the end of the raise, as clocks may go.
  expect(plan.at(day + hour).scopes[0]!.budget!.maxNanoUsd).toBe(3e9)
  // Another text of the key is the same key: the scope and the period are those of before.
  expect(planOf().at(day + hour)).toEqual(plan.at(day + hour))
  // When the key ends has nothing to do with when its budget does.
  const ended = limitsOf(callerOf({ ...fields, expiresAtMs: day + hour } as Partial<SpendingFields>))
  expect(ended.ofModel('m', index).plan!.at(day + 2 * hour).scopes[0]!.budget!.endMs).toBe(day + 24 * hour)
})

test('a soft budget alone refuses nothing, and a maximum beyond what numbers hold counts as the largest', () => {
  const [soft] = budgetDefinitions('key:k', { ...unlimited, softBudgetNanoUsd: 5n }, ['m'])
  expect([soft!.maxNanoUsd, soft!.softNanoUsd]).toEqual([9e15, 5])
  expect(budgetDefinitions('key:k', { ...unlimited, ...usd(50_000_000) }, ['m'])[0]!.maxNanoUsd).toBe(9e15)
})

describe('the scopes that count', () => {
  const fields = { requestsPerMinute: 3, tokensPerMinute: 9, parallelRequests: 2 }
  const key = (id: string, more: object) => ({ id, ...none, ...more })

  test('requests and parallel calls before the body, tokens when it is read, requests alone for what is no call', () => {
    const limits = limitsOf(callerOf(fields, { team: { ...unlimited, id: 't', tokensPerMinute: 4 } }))
    expect(limits.all).toEqual([key('key:k', fields), key('team:t', { tokensPerMinute: 4 })])
    expect(limits.head).toEqual([key('key:k', { requestsPerMinute: 3, parallelRequests: 2 })])
    expect(limits.tokens).toEqual([key('key:k', { tokensPerMinute: 9 }), key('team:t', { tokensPerMinute: 4 })])
    expect(limits.requests).toEqual([key('key:k', { requestsPerMinute: 3 })])
    const parallel = limitsOf(callerOf({ parallelRequests: 2 }))
    expect([parallel.head.length, parallel.tokens.length, parallel.requests.length]).toEqual([1, 0, 0])
  })

  test('where all requests count, they do so in a scope of their own, and no call counts twice', () => {
    const limits = limitsOf(callerOf(fields), { rateLimitCounts: 'requests' })
    expect(limits.all).toEqual([key('key:k', { tokensPerMinute: 9, parallelRequests: 2 })])
    expect(limits.head).toEqual([key('key:k', { parallelRequests: 2 })])
    expect(limits.requests).toEqual([key('key:k:requests', { requestsPerMinute: 3 })])
    expect(limits.owned(undefined)[0]!.limits).toEqual([
      key('key:k', { tokensPerMinute: 9, parallelRequests: 2 }),
      key('key:k:requests', { requestsPerMinute: 3 }),
    ])
  })

  test('no token a minute lets no request pass; one token lets the first', () => {
    expect(limitsOf(callerOf({ tokensPerMinute: 0 })).all).toEqual([
      key('key:k', { tokensPerMinute: 0, requestsPerMinute: 0 }),
    ])
    expect(limitsOf(callerOf({ tokensPerMinute: 1 })).all).toEqual([key('key:k', { tokensPerMinute: 1 })])
  })

  test('a key of a user that is not loaded counts as that user, and one limit of its own displaces the defaults', () => {
    const ids = (caller: Caller) => limitsOf(caller, { userLimits: { ...none, requestsPerMinute: 5 } }).all
    expect(ids(callerOf({ userId: 'gone' } as object))).toEqual([key('user:gone', { requestsPerMinute: 5 })])
    for (const own of [{ requestsPerMinute: 0 }, { tokensPerMinute: 7 }, { parallelRequests: 7 }])
      expect(ids(callerOf({}, { user: { ...unlimited, id: 'u', ...own } }))).toEqual([key('user:u', own)])
  })
})

describe('what is compiled for a model', () => {
  const caller = callerOf({ modelRequestsPerMinute: { fast: 2 } })
  const customer = (id: string, more: object = {}) => ({ id, fields: { ...unlimited, ...more } })

  test('is made anew when what the call names has changed, or is another', () => {
    const limits = limitsOf(caller)
    const [first, second] = [customer('customer:a', { tokensPerMinute: 1 }), customer('customer:b')]
    const found = limits.ofModel('fast', index, [first])
    expect(found.limits.at(-1)).toEqual({ id: 'customer:a', ...none, tokensPerMinute: 1 })
    expect(limits.ofModel('fast', index, [second])).not.toBe(found)
    expect(limits.ofModel('fast', index, [first])).toBe(found)
    expect(limits.ofModel('fast', index)).not.toBe(found)
    expect(limits.ofModel('slow', index, [first])).not.toBe(found)
    const changed = limits.ofModel('fast', index, [customer('customer:a', { tokensPerMinute: 2 })])
    expect(changed.limits.at(-1)).toEqual({ id: 'customer:a', ...none, tokensPerMinute: 2 })
    const renamed = limits.ofModel('fast', index, [{ id: 'customer:c', fields: first.fields }])
    expect(renamed.limits.at(-1)!.id).toBe('customer:c')
  })

  test('is kept for a thousand models', () => {
    const limits = limitsOf(caller)
    const first = limits.ofModel('m0', index)
    for (let at = 1; at < 1000; at++) limits.ofModel(`m${at}`, index)
    expect(limits.ofModel('m0', index)).toBe(first)
    limits.ofModel('m1000', index)
    expect(limits.ofModel('m0', index)).not.toBe(first)
  })

  test('has the budgets of this model alone apart, and those of the gateway unless the caller is the operator', () => {
    const budget = { modelMaxBudget: { fast: { ...usd(1), budgetDuration: '1d' } }, ...usd(3) }
    const all = { budgets: { all: { ...usd(9), budgetDuration: '1mo' }, timeZone: 'UTC' } }
    const found = limitsOf(callerOf(budget), all).ofModel('fast', index)
    expect([idsAt(found.plan, 1), idsAt(found.modelPlan, 1)]).toEqual([
      ['key:k', 'key:k:model:fast', 'gateway'],
      ['key:k:model:fast'],
    ])
    expect(new CallerLimits(masterCaller, settings(all), 'w').ofModel('fast', index).plan).toBeUndefined()
    expect(new CallerLimits(masterCaller, settings(all), 'w').owned(undefined)).toEqual([])
  })
})

test('for people each owner is shown with what it sets, also nothing, and then each of its models', () => {
  const budget = { ...usd(1), budgetDuration: '1d' }
  const limited = { requestsPerMinute: 3, modelTokensPerMinute: { a: 5 }, modelMaxBudget: { b: budget } }
  const limits = limitsOf(callerOf({ ...limited, ...usd(2) }), { budgets: { all: usd(9), timeZone: 'UTC' } })
  const shown = (named?: { model: string; index: ModelDirectory }) =>
    limits.owned(named).map(one => [one.id, one.model, one.limits.length, one.budget?.maxNanoUsd])
  expect(shown()).toEqual([
    ['key:k', null, 1, 2e9],
    ['key:k', 'a', 1, undefined],
    ['key:k', 'b', 0, 1e9],
    ['user:key:k', null, 0, undefined],
    ['gateway', null, 0, 9e9],
  ])
  expect(shown({ model: 'b', index }).map(([, model]) => model)).toEqual([null, 'b', null, null])
})

test('a limit that the owner of an organization sets counts for its own members alone', () => {
  const rpm = (requestsPerMinute: number) => ({ ...unlimited, requestsPerMinute })
  const memberships = [
    { kind: 'organization', groupId: 'other', userId: 'u', ...rpm(6) },
    { kind: 'team', groupId: 'o', userId: 'u', ...rpm(7) },
  ]
  const caller = callerOf({}, { organization: { id: 'o', ...rpm(5) }, memberships })
  expect(limitsOf(caller).all.map(({ id }) => id)).toEqual(['organization:o'])
})

describe('the periods of a plan', () => {
  const day = Date.UTC(2026, 10, 23)
  const hour = 3_600_000
  const planOf = (fields: Partial<SpendingFields>) =>
    new BudgetPlan(budgetDefinitions('key:k', { ...unlimited, ...usd(1), budgetDuration: '1d', ...fields }, []), {
      timeZone: 'UTC',
      writer: 'w',
    })
  const at = (plan: BudgetPlan, ms: number) => plan.at(ms).scopes[0]!.budget!

  test('begin at a reset of the spending, not before its moment, and not where it lies before the period', () => {
    const plan = planOf({ spendResetAtMs: day + hour })
    expect([day + hour - 1, day + hour, day + 24 * hour].map(ms => at(plan, ms).startMs - day)).toEqual([
      0,
      hour,
      24 * hour,
    ])
    expect(at(planOf({ spendResetAtMs: day - 1 }), day).startMs).toBe(day)
    expect(at(planOf({ budgetDuration: null, spendResetAtMs: 5 }), day)).toMatchObject({ startMs: 5, endMs: null })
  })

  test('are kept while they last, to the millisecond', () => {
    const plan = planOf({})
    const first = plan.at(day)
    expect(plan.at(day + 24 * hour - 1)).toBe(first)
    const second = plan.at(day + 24 * hour)
    expect(second).not.toBe(first)
    expect(plan.at(day + 24 * hour)).toBe(second)
    expect(at(plan, day + 24 * hour - 1).startMs).toBe(day)
  })

  test('have a raise that adds to the maximum until its end, and never beyond what numbers hold', () => {
    const raised = planOf({ budgetIncreaseNanoUsd: 5n, budgetIncreaseUntilMs: day + hour })
    expect([day + hour - 1, day + hour].map(ms => at(raised, ms).maxNanoUsd)).toEqual([1e9 + 5, 1e9])
    const beyond = planOf({ maxBudgetNanoUsd: null, softBudgetNanoUsd: 1n, budgetIncreaseNanoUsd: 5n })
    expect(at(beyond, day).maxNanoUsd).toBe(9e15)
    const most = planOf({ ...usd(9_000_000), budgetIncreaseNanoUsd: 5n, budgetIncreaseUntilMs: day + hour })
    expect(at(most, day).maxNanoUsd).toBe(9e15)
    for (const half of [{ budgetIncreaseNanoUsd: 5n }, { budgetIncreaseUntilMs: day + hour }])
      expect(at(planOf(half), day).maxNanoUsd).toBe(1e9)
  })

  test('of a text that is no duration never end', () => {
    expect(at(planOf({ budgetDuration: 'soon' }), day)).toMatchObject({ startMs: 0, endMs: null })
  })
})
