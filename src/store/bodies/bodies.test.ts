/**
 * Stored bodies in both databases: encrypted anew, deleted by age and by size, refused without a key, never in the way.
 */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { randomUUIDv7 } from 'bun'
import type { BodySettings, CallBodies } from '../../core/ledger/stored-bodies.ts'
import { dayMs, systemClock } from '../../lib/clock.ts'
import { testServers } from '../database/database-fixture.ts'
import type { TestDatabase } from '../database/database-fixture.ts'
import { openDatabase } from '../database/open.ts'
import type { Database } from '../database/open.ts'
import { EncryptionKeys } from '../keys/encryption-keys.ts'
import { openBodyStore } from './bodies.ts'
import type { RunningBodyStore } from './bodies.ts'
import { rotateBodies } from './body-rotation.ts'
import { dayOfId } from './body-rows.ts'
import { dropOldestDay } from './day-partitions.ts'

const usual: BodySettings = {
  isOn: true,
  clientsMayRefuse: true,
  bytesMax: 1_000_000,
  waitingBytesMax: 10_000_000,
  storedBytesMax: 1_000_000_000,
  keptMs: 30 * dayMs,
  readers: 'owners',
}

/** A call so many days ago. Its texts cannot be packed to less than `bytes`. */
function bodiesOf(daysAgo = 0, bytes = 30): CallBodies {
  const text = crypto.getRandomValues(new Uint8Array(bytes)).toBase64()
  const body = { text, contentType: 'application/json', bytes: text.length, isCut: false }
  const requestId = randomUUIDv7('hex', Date.now() - daysAgo * dayMs)
  return {
    ...{ requestId, keyId: 'key-1', userId: 'user-1', teamId: null, organizationId: null },
    said: { request: { ...body, headers: {}, isChanged: false }, answer: { ...body, status: 200, isStream: false } },
  }
}

