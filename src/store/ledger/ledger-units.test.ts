/** What calls use beside plain tokens: exact in the row, free for calls without it. */
import { afterEach, describe, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { columnIndex, columnList } from '../../core/ledger/ledger-columns.ts'
import type { LedgerRow } from '../../core/ledger/ledger-columns.ts'
import { systemClock } from '../../lib/clock.ts'
import { testServers } from '../database/database-fixture.ts'
import type { TestDatabase } from '../database/database-fixture.ts'
import { exampleRow, intentOf } from './ledger-fixture.ts'
import { decodeRecord, encodeSettlement, usualColumns } from './journal/ledger-record.ts'
import type { ColumnValue } from './journal/ledger-record.ts'
import { openLedger } from './ledger.ts'
import type { JournalledLedger } from './ledger.ts'
import { openDatabase } from '../database/open.ts'
import type { Database } from '../database/open.ts'

/** Every unit with a value of its own, so that none can stand in another's place. */
const every = {
  cache_write_one_hour_tokens: 1,
  input_audio_tokens: 2,
  output_audio_tokens: 3,
  input_image_tokens: 4,
  output_image_tokens: 5,
  images: 0,
  audio_microseconds: Number.MAX_SAFE_INTEGER,
  characters: 4_000_000_000,
  search_units: 1.1,
}
const unitNames = Object.keys(every) as (keyof typeof every)[]
const none = Object.fromEntries(unitNames.map(name => [name, null])) as { [Name in keyof typeof every]: null }

const cleanups: (() => Promise<void> | void)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})

interface Place {
  readonly database: Database
  readonly url: string
  readonly journal: string
}

async function makePlace(create: () => Promise<TestDatabase>): Promise<Place> {
  const made = await create()
  cleanups.push(() => made.remove())
  const folder = mkdtempSync(join(tmpdir(), 'ledger-units-'))
  cleanups.push(() => rmSync(folder, { recursive: true, force: true }))
  const database = await openDatabase(made.url)
  cleanups.push(() => database.close())
  return { database, url: made.url, journal: join(folder, 'journal') }
}

async function open(place: Place, problems: string[] = []): Promise<JournalledLedger> {
  const ledger = await openLedger({
    databaseUrl: place.url,
    journalDirectory: place.journal,
    clock: systemClock,
    report: problem => problems.push(problem),
  })
  cleanups.push(() => ledger.close())
  return ledger
}

function record(ledger: JournalledLedger, row: LedgerRow): void {
  ledger.begin(intentOf(row))
  ledger.settle(row)
}

for (const server of testServers('units in the ledger'))
  describe(server.name, () => {
    test('every unit is read back exactly, among rows that have some or none', async () => {
      const place = await makePlace(server.createMigrated)
      const ledger = await open(place)
      const changes = [
        every,
        none,
        ...unitNames.map(name => ({ [name]: every[name] })),
        { audio_microseconds: 1 },
        none,
      ]
      const rows = changes.map((units, at) => exampleRow({ ...units, started_at_ms: 5000 - at }))
      for (const row of rows) record(ledger, row)
      expect((await ledger.query({ limit: 100 })).rows).toEqual(rows)
    })

    test('sums in plain SQL are exact', async () => {
      const place = await makePlace(server.createMigrated)
      const ledger = await open(place)
      // A tenth of a second: as fractions they would not add up to five seconds.
      for (let at = 0; at < 50; at++)
        record(
          ledger,
          exampleRow({ audio_microseconds: 100_000, characters: at, images: at % 2 ? 1 : null, search_units: 0.5 }),
        )
      await ledger.flush()
      const [sums] = (await place.database.sql.unsafe(
        'select sum(audio_microseconds) as audio, sum(characters) as characters, count(images) as calls, ' +
          'sum(search_units) as searches from ledger',
      )) as Record<string, unknown>[]
      expect([Number(sums!.audio), Number(sums!.characters), Number(sums!.calls), Number(sums!.searches)]).toEqual([
        5_000_000, 1225, 25, 25,
      ])
    })

    test('hostile counts are made storable, and block nothing', async () => {
      const place = await makePlace(server.createMigrated)
      const problems: string[] = []
      const ledger = await open(place, problems)
      const hostile = exampleRow({
        started_at_ms: 2,
        images: 1e300,
        audio_microseconds: -1e300,
        characters: NaN,
        search_units: Infinity,
        input_audio_tokens: 1.9,
        output_audio_tokens: 'x' as unknown as number,
      })
      const after = exampleRow({ started_at_ms: 1, images: 1 })
      record(ledger, hostile)
      record(ledger, after)
      const storable = {
        images: Number.MAX_SAFE_INTEGER,
        audio_microseconds: -Number.MAX_SAFE_INTEGER,
        characters: null,
        search_units: null,
        input_audio_tokens: 1,
        output_audio_tokens: 0,
      }
      expect((await ledger.query({ limit: 100 })).rows).toEqual([{ ...hostile, ...storable }, after])
      expect(problems).toEqual([])
    })
  })

