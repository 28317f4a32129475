/** Whose file is where: on both databases, also while two replicas see the same file for the first time. */
import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import type { FileRecord } from '../../core/objects/file-records.ts'
import { systemClock } from '../../lib/clock.ts'
import { guardOf, testServers } from '../database/database-fixture.ts'
import type { TestDatabase } from '../database/database-fixture.ts'
import { createFileStore } from './files.ts'
import type { RunningFileStore } from './files.ts'
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
  owner: null,
  ...fields,
})

for (const server of testServers('files'))
  describe(`files on ${server.name}`, () => {
    let place: TestDatabase
    let database: Database
    let store: RunningFileStore
    let nowMs = 1000
    const storeOn = (on: Database, writer: string): RunningFileStore =>
      createFileStore({
        database: on,
        guard: guardOf(on),
        writer,
        clock: { epochMs: () => nowMs, monotonicMs: () => nowMs },
        report: problem => expect(problem).toBe(''),
      })

    beforeEach(async () => {
      place = await server.createMigrated()
      database = await openDatabase(place.url)
      nowMs = 1000
      store = storeOn(database, 'one')
    })
    afterEach(async () => {
      store.stop()
      await database.close()
      await place.remove()
    })

    test('what is put is found unchanged, by its key or by the operator', async () => {
      const one = record({ id: 'file-1' })
      expect(await store.put(one)).toEqual(one)
      expect(await store.find('file', 'file-1', 'key')).toEqual(one)
      expect(await store.find('file', 'file-1', null)).toEqual(one)
      expect(await store.find('file', 'file-1', 'other')).toBeUndefined()
      expect(await store.find('batch', 'file-1', 'key')).toBeUndefined()
      expect(await store.findUpstream(one)).toEqual(one)
      expect(await store.findUpstream({ ...one, keyId: 'other' })).toBeUndefined()
    })

    test('an unknown id is not found, with any bytes in it', async () => {
      for (const id of ['', 'file-2', 'a\u0000b', "' or 1=1 --", 'x'.repeat(10_000), '\ud800'])
        expect(await store.find('file', id, null)).toBeUndefined()
      expect(await store.list({ kind: 'file', keyId: null, limit: 5, order: 'asc', after: '\u0000' })).toBeUndefined()
      expect(await store.list({ kind: 'file', keyId: null, limit: 5, order: 'asc', purpose: '\u0000' })).toEqual({
        records: [],
        hasMore: false,
        bytes: 0,
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
      expect(await store.batchSettled('batch_1', { status: 'completed' })).toBe(true)
      expect(await store.update('batch_1', { bytes: 0 })).toBe(true)
      expect(await store.find('batch', 'batch_1', null)).toEqual({
        ...batch,
        body: { status: 'completed' },
        recorded: true,
        bytes: 0,
      })
      expect(await store.delete('batch_1')).toBe(true)
      expect(await store.delete('batch_1')).toBe(false)
      expect(await store.batchSettled('batch_1', {})).toBe(false)
      expect(await store.find('batch', 'batch_1', null)).toBeUndefined()
    })

    test('a file that its upstream deletes is gone at that time, for its key and for the operator', async () => {
      const body = (fields: object) => ({ object: 'file', ...fields })
      const kept = record({ id: 'file-kept', body: body({ expires_at: null }) })
      await store.put(kept)
      await store.put(record({ id: 'file-short', body: body({ expires_at: 50 }) }))
      await store.put(record({ id: 'file-told', body: body({}) }))
      await store.update('file-told', { body: body({ expires_at: 50 }) })
      // Of a batch it says when it is given up.
      const batch = record({ id: 'batch_1', kind: 'batch', body: { expires_at: 50 } })
      await store.put(batch)
      await store.update('batch_1', { body: { expires_at: 50 } })
      nowMs = 49_999
      expect(await store.find('file', 'file-short', 'key')).toMatchObject({ id: 'file-short' })
      nowMs = 50_000
      for (const id of ['file-short', 'file-told']) expect(await store.find('file', id, null)).toBeUndefined()
      expect((await store.list({ kind: 'file', keyId: 'key', limit: 5, order: 'asc' }))?.records).toEqual([kept])
      expect(await store.list({ kind: 'file', keyId: 'key', limit: 5, order: 'asc', after: 'file-short' })).toBe(
        undefined,
      )
      expect(await store.deleteExpired()).toBe(2)
      const totals = (await database.sql`select objects from stored_totals where key_id = 'key'`) as {
        objects: unknown
      }[]
      expect(totals.map(one => Number(one.objects))).toEqual([2])
      expect(await store.find('batch', 'batch_1', 'key')).toEqual(batch)
      expect(await store.deleteExpired()).toBe(0)
    })

    test('a page ends before its bytes are more than a page has, but has one file at least', async () => {
      const sizes = { 'file-0': 3, 'file-1': 1, 'file-2': 5, 'file-3': 1, 'file-4': 1 }
      for (const [at, [id, mib]] of Object.entries(sizes).entries())
        await store.put(
          record({ id, createdAtMs: 1000 + at, body: { id, note: 'x'.repeat(mib * 1024 * 1024 - 1000) } }),
        )
      const pages: string[][] = []
      for (let after: string | undefined; ; after = pages.at(-1)!.at(-1)) {
        const page = await store.list({ kind: 'file', keyId: 'key', limit: 100, order: 'asc', after })
        pages.push(page!.records.map(one => one.id))
        expect(page!.bytes).toBeGreaterThan(1024 * 1024)
        if (!page!.hasMore) break
      }
      expect(pages).toEqual([['file-0', 'file-1'], ['file-2'], ['file-3', 'file-4']])
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

    describe('batches that two replicas look after', () => {
      let otherDatabase: Database
      let other: RunningFileStore
      const putBatches = async (count: number) => {
        const ids = Array.from({ length: count }, (_, at) => `batch_${String(at).padStart(3, '0')}`)
        for (const id of ids) await store.put(record({ id, kind: 'batch' }))
        return ids
      }
      const idsOf = (records: FileRecord[]) => records.map(one => one.id).sort()

      beforeEach(async () => {
        otherDatabase = await openDatabase(place.url)
        other = storeOn(otherDatabase, 'two')
      })
      afterEach(() => {
        other.stop()
        return otherDatabase.close()
      })

      test('asked for at once, each batch is leased to one of them; files and recorded batches to none', async () => {
        const ids = await putBatches(60)
        await store.put(record({ id: 'file-1' }))
        await store.put(record({ id: 'batch_ended', kind: 'batch', recorded: true }))
        const asked = Array.from({ length: 20 }, (_, at) =>
          (at % 2 ? store : other).leaseOpenBatches({ owner: `w${at}`, nowMs: 1000, leaseMs: 500, limit: 5 }),
        )
        const leased = await Promise.all(asked)
        for (const records of leased) expect(records.length).toBeLessThanOrEqual(5)
        // On Postgres one may skip rows that another is about to take: the next poll leases the rest.
        const rest = await store.leaseOpenBatches({ owner: 'rest', nowMs: 1000, leaseMs: 500, limit: 100 })
        expect(idsOf([...leased.flat(), ...rest])).toEqual(ids)
        expect(await other.leaseOpenBatches({ owner: 'late', nowMs: 1499, leaseMs: 500, limit: 100 })).toEqual([])
      })

      test('a lease that is over is taken by another, which the first owner is told', async () => {
        await putBatches(1)
        const [leased] = await store.leaseOpenBatches({ owner: 'a', nowMs: 1000, leaseMs: 500, limit: 9 })
        expect(leased).toEqual(record({ id: 'batch_000', kind: 'batch' }))
        expect(await other.leaseBatch('batch_000', { owner: 'b', nowMs: 1499, leaseMs: 500 })).toBe(false)
        expect(await store.leaseBatch('batch_000', { owner: 'a', nowMs: 1400, leaseMs: 500 })).toBe(true)
        expect(await other.leaseOpenBatches({ owner: 'b', nowMs: 1899, leaseMs: 500, limit: 9 })).toEqual([])
        expect(idsOf(await other.leaseOpenBatches({ owner: 'b', nowMs: 1900, leaseMs: 500, limit: 9 }))).toEqual([
          'batch_000',
        ])
        expect(await store.leaseBatch('batch_000', { owner: 'a', nowMs: 1950, leaseMs: 500 })).toBe(false)
        expect(await store.releaseBatch('batch_000', { owner: 'a', dueAtMs: 0 })).toBe(false)
      })

      test('what was leased or put off before the clock went back by days is due', async () => {
        const day = 86_400_000
        const ids = await putBatches(2)
        await store.leaseOpenBatches({ owner: 'a', nowMs: 3 * day, leaseMs: 500, limit: 2 })
        await store.releaseBatch('batch_000', { owner: 'a', dueAtMs: 3 * day + 60_000 })
        expect(await other.leaseBatch('batch_001', { owner: 'c', nowMs: day, leaseMs: 500 })).toBe(true)
        await store.leaseBatch('batch_001', { owner: 'c', nowMs: 3 * day, leaseMs: 500 })
        expect(idsOf(await other.leaseOpenBatches({ owner: 'b', nowMs: day, leaseMs: 500, limit: 9 }))).toEqual(ids)
        expect(await other.leaseOpenBatches({ owner: 'b', nowMs: day, leaseMs: 500, limit: 9 })).toEqual([])
      })

      test('a replica whose clock is an hour ahead takes no lease of another', async () => {
        const ids = await putBatches(1)
        await store.leaseOpenBatches({ owner: 'a', nowMs: 1000, leaseMs: 500, limit: 1 })
        const hour = 3_600_000
        const ahead = createFileStore({
          database,
          guard: guardOf(database),
          writer: 'two',
          clock: systemClock,
          sharedClock: { aheadMs: -hour },
          report: () => {},
        })
        const lease = (nowMs: number) => ({ owner: 'b', nowMs: nowMs + hour, leaseMs: 500, limit: 1 })
        expect(await ahead.leaseBatch(ids[0]!, lease(1400))).toBe(false)
        expect(await ahead.leaseOpenBatches(lease(1400))).toEqual([])
        expect(idsOf(await ahead.leaseOpenBatches(lease(1500)))).toEqual(ids)
        await ahead.releaseBatch(ids[0]!, { owner: 'b', dueAtMs: hour + 3000 })
        expect(idsOf(await store.leaseOpenBatches({ owner: 'a', nowMs: 3000, leaseMs: 500, limit: 1 }))).toEqual(ids)
        ahead.stop()
      })

      test('a released batch can be settled at once, and is polled when it is due, longest overdue first', async () => {
        await putBatches(3)
        await store.leaseOpenBatches({ owner: 'a', nowMs: 1000, leaseMs: 500, limit: 3 })
        expect(await store.releaseBatch('batch_000', { owner: 'a', dueAtMs: 3000 })).toBe(true)
        expect(await store.releaseBatch('batch_001', { owner: 'a', dueAtMs: 2000 })).toBe(true)
        expect(await store.releaseBatch('batch_001', { owner: 'a', dueAtMs: 2000 })).toBe(false)
        const due = async (nowMs: number) =>
          idsOf(await other.leaseOpenBatches({ owner: 'b', nowMs, leaseMs: 10_000, limit: 1 }))
        expect(await due(1499)).toEqual([])
        expect(await due(3000)).toEqual(['batch_002'])
        expect(await due(3000)).toEqual(['batch_001'])
        expect(await other.leaseBatch('batch_000', { owner: 'c', nowMs: 2000, leaseMs: 500 })).toBe(true)
        expect(await due(2499)).toEqual([])
      })

      test('what a batch reserves is spent until it is settled or given up, once, whichever replica ends it', async () => {
        const spent = async () => {
          const rows =
            (await database.sql`select writer, scope, spent_nano_usd from budget_spend order by writer, scope`) as {
              writer: string
              scope: string
              spent_nano_usd: unknown
            }[]
          return rows.map(row => [row.writer, row.scope, Number(row.spent_nano_usd)])
        }
        const amount = (scope: string, nanoUsd: number, model: string | null) => ({ scope, startMs: 5, nanoUsd, model })
        const reserved = [amount('key:a', 30, null), amount('m', 10, 'one'), amount('m', 20, 'two')]
        const lease = { owner: 'a', nowMs: 1000, leaseMs: 500 }
        const intents = ['batch_1', 'batch_2', 'batch_3'].map(id =>
          record({ id, kind: 'batch', upstreamId: id, reserved }),
        )
        for (const intent of intents) await store.beginBatch(intent, lease)
        const held = [
          ['one', 'key:a', 90],
          ['one', 'm', 90],
        ]
        expect([await spent(), await store.find('batch', 'batch_1', null)]).toEqual([held, intents[0]])
        expect(await other.leaseOpenBatches({ owner: 'b', nowMs: 1400, leaseMs: 5, limit: 9 })).toEqual([])
        expect(await store.batchBegun('batch_1', 'up')).toEqual({
          record: { ...intents[0]!, upstreamId: 'up' },
          returned: [],
        })
        // The upstream's batch is another one's already.
        const late = await other.batchBegun('batch_2', 'up')
        expect([late?.record.id, late?.returned]).toEqual([
          'batch_1',
          [
            { scope: 'key:a', startMs: 5, writer: '-two', nanoUsd: -30 },
            { scope: 'm', startMs: 5, writer: '-two', nanoUsd: -30 },
          ],
        ])
        const ends = await Promise.all([store, other].map(files => files.batchSettled('batch_1', { at: 1 })))
        expect(ends.filter(Boolean).length).toBe(1)
        for (const files of [store, other]) await files.giveUpBatch('batch_3')
        expect(await other.giveUpBatch('batch_1')).toEqual([])
        // What the settled one had reserved comes back with the row of its end.
        expect((await spent()).reduce((sum, [, , nanoUsd]) => sum + Number(nanoUsd), 0)).toBe(60)
        expect(await store.batchBegun('batch_3', 'late')).toBeUndefined()
      })

      test('of many that saw its end one holds the lease, and one records it; then it is leased no more', async () => {
        await putBatches(1)
        const callers = Array.from({ length: 12 }, (_, at) => ({ at, files: at % 2 ? store : other }))
        const held = await Promise.all(
          callers.map(({ at, files }) => files.leaseBatch('batch_000', { owner: `w${at}`, nowMs: 1000, leaseMs: 500 })),
        )
        expect(held.filter(Boolean).length).toBe(1)
        const recorded = await Promise.all(callers.map(({ at, files }) => files.batchSettled('batch_000', { at })))
        expect(recorded.filter(Boolean).length).toBe(1)
        const kept = await other.find('batch', 'batch_000', null)
        expect([kept?.recorded, kept?.body]).toEqual([true, { at: recorded.findIndex(Boolean) }])
        const later = { owner: 'z', nowMs: 9000, leaseMs: 500 }
        expect(await store.leaseOpenBatches({ ...later, limit: 9 })).toEqual([])
        expect(await store.leaseBatch('batch_000', later)).toBe(false)
        expect(await store.leaseBatch('batch_gone', later)).toBe(false)
      })
    })

    test('a database that fails is 503, never "not found"', async () => {
      await database.sql.unsafe('drop table upstream_files')
      const asked = await Promise.allSettled<unknown>([
        store.find('file', 'file-1', null),
        store.put(record({ id: 'file-1' })),
        store.update('file-1', { bytes: 1 }),
        store.delete('file-1'),
        store.list({ kind: 'file', keyId: null, limit: 1, order: 'asc' }),
        store.leaseOpenBatches({ owner: 'a', nowMs: 0, leaseMs: 1, limit: 1 }),
        store.leaseBatch('batch_1', { owner: 'a', nowMs: 0, leaseMs: 1 }),
        store.releaseBatch('batch_1', { owner: 'a', dueAtMs: 1 }),
      ])
      for (const one of asked)
        expect(one).toMatchObject({ status: 'rejected', reason: { kind: 'overloaded', status: 503 } })
    })
  })
