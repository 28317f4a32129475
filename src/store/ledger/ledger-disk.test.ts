/** The journal's disk is full, or its directory is removed: no row is missing, and lost records are reported. */
import { afterEach, expect, test } from 'bun:test'
import { Database } from 'bun:sqlite'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { spawnSync } from 'bun'
import { allRows, exampleRow, intentOf, ledgerRig, record, storedRows } from './ledger-fixture.ts'
import { until } from '../../../tests/support/until.ts'

const rig = ledgerRig()
const { problems, cleanups, place, open } = rig
afterEach(() => rig.end())

/** A journal's disk of its own, half a MiB; undefined where nothing can be mounted. */
function smallDisk(): { journal: string; fill(): void; free(): void } | undefined {
  const disk = mkdtempSync(join(tmpdir(), 'ledger-disk-'))
  if (spawnSync(['mount', '-t', 'tmpfs', '-o', 'size=512k', 'ledger-test', disk]).exitCode !== 0) {
    rmSync(disk, { recursive: true })
    return undefined
  }
  cleanups.push(() => {
    // Lazily: the writer's mapping lives until the garbage collector comes by.
    spawnSync(['umount', '-l', disk])
    rmSync(disk, { recursive: true, force: true })
  })
  const filler = join(disk, 'filler')
  return {
    journal: join(disk, 'journal'),
    fill: () => void spawnSync(['dd', 'if=/dev/zero', `of=${filler}`, 'bs=4k'], { stderr: 'ignore' }),
    free: () => rmSync(filler),
  }
}

test('a full disk makes the journal unhealthy, rows reach the database past it, no restart is needed', async () => {
  const [at, disk] = [await place(), smallDisk()]
  if (disk === undefined) return
  const ledger = await open(at, { journal: disk.journal, segmentBytes: 65_536 })
  await ledger.flush()
  disk.fill()
  const rows = Array.from({ length: 1000 }, () => exampleRow())
  for (const row of rows) record(ledger, row)
  expect(ledger.healthy).toBe(false)
  expect(ledger.backlog().bytes).toBeGreaterThan(900 * 400)
  expect(problems[0]).toContain('ENOSPC')
  // The disk is full all the time: the database has them, and calls go on for more than one try of it.
  expect(await allRows(ledger)).toHaveLength(1000)
  for (let at = 0; at < 30; at++, await Bun.sleep(50)) record(ledger, exampleRow())
  await until(() => ledger.backlog().bytes === 0)
  expect([storedRows(at).size, ledger.lostRecords()]).toEqual([1030, 0])
  // A segment that is stored makes room for one more, whose spare finds none.
  expect(problems.filter(problem => !/ENOSPC|can be written again$|from the journal again$/.test(problem))).toEqual([])
  disk.free()
  await until(() => ledger.healthy)
  record(ledger, exampleRow())
  expect(await allRows(ledger)).toHaveLength(1031)
  expect(problems.at(-1)).toContain('again')
})

test('closed on a full disk: every row is in the database, open calls too, without a false report', async () => {
  const [at, disk] = [await place(), smallDisk()]
  if (disk === undefined) return
  const ledger = await open(at, { journal: disk.journal, segmentBytes: 65_536 })
  const openCall = exampleRow()
  ledger.begin(intentOf(openCall))
  await ledger.flush()
  disk.fill()
  const rows = Array.from({ length: 6000 }, () => exampleRow())
  for (const row of rows) record(ledger, row)
  const openInMemory = exampleRow()
  ledger.begin(intentOf(openInMemory))
  await ledger.close()
  const stored = storedRows(at)
  expect(rows.filter(row => stored.get(row.request_id) !== 'success')).toEqual([])
  for (const call of [openCall, openInMemory]) expect(stored.get(call.request_id)).toBe('interrupted')
  expect([stored.size, ledger.lostRecords(), ledger.backlog().bytes > 70_000]).toEqual([6002, 0, false])
  expect(problems.filter(problem => /closed|lost|down/.test(problem))).toEqual([])
})

