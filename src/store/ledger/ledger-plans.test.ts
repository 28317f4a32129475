/** Searches of the ledger and reports of usage read what they show by an index, and not the whole table. */
import { afterAll, describe, expect, test } from 'bun:test'
import type { LedgerQuery } from '../../core/ledger/ledger.ts'
import type { UsageQuery } from '../../core/ledger/usage-report.ts'
import { barStatement, chosenParts } from './reads/histogram.ts'
import { openLedgerDatabase } from './ledger-database.ts'
import type { LedgerDatabase, LedgerSource, LedgerStatement } from './ledger-database.ts'
import { exampleRow, makePlace } from './ledger-fixture.ts'
import { ledgerStatement } from './reads/ledger-query.ts'
import { ledgerReads } from './reads/ledger-reads.ts'
import type { ReadKind } from './reads/ledger-reads.ts'
import { decodeRecord, encodeSettlement } from './journal/ledger-record.ts'
import { foldSums } from './sums/fold-sums.ts'
import { dayOf } from './sums/rollup-check.ts'
import { narrowSums, usageStatement } from './sums/usage-query.ts'

const cleanups: (() => Promise<unknown>)[] = []
afterAll(async () => {
  for (const cleanup of cleanups.toReversed()) await cleanup()
})

const rowCount = 4000
const nowMs = Date.now()
const today = dayOf(nowMs)

/** Searches, and the columns of which an index has to find the rows. */
const searches: Readonly<Record<string, readonly [query: Partial<LedgerQuery>, ...columns: string[]]>> = {
  'the newest calls': [{}, 'started_at_ms'],
  'one call': [{ requestId: 'x' }, 'request_id'],
  'a key': [{ keyId: 'key-3' }, 'key_id'],
  'a user': [{ userId: 'user-3' }, 'user_id'],
  'a user and a model': [{ userId: 'user-3', model: 'model-1' }, 'user_id'],
  'a team': [{ teamId: 'team-3' }, 'team_id'],
  'a customer': [{ endUser: 'customer-3' }, 'end_user'],
  'a model': [{ model: 'none' }, 'model'],
  'a session': [{ sessionId: 'session-3' }, 'session_id'],
  'what failed': [{ outcome: 'error' }, 'outcome'],
  'what failed of a model': [{ outcome: 'error', model: 'none' }, 'outcome'],
  'what a member may see': [{ visible: { key_id: ['key-3'], user_id: ['user-3'] } }, 'key_id', 'user_id'],
  'what admins of an organization may see': [
    { visible: { user_id: ['user-3'], organization_id: ['organization-3'] }, model: 'model-1' },
    'user_id',
    'organization_id',
  ],
}

const reports: Readonly<
  Record<string, readonly [query: Pick<UsageQuery, 'scope' | 'where' | 'visible'>, ...string[]]>
> = {
  'a key': [{ scope: 'key', where: { key_id: ['key-3'] } }, 'entity'],
  'a user': [{ scope: 'key', where: { user_id: ['user-3'] } }, 'user_id'],
  'a team': [{ scope: 'key', where: { team_id: ['team-3'] } }, 'team_id'],
  'an organization': [{ scope: 'key', where: { organization_id: ['organization-3'] } }, 'organization_id'],
  'a tag': [{ scope: 'tag', where: { entity: ['tag-3'] } }, 'entity'],
  'a customer': [{ scope: 'customer', where: { entity: ['customer-3'] } }, 'entity'],
  'what a member may see': [
    { scope: 'key', visible: { key_id: ['key-3'], user_id: ['user-3'], team_id: ['team-3'] } },
    'entity',
    'user_id',
    'team_id',
  ],
}

