import { afterEach, beforeEach, expect, test } from 'bun:test'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { JournalTail, openCallsPath } from './journal-tail.ts'
import { JournalWriter } from './journal-writer.ts'
import { createSegmentFile, listSegments, segmentPath, SegmentReader, SegmentWriter } from './journal.ts'
import { exampleRow, intentOf } from '../ledger-fixture.ts'
import { decodeRecord, encodeIntent, encodeSettlement, readIntent } from './ledger-record.ts'

const start = '1763710000000-1-abcd'
let directory: string
let problems: string[]

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'journal-'))
  problems = []
})
afterEach(() => rmSync(directory, { recursive: true }))

function segmentWith(texts: readonly string[], sequence = 1, bytes = 64 * 1024): SegmentWriter {
  const path = segmentPath(directory, { start, sequence })
  createSegmentFile(path, { bytes, durable: false })
  const writer = new SegmentWriter(path, sequence)
  for (const text of texts) expect(writer.append(text)).toBe(true)
  return writer
}

/** Ids of the settlements that a successor reads. */
function replay(live = false): string[] {
  const tail = new JournalTail({ directory, start, live, report: problem => problems.push(problem) })
  const ids: string[] = []
  for (let rows = tail.read(7); rows.length > 0; rows = tail.read(7)) ids.push(...rows.map(row => String(row[0])))
  if (!live) tail.deleteAll()
  return ids
}

const settled = (id: string) => encodeSettlement(exampleRow({ request_id: id }))

test('a record torn at any byte is left out and the ones before it are kept', () => {
  const writer = segmentWith([settled('a'), settled('b')])
  const from = writer.offset
  writer.append(settled('c'))
  const path = segmentPath(directory, { start, sequence: 1 })
  const whole = readFileSync(path)
  // The last four bytes may be padding, which a cut does not hurt.
  for (let cut = from; cut < writer.offset - 3; cut++) {
    const torn = Buffer.from(whole)
    torn.fill(0, cut)
    writeFileSync(path, torn)
    expect(replay()).toEqual(['a', 'b'])
    writeFileSync(path, whole)
    truncateSync(path, cut)
    expect(replay()).toEqual(['a', 'b'])
  }
  expect(problems).toEqual([])
  writeFileSync(path, whole)
  expect(replay()).toEqual(['a', 'b', 'c'])
})

test('a flipped byte costs one record, and the segment is kept for an operator', () => {
  const writer = segmentWith([settled('a')])
  const from = writer.offset
  for (const id of ['b', 'c', 'd']) writer.append(settled(id))
  const path = segmentPath(directory, { start, sequence: 1 })
  const whole = readFileSync(path)
  for (let at = from; at < from + 8 + settled('b').length; at += 13) {
    const damaged = Buffer.from(whole)
    damaged[at]! ^= 0x55
    writeFileSync(path, damaged)
    expect(replay()).toEqual(['a', 'c', 'd'])
    expect(readdirSync(directory)).toEqual([`${start}.00000001.journal.corrupt`])
    rmSync(`${path}.corrupt`)
  }
  expect(problems[0]).toContain('.corrupt')
})

test('a page of zeros in the middle, as power loss leaves it, does not hide what stands behind', () => {
  const ids = Array.from({ length: 60 }, (_, at) => `id-${at}`)
  segmentWith(ids.map(settled))
  const path = segmentPath(directory, { start, sequence: 1 })
  const bytes = readFileSync(path)
  bytes.fill(0, 8192, 12_288)
  writeFileSync(path, bytes)
  const found = replay()
  expect(found.length).toBeGreaterThan(42)
  expect(found.at(-1)).toBe('id-59')
  expect(problems).toHaveLength(1)
})

test('noise, an empty file and a foreign file stop nothing', () => {
  writeFileSync(segmentPath(directory, { start, sequence: 1 }), '')
  const noise = crypto.getRandomValues(new Uint8Array(65_000))
  writeFileSync(segmentPath(directory, { start, sequence: 2 }), noise)
  writeFileSync(segmentPath(directory, { start, sequence: 3 }), 'hello, this is the file of another program')
  writeFileSync(join(directory, 'README'), 'keep me')
  segmentWith([settled('x')], 4)
  expect(replay()).toEqual(['x'])
  expect(readdirSync(directory).sort()).toEqual([
    `${start}.00000002.journal.corrupt`,
    `${start}.00000003.journal.corrupt`,
    'README',
  ])
})

