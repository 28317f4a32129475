/** Rows are read back exactly, also after failures of this process, its worker and its database. */
import { afterEach, expect, test } from 'bun:test'
import { Database } from 'bun:sqlite'
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { LedgerRow } from '../../core/ledger/ledger-columns.ts'
import { idleCommand } from '../../platform/thread-priority.ts'
import { createSegmentFile, segmentPath, SegmentWriter } from './journal/journal.ts'
import { allRows, exampleRow, intentOf, ledgerRig, record, storedRows } from './ledger-fixture.ts'
import { encodeIntent, encodeSettlement } from './journal/ledger-record.ts'
import { openDatabase } from '../database/open.ts'
import type { JournalledLedger } from './ledger.ts'
import { until } from '../../../tests/support/until.ts'

const postgresUrl = process.env.TEST_DATABASE_URL
const servers = [
  { name: 'SQLite', url: undefined, skip: false },
  { name: 'Postgres', url: postgresUrl, skip: !postgresUrl?.startsWith('postgres') },
]
const rig = ledgerRig()
const { problems, cleanups, place, open } = rig
afterEach(() => rig.end())

type Page = Awaited<ReturnType<JournalledLedger['query']>>

for (const { name, url, skip } of servers) {
  test.skipIf(skip)(`${name}: a settled call is read back exactly, nulls and big money too`, async () => {
    const ledger = await open(await place(url))
    const full = exampleRow({ cost_nano_usd: '9007199254740993', end_user: 'é"\'; drop table ledger; --' })
    const bare = exampleRow({
      started_at_ms: full.started_at_ms - 1,
      stream: false,
      cost_nano_usd: null,
      error_kind: 'internal',
      outcome: 'error',
      deployment_id: null,
      provider: null,
      upstream_model: null,
      key_alias: null,
      user_id: null,
      team_id: null,
      input_tokens: null,
      output_tokens: null,
      cache_write_tokens: null,
      reasoning_tokens: null,
      first_byte_ms: null,
      client_address: null,
      user_agent: null,
      usage_source: 'none',
      model: '',
    })
    record(ledger, full)
    record(ledger, bare)
    expect(await ledger.query({ limit: 10 })).toEqual({ rows: [full, bare], nextCursor: null })
  })

  test.skipIf(skip)(`${name}: hostile texts are made storable, and block nothing`, async () => {
    const ledger = await open(await place(url))
    const hostile = exampleRow({
      model: 'a\0b\ud800',
      user_agent: '\0'.repeat(200_000),
      input_tokens: 1e300,
      attempts: NaN,
    })
    const after = exampleRow()
    record(ledger, hostile)
    record(ledger, after)
    const rows = await allRows(ledger)
    expect(rows.map(row => row.request_id).sort()).toEqual([hostile.request_id, after.request_id].sort())
    expect(rows.find(row => row.request_id === hostile.request_id)?.model).toBe('a\ufffdb\ufffd')
    expect(await ledger.query({ limit: 1, model: 'a\0b' })).toEqual({ rows: [], nextCursor: null })
    expect(problems).toEqual([])
  })

  test.skipIf(skip)(`${name}: pages come newest first, no gap, no repeat, while rows come in`, async () => {
    const ledger = await open(await place(url))
    const rowAt = (at: number) => exampleRow({ started_at_ms: 1000 + Math.floor(at / 10) })
    const rows = Array.from({ length: 250 }, (_, at) => rowAt(at))
    for (const row of rows) record(ledger, row)
    const seen: string[] = []
    for (let cursor: string | null = '', first = true; cursor !== null; first = false) {
      const page: Page = await ledger.query({ limit: 7, ...(!first && { cursor }) })
      expect(page.rows.length).toBeLessThanOrEqual(7)
      seen.push(...page.rows.map(row => row.request_id))
      cursor = page.nextCursor
      record(ledger, exampleRow({ started_at_ms: 9999 }))
    }
    const newestFirst = (a: LedgerRow, b: LedgerRow) =>
      b.started_at_ms - a.started_at_ms || (a.request_id < b.request_id ? 1 : -1)
    expect(seen).toEqual(rows.sort(newestFirst).map(row => row.request_id))
  })

  test.skipIf(skip)(`${name}: every filter narrows, together they meet`, async () => {
    const ledger = await open(await place(url))
    const row = exampleRow({
      key_id: 'k',
      user_id: 'u',
      team_id: 't',
      model: 'm',
      outcome: 'error',
      started_at_ms: 500,
    })
    record(ledger, row)
    const others: Partial<LedgerRow>[] = [
      { key_id: 'x' },
      { user_id: 'x' },
      { team_id: null },
      { model: 'x' },
      { outcome: 'success' },
    ]
    for (const other of others)
      record(ledger, exampleRow({ ...row, ...other, request_id: crypto.randomUUID(), started_at_ms: 400 }))
    const ids = async (query: object) => (await ledger.query({ limit: 100, ...query })).rows.length
    expect(await ids({ keyId: 'k' })).toBe(5)
    expect(await ids({ userId: 'u' })).toBe(5)
    expect(await ids({ teamId: 't' })).toBe(5)
    expect(await ids({ model: 'm' })).toBe(5)
    expect(await ids({ outcome: 'error' })).toBe(5)
    expect(await ids({ requestId: row.request_id })).toBe(1)
    expect(await ids({ fromMs: 400, toMs: 500 })).toBe(5)
    expect(await ids({ fromMs: 500, toMs: 501 })).toBe(1)
    expect(await ids({ keyId: 'k', userId: 'u', teamId: 't', model: 'm', outcome: 'error' })).toBe(1)
    expect(await ids({ keyId: "k' or '1'='1" })).toBe(0)
    expect((await ledger.query({ limit: 0 })).rows).toHaveLength(1)
    const foreign = ledger.query({ limit: 1, cursor: 'bm9uc2Vuc2U' })
    await expect(foreign).rejects.toMatchObject({ kind: 'invalid-request' })
  })

  test.skipIf(skip)(`${name}: a dead process's unsettled call becomes one interrupted row`, async () => {
    const at = await place(url)
    const start = '1700000000000-1-dead'
    mkdirSync(at.journal)
    createSegmentFile(segmentPath(at.journal, { start, sequence: 1 }), { bytes: 65_536, durable: false })
    const writer = new SegmentWriter(segmentPath(at.journal, { start, sequence: 1 }), 1)
    const [open1, done] = [exampleRow(), exampleRow()]
    for (const row of [open1, done]) writer.append(encodeIntent(intentOf(row)))
    writer.append(encodeSettlement(done))
    const first = await open(at)
    const living = exampleRow()
    first.begin(intentOf(living))
    const rows = await allRows(first)
    expect(rows).toHaveLength(2)
    expect(rows.find(row => row.request_id === done.request_id)).toEqual(done)
    expect(rows.find(row => row.request_id === open1.request_id)).toMatchObject({
      outcome: 'interrupted',
      status: 500,
      usage_source: 'none',
      cost_nano_usd: null,
      input_tokens: null,
      key_id: open1.key_id,
      stream: true,
      started_at_ms: open1.started_at_ms,
    })
    await first.close()
    // Only now, with its process gone, the living call counts as interrupted.
    const second = await open(at)
    const outcomes = (await allRows(second)).map(row => row.outcome)
    expect(outcomes.sort()).toEqual(['interrupted', 'interrupted', 'success'])
    await second.close()
    expect(readdirSync(at.journal)).toEqual([])
  })

  test.skipIf(skip)(
    `${name}: a call without an end costs what it last reserved, after any number of starts`,
    async () => {
      const at = await place(url)
      const start = '1700000000000-1-dead'
      mkdirSync(at.journal)
      createSegmentFile(segmentPath(at.journal, { start, sequence: 1 }), { bytes: 65_536, durable: false })
      const writer = new SegmentWriter(segmentPath(at.journal, { start, sequence: 1 }), 1)
      const scopes = { budget_scopes: ['w', '0 key:k', '5:70 provider:p'] }
      const [open1, done] = [exampleRow(scopes), exampleRow({ ...scopes, cost_nano_usd: '3', budget_nano_usd: '3' })]
      writer.append(encodeIntent(intentOf({ ...open1, budget_nano_usd: '100' })))
      writer.append(encodeIntent(intentOf({ ...done, budget_nano_usd: '500' })))
      // Another attempt has reserved more.
      writer.append(encodeIntent(intentOf({ ...open1, budget_nano_usd: '150' })))
      writer.append(encodeSettlement(done))
      const first = await open(at)
      const living = exampleRow({ ...scopes, budget_nano_usd: '1000' })
      first.begin(intentOf(living))
      const found = (await allRows(first)).find(row => row.request_id === open1.request_id)
      expect(found).toMatchObject({ outcome: 'interrupted', cost_nano_usd: '150', cost_source: 'reserved', ...scopes })
      await first.close()
      // The list of open calls that a process leaves has what they reserved, too.
      const second = await open(at)
      expect(await allRows(second)).toHaveLength(3)
      await second.close()
      const database = await openDatabase(at.databaseUrl)
      const spent = (await database.sql`select scope, window_start_ms, writer, spent_nano_usd from budget_spend
      order by scope`) as { scope: string; spent_nano_usd: unknown }[]
      await database.close()
      expect(spent.map(row => [row.scope, Number(row.spent_nano_usd)])).toEqual([
        ['key:k', 150 + 3 + 1000],
        ['provider:p', 70 * 3],
      ])
    },
  )
}

