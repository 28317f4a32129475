/** Counts over time: what they say is what the rows say, and where they end they say so. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { CallHistogram } from '../../../core/ledger/call-histogram.ts'
import type { CallOrder, HistogramQuery, ShownQuery } from '../../../core/ledger/ledger.ts'
import type { LedgerRow } from '../../../core/ledger/ledger-columns.ts'
import { countCalls } from './histogram.ts'
import type { ReadBounds } from './histogram.ts'
import { foldSums } from '../sums/fold-sums.ts'
import { openLedgerDatabase } from '../ledger-database.ts'
import type { LedgerDatabase } from '../ledger-database.ts'
import { exampleRow, makePlace } from '../ledger-fixture.ts'
import type { LedgerPlace } from '../ledger-fixture.ts'
import { decodeRecord, encodeSettlement } from '../journal/ledger-record.ts'
import { ledgerStatement, readLedger, readRecentSpend } from './ledger-query.ts'
import { isFollowed } from '../tail/tail-match.ts'
import { dayMs } from '../../../lib/clock.ts'

const firstMs = 20_000 * dayMs
/** In the midst of the eleventh day. */
const nowMs = firstMs + 10.4 * dayMs
const outcomes = ['success', 'success', 'error', 'success', 'upstream_cut'] as const
const rows: readonly LedgerRow[] = Array.from({ length: 500 }, (_, at) =>
  exampleRow({
    started_at_ms: firstMs + Math.floor((at * (nowMs - firstMs)) / 500),
    outcome: outcomes[at % 5]!,
    key_id: `key-${at % 7}`,
    user_id: `user-${at % 3}`,
    team_id: at % 2 === 0 ? 'team-1' : null,
    end_user: at % 11 === 0 ? 'customer-1' : null,
    model: `model-${at % 4}`,
    session_id: at % 50 === 0 ? 'session-1' : null,
    cache_hit_kind: at % 13 === 0 ? 'exact' : null,
    guardrails: at % 17 === 0 ? 'names:mask(NAME=1)' : null,
    deployment_id: at % 9 === 0 ? 'deployment-1' : null,
    status: at % 5 === 2 ? 404 : 200,
    error_kind: at % 10 === 2 ? 'not-found' : null,
    error_message: at % 10 === 2 ? `refused ${at}: 100% of it` : null,
    provider: `provider-${at % 3}`,
    request_tags: at % 6 === 0 ? ['one', 'team "a"'] : at % 6 === 1 ? ['two', 'three'] : null,
    duration_ms: at % 60,
    input_tokens: at % 8 === 0 ? null : at % 21,
    output_tokens: at % 8 === 0 ? null : at % 4,
    cost_nano_usd: String(at * 2),
  }),
)

