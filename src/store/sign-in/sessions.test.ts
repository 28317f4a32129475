/** Sessions as rows: found by the hash of their secret, ended with their audit rows, followed by every process. */
import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { createHash } from 'node:crypto'
import { noDirectory, unlimited } from '../../core/tenancy/tenancy.ts'
import type { NewSession, SessionStore } from '../../core/sign-in/sign-in.ts'
import type { TenancyStore } from '../../core/tenancy/tenancy-store.ts'
import { testServers } from '../database/database-fixture.ts'
import type { TestDatabase } from '../database/database-fixture.ts'
import { openDatabase } from '../database/open.ts'
import type { Database } from '../database/open.ts'
import { KeyCache } from '../keys/key-cache.ts'
import { CallerLoader, subjectsOf, versionOf } from '../tenancy/caller-loader.ts'
import { changesSince } from '../tenancy/changes.ts'
import { createTenancyStore } from '../tenancy/store.ts'
import { loadPrincipal } from './principals.ts'
import { createSessionStore } from './sessions.ts'

const actor = { id: 'admin', keyHash: 'hash of a key' }
const clock = { nowMs: 1_000_000, epochMs: () => clock.nowMs, monotonicMs: () => clock.nowMs }
const hashKey = (text: string) => createHash('sha256').update(text).digest('hex')
const asked = (userId: string | null, fields: Partial<NewSession> = {}): NewSession => ({
  userId,
  method: 'password',
  credential: null,
  userAgent: 'a browser',
  clientAddress: '192.0.2.1',
  idleMs: 10_000,
  lifetimeMs: 30_000,
  ...fields,
})

/** One process of the gateway, as far as callers are concerned. */
interface Replica {
  readonly sessions: SessionStore
  readonly tenancy: TenancyStore
  readonly cache: KeyCache
}

function replicaOf(database: Database): Replica {
  let cache: KeyCache | undefined
  const onChange = (subjects: readonly string[]) => cache?.changed(subjects)
  const tenancy = createTenancyStore({ database, clock, onChange })
  const sessions = createSessionStore({ database, clock, hashKey, onChange })
  const tenants = new CallerLoader(tenancy)
  cache = new KeyCache({
    clock,
    hashKey,
    load: name => loadPrincipal(name, { sessions, tenants }),
    subjectsOf,
    versionOf,
    dropped: subjects => tenants.drop(subjects),
    changesSince: revision => changesSince(database, revision),
    reportReachable() {},
  })
  return { sessions, tenancy, cache }
}

