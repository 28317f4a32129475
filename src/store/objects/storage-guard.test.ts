/** What keys store is counted exactly, through every kind of change, and kept within the quota on all replicas. */
import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import type { AssistantObject } from '../../core/objects/assistants.ts'
import type { FileRecord } from '../../core/objects/file-records.ts'
import type { StoredResponse } from '../../core/objects/responses.ts'
import { masterKeyId } from '../../core/caller.ts'
import type { GatewayError } from '../../core/errors.ts'
import { guardOf, testServers } from '../database/database-fixture.ts'
import type { TestDatabase } from '../database/database-fixture.ts'
import { openDatabase, toNumber } from '../database/open.ts'
import type { Database } from '../database/open.ts'
import { createAssistantStore } from './assistants.ts'
import { createFileStore } from './files.ts'
import { createResponseStore } from './responses.ts'

const text = 'ä\u0000"\\☃'
const object = (id: string, fields: Partial<AssistantObject> = {}): AssistantObject => ({
  id,
  kind: 'assistant',
  keyId: 'key',
  parentId: null,
  runId: null,
  active: false,
  updatedAtMs: 1,
  body: { id, text },
  hidden: {},
  ...fields,
})
const response = (id: string, fields: Partial<StoredResponse> = {}): StoredResponse => ({
  id,
  keyId: 'key',
  previousId: null,
  deploymentId: null,
  status: 'completed',
  background: false,
  input: [{ text }],
  response: { id, output: [] },
  createdAtMs: 1,
  updatedAtMs: 1,
  expiresAtMs: 10_000,
  ...fields,
})
const file = (id: string, fields: Partial<FileRecord> = {}): FileRecord => ({
  id,
  kind: 'file',
  keyId: 'key',
  deploymentId: 'd',
  upstreamId: `up-${id}`,
  purpose: 'batch',
  filename: 'é.jsonl',
  bytes: 5_000_000_000,
  models: ['m'],
  createdAtMs: 1,
  body: { id, text },
  recorded: false,
  owner: null,
  ...fields,
})
const kindOf = (error: unknown) => (error as GatewayError).kind