/** Filters, and which rows they mean. */
const filters: Readonly<Record<string, readonly [query: Partial<HistogramQuery>, means: (row: LedgerRow) => boolean]>> =
  {
    everything: [{}, () => true],
    'a key': [{ keyId: 'key-3' }, row => row.key_id === 'key-3'],
    'a user and a model': [
      { userId: 'user-1', model: 'model-2' },
      row => row.user_id === 'user-1' && row.model === 'model-2',
    ],
    'a team that succeeded': [
      { teamId: 'team-1', outcome: 'success' },
      row => row.team_id === 'team-1' && row.outcome === 'success',
    ],
    'a customer': [{ endUser: 'customer-1' }, row => row.end_user === 'customer-1'],
    'what was cut of a model': [
      { model: 'model-0', outcome: 'upstream_cut' },
      row => row.model === 'model-0' && row.outcome === 'upstream_cut',
    ],
    'a session': [{ sessionId: 'session-1' }, row => row.session_id === 'session-1'],
    'one call': [{ requestId: rows[42]!.request_id }, row => row === rows[42]],
    'long ones': [{ minDurationMs: 40 }, row => row.duration_ms >= 40],
    'dear ones of a key': [
      { keyId: 'key-1', minCostNanoUsd: 500 },
      row => row.key_id === 'key-1' && Number(row.cost_nano_usd) >= 500,
    ],
    'cheap ones of a deployment': [
      { deploymentId: 'deployment-1', maxCostNanoUsd: 400 },
      row => row.deployment_id === 'deployment-1' && Number(row.cost_nano_usd) <= 400,
    ],
    'what failed with a status': [{ errorStatus: 404 }, row => row.status === 404 && row.error_kind !== null],
    'whatever failed of some teams': [
      { isFailed: true, among: { team_id: ['team-1', 'team-2'] } },
      row => row.outcome !== 'success' && ['team-1', 'team-2'].includes(row.team_id!),
    ],
    'keys that are none': [{ among: { key_id: [] } }, () => false],
    'a class of statuses': [{ statusRange: [400, 499] }, row => row.status === 404],
    'a kind of error': [{ errorKind: 'not-found' }, row => row.error_kind === 'not-found'],
    'words of an error': [{ errorText: '100% OF' }, row => row.error_message !== null],
    'words with signs of patterns': [{ errorText: '100_' }, () => false],
    'a provider': [{ provider: 'provider-1' }, row => row.provider === 'provider-1'],
    'a tag': [{ tag: 'team "a"' }, row => row.request_tags?.includes('team "a"') === true],
    'a tag that is a comma': [{ tag: ',' }, () => false],
    'models by a pattern': [{ modelPattern: 'MODEL*1' }, row => row.model === 'model-1'],
    'models by a pattern with signs of another': [{ modelPattern: 'model_*' }, () => false],
    'answers of the cache': [{ hits: 'cache' }, row => row.cache_hit_kind !== null],
    'hits of guardrails of a user': [
      { hits: 'guardrail', userId: 'user-0' },
      row => row.guardrails !== null && row.user_id === 'user-0',
    ],
    'what a member may see': [
      { visible: { key_id: ['key-1'], user_id: ['user-2'] } },
      row => row.key_id === 'key-1' || row.user_id === 'user-2',
    ],
    'a model of what an admin of teams may see': [
      { visible: { key_id: ['key-1'], team_id: ['team-1'] }, model: 'model-1' },
      row => (row.key_id === 'key-1' || row.team_id === 'team-1') && row.model === 'model-1',
    ],
    nothing: [{ visible: {} }, () => false],
  }