/**
 * Kills the child when it has acknowledged so many records, and gives its whole lines. Not after some time: on a loaded
 * machine a child that has 60 ms has not begun to write.
 */
async function linesUntilKilled(
  child: Bun.Subprocess<'ignore', 'pipe', 'inherit'>,
  linesMin: number,
): Promise<string[]> {
  const decoder = new TextDecoder()
  let text = ''
  let lines = 0
  for await (const bytes of child.stdout) {
    const piece = decoder.decode(bytes, { stream: true })
    text += piece
    lines += piece.split('\n').length - 1
    if (lines >= linesMin) child.kill('SIGKILL')
  }
  await child.exited
  expect(child.signalCode).toBe('SIGKILL')
  // The last line may be cut off: it was not acknowledged.
  return text.split('\n').slice(0, -1)
}

test('twenty times kill -9: all that was acknowledged is there, nothing twice', async () => {
  const at = await place()
  const settled = new Set<string>()
  const begun = new Set<string>()
  for (let round = 0; round < 20; round++) {
    const program = join(import.meta.dir, 'ledger-crash-child.ts')
    const child = Bun.spawn([process.execPath, program, at.databaseUrl, at.journal], { stdout: 'pipe' })
    // From a child that has just begun to one that replays what others left and has filled segments of its own.
    for (const line of await linesUntilKilled(child, 1 + round * round * 4)) {
      const [what, id] = line.split(' ')
      ;(what === 'settled' ? settled : begun).add(id!)
    }
  }
  expect(settled.size).toBeGreaterThan(1000)
  const ledger = await open(at)
  await until(async () => {
    await ledger.flush()
    return readdirSync(at.journal).length <= 2
  })
  await ledger.close()
  const database = new Database(at.databaseUrl.slice('sqlite:'.length))
  const rows = database.query('select request_id, outcome from ledger').values() as [string, string][]
  const outcomes = new Map(rows)
  expect(rows.length).toBe(outcomes.size)
  expect([...settled].filter(id => outcomes.get(id) !== 'success')).toEqual([])
  expect([...begun].filter(id => !outcomes.has(id))).toEqual([])
  expect(database.query('pragma integrity_check').values()).toEqual([['ok']])
  database.close()
  expect(problems).toEqual([])
}, 120_000)

