/** Where limits and budgets of a call count, and what its budgets are at a moment. */
import { expect, test } from 'bun:test'
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