const servers = [
  { name: 'SQLite', url: undefined },
  ...(process.env.TEST_DATABASE_URL ? [{ name: 'Postgres', url: process.env.TEST_DATABASE_URL }] : []),
]
for (const { name, url } of servers)
  describe(name, () => {
    let place: LedgerPlace
    let database: LedgerDatabase
    const store = async (some: readonly LedgerRow[]) => {
      await database.insert(
        some.map(row => {
          const record = decodeRecord(encodeSettlement(row))
          if (record?.kind !== 'settlement') throw new Error('a row is no settlement')
          return record.values
        }),
      )
      await foldSums(database)
    }
    beforeAll(async () => {
      place = await makePlace(url)
      database = await openLedgerDatabase(place.databaseUrl)
      await store(rows)
    })
    afterAll(async () => {
      await database.close()
      await place.remove()
    })
    const count = (query: Partial<HistogramQuery>, bounds?: ReadBounds) =>
      countCalls(database, { fromMs: firstMs, toMs: nowMs, bars: 10, nowMs, ...query }, bounds)

    for (const [title, [query, means]] of Object.entries(filters))
      test(`every part of the span has the calls that the rows have: ${title}`, async () => {
        const found = await count(query)
        expect([found.unit, found.countedFromMs, found.bars.length]).toEqual(['part', firstMs, 10])
        expectBars(found, means)
        expect(rows.filter(row => isFollowed(row, query))).toEqual(rows.filter(means))
      })

    test('a page of long or dear calls looks at so many calls, and the next one goes on behind them', async () => {
      for (const name of ['long ones', 'dear ones of a key', 'cheap ones of a deployment'])
        for (const isOldestFirst of [false, true]) {
          const [query, means] = filters[name]!
          const found: string[] = []
          let [cursor, pages] = [undefined as string | undefined, 0]
          do {
            const asked = { ...query, limit: 4, isOldestFirst, ...(cursor !== undefined && { cursor }) }
            const page = await readLedger(database, ledgerStatement(asked, 30))
            expect(page.rows.length).toBeLessThanOrEqual(4)
            found.push(...page.rows.map(row => row.request_id))
            cursor = page.nextCursor ?? undefined
            pages++
          } while (cursor !== undefined)
          const expected = rows.filter(means).map(row => row.request_id)
          expect(found).toEqual(isOldestFirst ? expected : expected.reverse())
          expect(pages).toBeGreaterThan(expected.length / 4)
        }
    })

    test('a list by another field has the newest rows in that order, and what is not known last', async () => {
      const asked = { limit: 3, fromMs: firstMs, toMs: nowMs }
      const page = async (query: Partial<ShownQuery>) =>
        (await readLedger(database, ledgerStatement({ ...asked, ...query }, 100))).rows
      const newest = rows.slice(-100)
      const by = (of: (row: LedgerRow) => number | null, isUp: boolean) =>
        newest
          .filter(row => of(row) !== null)
          .toSorted((a, b) => (isUp ? of(a)! - of(b)! : of(b)! - of(a)!) || b.started_at_ms - a.started_at_ms)
          .slice(0, 3)
          .map(row => row.request_id)
      const orders = {
        cost: row => Number(row.cost_nano_usd),
        duration: row => row.duration_ms,
        end: row => row.started_at_ms + row.duration_ms,
        tokens: row => (row.input_tokens === null ? null : row.input_tokens + (row.output_tokens ?? 0)),
        first_byte: row => row.first_byte_ms,
        model: row => Number(row.model.slice(6)),
      } satisfies Record<CallOrder, (row: LedgerRow) => number | null>
      for (const [sortBy, of] of Object.entries(orders) as [CallOrder, (row: LedgerRow) => number | null][])
        for (const isOldestFirst of [false, true])
          expect((await page({ sortBy, isOldestFirst })).map(row => row.request_id)).toEqual(by(of, isOldestFirst))
      const sortedFrom = async (lookedAt: number) =>
        (await readLedger(database, ledgerStatement({ ...asked, sortBy: 'cost' }, lookedAt))).sortedFromMs
      expect(await sortedFrom(100)).toBe(newest[0]!.started_at_ms)
      expect(await sortedFrom(rows.length - 1)).toBe(rows[1]!.started_at_ms)
      expect(await sortedFrom(rows.length)).toBe(null)
      expect(await readLedger(database, ledgerStatement(asked, 100))).not.toHaveProperty('sortedFromMs')
      const last = await page({ sortBy: 'tokens', isOldestFirst: true, offset: 97 })
      expect(last.map(row => row.input_tokens)).toEqual([null, null, null])
    })

    test('the spending since a moment is that of its rows, or of the newest where there are too many', async () => {
      const ofRow = (row: LedgerRow) => BigInt(row.cost_nano_usd!)
      const sum = (some: readonly LedgerRow[]) => some.reduce((total, row) => total + ofRow(row), 0n)
      const fromMs = nowMs - dayMs
      const recent = rows.filter(row => row.started_at_ms >= fromMs)
      expect(await readRecentSpend(database, { fromMs })).toEqual({
        calls: recent.length,
        costNanoUsd: sum(recent),
        unpriced: 0,
        fromMs,
      })
      const own = recent.filter(row => row.key_id === 'key-1')
      const visible = { key_id: ['key-1'] }
      expect(await readRecentSpend(database, { fromMs, visible })).toMatchObject({ calls: own.length })
      const newest = rows.slice(-5)
      expect(await readRecentSpend(database, { fromMs }, 5)).toEqual({
        calls: 5,
        costNanoUsd: sum(newest),
        unpriced: 0,
        fromMs: newest[0]!.started_at_ms + 1,
      })
    })

    test('a span without a call has empty parts, and one of a moment has one part', async () => {
      const before = await count({ fromMs: firstMs - dayMs, toMs: firstMs })
      expect(before.bars.map(bar => bar.calls)).toEqual(Array(10).fill(0))
      expect((await count({ fromMs: firstMs, toMs: firstMs + 1 })).bars).toEqual([
        { fromMs: firstMs, toMs: firstMs + 1, calls: 1, failed: 0 },
      ])
    })

    test('of too many calls whole days come from their sums, and the ends of the span from rows', async () => {
      // 60 of 500 rows may be read: one day has 48 of them.
      const bounds = { entries: 60, rows: 60 }
      const span = { fromMs: firstMs + 0.3 * dayMs, toMs: nowMs, bars: 60 }
      for (const title of ['everything', 'a team that succeeded', 'what a member may see']) {
        const [query, means] = filters[title]!
        const found = await count({ ...query, ...span }, bounds)
        expect([found.unit, found.countedFromMs]).toEqual(['day', span.fromMs])
        expect(found.bars.map(bar => bar.fromMs)).toEqual([
          span.fromMs,
          ...Array.from({ length: 10 }, (_, at) => firstMs + (at + 1) * dayMs),
        ])
        expectBars(found, means)
      }
      const few = await count({ ...span, bars: 6 }, bounds)
      expect(few.bars).toHaveLength(5)
      expectBars(few, () => true)
    })

    test('a span that ended before today counts its last part of a day by rows', async () => {
      const found = await count({ toMs: firstMs + 7.5 * dayMs }, { entries: 60, rows: 60 })
      expect([found.unit, found.bars.at(-1)!.fromMs]).toEqual(['day', firstMs + 7 * dayMs])
      expectBars(found, () => true)
    })

    test('what is not counted is in no bar, and the answer says from when on it counts', async () => {
      const bounds = { entries: 60, rows: 60 }
      // Of sessions, and of kinds of failures, there are no sums.
      for (const query of [{ fromMs: nowMs - 1.9 * dayMs }, { outcome: 'error' }]) {
        const found = await count(query, bounds)
        expect(found.unit).toBe('part')
        expect(found.countedFromMs).toBeGreaterThan(query.fromMs ?? firstMs)
        expect(found.bars[0]!.fromMs).toBe(found.countedFromMs)
        expect(found.bars.at(-1)!.toMs).toBe(nowMs)
        expectBars(found, row => query.outcome === undefined || row.outcome === query.outcome)
      }
      expect(await count({}, { entries: 1, rows: 1 })).toMatchObject({ unit: 'day' })
      expect(await count({ outcome: 'error' }, { entries: 1, rows: 1 })).toEqual({
        bars: [],
        countedFromMs: nowMs,
        newestFromMs: nowMs,
        newestIds: [],
        unit: 'part',
      })
    })

    test('a count says which of the newest calls it has, by rows and by sums of days', async () => {
      for (const [title, [query, means]] of Object.entries(filters)) {
        const found = await count(query)
        const ids = rows.filter(row => means(row)).map(row => row.request_id)
        const isPart = query.outcome === 'success'
        if (isPart) expect(found.newestIds).toEqual(expect.arrayContaining(ids))
        else expect([title, found.newestIds.toSorted()]).toEqual([title, ids.toSorted()])
        expect(found.newestFromMs).toBe(firstMs)
      }
      const days = await count({}, { entries: 60, rows: 60 })
      expect([days.unit, days.newestIds.length, days.newestFromMs]).toEqual(['day', rows.length, firstMs])
    })

    test('of more calls than it names, those since a moment are named', async () => {
      const at = (ms: number) => ({ fromMs: ms, toMs: ms + dayMs, nowMs: ms + dayMs, bars: 4 })
      const many = Array.from({ length: 1200 }, (_, index) =>
        exampleRow({ started_at_ms: nowMs + dayMs + index * 60_000, model: 'many' }),
      )
      await store(many)
      const found = await count({ ...at(nowMs + dayMs), model: 'many' })
      const named = many.slice(-999).map(row => row.request_id)
      expect(found.newestIds.filter(id => named.includes(id))).toHaveLength(999)
      expect(found.newestFromMs).toBe(many[200]!.started_at_ms + 1)
    })
  })

/** Each bar has the rows that began in it. */
function expectBars({ bars }: CallHistogram, means: (row: LedgerRow) => boolean): void {
  expect(bars).toEqual(
    bars.map(({ fromMs, toMs }) => {
      const within = rows.filter(row => row.started_at_ms >= fromMs && row.started_at_ms < toMs && means(row))
      return { fromMs, toMs, calls: within.length, failed: within.filter(row => row.outcome !== 'success').length }
    }),
  )
}
