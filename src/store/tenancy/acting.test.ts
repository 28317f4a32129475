/** A change is refused in its transaction where the caller lost a right after its request was admitted. */
import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { actorOf } from '../../access/actor.ts'
import { compileCaller } from '../../access/caller.ts'
import { bareKey, masterCaller, userKeyId } from '../../core/caller.ts'
import type { Caller } from '../../core/caller.ts'
import { noDirectory, unlimited } from '../../core/tenancy/tenancy.ts'
import type { UserRole } from '../../core/tenancy/fields.ts'
import type { NewKey, NewTenant, TenancyStore, TenancyTransaction } from '../../core/tenancy/tenancy-store.ts'
import { testServers } from '../database/database-fixture.ts'
import type { TestDatabase } from '../database/database-fixture.ts'
import { openDatabase, transaction } from '../database/open.ts'
import type { Database } from '../database/open.ts'
import { createPasswordStore } from '../sign-in/passwords.ts'
import { createSessionStore } from '../sign-in/sessions.ts'
import { writeAudit } from './audit.ts'
import { createTenancyStore } from './store.ts'

const operator = { id: 'cli', keyHash: 'cli' }
const plain = { ...unlimited, alias: null, models: [], metadata: {}, blocked: false }
const owning = { ...plain, objectPermission: null }
const user = (id: string, role: UserRole): NewTenant<'user'> => ({
  ...owning,
  ...noDirectory,
  userName: null,
  id,
  email: null,
  role,
  ssoUserId: null,
})
const team: NewTenant<'team'> = {
  ...owning,
  ...noDirectory,
  id: 'red',
  organizationId: null,
  modelAliases: {},
  memberPermissions: [],
  tags: [],
  guardrails: [],
  storesBodies: null,
  memberMaxBudgetNanoUsd: null,
  memberBudgetDuration: null,
  memberRequestsPerMinute: null,
  memberTokensPerMinute: null,
  memberKeyDuration: null,
}
const key: NewKey = { ...bareKey, id: 'k', hash: 'h-k', hint: 'x', userId: 'ada' }
const membership = { ...unlimited, kind: 'team', groupId: 'red', userId: 'ada', role: 'admin' } as const