test('a settlement is two lines: what is its own, and what the calls of its key have in common', () => {
  const row = exampleRow({ request_id: '0195-x', session_id: 's', images: 2, price_list: '2026-11-23' })
  const [own, shared, ...more] = encodeSettlement(row).split('\n')
  const [images, session, prices] = [columnIndex('images'), columnIndex('session_id'), columnIndex('price_list')]
  const counts = `12,345,null,0,7,"123456789",1234.567,12.5,[${images},2,${session},"s"]`
  expect(own).toBe(`[2,"0195-x",1763710000000,${counts}]`)
  expect(shared).toBe(
    '["/v1/chat/completions","chat","success",200,null,"small-model","deployment-1","some-provider",' +
      '"small-model-2026","key-1","team a","user-1","team-1",null,true,"upstream",2,"2001:db8::1","test/1.0",' +
      `[${prices},"2026-11-23"]]`,
  )
  expect(more).toEqual([])
})

test('a row that differs from the one before in any column comes back as it is', () => {
  const before = exampleRow()
  const different = { text: 'other', list: ['other'], json: '{"a":1}', boolean: false, decimal: '5', number: 1.5 }
  for (const { name, kind } of columnList) {
    const changed = { ...before, [name]: kind === 'integer' || kind === 'integer32' ? 5 : different[kind] }
    for (const row of [before, changed, before]) {
      const decoded = decodeRecord(encodeSettlement(row))
      const values = columnList.map(column => {
        const value = row[column.name]
        return Array.isArray(value) ? JSON.stringify(value) : typeof value === 'boolean' ? Number(value) : value
      })
      expect(decoded).toEqual({ kind: 'settlement', id: row.request_id, values: values as ColumnValue[] })
    }
  }
})

test('each unit alone is enough to be written, and comes back in its place', () => {
  for (const name of unitNames) {
    const row = exampleRow({ [name]: 6 })
    const decoded = decodeRecord(encodeSettlement(row))
    const found = decoded?.kind === 'settlement' ? decoded.values : []
    const named: Record<string, unknown> = Object.fromEntries(columnList.map(({ name }, at) => [name, found[at]]))
    expect(named).toEqual({ ...row, stream: 1, no_log: 0 })
  }
})

test('a record names the places of later values, few as they are; of places that are none it is no record', () => {
  const row = exampleRow({ images: 2, cost_source: 'prices', request_tags: ['a'] })
  const later = ['images', 'request_tags', 'cost_source'] as const
  const places = later.flatMap(name => [columnIndex(name), row[name]])
  const [own, shared] = encodeSettlement(exampleRow({ request_id: '0195-x' })).split('\n') as [string, string]
  const inOwn = (...list: unknown[]) => `${own.slice(0, -1)},${JSON.stringify(list)}]\n${shared}`
  const inShared = (...list: unknown[]) => `${own}\n${shared.slice(0, -1)},${JSON.stringify(list)}]`
  const expected = decodeRecord(encodeSettlement({ ...row, request_id: '0195-x' }))
  expect(expected).toMatchObject({ kind: 'settlement', id: '0195-x' })
  for (const withPlaces of [inOwn, inShared]) {
    expect(decodeRecord(withPlaces(...places))).toEqual(expected)
    for (const wrong of [columnList.length, usualColumns.length - 1, -1, 0, 1.5, '30', null])
      expect(decodeRecord(withPlaces(wrong, 1))).toBeUndefined()
  }
})

test('two lines of which one is none of ours are no record', () => {
  const [own, shared] = encodeSettlement(exampleRow()).split('\n') as [string, string]
  const longer = (line: string) => `${line.slice(0, -1)},1,2]`
  for (const [first, second] of [
    [own, ''],
    ['', shared],
    [own, '[]'],
    [own, '{}'],
    [own, longer(shared)],
    [longer(own), shared],
    ['[2]', shared],
    [own.replace('[2', '[1'), shared],
    [own.replace('[2', '[3'), shared],
    [shared, shared],
  ])
    expect(decodeRecord(`${first}\n${second}`)).toBeUndefined()
})
