/** What a caller is made of, with the limits that hold where an object sets none. */
import { expect, test } from 'bun:test'
import { bareKey, masterCaller } from '../core/caller.ts'
import type { VirtualKey } from '../core/caller.ts'
import { unlimited } from '../core/tenancy/tenancy.ts'
import type { Membership, NamedBudget, Team, User } from '../core/tenancy/tenancy.ts'
import { callerInTeam, callerProblem, compileCaller, withBudget, withTeamShare } from './caller.ts'

const key = { ...bareKey, id: 'k' } as VirtualKey
const user = { ...unlimited, id: 'u', role: 'internal_user', blocked: false } as unknown as User
const team = {
  ...unlimited,
  id: 't',
  memberRequestsPerMinute: 3,
  memberTokensPerMinute: 30,
  memberMaxBudgetNanoUsd: 300n,
  memberBudgetDuration: '1d',
} as unknown as Team
const member = { ...unlimited, kind: 'team', groupId: 't', userId: 'u', role: 'user' } as unknown as Membership

test('the role is that of the user, of a directory, or none', () => {
  expect(compileCaller({ key }).role).toBe('key')
  expect(compileCaller({ key, user }).role).toBe('internal_user')
  expect(compileCaller({ key: { ...key, ofDirectory: true }, user }).role).toBe('directory')
  expect(compileCaller({ key: { ...key, requestsPerMinute: 1 } }).restriction).toBe('requestsPerMinute')
})

test('the member of a caller is that of the team of its key', () => {
  const others = [{ ...member, groupId: 'x' }, { ...member, kind: 'organization' } as Membership]
  expect(compileCaller({ key, team, memberships: [...others, member] }).member).toMatchObject({
    groupId: 't',
    kind: 'team',
  })
  expect(compileCaller({ key, team, memberships: others }).member).toBeUndefined()
  expect(compileCaller({ key, memberships: [member] }).member).toBeUndefined()
})

test("a member has the team's share where it sets nothing itself, budgets as a whole", () => {
  expect(withTeamShare(member, team)).toMatchObject({
    requestsPerMinute: 3,
    tokensPerMinute: 30,
    maxBudgetNanoUsd: 300n,
    budgetDuration: '1d',
  })
  const own = { ...member, requestsPerMinute: 0, tokensPerMinute: 1, maxBudgetNanoUsd: 0n }
  expect(withTeamShare(own, team)).toEqual(own)
})

test('a named budget fills in what an object leaves out, its money only where the object has none', () => {
  const budget = {
    ...unlimited,
    maxBudgetNanoUsd: 9n,
    softBudgetNanoUsd: 8n,
    budgetDuration: '1d',
    budgetResetAtMs: 7,
    requestsPerMinute: 6,
    tokensPerMinute: 5,
    parallelRequests: 4,
    modelTokensPerMinute: { a: 1, b: 2 },
  } as unknown as NamedBudget
  expect(withBudget(unlimited, undefined)).toBe(unlimited)
  expect(withBudget(unlimited, budget)).toEqual({ ...unlimited, ...budget })
  const limits = { requestsPerMinute: 0, tokensPerMinute: 0, parallelRequests: 0 }
  expect(withBudget({ ...unlimited, ...limits, modelTokensPerMinute: { a: 3 } }, budget)).toMatchObject({
    ...limits,
    modelTokensPerMinute: { a: 3, b: 2 },
  })
  for (const money of [{ maxBudgetNanoUsd: 1n }, { softBudgetNanoUsd: 1n }])
    expect(withBudget({ ...unlimited, ...money }, budget)).toMatchObject({
      maxBudgetNanoUsd: null,
      softBudgetNanoUsd: null,
      budgetDuration: null,
      budgetResetAtMs: null,
      ...money,
    })
  const own = { budgetDuration: '1h', budgetResetAtMs: 0 }
  expect(withBudget({ ...unlimited, ...own }, budget)).toMatchObject({ ...own, maxBudgetNanoUsd: 9n })
})

test('a caller is refused for any part of it that is blocked, and from the moment of its end on', () => {
  const caller = compileCaller({ key, user, team })
  expect(callerProblem(caller, 5)).toBeUndefined()
  for (const part of ['key', 'user', 'team', 'organization'])
    expect(callerProblem({ ...caller, [part]: { ...key, blocked: true } }, 5)).toBe('blocked')
  const ending = compileCaller({ key: { ...key, expiresAtMs: 5 } })
  expect([callerProblem(ending, 4), callerProblem(ending, 5)]).toEqual([undefined, 'expired'])
})

test('questions about a team are asked as by one of its keys; an administrator brings no lists of its own', () => {
  const caller = compileCaller({ key, user })
  expect(callerInTeam(caller, team, undefined)).toMatchObject({ key: { id: 'team:t', teamId: 't' }, user })
  expect(callerInTeam({ ...masterCaller, user }, team, undefined).user).toBeUndefined()
})