test('closed on a full disk with the database down: the number of lost records is told and counted', async () => {
  const [at, disk] = [await place(), smallDisk()]
  if (disk === undefined) return
  const ledger = await open(at, { journal: disk.journal, segmentBytes: 65_536 })
  await ledger.flush()
  disk.fill()
  const blocker = new Database(at.databaseUrl.slice('sqlite:'.length))
  // The thread of the ledger may just be writing.
  blocker.run('pragma busy_timeout = 5000')
  blocker.run('begin immediate')
  const rows = Array.from({ length: 2000 }, () => exampleRow())
  for (const row of rows) record(ledger, row)
  await until(() => ledger.failure() !== null)
  await ledger.close()
  const lost = ledger.lostRecords()
  expect(lost).toBeGreaterThan(1000)
  expect(problems).toContainEqual(expect.stringContaining(`closed with ${lost} records in memory`))
  expect(problems.at(-1)).toContain('while its database is down')
  blocker.run('commit')
  blocker.close()
  disk.free()
  // What the journal had taken is still there.
  const successor = await open(at, { journal: disk.journal })
  const found = new Set((await allRows(successor)).map(row => row.request_id))
  expect(rows.filter(row => !found.has(row.request_id)).length).toBeLessThanOrEqual(lost)
  expect(found.size).toBeGreaterThan(50)
})

test('the directory is removed again and again under load: no row is missing, before and after a restart', async () => {
  const at = await place()
  // What ended segments are kept for holds all of it, also while a loaded machine gives the ledger's thread no time.
  const ledger = await open(at, { segmentBytes: 262_144 })
  const ids: string[] = []
  for (let round = 0; round < 60; round++) {
    for (let index = 0; index < 40; index++) {
      const row = exampleRow()
      ids.push(row.request_id)
      record(ledger, row)
    }
    if (round % 20 === 10) rmSync(at.journal, { recursive: true, force: true })
    await Bun.sleep(20)
  }
  await until(() => existsSync(at.journal) && ledger.healthy)
  await ledger.flush()
  await ledger.close()
  const stored = storedRows(at)
  expect(ids.filter(id => stored.get(id) !== 'success')).toEqual([])
  expect(stored.size).toBe(2400)
  expect(problems.filter(problem => problem.includes('were removed while they were written')).length).toBeGreaterThan(0)
  expect(problems.filter(problem => /closed|lost/.test(problem))).toEqual([])
})

test('the directory is removed and cannot be created: unhealthy, but rows are stored, also at the close', async () => {
  const at = await place()
  const ledger = await open(at, { segmentBytes: 65_536 })
  const ids: string[] = []
  const settle = () => {
    const row = exampleRow()
    ids.push(row.request_id)
    record(ledger, row)
  }
  for (let index = 0; index < 300; index++) settle()
  rmSync(at.journal, { recursive: true })
  writeFileSync(at.journal, 'in the way')
  for (let index = 0; index < 300; index++) settle()
  await until(() => !ledger.healthy)
  for (let index = 0; index < 300; index++) settle()
  await until(() => storedRows(at).size === 900)
  for (let index = 0; index < 300; index++) settle()
  await ledger.close()
  const stored = storedRows(at)
  expect(ids.filter(id => stored.get(id) !== 'success')).toEqual([])
  expect(ledger.lostRecords()).toBe(0)
  // Twenty times a second it cannot be read, synced and extended: each is told once.
  expect(problems.length).toBeLessThan(10)
})

test('a row that the database refuses on a full disk holds nothing up, and is kept when there is room', async () => {
  const [at, disk] = [await place(), smallDisk()]
  if (disk === undefined) return
  const database = new Database(at.databaseUrl.slice('sqlite:'.length))
  database.run(
    "create trigger no before insert on ledger when new.model = 'cursed' begin select raise(abort, 'cursed'); end",
  )
  database.close()
  const ledger = await open(at, { journal: disk.journal, segmentBytes: 65_536 })
  await ledger.flush()
  disk.fill()
  const cursed = exampleRow({ model: 'cursed' })
  record(ledger, cursed)
  const rows = Array.from({ length: 500 }, () => exampleRow())
  for (const row of rows) record(ledger, row)
  await until(() => storedRows(at).size === 500)
  disk.free()
  const kept = join(disk.journal, 'refused.jsonl')
  await until(() => existsSync(kept) && readFileSync(kept, 'utf8').includes(cursed.request_id))
  for (const line of readFileSync(kept, 'utf8').trim().split('\n')) expect(JSON.parse(line)).toHaveProperty('reason')
  await ledger.close()
  expect(problems.filter(problem => problem.includes('refused a row')).length).toBe(1)
})
