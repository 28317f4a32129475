/** Rows, directories and databases for the tests of the ledger. */
import { Database } from 'bun:sqlite'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { randomUUIDv7, SQL } from 'bun'
import { emptyRow, intentColumnList } from '../../core/ledger/ledger-columns.ts'
import type { LedgerIntent, LedgerRow } from '../../core/ledger/ledger-columns.ts'
import { systemClock } from '../../lib/clock.ts'
import { JournalWriter } from './journal/journal-writer.ts'
import { segmentBytes } from './journal/journal.ts'
import { encodeIntent, encodeSettlement } from './journal/ledger-record.ts'
import { openLedger } from './ledger.ts'
import type { JournalledLedger } from './ledger.ts'
import type { LedgerDatabase } from './ledger-database.ts'
import { dayToRank, rankingOf, storeRanking } from './sums/rollup-top.ts'
import { createFromTemplate, placeSqliteTemplate } from '../database/database-fixture.ts'
import { migrate } from '../database/migrate.ts'
import { openDatabase } from '../database/open.ts'

/** A settled chat with every column of the first version set, unless `changes` says otherwise. */
export function exampleRow(changes: Partial<LedgerRow> = {}): LedgerRow {
  return {
    ...emptyRow,
    request_id: randomUUIDv7(),
    started_at_ms: 1_763_710_000_000,
    route: '/v1/chat/completions',
    operation: 'chat',
    outcome: 'success',
    status: 200,
    error_kind: null,
    model: 'small-model',
    deployment_id: 'deployment-1',
    provider: 'some-provider',
    upstream_model: 'small-model-2026',
    key_id: 'key-1',
    key_alias: 'team a',
    user_id: 'user-1',
    team_id: 'team-1',
    end_user: null,
    stream: true,
    input_tokens: 12,
    output_tokens: 345,
    cached_input_tokens: null,
    cache_write_tokens: 0,
    reasoning_tokens: 7,
    usage_source: 'upstream',
    cost_nano_usd: '123456789',
    duration_ms: 1234.567,
    first_byte_ms: 12.5,
    attempts: 2,
    client_address: '2001:db8::1',
    user_agent: 'test/1.0',
    ...changes,
  }
}

/** The intent that belongs to a row, of a call whose input was not estimated. */
export function intentOf(row: LedgerRow): LedgerIntent {
  const names = intentColumnList.map(({ name }) => [name, row[name]])
  return { ...(Object.fromEntries(names) as unknown as LedgerIntent), input_tokens: null, cost_nano_usd: null }
}

/** A directory and a migrated, empty database of its own. */
export interface LedgerPlace {
  readonly directory: string
  readonly journal: string
  readonly databaseUrl: string
  remove(): Promise<void>
}

/** A directory and an empty ledger, in an SQLite file there or in a new database of the server. */
export async function makePlace(postgresUrl?: string): Promise<LedgerPlace> {
  const directory = mkdtempSync(join(tmpdir(), 'ledger-'))
  const name = `ledger_${randomUUIDv7('hex').replaceAll('-', '')}`
  const file = join(directory, 'gateway.db')
  const databaseUrl = postgresUrl ? databaseNamed(postgresUrl, name) : `sqlite:${file}`
  if (postgresUrl) await withServer(postgresUrl, sql => sql.unsafe(createFromTemplate(name)))
  else placeSqliteTemplate(file)
  const database = await openDatabase(databaseUrl)
  await migrate(database)
  await database.close()
  return {
    directory,
    journal: join(directory, 'journal'),
    databaseUrl,
    remove: async () => {
      rmSync(directory, { recursive: true, force: true })
      if (postgresUrl) await withServer(postgresUrl, sql => sql.unsafe(`drop database ${name} with (force)`))
    },
  }
}

function databaseNamed(url: string, name: string): string {
  const named = new URL(url)
  named.pathname = `/${name}`
  return named.href
}

async function withServer(url: string, work: (sql: SQL) => Promise<unknown>): Promise<void> {
  const sql = new SQL(url, { max: 1 })
  await work(sql)
  await sql.close()
}