test('every text comes back as it was, at any offset to the buffer of the reader', () => {
  const text = (at: number) => JSON.stringify(['é😀\n\0"', 'x'.repeat((at * 37) % 1500)])
  const texts = Array.from({ length: 3000 }, (_, at) => text(at))
  segmentWith(texts, 1, 8 * 1024 * 1024)
  const reader = new SegmentReader(segmentPath(directory, { start, sequence: 1 }))
  const found: string[] = []
  for (let item = reader.peek(); typeof item === 'object'; item = reader.peek()) {
    found.push(item.text)
    reader.offset = item.next
  }
  reader.close()
  expect(found).toEqual(texts)
})

test('a hostile row fits into one record and comes back storable', () => {
  const evil = '\0'.repeat(100_000) + '\ud800'
  const row = exampleRow({
    model: evil,
    user_agent: evil,
    end_user: '😀'.repeat(50_000),
    duration_ms: NaN,
    attempts: 1e300,
  })
  const text = encodeSettlement(row)
  expect(Buffer.byteLength(text)).toBeLessThan(60_000)
  const record = decodeRecord(text)!
  if (record.kind !== 'settlement') throw new Error('a settlement was expected')
  expect(record.id).toBe(row.request_id)
  for (const value of record.values) {
    if (typeof value === 'string')
      expect(value.isWellFormed() && !value.includes('\0') && value.length <= 512).toBe(true)
    if (typeof value === 'number') expect(Number.isFinite(value)).toBe(true)
  }
})

test('foreign JSON is no record', () => {
  for (const text of ['', '{', 'null', '{}', '[]', '[0]', '[1,2]', '[2,"a"]', '"x"'])
    expect(decodeRecord(text)).toBeUndefined()
})

test('an intent is known by its id, and read whole only when it is needed', () => {
  const reserved = { budget_nano_usd: '1234', budget_scopes: ['w', '0 key:k', '5:7 customer:"c"'] }
  for (const fields of [{}, reserved, { ...reserved, budget_nano_usd: '99' }]) {
    const intent = intentOf(exampleRow(fields))
    const text = encodeIntent(intent)
    expect(decodeRecord(text)).toEqual({ kind: 'intent', id: intent.request_id })
    expect(readIntent(text)).toEqual(intent)
  }
  expect(readIntent('[0,"x"]')).toBeUndefined()
})

test('records go on through many segments, which are gone once they are read and committed', () => {
  const writer = journalWriter(path => createSegmentFile(path, { bytes: 8192, durable: false }))
  const ids = Array.from({ length: 300 }, (_, at) => `id-${at}`)
  for (const id of ids) writer.append(settled(id))
  expect(listSegments(directory).length).toBeGreaterThan(8)
  expect(replay()).toEqual(ids)
  expect(listSegments(directory)).toEqual([])
})

test('a living journal is read as it grows and is not deleted under its writer', () => {
  const writer = journalWriter(path => createSegmentFile(path, { bytes: 8192, durable: false }))
  const tail = new JournalTail({ directory, start, live: true, report: problem => problems.push(problem) })
  for (let at = 0; at < 200; at++) {
    writer.append(encodeIntent(intentOf(exampleRow({ request_id: `id-${at}` }))))
    expect(tail.read(10)).toEqual([])
    if (at === 150) continue
    writer.append(settled(`id-${at}`))
    expect(tail.read(10).map(row => row[0])).toEqual([`id-${at}`])
    expect(tail.position).toEqual(writer.position)
    tail.deleteFinished()
  }
  expect([...tail.openCalls].map(call => call.request_id)).toEqual(['id-150'])
  expect(listSegments(directory).length).toBeLessThanOrEqual(2)
  expect(problems).toEqual([])
  // The segment that held the intent is gone; a successor knows of the call all the same.
  const report = (problem: string) => problems.push(problem)
  const successor = new JournalTail({ directory, start, live: false, report })
  while (successor.read(100).length > 0);
  expect([...successor.openCalls].map(call => call.request_id)).toContain('id-150')
})

