/** A segment of the journal that is missing is noticed by the others, and what is lost is counted. */
import { afterEach, beforeEach, expect, test } from 'bun:test'
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { JournalReplay } from './journal-replay.ts'
import { JournalTail } from './journal-tail.ts'
import type { JournalLoss } from './journal-tail.ts'
import { createSegmentFile, listSegments, segmentPath, SegmentReader } from './journal.ts'
import { exampleRow, leaveJournal } from '../ledger-fixture.ts'
import { markPredecessorStored } from './segment-header.ts'

const start = '1763710000000-1-abcd'
const [callCount, bytes] = [150, 8192]
let directory: string
let problems: string[]

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'journal-chain-'))
  problems = []
})
afterEach(() => rmSync(directory, { recursive: true, force: true }))

const ids = Array.from({ length: callCount }, (_, at) => `id-${at}`)
const leave = () => {
  const rows = ids.map(id => exampleRow({ request_id: id }))
  return leaveJournal(directory, rows, { start, segmentBytes: bytes })
}
const path = (sequence: number) => segmentPath(directory, { start, sequence })
const last = () => listSegments(directory).at(-1)!.sequence

/** What the next process stores, and what it says is lost. */
function replay(): { stored: string[]; interrupted: string[]; segments: number; records: number } {
  const losses: JournalLoss[] = []
  const options = {
    directory,
    own: 'none',
    report: (text: string) => problems.push(text),
    lost: (loss: JournalLoss) => losses.push(loss),
  }
  const found: [id: string, outcome: string][] = []
  for (const left = new JournalReplay(options); !left.isDone; ) {
    const rows = left.read(7)
    found.push(...rows.map((row): [string, string] => [String(row[0]), String(row[4])]))
    left.committed(rows.length, true)
  }
  const withOutcome = (outcome: string) => found.filter(row => row[1] === outcome).map(([id]) => id)
  const sum = (pick: (loss: JournalLoss) => number) => losses.reduce((total, loss) => total + pick(loss), 0)
  return {
    stored: withOutcome('success'),
    interrupted: withOutcome('interrupted'),
    segments: sum(loss => loss.segments),
    records: sum(loss => loss.records),
  }
}

test('with all segments nothing is missing or lost', () => {
  leave()
  expect(last()).toBeGreaterThan(5)
  expect(replay()).toEqual({ stored: ids, interrupted: [], segments: 0, records: 0 })
  expect(problems).toEqual([])
  expect(listSegments(directory)).toEqual([])
})

/** How many records a segment holds. */
function recordsIn(sequence: number): number {
  const reader = new SegmentReader(path(sequence))
  let count = 0
  for (let item = reader.peek(); typeof item === 'object'; item = reader.peek(), count++) reader.offset = item.next
  reader.close()
  return count
}

for (const [where, gone] of [
  ['in the middle', [3, 4]],
  ['at the beginning', [1, 2]],
] as const)
  test(`segments that were removed ${where} are noticed, and their records counted exactly`, () => {
    leave()
    const lost = recordsIn(gone[0]) + recordsIn(gone[1])
    for (const sequence of gone) rmSync(path(sequence))
    const found = replay()
    expect([found.segments, found.records]).toEqual([2, lost])
    expect(found.stored.at(-1)).toBe(ids.at(-1)!)
    expect(problems).toEqual([expect.stringContaining(`segments ${gone[0]} to ${gone[1]} of the journal are missing`)])
    expect(problems[0]).toContain(`${lost} records`)
  })

test('a removed last segment is noticed, without knowing how much it held', () => {
  leave()
  rmSync(path(last()))
  const found = replay()
  expect([found.segments, found.records]).toEqual([1, 0])
  expect(problems).toEqual([expect.stringContaining('an unknown number of records')])
})

test('a spare that was made ahead is not missed', () => {
  const journal = leave()
  createSegmentFile(join(directory, 'spare.tmp'), { bytes, durable: false })
  journal.spareMade(join(directory, 'spare.tmp'))
  rmSync(path(last()))
  expect(replay()).toMatchObject({ stored: ids, segments: 0, records: 0 })
  expect(problems).toEqual([])
})

test('the process that writes notices it too, and counts what it could not write again', () => {
  const journal = leave()
  const losses: JournalLoss[] = []
  const report = (text: string) => problems.push(text)
  const tail = new JournalTail({ directory, start, live: true, report, lost: loss => losses.push(loss) })
  tail.read(1)
  const lost = recordsIn(3) + recordsIn(4)
  for (const sequence of [3, 4]) rmSync(path(sequence))
  for (let rows = tail.read(50); rows.length > 0; rows = tail.read(50));
  expect(losses).toEqual([{ segments: 2, records: lost }])
  expect(tail.records).toBe(journal.records)
})

test('records in a damaged part of a segment are counted', () => {
  leave()
  const [whole, damagedFrom] = [readFileSync(path(3)), 2000]
  writeFileSync(path(3), Buffer.from(whole).fill(0x55, damagedFrom, damagedFrom + 1500))
  const { stored, interrupted, segments, records } = replay()
  expect(segments).toBe(0)
  expect(records).toBeGreaterThan(2)
  // Of each call that is not stored whole, one record or both are lost.
  const missing = ids.filter(id => !stored.includes(id))
  expect(records).toBeWithin(missing.length - 1, 2 * missing.length + 2)
  expect(interrupted.length).toBeLessThan(missing.length)
})

test('a crash at any moment while stored segments are deleted looks like no missing one', () => {
  leave()
  const copy = `${directory}-copy`
  cpSync(directory, copy, { recursive: true })
  const tail = new JournalTail({ directory, start, live: false, report: text => problems.push(text) })
  tail.read(100)
  tail.deleteFinished()
  const [first] = listSegments(directory)
  expect(first!.sequence).toBeGreaterThan(3)
  const after = `${directory}-after`
  cpSync(directory, after, { recursive: true })
  // They go from the newest to the oldest: the oldest are left.
  for (let left = 0; left < first!.sequence; left++) {
    rmSync(directory, { recursive: true })
    cpSync(after, directory, { recursive: true })
    for (let sequence = 1; sequence <= left; sequence++) cpSync(segmentPath(copy, { start, sequence }), path(sequence))
    const found = replay()
    expect([found.segments, found.records, problems]).toEqual([0, 0, []])
    expect(found.stored.at(-1)).toBe(ids.at(-1)!)
  }
  for (const made of [copy, after]) rmSync(made, { recursive: true })
})

test('a crash while the end of a stored journal is deleted looks like no missing segment', () => {
  leave()
  const names = listSegments(directory)
  const tail = new JournalTail({ directory, start, live: false, report: text => problems.push(text) })
  while (tail.read(60).length > 0);
  const copy = `${directory}-copy`
  cpSync(directory, copy, { recursive: true })
  tail.deleteAll()
  expect(listSegments(directory)).toEqual([])
  // The newest goes last, marked.
  markPredecessorStored(segmentPath(copy, names.at(-1)!))
  for (let left = 0; left < names.length - 1; left++) {
    for (const name of [...names.slice(0, left), names.at(-1)!])
      cpSync(segmentPath(copy, name), segmentPath(directory, name))
    const found = replay()
    expect([found.segments, found.records, problems]).toEqual([0, 0, []])
  }
  rmSync(copy, { recursive: true })
})
