/** The table of columns: what was released stays readable, and a new column is one line. */
import { afterEach, beforeAll, describe, expect, test } from 'bun:test'
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { columnList, emptyRow, usualColumnCount } from '../../core/ledger/ledger-columns.ts'
import { systemClock } from '../../lib/clock.ts'
import { testServers } from '../database/database-fixture.ts'
import { migrate } from '../database/migrate.ts'
import { openDatabase } from '../database/open.ts'
import { createSegmentFile, segmentPath, SegmentWriter } from './journal/journal.ts'
import { allRows, exampleRow, intentOf, record } from './ledger-fixture.ts'
import { encodeIntent, encodeSettlement } from './journal/ledger-record.ts'
import { createTableText } from './ledger-table.ts'
import { openLedger } from './ledger.ts'
import type { JournalledLedger } from './ledger.ts'

const root = join(import.meta.dir, '../../..')
/**
 * Journals of processes that were killed, written by the program of a step of the database, and the rows that it made of
 * them, without what is null.
 */
const journals = join(root, 'tests/golden/journals')

const cleanups: (() => Promise<void> | void)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})

function folder(): string {
  const made = mkdtempSync(join(tmpdir(), 'ledger-columns-'))
  cleanups.push(() => rmSync(made, { recursive: true, force: true }))
  return made
}

async function open(databaseUrl: string, journalDirectory: string, problems: string[]): Promise<JournalledLedger> {
  const report = (problem: string) => problems.push(problem)
  const ledger = await openLedger({ databaseUrl, journalDirectory, clock: systemClock, report })
  cleanups.push(() => ledger.close())
  return ledger
}

test('columns that were released keep their place, name, kind and step: add new ones at the end', () => {
  const steps = new Map<number, string[]>()
  for (const { name, kind, nullable, since = 1 } of columnList)
    steps.set(since, [...(steps.get(since) ?? []), `${name} ${kind}${nullable ? ' null' : ''}`])
  expect(steps.get(1)).toEqual([
    'request_id text',
    'started_at_ms integer',
    'route text',
    'operation text',
    'outcome text',
    'status integer32',
    'error_kind text null',
    'model text',
    'deployment_id text null',
    'provider text null',
    'upstream_model text null',
    'key_id text',
    'key_alias text null',
    'user_id text null',
    'team_id text null',
    'end_user text null',
    'stream boolean',
    'input_tokens integer null',
    'output_tokens integer null',
    'cached_input_tokens integer null',
    'cache_write_tokens integer null',
    'reasoning_tokens integer null',
    'usage_source text',
    'cost_nano_usd decimal null',
    'duration_ms number',
    'first_byte_ms number null',
    'attempts integer32',
    'client_address text null',
    'user_agent text null',
    'cache_write_one_hour_tokens integer null',
    'input_audio_tokens integer null',
    'output_audio_tokens integer null',
    'input_image_tokens integer null',
    'output_image_tokens integer null',
    'images integer null',
    'audio_microseconds integer null',
    'characters integer null',
    'search_units number null',
    'budget_nano_usd decimal null',
    'budget_scopes list null',
    'client_name text null',
    'request_tags list null',
    'list_cost_nano_usd decimal null',
    'price_terms text null',
    'price_list text null',
    'cached_audio_tokens integer null',
    'cached_image_tokens integer null',
    'input_video_tokens integer null',
    'output_video_tokens integer null',
    'video_microseconds integer null',
    'pages integer null',
    'web_searches integer null',
    'grounded_prompts integer null',
    'grounding_queries integer null',
    'file_searches integer null',
    'code_sessions integer null',
    'other_tool_uses integer null',
    'cache_storage_token_hours number null',
    'service_tier text null',
    'speed text null',
    'inference_geo text null',
    'other_model_usage text null',
    'explicit_cached_tokens integer null',
    'cost_source text null',
    'organization_id text null',
    'guardrails text null',
    'cache_hit_kind text null',
    'saved_nano_usd decimal null',
    'session_id text null',
    'spend_logs_metadata json null',
  ])
  const order = columnList.map(column => column.since ?? 1)
  expect(order).toEqual(order.toSorted((a, b) => a - b))
})