test.skipIf(!existsSync('/proc/self/maps'))('a full segment is mapped until its records are stored, no longer', () => {
  // Real paths: the system tells no others.
  const folder = realpathSync(directory)
  const mapped = () => readFileSync('/proc/self/maps', 'utf8').split(folder).length - 1
  const writer = journalWriter(path => createSegmentFile(path, { bytes: 8192, durable: false }))
  const fill = () => {
    const { sequence } = writer.position
    while (writer.position.sequence === sequence) writer.append(settled('a'))
  }
  for (let count = 0; count < 3; count++) fill()
  expect(mapped()).toBe(4)
  writer.committed({ sequence: 3, offset: 8 })
  expect(mapped()).toBe(2)
  // What the database takes too slowly is in the files all the same.
  for (let count = 0; count < 9; count++) fill()
  expect(mapped()).toBe(5)
})

/** A writer whose spares are made by hand, when the test wants it. */
function slowWriter(waitingBegins = () => {}): { writer: JournalWriter; makeSpare: () => void } {
  let asked: string | undefined
  const writer = new JournalWriter({
    directory,
    start,
    segmentBytes: 8192,
    epochMs: () => 1_763_710_000_000,
    report: problem => problems.push(problem),
    waitingBegins,
    askForSpare(path) {
      asked = path
    },
  })
  const makeSpare = () => {
    createSegmentFile(asked!, { bytes: 8192, durable: false })
    writer.spareMade(asked!)
  }
  return { writer, makeSpare }
}

/** Moves the directory away and puts a file in its place, so that it cannot be created again. */
function blockDirectory(): { lift: () => void } {
  const away = `${directory}-away`
  renameSync(directory, away)
  writeFileSync(directory, 'in the way')
  return {
    lift: () => {
      rmSync(directory)
      renameSync(away, directory)
    },
  }
}

test('without a disk records wait in memory, in order, and follow when there is room', () => {
  const { writer, makeSpare } = slowWriter()
  writer.append(settled('first'))
  const block = blockDirectory()
  const ids = ['first']
  for (let at = 0; at < 100; at++) {
    ids.push(`id-${at}`)
    writer.append(settled(`id-${at}`))
  }
  expect([writer.healthy, writer.waiting]).toEqual([false, true])
  expect(writer.waitingLength).toBeGreaterThan(100 * settled('id-0').length)
  block.lift()
  makeSpare()
  expect([writer.healthy, writer.waiting, writer.waitingLength]).toEqual([true, false, 0])
  // The first segment stands there again: what was taken back from it is in the journal twice.
  expect([...new Set(replay())]).toEqual(ids)
  expect(problems.some(problem => problem.includes('cannot be extended'))).toBe(true)
  expect(problems.at(-1)).toBe('the journal can be written again')
})

test('what waits in memory is given in order, and is kept until it is stored', () => {
  let begun = 0
  const { writer, makeSpare } = slowWriter(() => begun++)
  const block = blockDirectory()
  for (let at = 0; at < 700; at++) writer.append(settled(`id-${at}`))
  const idsOf = (texts: string[]) => texts.map(text => decodeRecord(text)?.id)
  const firstIds = Array.from({ length: 500 }, (_, at) => `id-${at}`)
  expect(idsOf(writer.nextWaiting())).toEqual(firstIds)
  writer.acknowledgeWaiting(false)
  expect(idsOf(writer.nextWaiting())).toEqual(firstIds)
  writer.acknowledgeWaiting(true)
  // Under way to the database while the disk gets room: it must not be taken for what waits then.
  expect(idsOf(writer.nextWaiting())[0]).toBe('id-500')
  block.lift()
  makeSpare()
  writer.acknowledgeWaiting(true)
  expect([writer.waiting, writer.waitingLength, writer.lostRecords]).toEqual([false, 0, 0])
  const found = replay()
  for (let at = 500; at < 700; at++) expect(found).toContain(`id-${at}`)
  expect(begun).toBeLessThanOrEqual(1)
})

test('memory is bounded; what it cannot take is counted, then told', () => {
  const { writer, makeSpare } = slowWriter()
  const block = blockDirectory()
  writer.check()
  const text = settled('x'.repeat(900))
  const count = Math.ceil((32 * 1024 * 1024) / text.length) + 10
  for (let at = 0; at < count; at++) writer.append(text)
  expect(writer.waitingLength).toBeLessThanOrEqual(32 * 1024 * 1024)
  expect(writer.lostRecords).toBeGreaterThanOrEqual(10)
  expect(problems.filter(problem => problem.includes('records lost')).length).toBeGreaterThan(2)
  const waiting = writer.abandonWaiting()
  expect(waiting).toBeGreaterThan(20_000)
  expect([writer.lostRecords, writer.waitingLength]).toEqual([count, 0])
  block.lift()
  makeSpare()
  expect(problems.at(-1)).toContain(`${count} records were lost meanwhile`)
})

