/** Objects of tenancy as rows: kept exactly, changed with their audit rows or not at all, followed by every process. */
import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { bareKey } from '../../core/caller.ts'
import { noDirectory, noNameOwner, unlimited } from '../../core/tenancy/tenancy.ts'
import type { Tenants } from '../../core/tenancy/tenancy.ts'
import type { NewKey, NewTenant, TenancyStore } from '../../core/tenancy/tenancy-store.ts'
import { testServers } from '../database/database-fixture.ts'
import type { TestDatabase } from '../database/database-fixture.ts'
import { openDatabase } from '../database/open.ts'
import type { Database } from '../database/open.ts'
import { CallerLoader, subjectsOf } from './caller-loader.ts'
import { callerFromRows, callerToRows } from './caller-rows.ts'
import { changesSince } from './changes.ts'
import { createTenancyStore } from './store.ts'

const actor = { id: 'alice', keyHash: 'hash of her key' }
const plain = { ...unlimited, alias: null, models: [], metadata: {}, blocked: false }
const owning = { ...plain, objectPermission: null }
const team = (id: string, fields: Partial<NewTenant<'team'>> = {}): NewTenant<'team'> => ({
  ...owning,
  ...noDirectory,
  id,
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
  ...fields,
})
const user = (id: string, fields: Partial<NewTenant<'user'>> = {}): NewTenant<'user'> => ({
  ...owning,
  ...noDirectory,
  userName: null,
  id,
  email: null,
  role: 'internal_user',
  ssoUserId: null,
  ...fields,
})
const key = (id: string, fields: Partial<NewKey> = {}): NewKey => ({
  ...bareKey,
  id,
  hash: `h-${id}`,
  hint: 'x',
  ...fields,
})
const member = (groupId: string, userId: string, fields = {}) => ({
  ...unlimited,
  kind: 'team' as const,
  groupId,
  userId,
  role: 'user' as const,
  ...fields,
})

