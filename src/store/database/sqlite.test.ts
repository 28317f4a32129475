/** The SQLite file is locked by another process, deleted, or replaced in use: nothing hangs, every loss is reported. */
import { afterAll, expect, test } from 'bun:test'
import { Database as Sqlite } from 'bun:sqlite'
import {
  chmodSync,
  copyFileSync,
  existsSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { until } from '../../../tests/support/until.ts'
import { inOtherProcess } from './database-fixture.ts'
import { openDatabase, transaction, whileAvailable } from './open.ts'
import type { Database } from './open.ts'
import { backUp, namesOf, own, refusal, sqliteRig } from './sqlite-fixture.ts'

const cleanups: (() => Promise<void> | void)[] = []
afterAll(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})

const rig = () => sqliteRig(cleanups)

function change(file: string, statement: string): void {
  const other = new Sqlite(file)
  other.run(statement)
  other.close()
}

/** What another program finds in the file. */
function namesIn(file: string): string[] {
  const other = new Sqlite(file, { readwrite: true, create: false })
  const [state] = other.query('pragma integrity_check').all() as { integrity_check: string }[]
  const rows = other.query('select name from installation order by name').all() as { name: string }[]
  other.close()
  expect(state!.integrity_check).toBe('ok')
  return own(rows.map(row => row.name))
}

test('a statement beside a transaction is no part of it', async () => {
  const here = await rig()
  const begun = Promise.withResolvers<void>()
  const failing = refusal(
    transaction(here.database, async tx => {
      await tx`insert into installation (name, value) values ('inside', '')`
      begun.resolve()
      await Bun.sleep(30)
      throw new Error('midway')
    }),
  )
  await begun.promise
  const [seen] = await Promise.all([here.names(), here.put('beside')])
  expect(await failing).toMatchObject({ message: 'midway' })
  expect(seen).toEqual([])
  expect(await here.names()).toEqual(['beside'])
})

test('a transaction that meets a lock after it began fails at once, and is not repeated', async () => {
  const here = await rig()
  let played = 0
  const failed = await refusal(
    transaction(here.database, async tx => {
      played++
      await tx`insert into installation (name, value) values ('inside', '')`
      const other = new Sqlite(here.path)
      try {
        // Our own transaction holds the lock.
        other.run("insert into installation (name, value) values ('outside', '')")
      } finally {
        other.close()
      }
    }),
  )
  expect(failed).toMatchObject({ code: 'SQLITE_BUSY' })
  expect(played).toBe(1)
  expect(await here.names()).toEqual([])
  await here.putInTransaction('after')
  expect(await here.names()).toEqual(['after'])
})

test('many processes may open a new file at once', async () => {
  const here = await rig()
  const url = `sqlite:${join(here.folder, 'new.sqlite')}`
  const ends = await Promise.all(
    Array.from({ length: 10 }, () => inOtherProcess(url, 'await migrate(database); process.stdout.write("opened")')),
  )
  expect(ends).toEqual(ends.map(() => 'opened'))
})

test.concurrent('deleted: nothing counts, no empty file is made, a backup in its place is used', async () => {
  const here = await rig()
  await here.put('a')
  backUp(here.path, here.backup)
  rmSync(here.path)
  for (const work of [here.put('lost'), here.putInTransaction('lost'), here.names()])
    expect(await refusal(work)).toMatchObject({
      name: 'DatabaseMoved',
      message: expect.stringContaining('was deleted or moved away'),
    })
  expect(await refusal(whileAvailable({}, 'keys', () => here.put('lost')))).toMatchObject({
    kind: 'overloaded',
    retryAfterMs: 1000,
  })
  expect(existsSync(here.path)).toBe(false)
  renameSync(here.backup, here.path)
  await here.comeBack()
  await here.put('b')
  expect(await here.names()).toEqual(['a', 'b'])
  expect(namesIn(here.path)).toEqual(['a', 'b'])
})