/** Reports that read sums by entity, and what an index has to find. */
const narrowReports: Readonly<Record<string, readonly [query: Partial<UsageQuery>, table: string, index: RegExp]>> = {
  'a team by model': [
    { scope: 'key', where: { team_id: ['team-3'] }, groups: ['day', 'model', 'provider'] },
    'ledger_daily_calls',
    /\bentity\b/,
  ],
  'an organization': [
    { scope: 'key', where: { organization_id: ['organization-3'] }, groups: ['day', 'model'] },
    'ledger_daily_calls',
    /\bentity\b/,
  ],
  'a tag by model': [
    { scope: 'tag', where: { entity: ['tag-3'] }, groups: ['day', 'model'] },
    'ledger_daily_calls',
    /\bentity\b/,
  ],
  'all tags by model': [{ scope: 'tag', groups: ['day', 'model'] }, 'ledger_daily_calls', /\bentity\b/],
  'all customers by model': [{ scope: 'customer', groups: ['day', 'model'] }, 'ledger_daily_calls', /\bentity\b/],
  'users by day': [
    { scope: 'key', where: { user_id: ['user-3', 'user-5'] }, groups: ['day', 'user_id'] },
    'ledger_daily_spend',
    /\bentity\b/,
  ],
  'teams by day': [{ scope: 'key', groups: ['day', 'team_id'] }, 'ledger_daily_spend', /\bscope\b/],
  'everything by day': [{ scope: 'total', groups: ['day'] }, 'ledger_daily_spend', /\bentity\b/],
  ...Object.fromEntries(
    (
      [
        ['keys', 'key', 'key_id'],
        ['users', 'key', 'user_id'],
        ['teams', 'key', 'team_id'],
        ['tags', 'tag', 'entity'],
        ['customers', 'customer', 'entity'],
      ] as const
    ).map(([name, scope, field]) => [
      `${name} that spent most in all`,
      [{ scope, groups: [field], firstDay: 0, lastDay: 100_000_000 }, 'ledger_totals', /ledger_totals_cost/] as const,
    ]),
  ),
}

async function filled(url: string | undefined): Promise<LedgerDatabase> {
  const place = await makePlace(url)
  cleanups.push(() => place.remove())
  const database = await openLedgerDatabase(place.databaseUrl)
  cleanups.push(() => database.close())
  const rows = Array.from({ length: rowCount }, (_, at) => {
    const owner = at % 400
    const record = decodeRecord(
      encodeSettlement(
        exampleRow({
          started_at_ms: nowMs - at * 60_000,
          outcome: at % 500 === 0 ? 'error' : 'success',
          key_id: `key-${owner}`,
          user_id: `user-${owner}`,
          team_id: `team-${owner}`,
          organization_id: `organization-${owner}`,
          end_user: `customer-${owner}`,
          session_id: `session-${owner}`,
          request_tags: [`tag-${owner}`],
          model: `model-${at % 400}`,
        }),
      ),
    )
    if (record?.kind !== 'settlement') throw new Error('a row is no settlement')
    return record.values
  })
  for (let at = 0; at < rows.length; at += 500) await database.insert(rows.slice(at, at + 500))
  await foldSums(database)
  // SQLite is not analyzed in use: what it plans without is what counts.
  if (url !== undefined) await database.change([{ text: 'analyze', values: [] }])
  return database
}

/** Questions of pages beside these, which are several statements: those that follow have an index, too. */
const questions: Readonly<Record<string, readonly [ReadKind, query: unknown]>> = {
  'a page of calls with the hashes of their keys': ['shown', { limit: 200 }],
  'a page of long and dear calls': ['shown', { limit: 200, minDurationMs: 1000, minCostNanoUsd: 1000 }],
  'the dearest calls of an alias at a deployment': [
    'shown',
    { limit: 200, sortBy: 'cost', among: { key_id: ['key-3'] }, deploymentId: 'x', isCounted: true },
  ],
  'calls that failed with a status': ['shown', { limit: 200, errorStatus: 500, isCounted: true }],
  'a numbered page, and how many calls there are': ['shown', { limit: 200, offset: 400, isCounted: true }],
  'a numbered page of a key that failed': [
    'shown',
    { limit: 9, offset: 9, isCounted: true, isFailed: true, keyId: 'k' },
  ],
  ...Object.fromEntries(
    (
      [
        ['key', 'key_id'],
        ['key', 'user_id'],
        ['key', 'team_id'],
        ['key', 'organization_id'],
        ['tag', 'entity'],
        ['customer', 'entity'],
      ] as const
    ).flatMap(([scope, field]) =>
      [{}, { entities: ['x', 'y'] }, { most: 20 }].map(
        more =>
          [
            `whose sums are shown of ${scope} by ${field}, ${Object.keys(more).join() || 'everybody'}`,
            ['topSpenders', { scope, field, firstDay: today - 29, lastDay: today, ...more }],
          ] as const,
      ),
    ),
  ),
  ...Object.fromEntries(
    (['day', 'hour'] as const).flatMap(unit =>
      [[], ['model'], ['deployment_id'], ['start']].map(
        groups => [`how long calls took, by ${unit}, ${groups.join()}`, ['latency', spanOf(unit, groups)]] as const,
      ),
    ),
  ),
}

