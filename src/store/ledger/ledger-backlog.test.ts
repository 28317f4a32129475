/** What earlier processes left: it is known from the first moment on, and new calls do not wait for it. */
import { afterEach, expect, test } from 'bun:test'
import { rmSync } from 'node:fs'
import { systemClock } from '../../lib/clock.ts'
import { listSegments, segmentPath } from './journal/journal.ts'
import { allRows, exampleRow, intentOf, leaveJournal, ledgerRig, record, storedRows } from './ledger-fixture.ts'
import { openLedger } from './ledger.ts'
import { until } from '../../../tests/support/until.ts'

const rig = ledgerRig()
const { problems, place, open } = rig
afterEach(() => rig.end())

/** A minute ago. */
const leftAtMs = systemClock.epochMs() - 60_000
const start = `${leftAtMs}-1-dead`
const rowsOf = (count: number) => Array.from({ length: count }, () => exampleRow())

test('the backlog is told from the first moment on: bytes, records and age, then that there is none', async () => {
  const at = await place()
  const rows = rowsOf(15_000)
  const left = leaveJournal(at.journal, rows, { start })
  const notes: [text: string, records: number][] = []
  const ledger = await openLedger({
    databaseUrl: at.databaseUrl,
    journalDirectory: at.journal,
    clock: systemClock,
    note: (text, { records }) => notes.push([text, records]),
  })
  const { bytes, records, sinceMs } = ledger.backlog()
  expect(records).toBe(30_000)
  expect(bytes / (left.position.offset + (left.position.sequence - 1) * 2 ** 21)).toBeWithin(0.99, 1.01)
  expect(sinceMs).toBe(leftAtMs)
  expect(notes).toEqual([[expect.stringContaining('earlier processes'), 30_000]])
  // It falls with what is stored.
  let before = records
  while (before > 0) {
    await Bun.sleep(20)
    const now = ledger.backlog()
    expect(now.records).toBeLessThanOrEqual(before)
    if (now.records > 0) expect(now.bytes).toBeGreaterThan(0)
    before = now.records
  }
  expect(ledger.backlog()).toEqual({ bytes: 0, records: 0, sinceMs: Infinity })
  expect(storedRows(at).size).toBe(15_000)
  expect(notes.map(([text]) => text)).toEqual([expect.anything(), 'all rows of earlier processes are stored'])
  await ledger.close()
}, 60_000)

test('records of this process count from when they are written until they are stored', async () => {
  const at = await place()
  const ledger = await open(at)
  expect(ledger.backlog()).toEqual({ bytes: 0, records: 0, sinceMs: Infinity })
  const fromMs = systemClock.epochMs()
  for (const row of rowsOf(200)) record(ledger, row)
  ledger.begin(intentOf(exampleRow()))
  const { bytes, records, sinceMs } = ledger.backlog()
  expect([records, bytes > 201 * 150]).toEqual([401, true])
  expect(sinceMs).toBeWithin(fromMs - 1000, systemClock.epochMs() + 1)
  await until(() => ledger.backlog().bytes === 0)
  expect(ledger.backlog().records).toBe(0)
})

test('rows of new calls are visible while earlier ones are still being stored', async () => {
  const at = await place()
  const earlier = rowsOf(50_000)
  leaveJournal(at.journal, earlier, { start })
  const ledger = await open(at)
  for (let round = 0; round < 3; round++) {
    const row = exampleRow()
    record(ledger, row)
    expect((await ledger.query({ limit: 1, requestId: row.request_id })).rows).toEqual([row])
    // Had it waited for the others, nothing would be left of them.
    expect(ledger.backlog().records).toBeGreaterThan(10_000)
  }
  await until(() => ledger.backlog().bytes === 0)
  const stored = storedRows(at)
  expect([stored.size, earlier.every(row => stored.get(row.request_id) === 'success')]).toEqual([50_003, true])
  await ledger.close()
  expect(problems).toEqual([])
}, 60_000)

test('a small backlog is in the first answer', async () => {
  const at = await place()
  leaveJournal(at.journal, rowsOf(5000), { start })
  expect(await allRows(await open(at))).toHaveLength(5000)
})

test('what is stored of a large backlog leaves the disk, and is not read again after a crash', async () => {
  const at = await place()
  leaveJournal(at.journal, rowsOf(60_000), { start })
  const segments = () => listSegments(at.journal).filter(name => name.start === start).length
  const [ledger, before] = [await open(at), segments()]
  await until(() => segments() < before - 3)
  expect(ledger.backlog().records).toBeGreaterThan(0)
  await ledger.close()
  const successor = await open(at)
  expect(successor.backlog().records).toBeLessThan(120_000)
  await until(() => successor.backlog().bytes === 0)
  expect(storedRows(at).size).toBe(60_000)
  await successor.close()
  expect([listSegments(at.journal), problems.filter(text => !text.includes('keeps the rows'))]).toEqual([[], []])
}, 60_000)

test('a missing segment of a large backlog is counted, and the rest is stored', async () => {
  const at = await place()
  leaveJournal(at.journal, rowsOf(15_000), { start })
  rmSync(segmentPath(at.journal, { start, sequence: 3 }))
  const ledger = await open(at)
  await until(() => ledger.backlog().bytes === 0)
  expect(ledger.missingSegments()).toBe(1)
  // Each record of a call that is not stored as its own is lost; calls that lost one of two are on the edges.
  const missing = 15_000 - [...storedRows(at).values()].filter(outcome => outcome === 'success').length
  expect(ledger.lostRecords()).toBeWithin(2 * missing - 2, 2 * missing + 3)
  expect(problems).toEqual([expect.stringContaining(`${ledger.lostRecords()} records`)])
})
