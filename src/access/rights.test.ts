/** Who may see and manage what: each right with the first who has it and the first who has it not. */
import { describe, expect, test } from 'bun:test'
import { bareKey, masterCaller } from '../core/caller.ts'
import type { Caller, Role } from '../core/caller.ts'
import type { AuthClass } from '../core/policy.ts'
import * as rights from './rights.ts'

const callerOf = (role: Role, more: object = {}): Caller =>
  ({ role, key: { ...bareKey, id: 'own' }, ...more }) as Caller
const memberOf = (kind: 'team' | 'organization', groupId: string, role: string) => ({
  kind,
  groupId,
  userId: 'u',
  role,
})
const user = (...memberships: object[]) => callerOf('internal_user', { user: { id: 'u' }, memberships })
const roles: Role[] = ['key', 'internal_user_viewer', 'internal_user', 'proxy_admin_viewer', 'proxy_admin', 'directory']
const red = { id: 'red', organizationId: 'org' }
const lone = { id: 'lone', organizationId: null }

test('administrators and their viewers read everything, nobody else', () => {
  expect(roles.filter(role => rights.mayReadAll(callerOf(role)))).toEqual(['proxy_admin_viewer', 'proxy_admin'])
})

test.each<[AuthClass, Role[]]>([
  ['key', ['key', 'internal_user_viewer', 'internal_user', 'proxy_admin_viewer', 'proxy_admin']],
  ['manager', ['internal_user', 'proxy_admin']],
  ['viewer', ['proxy_admin_viewer', 'proxy_admin']],
  ['admin', ['proxy_admin']],
  ['directory', ['proxy_admin', 'directory']],
])('operations of the class %s are open to %p', (auth, open) => {
  expect(roles.filter(role => rights.hasRoleFor(callerOf(role), auth))).toEqual(open)
})

test('a membership is of one group of one kind', () => {
  const caller = user(memberOf('team', 'org', 'admin'), memberOf('organization', 'org', 'org_admin'))
  expect(rights.membershipIn(caller, 'organization', 'org')?.role).toBe('org_admin')
  expect(rights.membershipIn(caller, 'team', 'org')?.role).toBe('admin')
  expect(rights.membershipIn(caller, 'team', 'red')).toBeUndefined()
  expect(rights.membershipIn(callerOf('key'), 'team', 'red')).toBeUndefined()
  expect([rights.groupsOf(caller, 'team'), rights.groupsOf(caller, 'team', 'user')]).toEqual([['org'], []])
  expect(rights.groupsOf(callerOf('key'), 'team')).toEqual([])
  expect(rights.organizationsOf(caller)).toEqual(['org'])
})

describe('managing', () => {
  test('an organization is for administrators and its own org_admin', () => {
    const may = (caller: Caller) => rights.administersOrganization(caller, 'org')
    expect(may(masterCaller)).toBe(true)
    expect(may(user(memberOf('organization', 'org', 'org_admin')))).toBe(true)
    for (const other of [
      ['organization', 'other', 'org_admin'],
      ['organization', 'org', 'user'],
      ['team', 'org', 'admin'],
    ])
      expect(may(user(memberOf(other[0] as 'team', other[1]!, other[2]!)))).toBe(false)
  })

  test('a team is for administrators, its own admins, and those of its organization', () => {
    expect(rights.administersTeam(masterCaller, lone)).toBe(true)
    expect(rights.administersTeam(user(memberOf('team', 'red', 'admin')), red)).toBe(true)
    expect(rights.administersTeam(user(memberOf('team', 'red', 'user')), red)).toBe(false)
    expect(rights.administersTeam(user(memberOf('organization', 'org', 'org_admin')), red)).toBe(true)
    expect(rights.administersTeam(user(memberOf('organization', 'org', 'org_admin')), lone)).toBe(false)
    expect(rights.administersTeam(callerOf('proxy_admin_viewer'), red)).toBe(false)
  })

  test('anything at all needs one team or organization to administer', () => {
    expect(rights.administersAnything(masterCaller)).toBe(true)
    expect(rights.administersAnything(user(memberOf('team', 'red', 'admin')))).toBe(true)
    expect(rights.administersAnything(user(memberOf('organization', 'org', 'org_admin')))).toBe(true)
    expect(rights.administersAnything(user(memberOf('team', 'red', 'user')))).toBe(false)
    expect(rights.administersAnything(user())).toBe(false)
  })
})

test('a team is seen by those who read all, by its keys, its members and its admins', () => {
  const see = (caller: Caller) => rights.maySeeTeam(caller, red)
  expect(see(callerOf('proxy_admin_viewer'))).toBe(true)
  expect(see(callerOf('key', { key: { ...bareKey, id: 'own', teamId: 'red' } }))).toBe(true)
  expect(see(user(memberOf('team', 'red', 'user')))).toBe(true)
  expect(see(user(memberOf('organization', 'org', 'org_admin')))).toBe(true)
  expect(see(user(memberOf('organization', 'org', 'user')))).toBe(false)
  expect(see(callerOf('key'))).toBe(false)
})

describe('a key', () => {
  const key = { id: 'k', userId: 'u', teamId: 'red' }
  const others = { ...key, userId: 'other' }
  const admin = user(memberOf('team', 'red', 'admin'))

  test('is changed by administrators, its user, and admins of its team', () => {
    expect(rights.mayChangeKey(masterCaller, others, undefined)).toBe(true)
    expect(rights.mayChangeKey(user(), key, undefined)).toBe(true)
    expect(rights.mayChangeKey(user(), others, red)).toBe(false)
    expect(rights.mayChangeKey(admin, others, red)).toBe(true)
    // The team of the key is not stored any more.
    expect(rights.mayChangeKey(admin, others, undefined)).toBe(false)
    expect(rights.mayChangeKey(callerOf('internal_user'), { ...key, userId: null }, undefined)).toBe(false)
  })

  test('is changed by no viewer, and by no key without a user', () => {
    for (const role of ['internal_user_viewer', 'proxy_admin_viewer', 'key'] as const)
      expect(rights.mayChangeKey({ ...admin, role }, key, red)).toBe(false)
  })

  test('is seen by itself and by those who read all, beside those who may change it', () => {
    expect(rights.maySeeKey(callerOf('key'), { ...others, id: 'own' }, undefined)).toBe(true)
    expect(rights.maySeeKey(callerOf('key'), others, undefined)).toBe(false)
    expect(rights.maySeeKey(callerOf('proxy_admin_viewer'), others, undefined)).toBe(true)
    expect(rights.maySeeKey(admin, others, red)).toBe(true)
  })
})