for (const server of testServers('stored bodies'))
  describe(server.name, () => {
    let made: TestDatabase
    let database: Database
    let directory: string
    let store: RunningBodyStore
    let settings: BodySettings
    const problems: string[] = []
    const environmentOf = (...keys: string[]): Record<string, string> => {
      const [MODELGATE_ENCRYPTION_KEY = '', ...rest] = keys
      return { MODELGATE_ENCRYPTION_KEY, MODELGATE_DECRYPTION_KEYS: rest.join(',') }
    }
    const [one, two] = ['1'.repeat(32), '2'.repeat(32)] as const
    const open = (environment: Record<string, string>) => {
      const isShared = database.kind === 'postgres'
      return openBodyStore({
        database,
        writer: { databaseUrl: made.url, dataDirectory: directory, environment },
        keys: new EncryptionKeys({ environment, dataDirectory: directory, isShared }),
        clock: systemClock,
        settings: () => settings,
        report: problem => problems.push(problem),
      })
    }
    beforeAll(async () => {
      made = await server.createMigrated()
      database = await openDatabase(made.url)
    })
    afterAll(async () => {
      await database.close()
      await made.remove()
    })
    beforeEach(() => {
      directory = mkdtempSync(join(tmpdir(), 'modelgate-bodies-'))
      settings = usual
      problems.length = 0
      store = open(environmentOf(one))
    })
    afterEach(async () => {
      await store.close()
      await database.sql`delete from call_bodies`
      if (database.kind === 'postgres') while (await dropOldestDay(database.sql, 1_000_000));
      rmSync(directory, { recursive: true, force: true })
    })

    const keep = (bodies: CallBodies): CallBodies => {
      const held = bodies.said.request.text.length
      if (store.hold(held, settings)) store.keep(bodies, held, settings)
      return bodies
    }
    const isThere = async ({ requestId }: CallBodies) => (await store.find(requestId, undefined))?.said != null
    const partitions = async () =>
      (
        (await database.sql`select c.relname as name from pg_inherits i join pg_class c on c.oid = i.inhrelid
          where i.inhparent = 'call_bodies'::regclass order by 1`) as { name: string }[]
      ).map(({ name }) => name)

    test('what is written while the key is replaced can be read, and lies under the new key after a second rotation', async () => {
      const before = Array.from({ length: 30 }, () => keep(bodiesOf()))
      // All of them are stored: a busy machine writes them in several batches.
      for (const one of before) while (!(await isThere(one))) await Bun.sleep(20)
      const isShared = database.kind === 'postgres'
      const keys = new EncryptionKeys({ environment: environmentOf(two, one), dataDirectory: directory, isShared })
      const rotating = rotateBodies(database, keys)
      // This process does not have the new key yet.
      const meanwhile = Array.from({ length: 30 }, () => keep(bodiesOf()))
      expect(await rotating).toBeGreaterThanOrEqual(30)
      await store.close()
      store = open(environmentOf(two, one))
      for (const bodies of [...before, ...meanwhile])
        expect((await store.find(bodies.requestId, undefined))?.said).toEqual(bodies.said)
      await rotateBodies(database, keys)
      await store.close()
      store = open(environmentOf(two))
      for (const bodies of [...before, ...meanwhile]) expect(await isThere(bodies)).toBe(true)
      expect(await rotateBodies(database, keys)).toBe(0)
    })

    test('while bodies wait for the database they are not said to be missing, and a deletion leaves none of them', async () => {
      const connection = await openDatabase(made.url, 1)
      const isPostgres = database.kind === 'postgres'
      await connection.sql.unsafe(isPostgres ? 'begin; lock table call_bodies in share mode' : 'begin immediate')
      const waiting = keep(bodiesOf())
      const refused = { kind: 'overloaded', retryAfterMs: 1000 }
      const [found, deleted] = await Promise.allSettled([
        store.find(waiting.requestId, undefined),
        store.delete({ keyId: waiting.keyId }, undefined),
      ])
      expect(found).toMatchObject({ status: 'rejected', reason: refused })
      expect(deleted).toMatchObject({ status: 'rejected', reason: refused })
      await connection.sql.unsafe('rollback')
      await connection.close()
      for (let isStored = false; !isStored; ) isStored = await isThere(waiting).catch(() => false)
      expect(await store.delete({ keyId: waiting.keyId }, undefined)).toBe(1)
    })

    test('a body of another call under its own id is not opened', async () => {
      const [mine, other] = [keep(bodiesOf()), keep(bodiesOf())]
      await store.find(mine.requestId, undefined)
      await database.sql`update call_bodies set content = (select content from call_bodies
        where request_id = ${other.requestId}) where request_id = ${mine.requestId}`
      expect(await store.find(mine.requestId, undefined)).toMatchObject({
        said: null,
        problem: expect.stringContaining('changed'),
      })
    })

    test('days beyond their time are deleted, on Postgres by dropping their partitions', async () => {
      settings = { ...usual, keptMs: 7 * dayMs }
      const kept = [0, 6].map(days => keep(bodiesOf(days)))
      const old = [9, 40].map(days => keep(bodiesOf(days)))
      await store.find(kept[0]!.requestId, undefined)
      if (database.kind === 'postgres') expect(await partitions()).toHaveLength(4)
      await store.maintain()
      expect(problems).toEqual([])
      for (const bodies of kept) expect(await isThere(bodies)).toBe(true)
      for (const bodies of old) expect(await isThere(bodies)).toBe(false)
      if (database.kind === 'postgres')
        expect(await partitions()).toEqual(kept.map(({ requestId }) => `call_bodies_d${dayOfId(requestId)}`).toSorted())
    })

    test('the oldest are deleted beyond the bound of all, the newest stay', async () => {
      settings = { ...usual, storedBytesMax: 60_000 }
      const bodies = [3, 2, 1, 0, 0, 0].flatMap(days => Array.from({ length: 5 }, () => keep(bodiesOf(days, 1000))))
      await store.maintain()
      const [{ bytes }] = (await database.sql`select sum(bytes) as bytes from call_bodies`) as [{ bytes: unknown }]
      expect(Number(bytes)).toBeLessThanOrEqual(60_000)
      expect([await isThere(bodies[0]!), await isThere(bodies.at(-1)!)]).toEqual([false, true])
    })

    test('a body is found in the partition of its day alone, and by an index', async () => {
      for (const days of [0, 1, 2]) keep(bodiesOf(days))
      const { requestId } = keep(bodiesOf(1))
      await store.find(requestId, undefined)
      const text = `select content from call_bodies where request_id = '${requestId}' and day = ${dayOfId(requestId)}`
      const explain = database.kind === 'postgres' ? 'explain' : 'explain query plan'
      const plan = JSON.stringify(await database.sql.unsafe(`${explain} ${text}`))
      if (database.kind === 'sqlite') expect(plan).toContain('SEARCH call_bodies USING INDEX')
      else
        expect([...plan.matchAll(/ on (call_bodies_d\d+)/g)].map(([, name]) => name)).toEqual([
          `call_bodies_d${dayOfId(requestId)}`,
        ])
    })

    test('replicas that need the same new days at once store everything', async () => {
      const others = [1, 2, 3].map(() => open(environmentOf(one)))
      const kept = [store, ...others].flatMap(replica =>
        [200, 201, 202, 203].map(days => {
          const bodies = bodiesOf(days)
          if (replica.hold(10, settings)) replica.keep(bodies, 10, settings)
          return bodies
        }),
      )
      for (const replica of others) await replica.close()
      for (const bodies of kept) expect(await isThere(bodies)).toBe(true)
      expect(problems).toEqual([])
    })

    test('bodies of a key beyond a step are all deleted, and none of another', async () => {
      const many = Array.from({ length: 45 }, () => keep(bodiesOf()))
      const other = keep({ ...bodiesOf(), keyId: 'key-2', userId: null })
      expect(await store.delete({ keyId: 'key-1' }, { key_id: ['key-2'] })).toBe(0)
      expect(await store.delete({ keyId: 'key-1' }, undefined)).toBe(many.length)
      expect(await isThere(other)).toBe(true)
    })

    test('without a key to encrypt with nothing is stored, it is reported once, and no room is lost', async () => {
      if (database.kind === 'sqlite') return
      await store.close()
      store = open({})
      for (let count = 0; count < 3; count++) keep(bodiesOf())
      await store.find(bodiesOf().requestId, undefined)
      expect(store.counts()).toMatchObject({ stored: 0, waitingBytes: 0, lost: { no_key: 3 } })
      expect(problems).toEqual([expect.stringContaining('set MODELGATE_ENCRYPTION_KEY')])
    })

    test('while the table is away bodies wait in bounded room, and are stored when it is back', async () => {
      settings = { ...usual, waitingBytesMax: 10_000 }
      await database.sql`alter table call_bodies rename to elsewhere`
      await store.close()
      store = open(environmentOf(one))
      const kept = keep(bodiesOf(0, 3000))
      while (store.counts().waitingBytes > 0) await Bun.sleep(5)
      // The statement fails, not the connection: it is lost, and reported.
      expect(store.counts().lost.database).toBe(1)
      await database.sql`alter table elsewhere rename to call_bodies`
      expect(await isThere(kept)).toBe(false)
      expect(await isThere(keep(bodiesOf()))).toBe(true)
      expect(problems).toHaveLength(1)
      expect(store.hold(10_001, settings)).toBe(false)
      expect(store.counts().lost.queue_full).toBe(1)
    })
  })
