import type { SQL } from 'bun'
import { afterEach, describe, expect, test } from 'bun:test'
import { mkdirSync, mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { inOtherProcess, testServers } from './database-fixture.ts'
import {
  openDatabase,
  toNumber,
  toNumberOrNull,
  transaction,
  transactionInTime,
  transactionUnsynced,
  serverState,
} from './open.ts'
import type { Database } from './open.ts'
import { SharedClock } from './shared-clock.ts'
import { claimSingleReplica } from './replica-lock.ts'

const cleanups: (() => Promise<void> | void)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})

const servers = testServers('opening a database')
for (const server of servers)
  describe(server.name, () => {
    const place = async () => {
      const made = await server.create()
      cleanups.push(() => made.remove())
      return made.url
    }
    const open = async (url: string): Promise<Database> => {
      const database = await openDatabase(url)
      cleanups.push(() => database.close())
      return database
    }

    test('its clock is learnt where it is not that of this machine', async () => {
      const database = await open(await place())
      const clock = new SharedClock({ epochMs: () => Date.now() + 3_600_000, monotonicMs: () => 0 })
      expect((await serverState(database, clock)).isReadOnly).toBe(false)
      const shownMs = database.kind === 'sqlite' ? 0 : -3_600_000
      expect(Math.abs(clock.aheadMs - shownMs)).toBeLessThan(60_000)
    })

    test('a transaction is all or nothing', async () => {
      const database = await open(await place())
      await database.sql`create table t (n integer)`
      await transaction(database, tx => tx`insert into t (n) values (1)`)
      const failing = transaction(database, async tx => {
        await tx`insert into t (n) values (2)`
        throw new Error('midway')
      })
      expect(failing).rejects.toThrow('midway')
      await failing.catch(() => {})
      expect(((await database.sql`select n from t`) as { n: number }[]).map(row => row.n)).toEqual([1])
    })

    test('a transaction goes on when a newer program has added columns', async () => {
      const url = await place()
      const database = await open(url)
      await database.sql`create table t (id integer primary key, n integer)`
      await database.sql`insert into t (id, n) values (1, 0)`
      const change = () =>
        transaction(database, async tx => {
          await tx`select * from t where id = ${1}`
          await tx`update t set n = n + 1 where id = ${1} returning *`
        })
      await Promise.all(Array.from({ length: 20 }, change))
      await inOtherProcess(url, 'await database.sql`alter table t add column more text`')
      await Promise.all(Array.from({ length: 20 }, change))
      expect(toNumber(((await database.sql`select n from t`) as { n: unknown }[])[0]!.n)).toBe(40)
    })

    test('read and written in one transaction, nothing is lost between processes', async () => {
      const url = await place()
      const database = await open(url)
      await database.sql`create table t (id integer primary key, n integer)`
      await database.sql`insert into t (id, n) values (1, 0)`
      const adding = `
        import { transaction } from './open.ts'
        for (let turn = 0; turn < 25; turn++)
          await transaction(database, async tx => {
            await tx\`update t set n = n + 1 where id = 1\`
            const [row] = await tx\`select n from t where id = 1\`
            await tx\`update t set n = \${Number(row.n) + 1} where id = 1\`
          })`
      await Promise.all([inOtherProcess(url, adding), inOtherProcess(url, adding)])
      expect(toNumber(((await database.sql`select n from t`) as { n: unknown }[])[0]!.n)).toBe(100)
    })

    test('transactions side by side in one process are one after the other', async () => {
      const database = await open(await place())
      await database.sql`create table t (id integer primary key, n integer)`
      await database.sql`insert into t (id, n) values (1, 0)`
      const add = () =>
        transaction(database, async tx => {
          const [row] = (await tx`update t set n = n + 1 where id = 1 returning n`) as { n: unknown }[]
          await tx`update t set n = ${toNumber(row!.n) + 1} where id = 1`
        })
      await Promise.all(Array.from({ length: 30 }, add))
      expect(toNumber(((await database.sql`select n from t`) as { n: unknown }[])[0]!.n)).toBe(60)
    })

    test('milliseconds and counts of 53 bits come back as numbers', async () => {
      const database = await open(await place())
      await database.sql`create table t (n bigint, m bigint)`
      await database.sql`insert into t (n, m) values (${Number.MAX_SAFE_INTEGER}, ${null})`
      const [row] = (await database.sql`select n, m, (select count(*) from t) as c from t`) as Record<string, unknown>[]
      expect([toNumberOrNull(row!.n), toNumberOrNull(row!.m), toNumber(row!.c)]).toEqual([
        Number.MAX_SAFE_INTEGER,
        null,
        1,
      ])
    })
  })