for (const server of testServers('what actors may still do'))
  describe(server.name, () => {
    let made: TestDatabase
    let database: Database
    let store: TenancyStore
    let caller: Caller
    const nowMs = 1_763_710_000_000
    const clock = { epochMs: () => nowMs }
    const signingIn = () => ({ database, clock, hashKey: (text: string) => `h-${text}`, onChange: () => {} })

    beforeEach(async () => {
      made = await server.createMigrated()
      database = await openDatabase(made.url)
      store = createTenancyStore({ database, clock })
      caller = await store.change(operator, async tx => {
        const ada = await tx.insert('user', user('ada', 'proxy_admin'))
        await tx.insert('team', team)
        const member = await tx.putMembership(membership)
        const record = await tx.insertKey(key)
        return compileCaller({ key: record, user: ada, memberships: [member] })
      })
    })
    afterEach(async () => {
      await database.close()
      await made.remove()
    })

    const insertsAdministrator = (by: Caller) =>
      store.change(actorOf(by), tx => tx.insert('user', user('new', 'proxy_admin')))
    const expectNothing = async () => {
      expect(await store.find('user', 'new')).toBeUndefined()
      expect((await store.audit({ limit: 100, objectId: 'new' })).total).toBe(0)
    }

    const losses: [what: string, lose: (tx: TenancyTransaction) => Promise<unknown>, kind: string][] = [
      ['its user was deleted', tx => tx.delete('user', 'ada'), 'unauthenticated'],
      ['its user was blocked', tx => tx.update('user', 'ada', { blocked: true }), 'unauthenticated'],
      ['its key was deleted', tx => tx.deleteKey('k'), 'unauthenticated'],
      ['its key was blocked', tx => tx.updateKey('k', { blocked: true }), 'unauthenticated'],
      ['its key has ended', tx => tx.updateKey('k', { expiresAtMs: nowMs - 1 }), 'unauthenticated'],
      ['its key got another text', tx => tx.updateKey('k', { hash: 'h-other' }), 'unauthenticated'],
      ['its user was lowered', tx => tx.update('user', 'ada', { role: 'internal_user' }), 'conflict'],
      ['its user reads only', tx => tx.update('user', 'ada', { role: 'proxy_admin_viewer' }), 'conflict'],
      ['its user left a team', tx => tx.deleteMembership(membership), 'conflict'],
      ['it administers no team', tx => tx.putMembership({ ...membership, role: 'user' }), 'conflict'],
      ['its key was given away', tx => tx.updateKey('k', { userId: 'bob' }), 'unauthenticated'],
      ['its key got routes', tx => tx.updateKey('k', { allowedRoutes: ['llm_api_routes'] }), 'conflict'],
      ['its key got a budget', tx => tx.updateKey('k', { maxBudgetNanoUsd: 1n }), 'conflict'],
    ]
    for (const [what, lose, kind] of losses)
      test(`${what}: nothing is changed`, async () => {
        await store.change(operator, lose)
        await expect(insertsAdministrator(caller)).rejects.toMatchObject({ kind })
        await expectNothing()
      })

    test('who gained rights, or changed without losing one, goes on', async () => {
      await store.change(operator, async tx => {
        await tx.update('user', 'ada', { alias: 'Ada' })
        await tx.updateKey('k', { alias: 'mine' })
        await tx.insert('team', { ...team, id: 'blue' })
        await tx.putMembership({ ...membership, groupId: 'blue' })
      })
      expect(await insertsAdministrator(caller)).toMatchObject({ id: 'new', createdBy: 'ada' })
    })

    test('the text before goes on while its grace lasts', async () => {
      await store.change(operator, tx =>
        tx.updateKey('k', { hash: 'h-new', formerHash: 'h-k', formerEndMs: nowMs + 1000 }),
      )
      expect(await insertsAdministrator(caller)).toMatchObject({ id: 'new' })
    })

    test('one may take a right from oneself, once', async () => {
      await store.change(actorOf(caller), tx => tx.update('user', 'ada', { role: 'internal_user' }))
      await expect(insertsAdministrator(caller)).rejects.toMatchObject({ kind: 'conflict' })
    })

    test('a session that has ended changes nothing, of a user or of the operator', async () => {
      const sessions = createSessionStore(signingIn())
      const passwords = createPasswordStore(signingIn())
      const begin = { method: 'password', credential: null, userAgent: '', clientAddress: '' } as const
      for (const userId of ['ada', null]) {
        const lasting = { ...begin, userId, idleMs: 60_000, lifetimeMs: 60_000 }
        const { session } = await sessions.create(lasting)
        const ada = { ...bareKey, id: userKeyId('ada'), userId: 'ada' }
        const signedIn = { ...(userId === null ? masterCaller : { ...caller, key: ada }), session }
        await passwords.createLink({ userId: 'ada', lifetimeMs: 1000 }, actorOf(signedIn))
        await sessions.revoke(session.id, operator)
        await expect(insertsAdministrator(signedIn)).rejects.toMatchObject({ kind: 'unauthenticated' })
        const refused = [
          () => passwords.setPassword('ada', 'hash', actorOf(signedIn)),
          () => passwords.createLink({ userId: 'ada', lifetimeMs: 1000 }, actorOf(signedIn)),
          () => sessions.revokeAllOf({ userId: 'ada' }, actorOf(signedIn)),
        ]
        for (const change of refused) await expect(change()).rejects.toMatchObject({ kind: 'unauthenticated' })
        expect(await passwords.passwordOf('ada')).toBeUndefined()
      }
      await expectNothing()
    })

    test('what is changed at the same moment waits, and is judged by what the other left', async () => {
      const locked = Promise.withResolvers<void>()
      const deletion = store.change(operator, async tx => {
        locked.resolve()
        await Bun.sleep(20)
        await tx.delete('user', 'ada')
      })
      await locked.promise
      const both = await Promise.allSettled([deletion, insertsAdministrator(caller)])
      expect(both.map(one => one.status)).toEqual(['fulfilled', 'rejected'])
      await expectNothing()
    })

    test('no change of a caller comes past the check', async () => {
      const entry = { atMs: nowMs, action: 'created', kind: 'user', objectId: 'new', before: null, after: {} } as const
      const past = transaction(database, tx => writeAudit(tx, { ...entry, actor: actorOf(caller) }))
      await expect(past).rejects.toThrow('without asking whether its actor still may make it')
      await expectNothing()
    })
  })