test('the directory is removed under the writer: what is not committed is written again', () => {
  const { writer, makeSpare } = slowWriter()
  const tail = new JournalTail({ directory, start, live: true, report: problem => problems.push(problem) })
  const ids = Array.from({ length: 80 }, (_, at) => `id-${at}`)
  for (const id of ids.slice(0, 10)) writer.append(settled(id))
  expect(tail.read(100)).toHaveLength(10)
  writer.committed(tail.position)
  // Into the third segment: the reader has only the first one open.
  for (const id of ids.slice(10, 70)) writer.append(settled(id))
  expect(writer.position.sequence).toBe(3)
  makeSpare()
  rmSync(directory, { recursive: true })
  writer.check()
  expect([writer.healthy, writer.waiting]).toEqual([true, false])
  expect(problems).toEqual([expect.stringContaining('60 records')])
  for (const id of ids.slice(70)) writer.append(settled(id))
  // A successor finds all that was not committed, and so does the reader that still holds the first file.
  const found = tail.read(1000).map(row => String(row[0]))
  expect([...new Set(found)].sort()).toEqual(ids.slice(10).sort())
  expect(tail.position).toEqual(writer.position)
  expect(problems.at(-1)).toContain('segments 2 to 3 of the journal are missing')
  expect(replay()).toEqual(ids.slice(10))
})

test('the directory is removed just before a new segment: nothing is written to a removed file', () => {
  const { writer, makeSpare } = slowWriter()
  makeSpare()
  writer.append(settled('first'))
  rmSync(directory, { recursive: true })
  const ids = Array.from({ length: 100 }, (_, at) => `id-${at}`)
  for (const id of ids) writer.append(settled(id))
  expect([writer.healthy, writer.waiting]).toEqual([true, false])
  expect(replay()).toEqual(['first', ...ids])
})

/** A writer with a full first segment and records that wait, because a directory has the name of the second segment. */
function waitingWriter(): {
  writer: JournalWriter
  ids: string[]
  inJournal: number
  removeFirst(): void
  giveRoom(): void
} {
  const { writer } = slowWriter()
  const taken = segmentPath(directory, { start, sequence: 2 })
  mkdirSync(taken)
  const ids: string[] = []
  let inJournal = 0
  for (let at = 0; at < 60; at++) {
    ids.push(`id-${at}`)
    writer.append(settled(`id-${at}`))
    if (!writer.waiting) inJournal = ids.length
  }
  expect([writer.waiting, inJournal > 5 && inJournal < 50]).toEqual([true, true])
  return {
    writer,
    ids,
    inJournal,
    removeFirst() {
      rmSync(segmentPath(directory, { start, sequence: 1 }))
      writer.check()
      expect([writer.healthy, writer.waiting]).toEqual([false, true])
      expect(problems.at(-1)).toContain(`${inJournal} records that may not be in the database`)
    },
    giveRoom() {
      rmSync(taken, { recursive: true })
      writer.check()
      expect([writer.healthy, writer.waiting, writer.waitingLength]).toEqual([true, false, 0])
    },
  }
}

test('what is taken back from a removed segment comes before what waits already', () => {
  const { removeFirst, giveRoom, ids } = waitingWriter()
  removeFirst()
  giveRoom()
  expect(replay()).toEqual(ids)
})

test('what is taken back while others are under way to the database is not taken for them', () => {
  const { writer, removeFirst, giveRoom, ids, inJournal } = waitingWriter()
  expect(writer.nextWaiting()).toHaveLength(ids.length - inJournal)
  removeFirst()
  // Those that waited are stored. Nothing is known of the ones taken back, which stand before them now.
  writer.acknowledgeWaiting(true)
  giveRoom()
  expect(replay()).toEqual(expect.arrayContaining(ids.slice(0, inJournal)))
})

