import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import type { AssistantObject, AssistantQuery } from '../../core/objects/assistants.ts'
import { createAssistantStore } from './assistants.ts'
import { guardOf, testServers } from '../database/database-fixture.ts'
import type { TestDatabase } from '../database/database-fixture.ts'
import { openDatabase } from '../database/open.ts'
import type { Database } from '../database/open.ts'

const object = (id: string, fields: Partial<AssistantObject> = {}): AssistantObject => ({
  id,
  kind: 'message',
  keyId: 'key',
  parentId: 't',
  runId: null,
  active: false,
  updatedAtMs: 1000,
  body: { id, text: 'a\u0000"\\é\ud800' },
  hidden: {},
  ...fields,
})
const thread = (id = 't') => object(id, { kind: 'thread', parentId: null })
const run = (id: string, fields: Partial<AssistantObject> = {}) =>
  object(id, { kind: 'run', active: true, body: { status: 'queued' }, ...fields })

for (const server of testServers('assistants'))
  describe(server.name, () => {
    let made: TestDatabase
    let database: Database
    let store: ReturnType<typeof createAssistantStore>

    beforeEach(async () => {
      made = await server.createMigrated()
      database = await openDatabase(made.url)
      store = createAssistantStore(database, guardOf(database))
    })
    afterEach(async () => {
      await database.close()
      await made.remove()
    })

    const ids = async (query: Partial<AssistantQuery>) => {
      const page = await store.list({ kind: 'message', keyId: null, parentId: 't', limit: 3, order: 'asc', ...query })
      return page && `${page.objects.map(one => one.id).join(' ')}${page.hasMore ? ' ...' : ''}`
    }

    test('what is stored is found, by its kind and by its own key only; the operator sees all', async () => {
      await store.insert([thread(), object('m1')])
      expect(await store.find('message', 'm1', 'key')).toEqual({
        ...object('m1'),
        body: JSON.parse(JSON.stringify(object('m1').body)),
      })
      expect(await store.find('message', 'm1', 'other')).toBeUndefined()
      expect(await store.find('run', 'm1', 'key')).toBeUndefined()
      expect(await store.find('message', 'm1', null)).toBeDefined()
      for (const id of ['m\u0000', "m' or 1=1", '', 'x'.repeat(100)])
        expect(await store.find('message', id, null)).toBeUndefined()
    })

    test('pages, in both orders and directions', async () => {
      await store.insert([thread(), ...['e', 'd', 'c', 'b', 'a'].map(id => object(id))])
      expect(await ids({})).toBe('e d c ...')
      expect(await ids({ after: 'c' })).toBe('b a')
      expect(await ids({ before: 'a', limit: 2 })).toBe('c b ...')
      expect(await ids({ before: 'c' })).toBe('e d')
      expect(await ids({ order: 'desc' })).toBe('a b c ...')
      expect(await ids({ order: 'desc', after: 'c' })).toBe('d e')
      expect(await ids({ order: 'desc', before: 'd', limit: 2 })).toBe('b c ...')
      expect(await ids({ after: 'unknown' })).toBeUndefined()
      expect(await ids({ after: 't' })).toBeUndefined()
      await store.insert([thread('u'), object('foreign', { parentId: 'u' })])
      expect(await ids({ after: 'foreign' })).toBeUndefined()
      expect(await ids({ keyId: 'other' })).toBe('')
    })

    test('a page ends before its bytes are more than asked for, after one object at the earliest', async () => {
      const large = (id: string, length: number) => object(id, { body: { text: 'é'.repeat(length) } })
      await store.insert([thread(), large('a', 100), large('b', 100), large('c', 1000), large('d', 1)])
      expect(await ids({ bytesMax: 500, limit: 4 })).toBe('a b ...')
      expect(await ids({ bytesMax: 500, limit: 4, after: 'b' })).toBe('c ...')
      expect(await ids({ bytesMax: 500, limit: 4, after: 'c' })).toBe('d')
      expect(await ids({ bytesMax: 500, limit: 4, order: 'desc' })).toBe('d ...')
      expect(await ids({ bytesMax: 500, limit: 4, before: 'c' })).toBe('a b')
      expect(await ids({ bytesMax: 5000, limit: 4 })).toBe('a b c d')
      const page = await store.list({ kind: 'message', keyId: null, parentId: 't', limit: 1, order: 'asc' })
      expect(page).toMatchObject({ bytes: Buffer.byteLength(JSON.stringify(large('a', 100).body)) + 2, hasMore: true })
    })

    test('assistants are listed by their making, messages also by their run', async () => {
      const assistant = (id: string, updatedAtMs: number, keyId = 'key') =>
        object(id, { kind: 'assistant', parentId: null, updatedAtMs, keyId })
      await store.insert([assistant('x', 3), assistant('y', 1), assistant('z', 2, 'other')])
      const list = async (keyId: string | null) =>
        (await store.list({ kind: 'assistant', keyId, limit: 9, order: 'asc' }))!.objects.map(one => one.id).join(' ')
      expect([await list('key'), await list(null)]).toEqual(['y x', 'y z x'])
      await store.insert([thread(), object('m1'), object('m2', { runId: 'r' })])
      expect([await ids({ runId: 'r' }), await ids({ runId: "'" })]).toEqual(['m2', ''])
    })

    test('a thread takes one run at a time, also of many at once, and nothing else while it runs', async () => {
      await store.insert([thread()])
      const results = await Promise.all(
        Array.from({ length: 8 }, (_, at) => store.append('t', [object(`m${at}`), run(`r${at}`)])),
      )
      const added = results.flatMap((result, at) => (result === 'added' ? [at] : []))
      expect(added.length).toBe(1)
      for (const result of results)
        if (result !== 'added') expect(result).toMatchObject({ id: `r${added[0]}`, active: true })
      // All or none: the message of a run that was refused is not there.
      expect(await ids({})).toBe(`m${added[0]}`)
      expect(await store.append('t', [object('late')])).toMatchObject({ id: `r${added[0]}` })
      expect(await store.append('unknown', [object('late')])).toBe('gone')
      await store.change(`r${added[0]}`, () => ({ active: false }))
      expect(await store.append('t', [run('next')])).toBe('added')
    })

    test('messages keep the order in which they came, also when they come at once', async () => {
      await store.insert([thread()])
      await Promise.all(Array.from({ length: 10 }, (_, at) => store.append('t', [object(`a${at}`), object(`b${at}`)])))
      const page = await store.list({ kind: 'message', keyId: null, parentId: 't', limit: 100, order: 'asc' })
      const found = page!.objects.map(one => one.id)
      expect(found.length).toBe(20)
      for (let at = 0; at < 10; at++) expect(found.indexOf(`b${at}`)).toBe(found.indexOf(`a${at}`) + 1)
    })

    test('a change sees what is there, and stores all that belongs to it or nothing', async () => {
      await store.insert([
        thread(),
        run('r', { body: { status: 'in_progress', n: 0 } }),
        object('s', { kind: 'step', parentId: 'r' }),
      ])
      await Promise.all(
        Array.from({ length: 10 }, () =>
          store.change('r', now => ({ body: { ...now.body, n: Number(now.body.n) + 1 } })),
        ),
      )
      expect((await store.find('run', 'r', null))?.body.n).toBe(10)
      expect(await store.change('r', () => undefined)).toBeUndefined()
      expect(await store.change('unknown', () => ({}))).toBeUndefined()
      const step = object('s', { kind: 'step', parentId: 'r', body: { done: true } })
      const changed = await store.change('r', () => ({ active: false, put: [step, object('m')] }))
      expect(changed?.active).toBe(false)
      expect((await store.find('step', 's', null))?.body).toEqual({ done: true })
      expect(await ids({})).toBe('m')
      await expect(
        store.change('r', () => ({ body: { lost: true }, put: [object('x', { parentId: 'unknown' })] })),
      ).rejects.toMatchObject({ kind: 'overloaded' })
      expect((await store.find('run', 'r', null))?.body.lost).toBeUndefined()
    })

    test('a run is renewed while it is active', async () => {
      await store.insert([thread(), run('r')])
      expect([...(await store.renew(['unknown', 'r'], 5000))]).toEqual([['r', 'queued']])
      expect((await store.find('run', 'r', null))?.updatedAtMs).toBe(5000)
      await store.change('r', () => ({ active: false }))
      expect((await store.renew(['r'], 6000)).size).toBe(0)
      expect((await store.find('run', 'r', null))?.updatedAtMs).toBe(5000)
    })

    test('a thread goes with all that is in it', async () => {
      await store.insert([thread(), run('r'), object('m'), object('s', { kind: 'step', parentId: 'r' })])
      expect(await store.delete('t')).toBe(true)
      for (const [kind, id] of [
        ['run', 'r'],
        ['message', 'm'],
        ['step', 's'],
      ] as const)
        expect(await store.find(kind, id, null)).toBeUndefined()
      expect(await store.delete('t')).toBe(false)
    })

    test('a thread has an end', async () => {
      await store.insert([thread(), object('m')])
      await database.sql`update assistant_objects set position = 100000 where id = 'm'`
      await expect(store.append('t', [object('n')])).rejects.toMatchObject({ kind: 'invalid-request' })
      expect(await store.append('t', [run('r')])).toBe('added')
    })

    test('without its table everything is `overloaded`', async () => {
      await database.sql.unsafe('drop table assistant_objects')
      await expect(store.find('run', 'r', null)).rejects.toMatchObject({ kind: 'overloaded', status: 503 })
      await expect(store.insert([thread()])).rejects.toMatchObject({ kind: 'overloaded' })
    })
  })
