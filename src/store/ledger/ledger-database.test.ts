/** The ledger's rows when their SQLite file is moved in use: each is in the file at the path, once. */
import { afterEach, expect, test } from 'bun:test'
import { Database as Sqlite } from 'bun:sqlite'
import { existsSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { systemClock } from '../../lib/clock.ts'
import { openLedgerDatabase } from './ledger-database.ts'
import type { LedgerDatabase } from './ledger-database.ts'
import { exampleRow, intentOf, makePlace } from './ledger-fixture.ts'
import type { LedgerPlace } from './ledger-fixture.ts'
import { columnList } from '../../core/ledger/ledger-columns.ts'
import type { ColumnValue } from './journal/ledger-record.ts'
import { openLedger } from './ledger.ts'
import { openDatabase } from '../database/open.ts'
import type { Database } from '../database/open.ts'
import { backUp, holdLock } from '../database/sqlite-fixture.ts'
import { until } from '../../../tests/support/until.ts'

const cleanups: (() => Promise<unknown> | void)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})

async function rig() {
  const place = await makePlace()
  cleanups.push(() => place.remove())
  const path = join(place.directory, 'gateway.db')
  const open = async () => {
    const database = await openLedgerDatabase(place.databaseUrl)
    cleanups.push(() => database.close())
    return database
  }
  return { place, path, backup: join(place.directory, 'backup'), open }
}

const row = (id: string): ColumnValue[] => {
  const fields = exampleRow({ request_id: id }) as unknown as Record<string, ColumnValue>
  return columnList.map(({ name }) =>
    typeof fields[name] === 'boolean' ? Number(fields[name]) : (fields[name] ?? null),
  )
}
const refusal = (work: Promise<unknown>) =>
  work.then(
    () => undefined,
    error => error as Error,
  )

function idsIn(file: string): string[] {
  const other = new Sqlite(file, { readwrite: true, create: false })
  const rows = other.query('select request_id from ledger order by request_id').all() as { request_id: string }[]
  const [state] = other.query('pragma integrity_check').all() as { integrity_check: string }[]
  other.close()
  expect(state!.integrity_check).toBe('ok')
  return rows.map(one => one.request_id)
}

/** As the ledger's writer does: a connection that failed is not used again. */
async function again(open: () => Promise<LedgerDatabase>, msMax = 4000): Promise<LedgerDatabase> {
  for (const from = performance.now(); ; await Bun.sleep(50)) {
    const database = await open().catch((error: unknown) => {
      if (performance.now() - from > msMax) throw error
    })
    if (database) return database
  }
}

test('deleted: nothing is taken and no file is made, until a backup is there', async () => {
  const { path, backup, open } = await rig()
  const first = await open()
  await first.insert([row('1')])
  backUp(path, backup)
  rmSync(path)
  expect(await refusal(first.insert([row('2')]))).toMatchObject({ name: 'DatabaseMoved' })
  expect(await refusal(first.select({ text: 'select 1', values: [] }))).toMatchObject({ name: 'DatabaseMoved' })
  await first.close()
  expect(await refusal(open())).toMatchObject({ name: 'DatabaseMoved', message: expect.stringContaining('deleted') })
  expect(existsSync(path)).toBe(false)
  renameSync(backup, path)
  const second = await again(open)
  await second.insert([row('2')])
  expect(idsIn(path)).toEqual(['1', '2'])
})

test('replaced: the backup does not get the old log, and the old file is complete', async () => {
  const { place, path, backup, open } = await rig()
  const first = await open()
  backUp(path, backup)
  await first.insert([row('1')])
  const away = join(place.directory, 'away')
  renameSync(path, away)
  renameSync(backup, path)
  expect(await refusal(first.insert([row('2')]))).toMatchObject({ name: 'DatabaseMoved' })
  await first.close()
  const second = await again(open)
  await second.insert([row('2')])
  expect([idsIn(path), idsIn(away)]).toEqual([['2'], ['1']])
})

test('replaced before the thread of the ledger opened it: the backup does not get the log of the old file', async () => {
  const { place, path, backup } = await rig()
  const main = await openDatabase(place.databaseUrl)
  cleanups.push(() => main.close())
  const openSecond = () => openLedgerDatabase(place.databaseUrl, main.openedFile!())
  backUp(path, backup)
  await main.sql`create table in_the_old_log (id integer)`
  renameSync(path, join(place.directory, 'away'))
  expect(await refusal(openSecond())).toMatchObject({
    name: 'DatabaseMoved',
    message: expect.stringContaining('deleted'),
  })
  renameSync(backup, path)
  expect(await refusal(openSecond())).toMatchObject({ message: expect.stringContaining('replaced') })
  const second = await again(openSecond)
  cleanups.push(() => second.close())
  await second.insert([row('1')])
  expect(idsIn(path)).toEqual(['1'])
  const tables = await second.select({
    text: `select name from sqlite_schema where name = 'in_the_old_log'`,
    values: [],
  })
  expect(tables).toEqual([])
})

test('replaced while a batch is committed: it is not taken for done, and goes into the new file', async () => {
  const { path, backup, open } = await rig()
  const first = await open()
  backUp(path, backup)
  const moving = row('1')
  // Read in the middle of the transaction.
  const [id] = moving
  Object.defineProperty(moving, 0, {
    get() {
      if (existsSync(backup)) renameSync(backup, path)
      return id
    },
  })
  expect(await refusal(first.insert([moving, row('2')]))).toMatchObject({ name: 'DatabaseMoved' })
  await first.close()
  const second = await again(open)
  await second.insert([row('1'), row('2')])
  await second.insert([row('1'), row('2')])
  expect(idsIn(path)).toEqual(['1', '2'])
})