for (const server of testServers('tenancy'))
  describe(server.name, () => {
    let made: TestDatabase
    let database: Database
    let store: TenancyStore
    let nowMs = 1_763_710_000_000

    beforeEach(async () => {
      made = await server.createMigrated()
      database = await openDatabase(made.url)
      store = createTenancyStore({ database, clock: { epochMs: () => nowMs } })
    })
    afterEach(async () => {
      await database.close()
      await made.remove()
    })

    test('keys and teams of a guardrail are found by its whole name, in any script', async () => {
      const lists = { a: ['ÄRGER 100%_"x"'], b: ['ärger 100%_"x"', 'other'], c: ['ÄRGER 100%_"x" more'], d: [] }
      await store.change(actor, async tx => {
        for (const [id, guardrails] of Object.entries(lists)) await tx.insert('team', team(id, { guardrails }))
      })
      const found = async (name: string) => (await store.usesOfGuardrail(name, 10)).teams.map(one => one.id)
      expect(await found('ÄRGER 100%_"x"')).toEqual(['a'])
      expect(await found('other')).toEqual(['b'])
      expect(await found('%')).toEqual([])
    })

    test('an object comes back exactly', async () => {
      const full = team('red', {
        alias: 'é "\'; drop table teams; --',
        models: ['a', 'b/*'],
        metadata: { deep: [1.5, null, 'x\u0000y'] },
        maxBudgetNanoUsd: 1_000_000_000_000_000_001n,
        modelMaxBudget: { a: { maxBudgetNanoUsd: 5n, budgetDuration: '1d' } },
        modelRequestsPerMinute: { a: 0 },
        parallelRequests: 0,
        modelAliases: { fast: 'a' },
        memberMaxBudgetNanoUsd: 7n,
      })
      const stored = await store.change(actor, tx => tx.insert('team', full))
      expect(stored).toEqual({
        ...full,
        version: stored.version,
        createdAtMs: nowMs,
        createdBy: 'alice',
        updatedAtMs: nowMs,
        updatedBy: 'alice',
      })
      expect(await store.find('team', 'red')).toEqual(stored)
      expect(await store.find('team', 'nul \0')).toBeUndefined()
    })

    test('what fails takes back everything, its audit rows too', async () => {
      await store.change(actor, tx => tx.insert('team', team('red')))
      const failing = store.change(actor, async tx => {
        await tx.insert('user', user('bob'))
        await tx.insert('team', team('red'))
      })
      expect(failing).rejects.toMatchObject({ kind: 'conflict', param: 'team_id' })
      await failing.catch(() => {})
      expect(await store.find('user', 'bob')).toBeUndefined()
      expect((await store.audit({ limit: 10 })).items.map(one => [one.kind, one.objectId])).toEqual([['team', 'red']])
    })

    test('the audit log says who changed what, and only what differs', async () => {
      await store.change(actor, tx => tx.insert('team', team('red', { alias: 'Red' })))
      nowMs += 1000
      await store.change({ id: 'bob', keyHash: 'b' }, tx => tx.update('team', 'red', { blocked: true, alias: 'Red' }))
      nowMs += 1000
      await store.change(actor, tx => tx.update('team', 'red', { alias: 'Red' }))
      await store.change(actor, tx => tx.delete('team', 'red'))
      const { items, total } = await store.audit({ limit: 10 })
      expect(total).toBe(3)
      expect(
        items.map(({ actor: by, action, before, after }) => [by.id, action, before === null, after === null]),
      ).toEqual([
        ['alice', 'deleted', false, true],
        ['bob', 'blocked', false, false],
        ['alice', 'created', true, false],
      ])
      expect([items[1]!.before, items[1]!.after]).toEqual([{ blocked: 0 }, { blocked: 1 }])
      expect((await store.audit({ limit: 10, actorId: 'bob', fromMs: 0 })).total).toBe(1)
    })

    test('of two changes made for the same version the second is refused', async () => {
      const { version } = await store.change(actor, tx => tx.insert('user', user('bob')))
      const after = await store.change(actor, tx => tx.update('user', 'bob', { alias: 'Bob' }, version))
      expect(after.version).toBeGreaterThan(version)
      expect(store.change(actor, tx => tx.update('user', 'bob', { alias: 'Rob' }, version))).rejects.toMatchObject({
        kind: 'conflict',
        param: 'version',
      })
    })

    test('lists are in pages by number and by cursor, within what may be seen', async () => {
      for (let at = 0; at < 5; at++) {
        nowMs++
        await store.change(actor, tx => tx.insert('team', team(`t${at}`, { organizationId: at < 2 ? 'acme' : null })))
      }
      await store.change(actor, tx => tx.putMembership(member('t4', 'bob')))
      const ids = async (
        ...[filter, page]: [Parameters<TenancyStore['list']>[1], Parameters<TenancyStore['list']>[2]]
      ) => {
        const { items, total } = await store.list('team', filter, page)
        return [items.map(one => one.id).join(), total]
      }
      expect(await ids({}, { limit: 2, offset: 2 })).toEqual(['t2,t1', 5])
      const last = await store.find('team', 't2')
      expect(await ids({}, { limit: 2, after: last! })).toEqual(['t1,t0', 5])
      expect(await ids({ alias: '%' }, { limit: 9 })).toEqual(['', 0])
      expect(await ids({ memberId: 'bob' }, { limit: 9 })).toEqual(['t4', 1])
      expect(await ids({ visible: { ids: ['t4'], organizationIds: ['acme'] } }, { limit: 9 })).toEqual(['t4,t1,t0', 3])
      expect(await ids({ visible: { ids: [], organizationIds: [] } }, { limit: 9 })).toEqual(['', 0])
    })

    test('a team takes its members and keys along, an organization its teams; a budget in use stays', async () => {
      await store.change(actor, async tx => {
        await tx.insert('organization', { ...owning, id: 'acme' })
        await tx.insert('budget', { ...plain, id: 'free', maxBudgetNanoUsd: 1n })
        await tx.insert('team', team('red', { organizationId: 'acme', budgetId: 'free' }))
        await tx.putMembership(member('red', 'bob'))
        await tx.insertKey(key('k', { teamId: 'red' }))
      })
      const removing = store.change(actor, tx => tx.delete('budget', 'free'))
      expect(removing).rejects.toMatchObject({ kind: 'conflict', param: 'budget_id' })
      await removing.catch(() => {})
      await store.change(actor, tx => tx.delete('organization', 'acme'))
      expect([await store.find('team', 'red'), await store.findKey({ id: 'k' })]).toEqual([undefined, undefined])
      expect(await store.memberships({ userId: 'bob' })).toEqual([])
      await store.change(actor, tx => tx.delete('budget', 'free'))
    })

    test('a caller is compiled from all it belongs to, and is the same after a trip through JSON', async () => {
      await store.change(actor, async tx => {
        await tx.insert('organization', { ...owning, id: 'acme', tokensPerMinute: 9 })
        await tx.insert('budget', { ...plain, id: 'free', maxBudgetNanoUsd: 10n, budgetDuration: '1d' })
        await tx.insert('team', team('red', { organizationId: 'acme', budgetId: 'free', memberMaxBudgetNanoUsd: 3n }))
        await tx.insert('user', user('bob', { role: 'internal_user_viewer' }))
        await tx.insert('tag', { ...plain, ...noNameOwner, id: 'batch', description: null })
        await tx.putMembership(member('red', 'bob'))
        await tx.insertKey(key('k', { teamId: 'red', userId: 'bob', tags: ['batch', 'unknown'] }))
      })
      const caller = (await new CallerLoader(store).load('h-k'))!
      expect(caller).toMatchObject({
        role: 'internal_user_viewer',
        team: { id: 'red', maxBudgetNanoUsd: 10n, budgetDuration: '1d' },
        organization: { id: 'acme', tokensPerMinute: 9 },
        member: { userId: 'bob', maxBudgetNanoUsd: 3n },
        tags: [{ id: 'batch' }],
      })
      expect(
        callerFromRows(JSON.parse(JSON.stringify(callerToRows(caller))) as ReturnType<typeof callerToRows>),
      ).toEqual(caller)
      expect(subjectsOf('h-k', caller).sort()).toEqual(
        ['key:h-k', 'user:bob', 'team:red', 'organization:acme', 'budget:free', 'tag:batch', 'tag:unknown'].sort(),
      )
    })

    test('a change of a budget, a member or a team that did not exist reaches those who asked before', async () => {
      await store.change(actor, async tx => {
        await tx.insert('budget', { ...plain, id: 'free', maxBudgetNanoUsd: 10n })
        await tx.insert('customer', {
          ...noNameOwner,
          ...plain,
          id: 'c',
          budgetId: 'free',
        })
        await tx.insertKey(key('k', { teamId: 'red', userId: 'bob' }))
      })
      const loader = new CallerLoader(store)
      let { revision } = await changesSince(database, 0)
      const follow = async () => {
        const changes = await changesSince(database, revision)
        revision = changes.revision
        loader.drop(changes.subjects)
        return changes.subjects
      }
      const customer = async () => ((await loader.lookup('customer', 'c')) as Tenants['customer']).maxBudgetNanoUsd
      expect(await customer()).toBe(10n)
      expect((await loader.load('h-k'))!.team).toBeUndefined()
      await store.change(actor, tx => tx.update('budget', 'free', { maxBudgetNanoUsd: 20n }))
      expect(await customer()).toBe(10n)
      expect(await follow()).toEqual(['budget:free'])
      expect(await customer()).toBe(20n)
      await store.change(actor, async tx => {
        await tx.insert('team', team('red'))
        await tx.putMembership(member('red', 'bob', { role: 'admin' }))
      })
      expect(await follow()).toEqual(['team:red', 'user:bob'])
      expect((await loader.load('h-k'))!.team).toMatchObject({ id: 'red' })
    })

    test('a gateway without customers asks the database about one only', async () => {
      let asked = 0
      const counting = {
        ...store,
        find: (...given: Parameters<TenancyStore['find']>) => (asked++, store.find(...given)),
      }
      const loader = new CallerLoader(counting as TenancyStore)
      for (const id of ['a', 'b', 'c']) expect(await loader.lookup('customer', id)).toBeUndefined()
      expect(asked).toBe(1)
      await store.change(actor, tx => tx.insert('customer', { ...plain, ...noNameOwner, id: 'b' }))
      loader.drop(['customer:b'])
      expect(await loader.lookup('customer', 'b')).toMatchObject({ id: 'b' })
    })
  })