/** Places and ledgers of one test, and what the ledgers reported. `end` is for `afterEach`. */
export function ledgerRig() {
  const problems: string[] = []
  const cleanups: (() => Promise<void> | void)[] = []
  return {
    problems,
    cleanups,
    async end(): Promise<void> {
      for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
      problems.length = 0
    },
    async place(url?: string): Promise<LedgerPlace> {
      const made = await makePlace(url)
      cleanups.push(() => made.remove())
      return made
    },
    async open(
      at: LedgerPlace,
      options: { readonly segmentBytes?: number; readonly journal?: string } = {},
    ): Promise<JournalledLedger> {
      const ledger = await openLedger({
        databaseUrl: at.databaseUrl,
        journalDirectory: options.journal ?? at.journal,
        clock: systemClock,
        report: problem => problems.push(problem),
        ...(options.segmentBytes && { segmentBytes: options.segmentBytes }),
      })
      cleanups.push(() => ledger.close())
      return ledger
    },
  }
}

/** A call that began and ended at once. */
export function record(ledger: JournalledLedger, row: LedgerRow): void {
  ledger.begin(intentOf(row))
  ledger.settle(row)
}

/** Every row that the ledger has, newest first, page by page. */
export async function allRows(ledger: JournalledLedger): Promise<LedgerRow[]> {
  const rows: LedgerRow[] = []
  for (let cursor: string | undefined; ; ) {
    const page = await ledger.query({ limit: 1000, ...(cursor !== undefined && { cursor }) })
    rows.push(...page.rows)
    if (page.nextCursor === null) return rows
    cursor = page.nextCursor
  }
}

/** Ids and outcomes in the database, read without the ledger. */
export function storedRows(at: LedgerPlace): Map<string, string> {
  const database = new Database(at.databaseUrl.slice('sqlite:'.length))
  const rows = database.query('select request_id, outcome from ledger').values() as [string, string][]
  database.close()
  return new Map(rows)
}

/** The journal of a process that was killed after these calls, and before it stored any of them. */
export function leaveJournal(
  directory: string,
  rows: Iterable<LedgerRow>,
  options: { readonly start: string; readonly segmentBytes?: number },
): JournalWriter {
  mkdirSync(directory, { recursive: true })
  const journal = new JournalWriter({
    directory,
    start: options.start,
    segmentBytes: options.segmentBytes ?? segmentBytes,
    // No spare segment is made ahead: each is made when it is needed.
    askForSpare: () => {},
    report: problem => {
      throw new Error(problem)
    },
    epochMs: () => Number.parseInt(options.start, 10),
  })
  for (const row of rows) {
    journal.append(encodeIntent(intentOf(row)))
    journal.append(encodeSettlement(row))
  }
  return journal
}

/** Ranks a day that is due, as the ledger's threads do. false = none is. */
export async function rankDay(database: LedgerDatabase, nowMs: number, small: Set<number>): Promise<boolean> {
  const day = await dayToRank(database, nowMs, small)
  if (day === undefined) return false
  await storeRanking(database, { day, nowMs }, await rankingOf(database, day))
  return true
}

/** A ledger on SQLite that `cleanups` close, and how many rows are stored. */
export async function openCountedLedger(
  cleanups: (() => Promise<void> | void)[],
): Promise<{ ledger: JournalledLedger; rows: () => number }> {
  const at: LedgerPlace = await makePlace()
  cleanups.push(() => at.remove())
  const ledger = await openLedger({ databaseUrl: at.databaseUrl, journalDirectory: at.journal, clock: systemClock })
  cleanups.push(() => ledger.close())
  const database = new Database(at.databaseUrl.slice('sqlite:'.length), { readonly: true })
  // The ledger opens its file anew when it becomes idle, and holds a lock for that moment.
  database.run('pragma busy_timeout = 10000')
  cleanups.push(() => database.close())
  const count = database.query<{ rows: number }, []>('select count(*) as rows from ledger')
  return { ledger, rows: () => count.get()!.rows }
}