test('moved away and back: it goes on where it was', async () => {
  const here = await rig()
  await here.put('a')
  renameSync(here.path, join(here.folder, 'away'))
  expect(await refusal(here.put('lost'))).toMatchObject({ name: 'DatabaseMoved' })
  renameSync(join(here.folder, 'away'), here.path)
  await here.put('b')
  expect(namesIn(here.path)).toEqual(['a', 'b'])
})

test.concurrent('replaced by a backup: it does not get the WAL of the old file, which stays complete', async () => {
  const here = await rig()
  await here.put('a')
  backUp(here.path, here.backup)
  await here.put('b')
  renameSync(here.path, join(here.folder, 'away'))
  renameSync(here.backup, here.path)
  expect(await refusal(here.putInTransaction('lost'))).toMatchObject({
    message: expect.stringContaining('was replaced'),
  })
  await here.comeBack()
  expect(await here.names()).toEqual(['a'])
  await here.putInTransaction('c')
  expect(namesIn(here.path)).toEqual(['a', 'c'])
  expect(namesIn(join(here.folder, 'away'))).toEqual(['a', 'b'])
  expect(readdirSync(here.folder).filter(name => name.includes('-wal.replaced-'))).toHaveLength(1)
})

test.concurrent('replaced before another thread connected: its connection does not take the WAL of the old file', async () => {
  const here = await rig()
  backUp(here.path, here.backup)
  await here.put('in the old WAL')
  renameSync(here.path, join(here.folder, 'away'))
  renameSync(here.backup, here.path)
  const connect = () => openDatabase(`sqlite:${here.path}`, 1, here.database.openedFile!())
  const fromMs = performance.now()
  let second: Database | undefined
  for (; !second && performance.now() - fromMs < 10_000; await Bun.sleep(50))
    second = await connect().catch(() => undefined)
  expect(performance.now() - fromMs).toBeGreaterThan(900)
  expect(await namesOf(second!)).toEqual([])
  await second!.close()
  expect(namesIn(here.path)).toEqual([])
})

test.concurrent('replaced again and again', async () => {
  const here = await rig()
  for (const round of ['1', '2']) {
    await here.put(`kept ${round}`)
    backUp(here.path, here.backup)
    await here.put(`after ${round}`)
    renameSync(here.backup, here.path)
    await here.comeBack()
  }
  expect(await here.names()).toEqual(['kept 1', 'kept 2'])
  expect(namesIn(here.path)).toEqual(['kept 1', 'kept 2'])
})

test.concurrent('replaced between a write and its commit: the write is not reported as made', async () => {
  const here = await rig()
  backUp(here.path, here.backup)
  const made = transaction(here.database, async tx => {
    await tx`insert into installation (name, value) values ('lost', '')`
    renameSync(here.backup, here.path)
  })
  expect(await refusal(made)).toMatchObject({ name: 'DatabaseMoved' })
  await here.comeBack()
  expect(await here.names()).toEqual([])
})

test.concurrent('a copy is not opened before it is complete', async () => {
  const here = await rig()
  await here.put('a')
  backUp(here.path, here.backup)
  const whole = readFileSync(here.backup)
  rmSync(here.path)
  for (let part = 1; part <= 8; part++) {
    writeFileSync(here.path, whole.subarray(0, Math.ceil((whole.length * part) / 8)))
    expect(await refusal(here.put('lost'))).toMatchObject({ message: expect.stringContaining('has not changed for') })
    await Bun.sleep(250)
  }
  await here.comeBack()
  expect(namesIn(here.path)).toEqual(['a'])
})