test('a database that is locked, then moved away, loses nothing; failure() gives the reason and clears', async () => {
  const at = await place()
  const path = at.databaseUrl.slice('sqlite:'.length)
  const ledger = await open(at)
  const blocker = new Database(path)
  // The thread of the ledger may just be writing.
  blocker.run('pragma busy_timeout = 5000')
  blocker.run('begin immediate')
  const rows = Array.from({ length: 1200 }, () => exampleRow())
  for (const row of rows.slice(0, 600)) record(ledger, row)
  await ledger.flush()
  expect(ledger.failure()).toContain('locked')
  expect(ledger.healthy).toBe(true)
  expect(ledger.backlog().bytes).toBeGreaterThan(600 * 100)
  blocker.run('commit')
  blocker.close()
  await until(async () => (await allRows(ledger)).length === 600)
  await until(() => ledger.backlog().bytes === 0)
  expect(ledger.failure()).toBeNull()
  for (const suffix of ['', '-wal', '-shm'])
    if (existsSync(path + suffix)) renameSync(path + suffix, `${path}-away${suffix}`)
  // The worker still holds the moved file: a restart is what finds it gone.
  await ledger.close()
  const successor = await open(at)
  for (const row of rows.slice(600)) record(successor, row)
  await expect(successor.query({ limit: 1 })).rejects.toMatchObject({ kind: 'overloaded' })
  await until(() => successor.failure() !== null)
  for (const suffix of ['', '-wal', '-shm'])
    if (existsSync(`${path}-away${suffix}`)) renameSync(`${path}-away${suffix}`, path + suffix)
  await until(async () => (await allRows(successor).catch(() => [])).length === 1200)
  expect(successor.failure()).toBeNull()
})