test('the table of the baseline is the one that databases out there have', () => {
  const usual =
    'request_id text primary key, started_at_ms bigint not null, route text not null, ' +
    'operation text not null, outcome text not null, status integer not null, error_kind text, ' +
    'model text not null, deployment_id text, provider text, upstream_model text, key_id text not null, ' +
    'key_alias text, user_id text, team_id text, end_user text, stream integer not null, input_tokens bigint, ' +
    'output_tokens bigint, cached_input_tokens bigint, cache_write_tokens bigint, reasoning_tokens bigint, ' +
    'usage_source text not null, cost_nano_usd bigint, duration_ms double precision not null, ' +
    'first_byte_ms double precision, attempts integer not null, client_address text, user_agent text'
  const types = {
    integer: 'bigint',
    decimal: 'bigint',
    number: 'double precision',
    list: 'text',
    json: 'text',
    text: 'text',
  }
  const occasional = columnList
    .filter((column, at) => at >= usualColumnCount && column.since === undefined)
    .map(({ name, kind }) => `${name} ${types[kind as keyof typeof types]}`)
  expect(createTableText()).toBe(`create table ledger (${usual}, ${occasional.join(', ')})`)
})

for (const server of testServers('journals of released programs'))
  for (const version of readdirSync(journals))
    test(`${server.name}: the journal of '${version}' becomes the rows that it meant`, async () => {
      const place = await server.createMigrated()
      cleanups.push(() => place.remove())
      const directory = join(folder(), 'journal')
      cpSync(join(journals, version), directory, { recursive: true, filter: path => !path.endsWith('rows.json') })
      const meant = JSON.parse(readFileSync(join(journals, version, 'rows.json'), 'utf8')) as object[]
      const problems: string[] = []
      const ledger = await open(place.url, directory, problems)
      // They all began in one millisecond: newest first is by id then.
      const rows = (await allRows(ledger)).toReversed()
      expect(rows).toEqual(meant.map(row => ({ ...emptyRow, ...row })))
      await ledger.close()
      expect(problems).toEqual([])
      expect(readdirSync(directory)).toEqual([])
    })

/** Makes rows with the program of the scratch copy, and prints the new columns as each part of it has them. */
const script = `
import { openDatabase } from './src/store/database/open.ts'
import { migrate } from './src/store/database/migrate.ts'
import { openLedger } from './src/store/ledger/ledger.ts'
import { recordLedger } from './src/policies/record-ledger.ts'
import { spendLogs, shownRowSchema } from './src/endpoints/spend/spend-logs.ts'
import { systemClock as clock } from './src/lib/clock.ts'
const [databaseUrl, journalDirectory] = process.argv.slice(-2)
const database = await openDatabase(databaseUrl)
await migrate(database)
const problems = []
const ledger = await openLedger({ databaseUrl, journalDirectory, clock, report: text => problems.push(text) })
const key = { id: 'key-1', alias: null, userId: null, teamId: null }
const call = (id, fallbacks, changes) => ({
  id, startedAtMs: 5, route: '/r', operation: 'chat', model: 'm', endUser: '', stream: false, candidates: [], overrides: {},
  progress: { firstByteMs: -1, attempts: 1, fallbacks }, taken: {}, client: { clientAddress: '' }, userAgent: '', tags: [], caller: { role: 'key', key }, ...changes,
})
const end = { outcome: 'success', status: 200, error: undefined, durationMs: 1, usageSource: 'none', priceTerms: '', costNanoUsd: null, costSource: 'none' }
const policy = recordLedger(ledger)
for (const made of [call('new-1', 3, { test: 'x' }), call('new-2', 0)]) {
  policy.admit(made)
  policy.settled({ call: made, ...end })
}
const request = { query: new URLSearchParams(), params: {}, headers: {} }
const answer = await spendLogs.handle(request, { ledger, keys: { findAll: async () => [] } }, { role: 'proxy_admin', key })
await ledger.close()
const found = await database.sql.unsafe('select request_id, test_count, test_text from ledger order by request_id')
const stored = [...found]
await database.close()
const { test_count, test_text } = shownRowSchema.properties
const api = JSON.parse(await new Response(answer.body).text()).data
  .map(({ request_id, test_count, test_text, http_status }) => ({ request_id, test_count, test_text, http_status }))
process.stdout.write(JSON.stringify({ problems, stored, api, schema: { test_count, test_text } }))
process.exit(0)
`

