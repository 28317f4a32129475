/** Which usage each role may read. */
import { expect, test } from 'bun:test'
import type { Caller, Role } from '../../../core/caller.ts'
import { checkRequestedKey, visibleUsage } from './access.ts'

const memberships = [
  { kind: 'team', groupId: 'led', role: 'admin' },
  { kind: 'team', groupId: 'joined', role: 'user' },
  { kind: 'organization', groupId: 'org', role: 'internal_user' },
  { kind: 'organization', groupId: 'own', role: 'org_admin' },
]
const caller = (role: Role, parts: object = {}) => ({ role, key: { id: 'key-1' }, ...parts }) as unknown as Caller

test.each([
  ['proxy_admin', {}, undefined],
  ['proxy_admin_viewer', { user: { id: 'eve' } }, undefined],
  ['internal_user', { user: { id: 'ann' } }, { key_id: ['key-1'], user_id: ['ann'] }],
  [
    'internal_user',
    { user: { id: 'ann' }, memberships },
    { key_id: ['key-1'], user_id: ['ann'], team_id: ['led'], organization_id: ['own'] },
  ],
  ['internal_user_viewer', { user: { id: 'ann' } }, { key_id: ['key-1'], user_id: ['ann'] }],
  ['key', {}, { key_id: ['key-1'] }],
] as const)('%s with %p sees %p', (role, parts, seen) => {
  expect(visibleUsage(caller(role, parts))).toEqual(seen)
})

test('a key that asks for another gets that error', () => {
  expect(() => checkRequestedKey(caller('key'), 'key-2')).toThrow(
    'key_id: a key may only read its own calls; leave it out',
  )
  expect(() => checkRequestedKey(caller('key'), 'key-1')).not.toThrow()
  expect(() => checkRequestedKey(caller('proxy_admin'), 'key-2')).not.toThrow()
})
