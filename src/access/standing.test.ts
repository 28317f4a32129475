/** A request that is under way is judged by what its caller may do now. */
import { describe, expect, test } from 'bun:test'
import { bareKey, masterCaller } from '../core/caller.ts'
import type { Caller, Role } from '../core/caller.ts'
import { unlimited } from '../core/tenancy/tenancy.ts'
import { checkStanding, checkStandingOfCalls } from './standing.ts'

const nowMs = 1000
const callerOf = (more: object = {}, key: object = {}): Caller =>
  ({ role: 'internal_user', key: { ...bareKey, id: 'k', ...key }, memberships: [], ...more }) as Caller
const messageOf = (check: typeof checkStanding, admitted: Caller, present: Caller | undefined): string => {
  try {
    check(admitted, present, nowMs)
    return ''
  } catch (error) {
    return (error as Error).message
  }
}
const lost = (admitted: Caller, present: Caller | undefined) => messageOf(checkStanding, admitted, present)
const tightened = (admitted: Caller, present: Caller | undefined) => messageOf(checkStandingOfCalls, admitted, present)

test('a caller that is gone, blocked or has ended is not admitted any more', () => {
  expect(lost(callerOf(), undefined)).toContain('was deleted, blocked')
  expect(lost(callerOf(), callerOf({}, { blocked: true }))).toContain('was deleted, blocked')
  expect(lost(callerOf(), callerOf({}, { expiresAtMs: nowMs }))).toContain('has ended')
  expect(lost(callerOf({}, { expiresAtMs: nowMs + 1 }), callerOf({}, { expiresAtMs: nowMs + 1 }))).toBe('')
  expect(lost(callerOf(), callerOf())).toBe('')
})

test('each role may do less than these, and no other', () => {
  const order: Role[] = [
    'key',
    'internal_user_viewer',
    'internal_user',
    'proxy_admin_viewer',
    'proxy_admin',
    'directory',
  ]
  const kept = (role: Role) => order.filter(present => lost(callerOf({ role }), callerOf({ role: present })) === '')
  expect(kept('key')).toEqual(order.slice(0, 5))
  expect(kept('internal_user_viewer')).toEqual(order.slice(1, 5))
  expect(kept('internal_user')).toEqual(['internal_user', 'proxy_admin'])
  expect(kept('proxy_admin_viewer')).toEqual(['proxy_admin_viewer', 'proxy_admin'])
  expect(kept('proxy_admin')).toEqual(['proxy_admin'])
  expect(kept('directory')).toEqual(['directory'])
  expect(lost(masterCaller, callerOf())).toBe('')
})

describe('less than before is allowed', () => {
  const member = (role: string, groupId = 't', kind = 'team') => ({ kind, groupId, userId: 'u', role })

  test('after a membership was lost or has another role, unless it is an admin now', () => {
    const [user, other] = [callerOf({ memberships: [member('user')] }), 'membership']
    expect(lost(user, callerOf())).toContain(other)
    expect(lost(user, callerOf({ memberships: undefined }))).toContain(other)
    expect(lost(user, callerOf({ memberships: [member('user', 'x')] }))).toContain(other)
    expect(lost(user, callerOf({ memberships: [member('user', 't', 'organization')] }))).toContain(other)
    for (const role of ['user', 'admin', 'org_admin'])
      expect(lost(user, callerOf({ memberships: [member(role)] }))).toBe('')
    expect(lost(callerOf({ memberships: [member('admin')] }), user)).toContain(other)
    expect(lost(callerOf({ memberships: undefined }), user)).toBe('')
    expect(lost(callerOf({ member: member('user') }), callerOf())).toContain(other)
    expect(lost(callerOf({ member: member('user') }), callerOf({ member: member('user') }))).toBe('')
  })

  test('after the key has another owner, fewer routes, or its first restriction', () => {
    for (const name of ['userId', 'teamId', 'organizationId'])
      expect(lost(callerOf(), callerOf({}, { [name]: 'x' }))).toContain('the owner of the key')
    const routes = (...allowedRoutes: string[]) => callerOf({}, { allowedRoutes })
    expect(lost(routes('a', 'b'), routes('a'))).toContain('allowed_routes')
    expect(lost(routes(), routes('a'))).toContain('allowed_routes')
    expect([lost(routes('a'), routes('a', 'b')), lost(routes('a'), routes())]).toEqual(['', ''])
    expect(lost(callerOf(), callerOf({}, { requestsPerMinute: 5 }))).toContain('the restrictions of the key')
    const limited = callerOf({}, { requestsPerMinute: 5 })
    expect([lost(limited, limited), lost(limited, callerOf())]).toEqual(['', ''])
  })

  test('of calls after a field of the key was tightened, not loosened', () => {
    const rpm = (requestsPerMinute: number) => callerOf({}, { requestsPerMinute })
    expect(tightened(rpm(5), rpm(4))).toContain('`requestsPerMinute` of the key')
    expect(tightened(rpm(5), rpm(6))).toBe('')
    expect(tightened(rpm(5), undefined)).toContain('was deleted')
    expect(tightened(masterCaller, masterCaller)).toBe('')
  })

  test('of calls after a list or a limit of user, team, organization or membership was tightened', () => {
    for (const kind of ['user', 'team', 'organization', 'member']) {
      const at = (more: object) => callerOf({ [kind]: { ...unlimited, id: 'x', models: [], ...more } })
      expect(tightened(at({ models: ['a', 'b'] }), at({ models: ['a'] }))).toContain(`list of models of the ${kind}`)
      expect(tightened(at({}), at({ models: ['a'] }))).toContain(`list of models of the ${kind}`)
      expect(tightened(at({ models: ['a'] }), at({ models: ['a', 'b'] }))).toBe('')
      expect(tightened(at({ models: ['a'] }), at({}))).toBe('')
      for (const name of ['requestsPerMinute', 'tokensPerMinute', 'parallelRequests', 'maxBudgetNanoUsd']) {
        expect(tightened(at({ [name]: 5 }), at({ [name]: 4 }))).toContain(`a limit of the ${kind}`)
        expect(tightened(at({}), at({ [name]: 4 }))).toContain(`a limit of the ${kind}`)
        expect([tightened(at({ [name]: 5 }), at({ [name]: 5 })), tightened(at({ [name]: 5 }), at({}))]).toEqual([
          '',
          '',
        ])
      }
    }
  })
})