for (const server of testServers('storage quotas'))
  describe(`storage quotas on ${server.name}`, () => {
    let place: TestDatabase
    let database: Database
    let nowMs = 1
    const running: { stop(): void }[] = []

    beforeEach(async () => {
      nowMs = 1
      place = await server.createMigrated()
      database = await openDatabase(place.url)
    })
    afterEach(async () => {
      for (const store of running.splice(0)) store.stop()
      await database.close()
      await place.remove()
    })

    const storesOf = (of: Database, objectsMax: number | null = null, bytesMax: number | null = null) => {
      const guard = guardOf(of, { objectsMax, bytesMax })
      const clock = { epochMs: () => nowMs, monotonicMs: () => nowMs }
      const report = (problem: string) => expect(problem).toBe('')
      const store = createResponseStore({ database: of, clock, guard, report })
      const files = createFileStore({ database: of, guard, writer: 'one', clock, report })
      running.push(store, files)
      return {
        guard,
        assistants: createAssistantStore(of, guard),
        files,
        responses: store,
      }
    }
    /** As the database keeps them, by key. */
    const totals = async () => {
      const rows =
        (await database.sql`select * from stored_totals where objects <> 0 or bytes <> 0 order by key_id`) as {
          key_id: string
          objects: unknown
          bytes: unknown
        }[]
      return rows.map(row => [row.key_id, toNumber(row.objects), toNumber(row.bytes)])
    }
    /** Counted from the rows themselves. */
    const counted = async () => {
      const sums = new Map<string, [number, number]>()
      const count = (keyId: string, ...texts: string[]) => {
        const [objects, bytes] = sums.get(keyId) ?? [0, 0]
        sums.set(keyId, [objects + 1, bytes + Buffer.byteLength(texts.join(''))])
      }
      for (const row of await database.sql`select * from assistant_objects`) count(row.key_id, row.body, row.hidden)
      for (const row of await database.sql`select * from responses`) count(row.key_id, row.input, row.response)
      for (const row of await database.sql`select * from upstream_files`)
        count(row.key_id, row.body, row.models, row.filename)
      return [...sums].map(([keyId, sum]) => [keyId, ...sum]).sort()
    }

    test('the totals follow every change: made, changed, renewed, finished, expired, deleted with children', async () => {
      const { assistants, files, responses: kept } = storesOf(database)
      const agree = async () => expect(await totals()).toEqual(await counted())
      const thread = object('t', { kind: 'thread' })
      const inThread = (id: string, kind: AssistantObject['kind'], fields = {}) =>
        object(id, { kind, parentId: 't', ...fields })
      await assistants.insert([thread, object('a'), object('b', { keyId: 'other' })])
      await assistants.append('t', [inThread('m', 'message'), inThread('r', 'run', { active: true })])
      await agree()
      const step = object('s', { kind: 'step', parentId: 'r' })
      await assistants.change('r', () => ({ active: false, body: { text: text.repeat(9) }, put: [step] }))
      await assistants.renew(['r'], 5)
      await kept.save(response('q', { status: 'queued' }))
      await kept.save(response('q', { status: 'queued', response: { id: 'q', text } }))
      await kept.renew(['q key'], 2)
      await kept.finish(response('q', { response: { id: 'q', output: [{ id: 'o', text }] } }))
      await kept.save(response('old', { expiresAtMs: 2, keyId: 'other' }))
      await files.put(file('f'))
      await files.put(file('again', { upstreamId: 'up-f' }))
      await files.update('f', { body: { text: text.repeat(5) } })
      await files.update('f', { bytes: 7 })
      await agree()
      expect((await totals()).map(([keyId, objects]) => [keyId, objects])).toEqual([
        ['key', 7],
        ['other', 2],
      ])
      nowMs = 3
      await kept.deleteExpired()
      // Takes its message, its run, and the step of the run with it.
      await assistants.delete('t')
      await agree()
      for (const id of ['a', 'b']) await assistants.delete(id)
      await kept.delete('key', 'q')
      await files.delete('f')
      expect(await totals()).toEqual([])
    })

    test('many at once store exactly the quota, over all replicas, and deleting frees', async () => {
      const other = server.name === 'Postgres' ? await openDatabase(place.url) : database
      const replicas = [storesOf(database, 20), storesOf(other, 20)]
      const results = await Promise.allSettled(
        Array.from({ length: 60 }, async (_, at) => {
          const { assistants, files, responses: kept } = replicas[at % 2]!
          if (at % 3 === 0) await assistants.insert([object(`a${at}`)])
          else if (at % 3 === 1) await files.put(file(`f${at}`), { withinQuota: true })
          else if ((await kept.save(response(`r${at}`))) !== 'saved') await kept.admit('key')
        }),
      )
      const refused = results.flatMap(one => (one.status === 'rejected' ? [kindOf(one.reason)] : []))
      expect([refused.length, new Set(refused)]).toEqual([40, new Set(['quota-exceeded'])])
      expect((await totals())[0]!.slice(0, 2)).toEqual(['key', 20])
      const { assistants } = replicas[0]!
      await assistants.insert([object('x', { keyId: 'other' }), object('y', { keyId: masterKeyId })])
      const [stored] = (await assistants.list({ kind: 'assistant', keyId: 'key', limit: 1, order: 'asc' }))!.objects
      await assistants.delete(stored!.id)
      await assistants.insert([object('again')])
      expect(kindOf(await assistants.insert([object('more')]).catch((error: unknown) => error))).toBe('quota-exceeded')
      if (other !== database) await other.close()
    })

    test('the quota of bytes counts what grows; an object larger than all of it is too large', async () => {
      const { assistants, guard } = storesOf(database, null, 1000)
      const sized = (bytes: number) => ({ text: 'x'.repeat(bytes) })
      await assistants.insert([object('a', { body: sized(900) })])
      const grow = (bytes: number, withinQuota?: true) =>
        assistants
          .change('a', () => ({ body: sized(bytes), ...(withinQuota && { withinQuota }) }))
          .then(() => 'stored', kindOf)
      expect(await grow(980, true)).toBe('stored')
      expect(await grow(995, true)).toBe('quota-exceeded')
      expect(kindOf(await assistants.insert([object('b', { body: sized(2000) })]).catch((e: unknown) => e))).toBe(
        'too-large',
      )
      // What a run has made is paid for.
      expect(await grow(1500)).toBe('stored')
      // Above the quota a key can still make things smaller.
      expect(await grow(1400, true)).toBe('stored')
      expect(kindOf(await guard.admit('key').catch((error: unknown) => error))).toBe('quota-exceeded')
      expect(await totals()).toEqual(await counted())
    })

    test('a key without room is asked about before its next response, until it has room again', async () => {
      const { responses: kept } = storesOf(database, 1)
      expect(await kept.save(response('r'))).toBe('saved')
      await kept.admit('key')
      expect(await kept.save(response('s'))).toBe('no-room')
      expect(kindOf(await kept.admit('key').catch((error: unknown) => error))).toBe('quota-exceeded')
      await kept.delete('key', 'r')
      await kept.admit('key')
      expect(await kept.save(response('s'))).toBe('saved')
    })
  })