test('a connection that another one follows on the same file loses nothing', async () => {
  const { path, open } = await rig()
  for (const id of ['1', '2', '3']) {
    const database = await open()
    await database.insert([row(id)])
    await database.close()
  }
  expect(idsIn(path)).toEqual(['1', '2', '3'])
})

test('after a rest rows are stored as before, also after one of a file that is gone', async () => {
  const { path, open } = await rig()
  const database = await open()
  await database.insert([row('1')])
  database.rest()
  await database.insert([row('2')])
  expect(idsIn(path)).toEqual(['1', '2'])
  renameSync(path, `${path}.away`)
  database.rest()
  expect(await refusal(database.insert([row('3')]))).toBeDefined()
})

test('a sync of a file that is not at its path is refused, and one at its path follows any number of rows', async () => {
  const { path, backup, open } = await rig()
  const database = await open()
  await database.sync()
  await database.insert([row('1')])
  await database.sync()
  renameSync(path, backup)
  expect(await refusal(database.sync())).toMatchObject({ name: 'DatabaseMoved' })
})

test('rows that cannot be synced to the disk of the database stay in the journal, and are stored once', async () => {
  const { place, path, backup } = await rig()
  const { ledger, reports, calls } = await running(place)
  await until(() => calls.ids.length > 50, 'there are rows')
  calls.stop()
  await ledger.flush()
  const segments = () => readdirSync(place.journal).filter(file => file.endsWith('.journal'))
  renameSync(path, backup)
  await ledger.close()
  expect(segments()).not.toEqual([])
  expect(reports.join()).toContain('cannot be deleted from the journal')
  renameSync(backup, path)
  const next = await running(place)
  next.calls.stop()
  await next.ledger.flush()
  expect(idsIn(path).sort()).toEqual([...calls.ids, ...next.calls.ids].sort())
  await next.ledger.close()
  expect(segments()).toEqual([])
})

/** Settles a row every few milliseconds, as calls do. */
function traffic(ledger: Awaited<ReturnType<typeof openLedger>>) {
  const ids: string[] = []
  const timer = setInterval(() => {
    const settled = exampleRow()
    ledger.begin(intentOf(settled))
    ledger.settle(settled)
    ids.push(settled.request_id)
  }, 2)
  return { ids, stop: () => clearInterval(timer) }
}

async function running(place: LedgerPlace, keys?: Database) {
  const reports: string[] = []
  const ledger = await openLedger({
    databaseUrl: place.databaseUrl,
    openedFile: keys?.openedFile,
    journalDirectory: place.journal,
    clock: systemClock,
    report: text => reports.push(text),
    segmentBytes: 65_536,
  })
  cleanups.push(() => ledger.close())
  return { ledger, reports, calls: traffic(ledger) }
}

for (const how of ['deleted, and a backup put there later', 'replaced at once'])
  test(`rows while the file is ${how}: all that were not in the old file are in the new one`, async () => {
    const { place, path, backup } = await rig()
    // As in the gateway: the connection of keys is on the file too.
    const keys = await openDatabase(place.databaseUrl)
    cleanups.push(() => keys.close())
    const { ledger, reports, calls } = await running(place, keys)
    // A row every other millisecond, on a calm machine.
    const settled = (rows: number) => {
      const before = calls.ids.length
      return until(() => calls.ids.length > before + rows, 'calls go on')
    }
    await settled(75)
    backUp(path, backup)
    await settled(75)
    const away = join(place.directory, 'away')
    renameSync(path, away)
    if (how === 'replaced at once') renameSync(backup, path)
    await until(() => ledger.failure() !== null, 'it reports it')
    expect(ledger.failure()).toMatch(/was (deleted|replaced)/)
    expect(existsSync(path)).toBe(how === 'replaced at once')
    await settled(150)
    if (how !== 'replaced at once') renameSync(backup, path)
    const stopped = setInterval(() => void keys.sql`select 1`.catch(() => {}), 100)
    await until(() => ledger.failure() === null, 'it goes on')
    clearInterval(stopped)
    await settled(100)
    calls.stop()
    await ledger.flush()
    await until(() => ledger.backlog().bytes === 0, 'the rows are there')
    const [old, now] = [new Set(idsIn(away)), idsIn(path)]
    expect(new Set(now).size).toBe(now.length)
    expect(calls.ids.length).toBeGreaterThan(300)
    expect(calls.ids.filter(id => !old.has(id) && !now.includes(id))).toEqual([])
    // Not only what came after the file was there again.
    expect(calls.ids.filter(id => now.includes(id)).length).toBeGreaterThan(100)
    expect(reports.filter(text => text.includes('refused') || text.includes('replayed'))).toEqual([])
  })

test('rows while another process holds the lock: they wait in the journal, then all are there once', async () => {
  const { place, path } = await rig()
  const { ledger, calls } = await running(place)
  await until(() => calls.ids.length > 50, 'calls go on')
  const { released, release } = await holdLock(path, 60_000)
  await until(() => ledger.failure() !== null, 'it reports it')
  expect(ledger.failure()).toContain('locked')
  await release()
  await released
  await until(() => ledger.failure() === null, 'it goes on')
  calls.stop()
  await ledger.flush()
  expect(idsIn(path).sort()).toEqual([...calls.ids].sort())
})