test('only a spare, or only the current segment, is removed or replaced', () => {
  const { writer, makeSpare } = slowWriter()
  makeSpare()
  rmSync(segmentPath(directory, { start, sequence: 2 }))
  writer.check()
  expect(problems).toEqual([])
  makeSpare()
  writer.append(settled('a'))
  const path = segmentPath(directory, { start, sequence: 1 })
  const copy = readFileSync(path)
  renameSync(path, `${path}-old`)
  writeFileSync(path, copy)
  writer.check()
  writer.append(settled('b'))
  expect(writer.position.sequence).toBe(2)
  rmSync(`${path}-old`)
  expect(replay()).toEqual(['a', 'a', 'b'])
})

test('a directory that cannot be made: all of it is in memory, to be handed over', () => {
  const { writer } = slowWriter()
  const ids = Array.from({ length: 30 }, (_, at) => `id-${at}`)
  for (const id of ids.slice(0, 20)) writer.append(settled(id))
  const block = blockDirectory()
  writer.check()
  for (const id of ids.slice(20)) writer.append(settled(id))
  expect([writer.healthy, writer.position]).toEqual([false, { sequence: 0, offset: 0 }])
  expect(writer.nextWaiting().map(text => decodeRecord(text)?.id)).toEqual(ids)
  writer.acknowledgeWaiting(true)
  expect(writer.waitingLength).toBe(0)
  block.lift()
})

test('on a full disk segments with open calls stay, the others are deleted, and no call is lost', () => {
  const writer = journalWriter(path => createSegmentFile(path, { bytes: 8192, durable: false }))
  const tail = new JournalTail({ directory, start, live: true, report: problem => problems.push(problem) })
  const list = `${openCallsPath(directory, start)}.tmp`
  const numbers = () => listSegments(directory).map(name => name.sequence)
  const fill = (prefix: string) => {
    for (let at = 0; at < 60; at++) writer.append(settled(`${prefix}-${at}`))
    while (tail.read(100).length > 0);
  }
  fill('a')
  // A directory of that name stands for a disk without room: the list cannot be written.
  mkdirSync(list)
  writer.append(encodeIntent(intentOf(exampleRow({ request_id: 'long' }))))
  const { sequence } = writer.position
  fill('b')
  expect(() => tail.deleteFinished()).toThrow()
  expect(numbers()[0]).toBe(sequence)
  rmSync(list, { recursive: true })
  tail.deleteFinished()
  expect(numbers()[0]).toBe(writer.position.sequence)
  expect(existsSync(openCallsPath(directory, start))).toBe(true)
  // The call is in the list now: a list that cannot be written again keeps no further segment.
  mkdirSync(list)
  fill('c')
  expect(() => tail.deleteFinished()).toThrow()
  expect(numbers()[0]).toBe(writer.position.sequence)
  rmSync(list, { recursive: true })
  expect(problems).toEqual([])
})

test('records that reach the database past the journal open and close calls like those in it', () => {
  const intent = (id: string) => encodeIntent(intentOf(exampleRow({ request_id: id })))
  const writer = segmentWith([intent('journal-only'), intent('settled-past'), intent('late')])
  const tail = new JournalTail({ directory, start, live: true, report: problem => problems.push(problem) })
  // Its settlement overtakes its intent.
  tail.takeStored([settled('late'), intent('past-only'), intent('past-both'), settled('past-both')])
  tail.read(10)
  tail.takeStored([settled('settled-past')])
  expect(tail.openCalls.map(call => call.request_id).sort()).toEqual(['journal-only', 'past-only'])
  writer.append(intent('late'))
  tail.read(10)
  expect(tail.openCalls.map(call => call.request_id)).toContain('late')
})

/** Spares arrive at once, as from a fast worker. */
function journalWriter(make: (path: string) => void): JournalWriter {
  const writer: JournalWriter = new JournalWriter({
    directory,
    start,
    segmentBytes: 8192,
    epochMs: () => 1_763_710_000_000,
    report: problem => problems.push(problem),
    askForSpare: path =>
      queueMicrotask(() => {
        if (!existsSync(directory)) return
        make(path)
        writer.spareMade(path)
      }),
  })
  return writer
}

test('a new segment begins with its magic and is zero behind it', () => {
  const path = join(directory, 'segment')
  createSegmentFile(path, { bytes: 3_000_000, durable: true })
  const bytes = readFileSync(path)
  expect(bytes.length).toBe(3_000_000)
  expect(bytes.subarray(0, 8).toString()).toBe('MGJRNL2\n')
  expect(bytes.subarray(8).every(byte => byte === 0)).toBe(true)
})