function spanOf(unit: 'day' | 'hour', groups: readonly string[]) {
  const last = unit === 'day' ? today : today * 24
  return { unit, first: last - 29, last, groups }
}

/** Answers as a ledger does that has very many sums, all of them complete. */
const answerTo = (text: string): Record<string, unknown>[] => {
  if (text.startsWith('select count(*) as sums')) return [{ sums: 20_000 }]
  if (/^select (entity|key_id) /.test(text)) return [{ entity: 'x', key_id: 'x' }]
  return []
}

/** The conditions by which rows are found in indexes, as the database tells them. */
async function planOf(database: LedgerDatabase, { text, values }: LedgerStatement): Promise<string> {
  const explain = database.kind === 'sqlite' ? 'explain query plan' : 'explain'
  const rows = await database.select({ text: `${explain} ${text}`, values })
  return rows.map(row => String(row.detail ?? row['QUERY PLAN'])).join('\n')
}

function expectIndexOf(plan: string, columns: readonly string[]): void {
  const used =
    plan.match(/USING (?:COVERING )?INDEX .*$|Index Cond: .*$|Index Scan (?:Backward )?using .*$/gm)?.join('\n') ?? ''
  for (const column of columns)
    expect(used).toMatch(
      column === 'started_at_ms' ? /ledger_time|ledger_moment|started_at_ms/ : new RegExp(`\\b${column}\\b`),
    )
  expect(plan).not.toMatch(/SCAN ledger(_daily)?$|Seq Scan/m)
}

const servers = [
  { name: 'SQLite', url: undefined },
  ...(process.env.TEST_DATABASE_URL ? [{ name: 'Postgres', url: process.env.TEST_DATABASE_URL }] : []),
]
for (const { name, url } of servers)
  describe(name, () => {
    const opened = filled(url)
    for (const [title, [query, ...columns]] of Object.entries(searches))
      test(`an index finds the calls: ${title}`, async () => {
        expectIndexOf(await planOf(await opened, ledgerStatement({ limit: 50, ...query })), columns)
      })

    for (const [title, [query, ...columns]] of Object.entries(searches))
      test(`an index finds the calls that are counted: ${title}`, async () => {
        const database = await opened
        const span = { fromMs: nowMs - 3_600_000, toMs: nowMs }
        const model = query.model && 'model-1'
        const parts = await chosenParts(database, { ...query, ...(model && { model }), ...span, bars: 60, nowMs })
        const left = { calls: 1000, failed: 1000, newest: 1000 }
        expectIndexOf(await planOf(database, barStatement(database.kind, parts, span, left)), columns)
      })

    for (const [title, [query, ...columns]] of Object.entries(reports))
      test(`an index finds the usage: ${title}`, async () => {
        const span = { firstDay: today - 29, lastDay: today, order: 'day', limit: 1000 } as const
        const asked = usageStatement({ ...query, ...span, groups: ['day', 'model'] }, null)
        expectIndexOf(await planOf(await opened, asked), columns)
      })

    for (const [title, [query, table, index]] of Object.entries(narrowReports))
      test(`an index finds the sums of fewer columns: ${title}`, async () => {
        const span = { firstDay: today - 29, lastDay: today, order: 'cost', limit: 100 } as const
        const asked = { ...span, scope: 'key', groups: [], ...query } as const
        const narrow = narrowSums(asked)
        expect(narrow?.table).toBe(table)
        const plan = await planOf(await opened, usageStatement(asked, narrow))
        expect(plan).toMatch(index)
        // Postgres reads a table of few pages whole.
        if (url === undefined) expect(plan).not.toMatch(/SCAN ledger/)
        if (table === 'ledger_totals') expect(plan).not.toMatch(/TEMP B-TREE|Sort/)
      })

    for (const [title, [kind, query]] of Object.entries(questions))
      test(`an index finds what is read: ${title}`, async () => {
        const database = await opened
        const plans: string[] = []
        const source: LedgerSource = {
          ...database,
          select: async statement => {
            plans.push(await planOf(database, statement))
            return kind === 'shown' ? database.select(statement) : answerTo(statement.text)
          },
        }
        await (ledgerReads[kind] as (of: LedgerSource, asked: unknown) => Promise<unknown>)(source, query)
        expect(plans.length).toBeGreaterThan(0)
        // Postgres reads a table of few pages whole.
        if (url === undefined)
          for (const plan of plans) expect(plan).not.toMatch(/SCAN (ledger\w*|virtual_keys)( USING PRIMARY KEY)?$/m)
      })
  })
