/** Keys as rows: kept exactly, found, changed, deleted, counted; every change is seen by every other process. */
import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { randomUUIDv7 } from 'bun'
import { GatewayError } from '../../core/errors.ts'
import { bareKey } from '../../core/caller.ts'
import type { KeyQuery } from '../../core/tenancy/keys.ts'
import type { NewKey } from '../../core/tenancy/tenancy-store.ts'
import { inOtherProcess, testServers } from '../database/database-fixture.ts'
import type { TestDatabase } from '../database/database-fixture.ts'
import { changesSince, keySubject } from '../tenancy/changes.ts'
import { testKeys } from './keys-fixture.ts'
import type { TestKeys } from './keys-fixture.ts'
import { openDatabase } from '../database/open.ts'
import type { Database } from '../database/open.ts'

for (const server of testServers('keys'))
  describe(server.name, () => {
    let made: TestDatabase
    let database: Database
    let keys: TestKeys
    let nowMs: number
    const changed: string[] = []
    const more: Database[] = []

    const open = async () => {
      const opened = await openDatabase(made.url)
      more.push(opened)
      return opened
    }
    beforeEach(async () => {
      nowMs = 1_763_710_000_000
      changed.length = 0
      made = await server.createMigrated()
      database = await open()
      keys = testKeys(database, { epochMs: () => nowMs }, subjects => changed.push(...subjects))
    })
    afterEach(async () => {
      for (const one of more.splice(0)) await one.close()
      await made.remove()
    })

    const record = (fields: Partial<NewKey> = {}): NewKey => {
      const id = randomUUIDv7()
      return {
        ...bareKey,
        id,
        hash: `hash of ${id}`,
        hint: 'sk-...abcd',
        ...fields,
      }
    }

    test('a key comes back exactly, by hash, id and alias', async () => {
      const full = record({
        alias: 'é "\'; drop table virtual_keys; -- 🔑',
        userId: 'u',
        teamId: 't',
        models: ['a', 'b/*'],
        expiresAtMs: 253_402_300_799_999,
        blocked: true,
        requestsPerMinute: 1_000_000_000,
        tokensPerMinute: 1,
        parallelRequests: 2,
        modelRequestsPerMinute: { a: 3 },
        maxBudgetNanoUsd: 9_007_199_254_740_993n,
        budgetDuration: '30d',
        modelMaxBudget: { a: { maxBudgetNanoUsd: 1n, budgetDuration: null } },
        tags: ['x'],
        allowedRoutes: ['/v1/*'],
        metadata: { deep: [1.5, null, 'x\u0000y'], __proto__x: {} },
      })
      const stored = await keys.insert(full)
      expect(stored).toEqual({
        ...full,
        textSinceMs: nowMs,
        version: 1,
        createdAtMs: nowMs,
        createdBy: 'master',
        updatedAtMs: nowMs,
        updatedBy: 'master',
      })
      await keys.insert(record())
      expect(await keys.find({ hash: full.hash })).toEqual(stored)
      expect(await keys.find({ id: full.id })).toEqual(stored)
      expect(await keys.find({ alias: full.alias! })).toEqual(stored)
      expect(await keys.find({ id: 'unknown' })).toBeUndefined()
      expect(await keys.findAll(['unknown', full.id, 'nul \0'])).toEqual([stored!])
      expect(await keys.findAll([])).toEqual([])
      expect(await keys.find({ alias: 'nul \0' })).toBeUndefined()
      expect(changed[0]).toBe(keySubject(full.hash))
    })

    test('only what was sent changes, null included', async () => {
      const before = await keys.insert(record({ alias: 'a', userId: 'u', models: ['m'], requestsPerMinute: 5 }))
      nowMs += 1000
      const after = await keys.update(before.id, { requestsPerMinute: null, blocked: true })
      expect(after).toEqual({ ...before, requestsPerMinute: null, blocked: true, version: 2, updatedAtMs: nowMs })
      expect(await keys.find({ id: before.id })).toEqual(after)
      expect(keys.update('unknown', { blocked: true })).rejects.toMatchObject({ kind: 'not-found' })
      expect(changed).toEqual([keySubject(before.hash), keySubject(before.hash)])
    })

    test('a deleted key is gone for good', async () => {
      const gone = record({ alias: 'gone', userId: 'u' })
      await keys.insert(gone)
      await keys.delete(gone.id)
      expect(keys.delete(gone.id)).rejects.toMatchObject({ kind: 'not-found' })
      for (const by of [{ hash: gone.hash }, { id: gone.id }, { alias: 'gone' }])
        expect(await keys.find(by)).toBeUndefined()
      expect(keys.update(gone.id, { blocked: false })).rejects.toMatchObject({ kind: 'not-found' })
      expect((await keys.list({ limit: 10, offset: 0 })).total).toBe(0)
    })

    test('lists are newest first, filtered, in pages, with the total of all pages', async () => {
      for (let at = 0; at < 7; at++) {
        nowMs++
        await keys.insert(record({ alias: `k${at}`, userId: at % 2 ? 'odd' : 'even', teamId: at < 4 ? 'low' : null }))
      }
      const aliases = async (query: Partial<KeyQuery>) => {
        const { keys: found, total } = await keys.list({ limit: 10, offset: 0, ...query })
        return [found.map(one => one.alias).join(), total]
      }
      expect(await aliases({})).toEqual(['k6,k5,k4,k3,k2,k1,k0', 7])
      expect(await aliases({ limit: 2, offset: 2 })).toEqual(['k4,k3', 7])
      expect(await aliases({ userId: 'odd', teamId: 'low' })).toEqual(['k3,k1', 2])
      expect(await aliases({ alias: 'k0' })).toEqual(['k0', 1])
      expect(await aliases({ userId: "odd' or 1=1 --" })).toEqual(['', 0])
      expect(await aliases({ offset: 99 })).toEqual(['', 7])
    })

    test('lists are ordered by names or ends, and chosen by what keys are good for', async () => {
      const day = 86_400_000
      await keys.insert(record({ alias: 'Beta', expiresAtMs: nowMs + 30 * day }))
      await keys.insert(record({ alias: 'alpha', expiresAtMs: nowMs + 3 * day }))
      await keys.insert(record({ alias: 'gamma', blocked: true }))
      await keys.insert(record({ alias: 'delta', expiresAtMs: nowMs - 1 }))
      const aliases = async (query: Partial<KeyQuery>) => {
        const { keys: found, total } = await keys.list({
          limit: 10,
          offset: 0,
          ascending: true,
          sortBy: 'name',
          ...query,
        })
        return [found.map(one => one.alias).join(), total]
      }
      expect(await aliases({})).toEqual(['alpha,Beta,delta,gamma', 4])
      expect(await aliases({ ascending: false, limit: 2, offset: 1 })).toEqual(['delta,Beta', 4])
      expect(await aliases({ sortBy: 'end' })).toEqual(['delta,alpha,Beta,gamma', 4])
      const inState = (is: 'active' | 'ending' | 'expired' | 'blocked') => aliases({ state: { is, nowMs } })
      expect(await inState('active')).toEqual(['alpha,Beta', 2])
      expect(await inState('ending')).toEqual(['alpha', 1])
      expect(await inState('expired')).toEqual(['delta', 1])
      expect(await inState('blocked')).toEqual(['gamma', 1])
    })

    test('the same hash is never stored twice, and the failure leaves nothing behind', async () => {
      const one = record()
      await keys.insert(one)
      const { revision } = await changesSince(database, 0)
      expect(keys.insert(record({ hash: one.hash }))).rejects.toMatchObject({ kind: 'conflict' })
      expect(changed).toEqual([keySubject(one.hash)])
      expect((await changesSince(database, 0)).revision).toBe(revision)
    })

    test('of several texts for one key at the same time one is stored, and the others are told', async () => {
      const one = record()
      await keys.insert(one)
      const texts = ['a', 'b', 'c', 'd']
      const made = await Promise.allSettled(texts.map(hash => keys.rotate(one.id, hash, one.hash)))
      const refused = made.filter(({ status }) => status === 'rejected')
      expect(refused).toMatchObject(Array(3).fill({ reason: { kind: 'conflict', param: 'key' } }))
      const stored = texts[made.findIndex(({ status }) => status === 'fulfilled')]!
      expect(await keys.find({ id: one.id })).toMatchObject({ hash: stored })
    })

    test('another process sees each change once, in order, deletions included', async () => {
      const elsewhere = await open()
      const [a, b] = [record(), record()]
      await keys.insert(a)
      await keys.insert(b)
      const first = await changesSince(elsewhere, 0)
      expect(first.subjects).toEqual([a.hash, b.hash].map(keySubject))
      expect((await changesSince(elsewhere, first.revision)).subjects).toEqual([])
      await keys.update(a.id, { blocked: true })
      await keys.delete(b.id)
      const second = await changesSince(elsewhere, first.revision)
      expect(second.subjects).toEqual([a.hash, b.hash].map(keySubject))
      expect(await changesSince(elsewhere, second.revision)).toEqual({
        subjects: [],
        revisions: [],
        revision: second.revision,
      })
    })

    /** Inserts by another process, all at once; returns how many succeeded. */
    const insertElsewhere = (count: number, more: string) =>
      inOtherProcess(
        made.url,
        `
        const template = ${JSON.stringify(record())}
        const works = Array.from({ length: ${count} }, () => {
          const id = crypto.randomUUID()
          return keys.insert({ ...template, id, hash: 'hash of ' + id, userId: 'u' }${more})
        })
        const settled = await Promise.allSettled(works)
        process.stdout.write(String(settled.filter(one => one.status === 'fulfilled').length))`,
      )

    test('changes of two processes become visible in their order: a poll never misses one', async () => {
      const seen: string[] = []
      let revision = 0
      let writing = true
      const poll = async () => {
        const { subjects, revision: next } = await changesSince(database, revision)
        revision = next
        seen.push(...subjects)
        await Bun.sleep(1)
      }
      const polling = (async () => {
        while (writing) await poll()
        await poll()
      })()
      expect(await Promise.all([insertElsewhere(40, ''), insertElsewhere(40, '')])).toEqual(['40', '40'])
      writing = false
      await polling
      expect([seen.length, new Set(seen).size]).toEqual([80, 80])
    })

    const outcomes = async (works: Promise<unknown>[]) => {
      const settled = await Promise.allSettled(works)
      const errors = settled.flatMap(one => (one.status === 'rejected' ? [one.reason as unknown] : []))
      for (const error of errors) {
        expect(error).toBeInstanceOf(GatewayError)
        expect([(error as GatewayError).kind, (error as GatewayError).status, (error as GatewayError).param]).toEqual([
          'conflict',
          409,
          'user_id',
        ])
        expect((error as GatewayError).message).toContain('already has 7 key(s)')
      }
      return { good: settled.length - errors.length, refused: errors.length }
    }

    test('100 creations at once make exactly as many keys as the user may have', async () => {
      const creations = Array.from({ length: 100 }, () => keys.insert(record({ userId: 'u' }), 7))
      expect(await outcomes(creations)).toEqual({ good: 7, refused: 93 })
      expect((await keys.list({ userId: 'u', limit: 100, offset: 0 })).total).toBe(7)
    })

    test('so do creations of two processes', async () => {
      const made = await Promise.all([insertElsewhere(50, ', 7'), insertElsewhere(50, ', 7')])
      expect(made.reduce((sum, one) => sum + Number(one), 0)).toBe(7)
      expect((await keys.list({ userId: 'u', limit: 100, offset: 0 })).total).toBe(7)
    })

    test('keys that are moved to a user count, its own and deleted ones do not', async () => {
      const own = Array.from({ length: 6 }, () => record({ userId: 'u' }))
      for (const one of own) await keys.insert(one, 7)
      const others = Array.from({ length: 20 }, () => record({ userId: 'v' }))
      for (const one of others) await keys.insert(one, null)
      expect(await outcomes(others.map(one => keys.update(one.id, { userId: 'u' }, 7)))).toEqual({
        good: 1,
        refused: 19,
      })
      // Full: what stays with its user may still be changed, and one place is free after a deletion.
      expect(await outcomes([keys.update(own[0]!.id, { userId: 'u', blocked: true }, 7)])).toEqual({
        good: 1,
        refused: 0,
      })
      expect(await outcomes([keys.insert(record({ userId: 'u' }), 7)])).toEqual({ good: 0, refused: 1 })
      await keys.delete(own[0]!.id)
      expect(await outcomes([keys.insert(record({ userId: 'u' }), 7)])).toEqual({ good: 1, refused: 0 })
      expect(await outcomes([keys.insert(record({ userId: null }), 7), keys.insert(record({ userId: 'u' }))])).toEqual({
        good: 2,
        refused: 0,
      })
    })

    test('expired keys leave their place, blocked ones keep it; a key that comes back needs a place', async () => {
      const brief = record({ userId: 'u', expiresAtMs: nowMs + 1000 })
      await keys.insert(brief, 7)
      for (let at = 0; at < 6; at++) await keys.insert(record({ userId: 'u', blocked: true }), 7)
      expect(await outcomes([keys.insert(record({ userId: 'u' }), 7)])).toEqual({ good: 0, refused: 1 })
      nowMs += 1000
      const expired = record({ userId: 'v', expiresAtMs: nowMs - 1 })
      await keys.insert(expired)
      expect(await outcomes(Array.from({ length: 20 }, () => keys.insert(record({ userId: 'u' }), 7)))).toEqual({
        good: 1,
        refused: 19,
      })
      // Neither a change nor a move of what has expired takes a place; more time does.
      expect(
        await outcomes([
          keys.update(brief.id, { alias: 'x', blocked: true }, 7),
          keys.update(expired.id, { userId: 'u' }, 7),
        ]),
      ).toEqual({ good: 2, refused: 0 })
      for (const expiresAtMs of [nowMs + 1, null])
        expect(await outcomes([keys.update(brief.id, { expiresAtMs }, 7)])).toEqual({ good: 0, refused: 1 })
      expect((await keys.find({ id: brief.id }))?.expiresAtMs).toBe(brief.expiresAtMs)
      expect(await outcomes([keys.update(expired.id, { userId: 'w', expiresAtMs: null }, 7)])).toEqual({
        good: 1,
        refused: 0,
      })
    })
  })
