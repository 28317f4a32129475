import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { GatewayError } from '../../core/errors.ts'
import type { StoredResponse } from '../../core/objects/responses.ts'
import { guardOf, testServers } from '../database/database-fixture.ts'
import type { TestDatabase } from '../database/database-fixture.ts'
import { openDatabase } from '../database/open.ts'
import type { Database } from '../database/open.ts'
import { createResponseStore } from './responses.ts'
import type { RunningResponseStore } from './responses.ts'

for (const server of testServers('stored responses'))
  describe(server.name, () => {
    let made: TestDatabase
    let database: Database
    let store: RunningResponseStore
    let nowMs = 1000
    let isSilent = false
    const problems: string[] = []
    const record = (fields: Partial<StoredResponse> & { id: string }): StoredResponse => ({
      keyId: 'key',
      previousId: null,
      deploymentId: 'd',
      status: 'completed',
      background: false,
      input: [{ type: 'message', id: `in_${fields.id}` }],
      response: {
        id: fields.id,
        status: 'completed',
        output: [{ id: `out_${fields.id}`, type: 'message', text: 'a\u0000"\\é' }],
      },
      createdAtMs: nowMs,
      updatedAtMs: nowMs,
      expiresAtMs: 10_000,
      ...fields,
    })

    beforeEach(async () => {
      nowMs = 1000
      isSilent = false
      problems.length = 0
      made = await server.createMigrated()
      database = await openDatabase(made.url)
      const clock = { epochMs: () => nowMs, monotonicMs: () => nowMs }
      store = createResponseStore({
        database: { ...database, isSilent: () => isSilent },
        clock,
        guard: guardOf(database),
        report: problem => problems.push(problem),
      })
    })
    afterEach(async () => {
      store.stop()
      await database.close()
      await made.remove()
    })

    test('what is saved is found, by its own key only, until it expires', async () => {
      expect(await store.save(record({ id: 'r' }))).toBe('saved')
      expect(await store.find('key', 'r')).toEqual(record({ id: 'r' }))
      expect(await store.find('other', 'r')).toBeUndefined()
      expect(await store.delete('other', 'r')).toBe(false)
      expect((await store.items('other', ['out_r'])).size).toBe(0)
      nowMs = 10_000
      expect(await store.find('key', 'r')).toBeUndefined()
    })

    test('what has expired and is not deleted yet has no items any more, and cannot be deleted', async () => {
      await store.save(record({ id: 'r' }))
      nowMs = 10_000
      expect([(await store.items('key', ['out_r'])).size, await store.delete('key', 'r')]).toEqual([0, false])
      expect(await store.deleteExpired()).toBe(1)
    })

    test('to be shown it is read as it is written, by its own key only, and its input by itself', async () => {
      await store.save(record({ id: 'r', response: { id: 'r', output: [] } }))
      const held: number[] = []
      const shown = await store.answer('key', 'r', bytes => held.push(bytes))
      expect(shown).toMatchObject({ status: 'completed', json: '{"id":"r","output":[],"status":"completed"}' })
      expect(held).toEqual([shown!.json.length])
      expect(await store.input('key', 'r')).toEqual([{ type: 'message', id: 'in_r' }])
      expect([await store.answer('other', 'r'), await store.input('other', 'r')]).toEqual([undefined, undefined])
      await store.save(record({ id: 'running', status: 'queued', response: { id: 'running', status: 'queued' } }))
      await store.renew(['running key'], nowMs)
      expect((await store.answer('key', 'running'))!.json).toBe('{"id":"running","status":"in_progress"}')
    })

    test('an id that no row can have is not there', async () => {
      const [key, id] = ['key', 'r\u0000']
      expect(
        await Promise.all([store.find(key, id), store.answer(key, id), store.input(key, id), store.delete(key, id)]),
      ).toEqual([undefined, undefined, undefined, false])
      expect(await store.conversation(key, id, 1000)).toBeUndefined()
      expect((await store.items(key, [id])).size).toBe(0)
    })

    test('two keys may have the same id of an upstream; the same key replaces its own', async () => {
      await store.save(record({ id: 'r' }))
      await store.save(record({ id: 'r', keyId: 'other', deploymentId: 'e' }))
      await store.save(record({ id: 'r', deploymentId: 'f', response: { id: 'r', output: [] } }))
      expect((await store.find('other', 'r'))?.deploymentId).toBe('e')
      expect((await store.find('key', 'r'))?.deploymentId).toBe('f')
      expect([...(await store.items('key', ['out_r'])).keys()]).toEqual([])
      expect([...(await store.items('other', ['out_r'])).keys()]).toEqual(['out_r'])
    })

    test('a conversation comes oldest first, whole or not at all', async () => {
      for (let at = 0; at < 30; at++)
        await store.save(record({ id: `r${at}`, previousId: at === 0 ? null : `r${at - 1}` }))
      const turns = await store.conversation('key', 'r29', 1_000_000)
      expect(turns?.map(turn => turn.id)).toEqual(Array.from({ length: 30 }, (_, at) => `r${at}`))
      expect(await store.conversation('other', 'r29', 1_000_000)).toBeUndefined()
      await expect(store.conversation('key', 'r29', 500)).rejects.toMatchObject({ kind: 'too-large' })
      const held: number[] = []
      await store.conversation('key', 'r1', 1_000_000, bytes => held.push(bytes))
      await store.find('key', 'r0', bytes => held.push(bytes))
      // Two turns, and one of them.
      expect(held).toEqual([held[1]! * 2, expect.any(Number)])
      const full = (): never => {
        throw new GatewayError('overloaded', 'no room')
      }
      await expect(store.conversation('key', 'r29', 1_000_000, full)).rejects.toMatchObject({ message: 'no room' })
      await store.delete('key', 'r3')
      expect(await store.conversation('key', 'r29', 1_000_000)).toBeUndefined()
      expect((await store.conversation('key', 'r2', 1_000_000))?.length).toBe(3)
    })

    test('an upstream that repeats its ids makes no endless conversation', async () => {
      await store.save(record({ id: 'a', previousId: 'a' }))
      expect((await store.conversation('key', 'a', 1_000_000))?.length).toBe(1)
      await store.save(record({ id: 'b', previousId: 'c' }))
      await store.save(record({ id: 'c', previousId: 'b' }))
      await expect(store.conversation('key', 'b', 100_000_000)).rejects.toMatchObject({ kind: 'too-large' })
    })

    test('items are found by their ids, also those of deleted responses no more', async () => {
      await store.save(record({ id: 'r' }))
      await store.save(record({ id: 's' }))
      const found = await store.items('key', ['out_r', 'out_s', 'out_x', 'out_r'])
      expect([...found.keys()].sort()).toEqual(['out_r', 'out_s'])
      expect(found.get('out_r')).toEqual({
        item: { id: 'out_r', type: 'message', text: 'a\u0000"\\é' },
        deploymentId: 'd',
      })
      await store.delete('key', 'r')
      expect([...(await store.items('key', ['out_r', 'out_s'])).keys()]).toEqual(['out_s'])
      expect((await store.items('key', [])).size).toBe(0)
    })

    test('a run is renewed and finished once; who cancelled it wins', async () => {
      await store.save(record({ id: 'r', status: 'queued', background: true }))
      await store.save(record({ id: 'r', keyId: 'key of another', status: 'queued', background: true }))
      expect([...(await store.renew(['unknown key', 'r key'], 2000))]).toEqual([['r key', 'in_progress']])
      expect(await store.find('key of another', 'r')).toMatchObject({ status: 'queued', updatedAtMs: 1000 })
      expect(await store.find('key', 'r')).toMatchObject({
        status: 'in_progress',
        updatedAtMs: 2000,
        background: true,
        response: { status: 'in_progress' },
      })
      expect(await store.finish(record({ id: 'r', status: 'cancelled' }))).toBe(true)
      expect((await store.renew(['r key'], 3000)).size).toBe(0)
      expect(await store.finish(record({ id: 'r', status: 'completed' }))).toBe(false)
      expect((await store.find('key', 'r'))?.status).toBe('cancelled')
      expect(await store.finish(record({ id: 'never' }))).toBe(false)
    })

    test('a response that was renewed meanwhile is not ended by what had not seen it', async () => {
      await store.save(record({ id: 'r', status: 'in_progress', updatedAtMs: 1000 }))
      await store.renew(['r key'], 3000)
      expect(await store.finish(record({ id: 'r', status: 'failed' }), 1000)).toBe(false)
      expect((await store.find('key', 'r'))?.status).toBe('in_progress')
      expect(await store.finish(record({ id: 'r', status: 'failed' }), 3000)).toBe(true)
    })

    test('what has expired is deleted, with its items, however much it is', async () => {
      await database.sql.unsafe(`insert into responses
        (key_id, id, status, background, input, response, bytes, created_at_ms, updated_at_ms, expires_at_ms)
        with recursive n (i) as (select 1 union all select i + 1 from n where i < 1200)
        select 'key', 'old' || i, 'completed', 0, '[]', '{}', 4, 0, 0, 500 from n`)
      await store.save(record({ id: 'expired', expiresAtMs: 900 }))
      await store.save(record({ id: 'r' }))
      expect(await store.deleteExpired()).toBe(1201)
      expect(await store.find('key', 'r')).toBeDefined()
      const items = (await database.sql`select count(*) as n from response_items`) as { n: unknown }[]
      expect(Number(items[0]!.n)).toBe(1)
    })

    test('while it is known that the database does not answer nothing waits for it, and an outage is told once', async () => {
      isSilent = true
      for (let at = 0; at < 3; at++) expect(await store.save(record({ id: `r${at}` }))).toBe('failed')
      await expect(store.find('key', 'r0')).rejects.toMatchObject({ kind: 'overloaded', status: 503 })
      isSilent = false
      // Not even later: what is refused is not stored behind its back.
      expect(await store.find('key', 'r0')).toBeUndefined()
      expect(await store.save(record({ id: 'r' }))).toBe('saved')
      expect(problems).toEqual([
        'a response could not be stored: Error: the database does not answer',
        'responses are stored again (failed 3 times)',
      ])
    })

    test('a database that fails is reported; the answer is only not kept', async () => {
      await database.sql.unsafe('drop table response_items')
      expect(await store.save(record({ id: 'r' }))).toBe('failed')
      expect(problems.length).toBe(1)
      expect(await store.find('key', 'r')).toBeUndefined()
      await database.sql.unsafe('drop table responses')
      await expect(store.find('key', 'r')).rejects.toMatchObject({ kind: 'overloaded', status: 503 })
    })
  })