for (const server of testServers('sessions'))
  describe(server.name, () => {
    let made: TestDatabase
    let database: Database
    let here: Replica
    let there: Replica
    beforeEach(async () => {
      clock.nowMs = 1_000_000
      made = await server.createMigrated()
      database = await openDatabase(made.url)
      here = replicaOf(database)
      there = replicaOf(database)
      await addUser('ann')
      await addUser('bob')
      await Promise.all([here.cache.poll(), there.cache.poll()])
    })
    afterEach(async () => {
      await database.close()
      await made.remove()
    })
    const addUser = (id: string) =>
      here.tenancy.change(actor, tx =>
        tx.insert('user', {
          ...unlimited,
          ...noDirectory,
          objectPermission: null,
          userName: null,
          id,
          alias: null,
          models: [],
          metadata: {},
          blocked: false,
          email: null,
          role: 'internal_user',
          ssoUserId: null,
        }),
      )
    const audited = async (action: string) => {
      const { items } = await here.tenancy.audit({ action, kind: 'session', limit: 200 })
      return items.map(({ objectId, actor: by }) => [objectId, by.id])
    }
    /** Whom the secret stands for, in a process that may have it cached. */
    const userOf = async (replica: Replica, secret: string) =>
      (await replica.cache.lookupSession(secret))?.session?.userId

    test('a session begins in one process and is found by another, with its user', async () => {
      const { session, secret } = await here.sessions.create(asked('ann'))
      const caller = await there.cache.lookupSession(secret)
      expect(caller).toMatchObject({ role: 'internal_user', key: { id: 'user:ann', userId: 'ann' }, session })
      expect(caller!.user!.id).toBe('ann')
      expect(await here.cache.lookupSession(`${secret}x`)).toBeUndefined()
      expect(JSON.stringify(await database.sql`select * from sessions`)).not.toContain(secret.slice(4))
      expect(await audited('signed-in')).toEqual([[session.id, 'ann']])
    })

    test('what is revoked in one process ends in the others at their next poll', async () => {
      const [one, two, others] = [
        await here.sessions.create(asked('ann')),
        await here.sessions.create(asked('ann')),
        await here.sessions.create(asked('bob')),
      ]
      for (const { secret } of [one, two]) expect(await userOf(there, secret)).toBe('ann')
      expect(await here.sessions.revoke(one.session.id, actor, { userId: 'bob' })).toBe(false)
      expect(await here.sessions.revoke(one.session.id, actor, { userId: 'ann' })).toBe(true)
      expect(await here.sessions.revoke(one.session.id, actor)).toBe(false)
      await there.cache.poll()
      for (const replica of [here, there])
        expect([await userOf(replica, one.secret), await userOf(replica, two.secret)]).toEqual([undefined, 'ann'])
      expect(await there.sessions.revokeAllOf({ userId: 'ann' }, actor)).toBe(1)
      await here.cache.poll()
      expect([await userOf(here, two.secret), await userOf(here, others.secret)]).toEqual([undefined, 'bob'])
      expect((await audited('signed-out')).toSorted()).toEqual(
        [one, two].map(({ session }) => [session.id, 'admin']).toSorted(),
      )
    })

    test("the operator's sessions are apart from those of users", async () => {
      const { session, secret } = await here.sessions.create(asked(null, { method: 'master-key', credential: 'abc' }))
      const kept = await here.sessions.create(asked(null))
      expect(await there.cache.lookupSession(secret)).toMatchObject({
        role: 'proxy_admin',
        key: { id: 'master' },
        session,
      })
      expect(await here.sessions.revokeAllOf({ userId: 'ann' }, actor)).toBe(0)
      expect(await here.sessions.revokeAllOf({ userId: null }, actor, kept.session.id)).toBe(1)
      await there.cache.poll()
      expect(await there.cache.lookupSession(secret)).toBeUndefined()
      expect(await there.cache.lookupSession(kept.secret)).toBeDefined()
    })

    test('a user who is blocked or deleted has no session any more, also when let in again', async () => {
      const [anns, bobs] = [await here.sessions.create(asked('ann')), await here.sessions.create(asked('bob'))]
      for (const { secret } of [anns, bobs]) expect(await userOf(there, secret)).toBeDefined()
      await here.tenancy.change(actor, async tx => {
        await tx.update('user', 'ann', { blocked: true })
        await tx.delete('user', 'bob')
      })
      await here.tenancy.change(actor, tx => tx.update('user', 'ann', { blocked: false }))
      await addUser('bob')
      await there.cache.poll()
      for (const replica of [here, there])
        for (const { secret } of [anns, bobs]) expect(await userOf(replica, secret)).toBeUndefined()
    })

    test('a changed role holds in other processes at their next poll', async () => {
      const { secret } = await here.sessions.create(asked('ann'))
      expect((await there.cache.lookupSession(secret))!.role).toBe('internal_user')
      await here.tenancy.change(actor, tx => tx.update('user', 'ann', { role: 'proxy_admin' }))
      await there.cache.poll()
      expect((await there.cache.lookupSession(secret))!.role).toBe('proxy_admin')
    })

    test('a session ends when it is idle, or at its absolute end however it is used', async () => {
      const { session } = await here.sessions.create(asked('ann'))
      clock.nowMs += 9_000
      await here.sessions.touch(session, clock.nowMs)
      // An older use that is written later changes nothing.
      await here.sessions.touch(session, clock.nowMs - 5_000)
      clock.nowMs += 9_000
      const found = (await there.sessions.find(session.hash))!
      expect([found.lastUsedAtMs, found.idleEndMs]).toEqual([1_009_000, 1_019_000])
      clock.nowMs += 1_000
      expect(await there.sessions.find(session.hash)).toBeUndefined()
      const used = (await here.sessions.create(asked('ann'))).session
      for (let times = 0; times < 5; times++) await here.sessions.touch(used, (clock.nowMs += 5_999))
      expect(await here.sessions.find(used.hash)).toBeDefined()
      await here.sessions.touch(used, (clock.nowMs += 5))
      expect(await here.sessions.find(used.hash)).toBeUndefined()
    })

    test('an owner has 100 sessions at most: the one used longest ago ends', async () => {
      const first = await here.sessions.create(asked('ann', { lifetimeMs: 1_000_000, idleMs: 1_000_000 }))
      expect(await userOf(there, first.secret)).toBe('ann')
      for (let count = 1; count < 100; count++) {
        clock.nowMs++
        await here.sessions.create(asked('ann'))
      }
      expect((await here.sessions.list({ userId: 'ann' }, { limit: 1 })).total).toBe(100)
      clock.nowMs++
      await here.sessions.create(asked('ann'))
      await there.cache.poll()
      expect((await here.sessions.list({ userId: 'ann' }, { limit: 1 })).total).toBe(100)
      expect(await userOf(there, first.secret)).toBeUndefined()
    })
  })