const strangers: [string, string, (file: string, path: string) => void][] = [
  ['an empty file', 'has not the tables', file => writeFileSync(file, '')],
  ['no database', 'cannot be used', file => writeFileSync(file, 'x'.repeat(10_000))],
  ['a database of another program', 'has not the tables', file => change(file, 'create table t (n integer)')],
  [
    'a backup of an older program',
    'restart the gateway',
    (file, path) => {
      backUp(path, file)
      change(file, 'delete from migrations where id = (select max(id) from migrations)')
    },
  ],
  [
    'a database of another installation',
    'another installation',
    (file, path) => {
      backUp(path, file)
      change(file, "insert into installation (name, value) values ('pepper', 'another')")
    },
  ],
]
for (const [what, reason, make] of strangers)
  test.concurrent(`replaced by ${what}: it is not changed, the reason is reported; a right one works`, async () => {
    const here = await rig()
    await here.put('a')
    backUp(here.path, here.backup)
    const stranger = join(here.folder, 'stranger')
    make(stranger, here.path)
    const bytes = readFileSync(stranger)
    renameSync(stranger, here.path)
    // It is looked into when it has not changed for a second.
    await until(async () => (await refusal(here.put('lost')))?.message.includes(reason), 'the reason is reported')
    expect(await refusal(here.put('lost'))).toMatchObject({ name: 'DatabaseMoved' })
    expect(readFileSync(here.path).equals(bytes)).toBe(true)
    copyFileSync(here.backup, `${here.path}.copy`)
    renameSync(`${here.path}.copy`, here.path)
    await here.comeBack()
    expect(await here.names()).toEqual(['a'])
  })

test('a WAL that is deleted in use is reported: its rows would be lost', async () => {
  const here = await rig()
  await here.put('a')
  rmSync(`${here.path}-wal`)
  expect(await refusal(here.put('b'))).toMatchObject({
    name: 'DatabaseMoved',
    message: expect.stringContaining('restart'),
  })
})

test('stopped after the file was replaced: the next start reads the backup as it is', async () => {
  const here = await rig()
  await here.put('a')
  backUp(here.path, here.backup)
  await here.put('b')
  renameSync(here.backup, here.path)
  await here.database.close()
  const next = await openDatabase(`sqlite:${here.path}`)
  expect(await namesOf(next)).toEqual(['a'])
  await next.close()
  expect(namesIn(here.path)).toEqual(['a'])
})

test('the file and its logs are for this user alone, also where they were open to others before', async () => {
  const modesOf = (path: string) =>
    ['', '-wal', '-shm'].map(suffix => (statSync(path + suffix).mode & 0o777).toString(8))
  const { path, folder } = await rig()
  expect(modesOf(path)).toEqual(['600', '600', '600'])
  // As a program with the usual umask left them.
  const old = join(folder, 'old.sqlite')
  const other = new Sqlite(old)
  other.run('pragma journal_mode = wal')
  other.run('create table t (x)')
  for (const suffix of ['', '-wal', '-shm']) chmodSync(old + suffix, 0o644)
  const database = await openDatabase(`sqlite:${old}`)
  expect(modesOf(old)).toEqual(['600', '600', '600'])
  await database.close()
  other.close()
})

test('a damaged file is named with the remedy: one that is no database, and one with a broken page', async () => {
  const { folder, path, database, put } = await rig()
  await put('a')
  const noise = join(folder, 'noise.sqlite')
  writeFileSync(noise, 'this is no database at all, but long enough to be read as the header of one '.repeat(20))
  const remedy = (file: string) => new RegExp(`${file} is damaged.*backup in its place.*sqlite3 ${file} .recover`)
  expect((await refusal(openDatabase(`sqlite:${noise}`)))?.message).toMatch(remedy(noise))
  await database.sql.unsafe('pragma wal_checkpoint(truncate)')
  const broken = join(folder, 'broken.sqlite')
  const [page] = (await database.sql`select rootpage from sqlite_schema where name = 'installation'`) as {
    rootpage: number
  }[]
  writeFileSync(broken, readFileSync(path).fill(0x55, (page!.rootpage - 1) * 4096, page!.rootpage * 4096))
  const opened = await openDatabase(`sqlite:${broken}`)
  expect((await refusal(opened.sql.unsafe('select value from installation')))?.message).toMatch(remedy(broken))
  await opened.close()
})