test('SQLite: directories are created, and other users may not read the file', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'modelgate-open-'))
  cleanups.push(() => rmSync(folder, { recursive: true }))
  const path = join(folder, 'made', 'here', 'x.sqlite')
  const database = await openDatabase(`sqlite:${path}`)
  cleanups.push(() => database.close())
  expect(statSync(path).mode & 0o777).toBe(0o600)
  expect(statSync(join(folder, 'made')).mode & 0o777).toBe(0o700)
  const [mode] = (await database.sql`pragma journal_mode`) as { journal_mode: string }[]
  const [synchronous] = (await database.sql`pragma synchronous`) as { synchronous: number }[]
  expect([mode!.journal_mode, synchronous!.synchronous]).toEqual(['wal', 2])
})

test('SQLite: what strangers cause does not wait for the disk, but all other commits do, also beside it', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'modelgate-open-'))
  cleanups.push(() => rmSync(folder, { recursive: true }))
  const database = await openDatabase(`sqlite:${join(folder, 'x.sqlite')}`)
  cleanups.push(() => database.close())
  const levelOf = async (sql: SQL) => ((await sql`pragma synchronous`) as { synchronous: number }[])[0]!.synchronous
  await database.sql`create table t (a integer)`
  const insert = async (tx: SQL, a: number) => {
    await tx`insert into t values (${a})`
    return levelOf(tx)
  }
  const levels = await Promise.all([
    transactionUnsynced(database, tx => insert(tx, 1)),
    transaction(database, tx => insert(tx, 2)),
    transactionUnsynced(database, async tx => {
      await insert(tx, 3)
      throw new Error('it fails')
    }).catch(() => levelOf(database.sql)),
    transactionUnsynced(database, tx => insert(tx, 4)),
    levelOf(database.sql),
  ])
  expect(levels).toEqual([1, 2, 2, 1, 2])
  expect(await database.sql`select a from t order by a`).toEqual([{ a: 1 }, { a: 2 }, { a: 4 }])
})

test('SQLite: a folder in place of the file is refused', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'modelgate-open-'))
  cleanups.push(() => rmSync(folder, { recursive: true }))
  mkdirSync(join(folder, 'x.sqlite'))
  expect(openDatabase(`sqlite:${join(folder, 'x.sqlite')}`)).rejects.toThrow()
})

test('Postgres: a server that is not there is refused with the reason, soon', async () => {
  expect(openDatabase('postgres://user@127.0.0.1:1/x')).rejects.toThrow()
  await openDatabase('postgres://user@127.0.0.1:1/x').catch(() => {})
})

test('SQLite has no claim of replicas: the data directory is locked instead', async () => {
  expect(await claimSingleReplica('sqlite:/nowhere/x.sqlite')).toBeUndefined()
})

const postgres = servers.find(server => server.name === 'Postgres')
test.skipIf(!postgres)('Postgres: one replica at a time without Redis; the claim ends with its process', async () => {
  const made = await postgres!.create()
  cleanups.push(() => made.remove())
  const first = await claimSingleReplica(made.url)
  await expect(claimSingleReplica(made.url)).rejects.toThrow('needs REDIS_URL')
  await first!.release()
  const script = `import { claimSingleReplica } from ${JSON.stringify(join(import.meta.dir, 'replica-lock.ts'))}
    await claimSingleReplica(${JSON.stringify(made.url)})
    process.stdout.write('held')
    setInterval(() => {}, 1000)`
  const child = Bun.spawn([process.execPath, '-e', script], { stdout: 'pipe' })
  await child.stdout.getReader().read()
  await expect(claimSingleReplica(made.url)).rejects.toThrow('another replica')
  child.kill('SIGKILL')
  await child.exited
  // The server notices the closed connection a moment later.
  const second = await claimSingleReplica(made.url)
  expect(second).toBeDefined()
  await second!.release()
})

test.each([
  ['before it begins', { isBefore: true, wasSilent: false, end: 'rollback', done: 0 }],
  ['before its end is sent', { isBefore: false, wasSilent: true, end: 'rollback', done: 1 }],
  ['not where it only took long', { isBefore: false, wasSilent: false, end: 'commit', done: 1 }],
])('a transaction that was given up is taken back by a server that stood still: %s', async (_, expected) => {
  const { isBefore, wasSilent } = expected
  const standing = Promise.withResolvers<void>()
  const ended = Promise.withResolvers<string>()
  let done = 0
  const begin = async (run: (tx: SQL) => Promise<unknown>): Promise<unknown> => {
    if (isBefore) await standing.promise
    const committed = run({} as SQL)
    committed.then(
      () => ended.resolve('commit'),
      () => ended.resolve('rollback'),
    )
    return committed
  }
  const database = { kind: 'postgres', sql: { begin }, isSilent: () => wasSilent } as unknown as Database
  const work = async () => {
    if (!isBefore) await standing.promise
    done++
  }
  await expect(transactionInTime(database, work, 1)).rejects.toThrow('no answer within 1 ms')
  standing.resolve()
  expect([await ended.promise, done]).toEqual([expected.end, expected.done])
})

test('a database in memory is refused, in place of a file of that name', async () => {
  for (const url of ['sqlite::memory:', 'sqlite:'])
    expect([url, await openDatabase(url).catch(String)]).toEqual([url, expect.stringContaining('names no file')])
})