test('rows that the database was down for are replayed by the next process', async () => {
  const at = await place()
  const blocker = new Database(at.databaseUrl.slice('sqlite:'.length))
  // The thread of the ledger may just be writing.
  blocker.run('pragma busy_timeout = 5000')
  blocker.run('begin immediate')
  const first = await open(at)
  const rows = Array.from({ length: 20 }, () => exampleRow())
  for (const row of rows) record(first, row)
  await first.close()
  expect(problems.at(-1)).toContain('the journal keeps the rows')
  blocker.run('commit')
  blocker.close()
  expect(await allRows(await open(at))).toHaveLength(20)
})

test('a damaged segment is moved aside and reported, its readable rows are stored', async () => {
  const at = await place()
  mkdirSync(at.journal)
  const name = { start: '1700000000000-1-dead', sequence: 1 }
  const path = segmentPath(at.journal, name)
  createSegmentFile(path, { bytes: 65_536, durable: false })
  const writer = new SegmentWriter(path, 1)
  const rows = [exampleRow(), exampleRow(), exampleRow()]
  writer.append(encodeSettlement(rows[0]!))
  const from = writer.offset
  for (const row of rows.slice(1)) writer.append(encodeSettlement(row))
  const bytes = await Bun.file(path).bytes()
  bytes[from + 40]! ^= 1
  writeFileSync(path, bytes)
  writeFileSync(join(at.journal, '1600000000000-1-dead.open.json'), '{"not": "a list"')
  const ledger = await open(at)
  const ids = (await allRows(ledger)).map(row => row.request_id)
  expect(ids.sort()).toEqual([rows[0]!.request_id, rows[2]!.request_id].sort())
  await until(() => existsSync(`${path}.corrupt`))
  expect(problems.filter(problem => problem.includes('.corrupt'))).toHaveLength(2)
})

test('a worker that dies is replaced, and what was appended meanwhile is stored', async () => {
  const at = await place()
  const workers: Worker[] = []
  const usual = globalThis.Worker
  globalThis.Worker = class extends usual {
    constructor(...given: ConstructorParameters<typeof usual>) {
      super(...given)
      // Not those that read.
      if (String(given[0]).includes('ledger-worker')) workers.push(this)
    }
  }
  cleanups.push(() => void (globalThis.Worker = usual))
  const ledger = await open(at, { segmentBytes: 8192 })
  record(ledger, exampleRow())
  await ledger.flush()
  workers[0]!.terminate()
  for (let index = 0; index < 50; index++) record(ledger, exampleRow())
  await until(() => workers.length === 2 && ledger.healthy)
  expect(await allRows(ledger)).toHaveLength(51)
  // Dead at the end, too: one more is started to bring the rows in.
  const died = new Promise(resolve => workers[1]!.addEventListener('close', resolve))
  workers[1]!.terminate()
  record(ledger, exampleRow())
  await died
  await ledger.close()
  expect([workers.length, storedRows(at).size]).toEqual([3, 52])
})

test('questions are answered by another thread where the one that reads dies, until the ledger is closed', async () => {
  const at = await place()
  const readers: Worker[] = []
  const usual = globalThis.Worker
  globalThis.Worker = class extends usual {
    constructor(...given: ConstructorParameters<typeof usual>) {
      super(...given)
      if (String(given[0]).includes('ledger-read-worker')) readers.push(this)
    }
  }
  cleanups.push(() => void (globalThis.Worker = usual))
  const ledger = await open(at)
  record(ledger, exampleRow())
  expect([readers.length, (await allRows(ledger)).length]).toEqual([0, 1])
  // On a busy machine the second has begun, too.
  expect(readers.length).toBeGreaterThan(0)
  const asked = ledger.latency({ unit: 'day', first: 0, last: 1, groups: [] })
  readers[0]!.terminate()
  expect(await asked).toEqual([])
  record(ledger, exampleRow())
  expect(await allRows(ledger)).toHaveLength(2)
  await ledger.close()
  expect(ledger.query({ limit: 1 })).rejects.toMatchObject({ kind: 'overloaded' })
})

test.skipIf(idleCommand().length === 0)('reads take only the time that nothing else wants', async () => {
  const ledger = await open(await place())
  await ledger.query({ limit: 1 })
  const policies = () =>
    readdirSync('/proc/self/task').map(
      // The fields behind the name, which may have spaces, begin with the third (proc_pid_stat(5)); 5 is SCHED_IDLE.
      thread => readFileSync(`/proc/self/task/${thread}/stat`, 'utf8').split(') ')[1]!.split(' ')[41 - 3],
    )
  // On a busy machine the other thread may have answered before this one has begun.
  await until(() => policies().includes('5'))
})
