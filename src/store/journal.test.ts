import { afterEach, beforeEach, expect, test } from 'bun:test'
import {
  existsSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, truncateSync, writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { JournalTail } from './journal-tail.ts'
import { JournalWriter } from './journal-writer.ts'
import {
  createSegmentFile, firstRecordAt, listSegments, segmentPath, SegmentReader, SegmentWriter,
} from './journal.ts'
import { exampleRow, intentOf } from './ledger-fixture.ts'
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
  for (let rows = tail.read(7); rows.length > 0; rows = tail.read(7))
    ids.push(...rows.map(row => String(row[0])))
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

test('a flipped byte costs one record, and the segment is kept for a person to look at', () => {
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
  writeFileSync(segmentPath(directory, { start, sequence: 3 }), 'hello, I am a poem of somebody else')
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
  for (let item = reader.peek(false); typeof item === 'object'; item = reader.peek(false)) {
    found.push(item.text)
    reader.offset = item.next
  }
  reader.close()
  expect(found).toEqual(texts)
})

test('a hostile row fits into one record and comes back storable', () => {
  const evil = '\0'.repeat(100_000) + '\ud800'
  const row = exampleRow({
    model: evil, user_agent: evil, end_user: '😀'.repeat(50_000), duration_ms: NaN, attempts: 1e300,
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
  const intent = intentOf(exampleRow())
  const text = encodeIntent(intent)
  expect(decodeRecord(text)).toEqual({ kind: 'intent', id: intent.request_id })
  expect(readIntent(text)).toEqual(intent)
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

test('without a disk records wait in memory, in order, and follow when there is room', () => {
  let asked: string | undefined
  const writer = new JournalWriter({
    directory,
    start,
    segmentBytes: 8192,
    report: problem => problems.push(problem),
    askForSpare(path) {
      asked = path
    },
  })
  writer.append(settled('first'))
  // A path that cannot be made stands for a full disk: the ledger's own test uses a real one.
  const away = `${directory}-away`
  const ids = ['first']
  renameSync(directory, away)
  for (let at = 0; at < 100; at++) {
    ids.push(`id-${at}`)
    writer.append(settled(`id-${at}`))
  }
  expect([writer.healthy, writer.waiting]).toEqual([false, true])
  renameSync(away, directory)
  createSegmentFile(asked!, { bytes: 8192, durable: false })
  writer.spareMade(asked!)
  expect([writer.healthy, writer.waiting]).toEqual([true, false])
  expect(replay()).toEqual(ids)
  expect(problems[0]).toContain('cannot be extended')
  expect(problems.at(-1)).toContain('can be written again')
})

/** Spares arrive at once, as from a fast worker. */
function journalWriter(make: (path: string) => void): JournalWriter {
  const writer: JournalWriter = new JournalWriter({
    directory,
    start,
    segmentBytes: 8192,
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
  expect(bytes.subarray(0, firstRecordAt).toString()).toBe('MGJRNL1\n')
  expect(bytes.subarray(firstRecordAt).every(byte => byte === 0)).toBe(true)
})