describe('a new column', () => {
  let next: number
  beforeAll(async () => {
    const place = mkdtempSync(join(tmpdir(), 'ledger-columns-'))
    const database = await openDatabase(`sqlite:${join(place, 'x.sqlite')}`)
    await migrate(database)
    next = 1 + Number((await database.sql`select max(id) as newest from migrations`)[0].newest)
    await database.close()
    rmSync(place, { recursive: true })
  })

  /** The program with these lines more at the end of the table. */
  function scratchCopy(lines: readonly string[]): string {
    const copy = folder()
    cpSync(join(root, 'src'), join(copy, 'src'), { recursive: true })
    for (const file of ['package.json', 'tsconfig.json']) cpSync(join(root, file), join(copy, file))
    symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'))
    const path = join(copy, 'src/core/ledger/ledger-columns.ts')
    const source = readFileSync(path, 'utf8')
    const end = '}\n\n/** By name, in the order of the journal.'
    expect(source).toContain(end)
    writeFileSync(
      path,
      source.replace(end, () => lines.map(line => `  ${line}\n`).join('') + end),
    )
    writeFileSync(join(copy, 'travel.ts'), script)
    return copy
  }

  async function run(copy: string, databaseUrl: string, journal: string): Promise<{ output: string; errors: string }> {
    const command = [process.execPath, 'travel.ts', databaseUrl, journal]
    const child = Bun.spawn(command, { cwd: copy, stdout: 'pipe', stderr: 'pipe' })
    const [output, errors] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()])
    return { output, errors }
  }

  for (const server of testServers('a new column of the ledger'))
    test(`${server.name}: is one line, from settlement to journal, SQL, API and OpenAPI`, async () => {
      const place = await server.createMigrated()
      cleanups.push(() => place.remove())
      const journal = join(folder(), 'journal')
      // What this program, the one before the column, leaves: a row in the database, and a journal with another.
      const problems: string[] = []
      const ledger = await open(place.url, journal, problems)
      record(ledger, exampleRow({ request_id: 'old-1', started_at_ms: 4 }))
      await ledger.close()
      mkdirSync(journal, { recursive: true })
      const path = segmentPath(journal, { start: '1700000000000-1-dead', sequence: 1 })
      createSegmentFile(path, { bytes: 65_536, durable: false })
      const writer = new SegmentWriter(path, 1)
      for (const id of ['old-2', 'old-3', 'old-4']) {
        const row = exampleRow({ request_id: id, started_at_ms: 4, ...(id === 'old-3' && { images: 2 }) })
        writer.append(encodeIntent(intentOf(row)))
        if (id !== 'old-4') writer.append(encodeSettlement(row))
      }

      const copy = scratchCopy([
        `test_count: integer32('Fallbacks tried.', ({ call }) => call.progress.fallbacks, { since: ${next} }),`,
        `test_text: textOrNull('A text.', ({ call }) => (call as { test?: string }).test, { since: ${next} }),`,
      ])
      const { output, errors } = await run(copy, place.url, journal)
      expect(errors).toBe('')
      const missing = { test_count: 0, test_text: null }
      const values = [
        { request_id: 'new-1', test_count: 3, test_text: 'x' },
        { request_id: 'new-2', ...missing },
        ...['old-1', 'old-2', 'old-3', 'old-4'].map(request_id => ({ request_id, ...missing })),
      ]
      const found = JSON.parse(output) as Record<'problems' | 'stored' | 'api', object[]> & { schema: object }
      expect(found.stored).toEqual(values)
      const statuses = [200, 200, 500, 200, 200, 200]
      const newestFirst = [values[1]!, values[0]!, ...values.slice(2).toReversed()]
      expect(found.api).toEqual(newestFirst.map((row, at) => ({ ...row, http_status: statuses[at] })))
      expect(found.schema).toEqual({
        test_count: { type: 'integer', description: 'Fallbacks tried.' },
        test_text: { type: ['string', 'null'], description: 'A text.' },
      })
      expect([...problems, ...found.problems]).toEqual([])
    })

  test('with the version of a step that is there already is refused before the database is touched', async () => {
    const taken = 1
    const copy = scratchCopy([
      `test_count: integer32('x', ({ call }) => call.progress.fallbacks, { since: ${taken} }),`,
    ])
    const { errors } = await run(copy, `sqlite:${join(copy, 'x.sqlite')}`, join(copy, 'journal'))
    expect(existsSync(join(copy, 'x.sqlite'))).toBe(false)
    expect(errors).toContain(`two steps of the database have the number ${taken}`)
  })
})
