/** Whose file is where: on both databases, also while two replicas see the same file for the first time. */
import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import type { FileRecord, FileStore } from '../../core/ports.ts'
import { testServers } from '../database/database-fixture.ts'
import type { TestDatabase } from '../database/database-fixture.ts'
import { createFileStore } from './files.ts'
import { migrate } from '../database/migrate.ts'
import { openDatabase } from '../database/open.ts'
import type { Database } from '../database/open.ts'

const record = (fields: Partial<FileRecord> & { id: string }): FileRecord => ({
  kind: 'file',
  keyId: 'key',
  deploymentId: 'd',
  upstreamId: `up-${fields.id}`,
  purpose: 'batch',
  filename: 'täglich".jsonl',
  bytes: 5_000_000_000,
  models: ['a', 'b/c'],
  createdAtMs: 1000,
  body: { id: fields.id, object: 'file', note: '\u0000\ud83d\ude00\'"\\' },
  recorded: false,
  ...fields,
})

for (const server of testServers('files'))
  describe(`files on ${server.name}`, () => {
    let place: TestDatabase
    let database: Database
    let store: FileStore

    beforeEach(async () => {
      place = await server.create()
      database = await openDatabase(place.url)
      await migrate(database)
      store = createFileStore(database)
    })
    afterEach(async () => {
      await database.close()
      await place.remove()
    })

    test('what is put is found as it was, by its key or by whoever may see all', async () => {
      const one = record({ id: 'file-1' })
      expect(await store.put(one)).toEqual(one)
      expect(await store.find('file', 'file-1', 'key')).toEqual(one)
      expect(await store.find('file', 'file-1', null)).toEqual(one)
      expect(await store.find('file', 'file-1', 'other')).toBeUndefined()
      expect(await store.find('batch', 'file-1', 'key')).toBeUndefined()
      expect(await store.findUpstream(one)).toEqual(one)
      expect(await store.findUpstream({ ...one, keyId: 'other' })).toBeUndefined()
    })

    test('an id that nobody gave out is not there, whatever bytes it has', async () => {
      for (const id of ['', 'file-2', 'a\u0000b', "' or 1=1 --", 'x'.repeat(10_000), '\ud800'])
        expect(await store.find('file', id, null)).toBeUndefined()
      expect(await store.list({ kind: 'file', keyId: null, limit: 5, order: 'asc', after: '\u0000' })).toBeUndefined()
      expect(await store.list({ kind: 'file', keyId: null, limit: 5, order: 'asc', purpose: '\u0000' })).toEqual({
        records: [],
        hasMore: false,
      })
    })

    test('a file of an upstream has one id for a key, also when it is seen by many at once', async () => {
      const seen = Array.from({ length: 12 }, (_, at) => record({ id: `file-${at}`, upstreamId: 'the-same' }))
      const stored = await Promise.all(seen.map(one => store.put(one)))
      expect(new Set(stored.map(one => one.id)).size).toBe(1)
      expect((await store.list({ kind: 'file', keyId: 'key', limit: 100, order: 'asc' }))?.records.length).toBe(1)
      // Another key, kind or deployment has its own.
      const others = [{ keyId: 'other' }, { kind: 'batch' as const }, { deploymentId: 'e' }].map((fields, at) =>
        record({ id: `x-${at}`, upstreamId: 'the-same', ...fields }),
      )
      for (const other of others) expect((await store.put(other)).id).toBe(other.id)
    })

    test('an update changes what it names and nothing else; what is gone stays gone', async () => {
      const batch = record({ id: 'batch_1', kind: 'batch' })
      await store.put(batch)
      await store.update('batch_1', { body: { status: 'completed' } })
      expect(await store.find('batch', 'batch_1', null)).toEqual({ ...batch, body: { status: 'completed' } })
      await store.update('batch_1', { recorded: true })
      await store.update('batch_1', { bytes: 0 })
      expect(await store.find('batch', 'batch_1', null)).toEqual({
        ...batch,
        body: { status: 'completed' },
        recorded: true,
        bytes: 0,
      })
      expect(await store.delete('batch_1')).toBe(true)
      expect(await store.delete('batch_1')).toBe(false)
      await store.update('batch_1', { recorded: false })
      expect(await store.find('batch', 'batch_1', null)).toBeUndefined()
    })

    test('pages follow one another without a gap, in both orders, also where times are equal', async () => {
      const ids = Array.from({ length: 25 }, (_, at) => `file-${String(at).padStart(2, '0')}`)
      for (const [at, id] of ids.entries())
        await store.put(
          record({ id, createdAtMs: 1000 + Math.floor(at / 10), purpose: at % 5 === 0 ? 'vision' : 'batch' }),
        )
      await store.put(record({ id: 'file-theirs', keyId: 'other', createdAtMs: 1001 }))
      await store.put(record({ id: 'batch_theirs', kind: 'batch', createdAtMs: 1001 }))
      for (const order of ['asc', 'desc'] as const) {
        const found: string[] = []
        for (let after: string | undefined; ; after = found.at(-1)) {
          const page = await store.list({ kind: 'file', keyId: 'key', limit: 7, order, after })
          found.push(...page!.records.map(one => one.id))
          if (!page!.hasMore) break
        }
        expect(found).toEqual(order === 'asc' ? ids : ids.toReversed())
      }
      const exact = await store.list({ kind: 'file', keyId: 'key', limit: 25, order: 'asc' })
      expect([exact?.records.length, exact?.hasMore]).toEqual([25, false])
      const vision = await store.list({
        kind: 'file',
        keyId: 'key',
        limit: 3,
        order: 'asc',
        purpose: 'vision',
        after: 'file-04',
      })
      expect([vision?.records.map(one => one.id), vision?.hasMore]).toEqual([['file-05', 'file-10', 'file-15'], true])
      expect((await store.list({ kind: 'file', keyId: null, limit: 100, order: 'asc' }))?.records.length).toBe(26)
      expect(
        await store.list({ kind: 'file', keyId: 'key', limit: 3, order: 'asc', after: 'file-theirs' }),
      ).toBeUndefined()
    })

    test('a database that fails is 503, never "not found"', async () => {
      await database.sql.unsafe('drop table upstream_files')
      const asked = await Promise.allSettled<unknown>([
        store.find('file', 'file-1', null),
        store.put(record({ id: 'file-1' })),
        store.update('file-1', { bytes: 1 }),
        store.delete('file-1'),
        store.list({ kind: 'file', keyId: null, limit: 1, order: 'asc' }),
      ])
      for (const one of asked)
        expect(one).toMatchObject({ status: 'rejected', reason: { kind: 'overloaded', status: 503 } })
    })
  })
