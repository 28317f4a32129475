/**
 * Counts calls over time: rows by the index of what is requested, newest first, as many as are read quickly; where
 * there are more, the sums of days. Nothing is estimated: what is not counted is not in the answer.
 */
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { CallHistogram, HistogramBar } from '../../../core/ledger/call-histogram.ts'
import type { HistogramQuery } from '../../../core/ledger/ledger.ts'
import type { UsageGroup, UsageQuery } from '../../../core/ledger/usage-report.ts'
import { readUsage, usageStatement } from '../sums/usage-query.ts'
import type { LedgerSource, LedgerStatement } from '../ledger-database.ts'
import { lookedAtMax, visibleCondition } from './ledger-query.ts'
import { amongConditions, hitConditions, isOfFailures, storableParameter, testedConditions } from './conditions.ts'
import type { TestedCondition } from './conditions.ts'
import { dayMs } from '../../../lib/clock.ts'

/** What may be read for one histogram: entries of an index alone, and those whose rows are looked at too. */
export interface ReadBounds {
  readonly entries: number
  readonly rows: number
}
/** A tenth of a second of SQLite each, with a million rows: an entry takes 0.06 us, a row one. */
const readBounds: ReadBounds = { entries: 1_500_000, rows: lookedAtMax }
/** Entries of each index that are counted to find the one with the fewest. */
const comparedEntries = 10_000
/** Of a shorter span days say too little. */
const daysFromMs = 2 * dayMs

/** A condition that has an index, with the moment behind it. */
interface Condition {
  readonly text: (bind: Bind) => string
  /** What has to be selected to test it elsewhere. */
  readonly columns: readonly string[]
}
type Bind = (value: string | number) => string

/** What all calls have: they are found by their moment. */
const anyCall: Condition = { columns: [], text: () => '1 = 1' }

/** Calls that have all of the conditions. The first is found in its index, the others are looked at in its rows. */
type Part = readonly Condition[]

interface HistogramRead {
  readonly database: LedgerSource
  readonly parts: Parts
  readonly bounds: ReadBounds
}

/** Throws what the database throws. */
export async function countCalls(
  database: LedgerSource,
  query: HistogramQuery,
  bounds = readBounds,
): Promise<CallHistogram> {
  const parts = await chosenParts(database, query)
  const newest = new NewestCounted()
  const read = { database, parts, bounds }
  const equal = await countBars(read, equalBars(query), newest)
  const byParts = { ...equal, ...newest.counted(equal.countedFromMs), unit: 'part' } as const
  if (equal.countedFromMs <= query.fromMs || query.toMs - query.fromMs < daysFromMs) return byParts
  const byDay = usageQuery(query)
  if (!byDay) return byParts
  const ofDays = new NewestCounted()
  const groups = await readDays(read, usageStatement(byDay), query, ofDays)
  // Calls of a part of a day are counted by another statement than its newest ones.
  const counted = await countDays(query, groups, edges => countBars(read, edges, undefined))
  return { ...counted, ...ofDays.counted(counted.countedFromMs) }
}

/** The sums, and in the same state of the database the newest calls that are in them. */
async function readDays(
  { database, parts: { calls } }: Pick<HistogramRead, 'database' | 'parts'>,
  sums: LedgerStatement,
  { fromMs, toMs, nowMs }: HistogramQuery,
  newest: NewestCounted,
): Promise<UsageGroup[]> {
  const values = [...sums.values]
  const bind: Bind = value => `$${values.push(value)}`
  // The sums of today have calls that began after the question, too.
  const span = { fromMs, toMs: toMs >= nowMs ? Number.MAX_SAFE_INTEGER : toMs }
  const ids = newestText(database.kind, calls, { ...span, limit: newest.left }, bind)
  // A day without a call has no row of sums.
  const text = `select sums.*, newest.* from ${ids} as newest left join (${sums.text}) as sums on 1 = 1`
  const rows = await database.select({ text, values })
  newest.add(rows[0])
  return readUsage(rows.filter(row => row.day !== null))
}

type Span = Pick<HistogramBar, 'fromMs' | 'toMs'>
type CountedBars = Pick<CallHistogram, 'bars' | 'countedFromMs'>

function equalBars({ fromMs, toMs, bars }: HistogramQuery): Span[] {
  const count = Math.max(1, Math.min(bars, toMs - fromMs))
  const edge = (at: number) => fromMs + Math.round(((toMs - fromMs) * at) / count)
  return Array.from({ length: count }, (_, at) => ({ fromMs: edge(at), toMs: edge(at + 1) }))
}

interface Parts {
  readonly calls: Part
  /** Those of `calls` that failed. */
  readonly failed: Part
  readonly outcome: string | undefined
}

/** Newest first, until the bounds are reached: a bar that was not read to its end is left out, and all before it. */
async function countBars(
  { database, parts, bounds }: HistogramRead,
  spans: readonly Span[],
  newest: NewestCounted | undefined,
): Promise<CountedBars> {
  const bars: HistogramBar[] = []
  // One column is in its index with the moment.
  const isIndexed = (part: Part) => part.length < 2 && (part[0]?.columns.length ?? 1) < 2
  const boundOf = (part: Part) => (isIndexed(part) ? bounds.entries : bounds.rows)
  const left = { calls: boundOf(parts.calls), failed: boundOf(parts.failed) }
  for (const span of spans.toReversed()) {
    const [found] = await database.select(
      barStatement(database.kind, parts, span, { ...left, newest: newest?.left ?? 0 }),
    )
    const number = (name: string) => Number(found?.[name] ?? 0)
    left.calls -= number('read_calls')
    left.failed -= number('read_failed')
    if (left.calls <= 0 || left.failed <= 0) break
    newest?.add(found)
    bars.push({ ...span, ...outcomeCounts(parts.outcome, number('calls'), number('failed')) })
    // Other questions are answered in between.
    await nextTurn()
  }
  return { bars: bars.reverse(), countedFromMs: bars[0]?.fromMs ?? spans.at(-1)!.toMs }
}

/** Of calls and failed ones those with the outcome: what succeeded is what did not fail. */
function outcomeCounts(outcome: string | undefined, calls: number, failed: number): { calls: number; failed: number } {
  if (outcome === undefined) return { calls, failed }
  return outcome === 'success' ? { calls: calls - failed, failed: 0 } : { calls: failed, failed }
}

/** What one statement may read. */
interface NewestCalls {
  readonly calls: number
  readonly failed: number
  /** Of the newest calls, whose ids are in the answer. */
  readonly newest: number
}

/** Counts and newest calls in one statement, which sees one state of the table. Exported for the test of its plan. */
export function barStatement(
  kind: LedgerSource['kind'],
  { calls, failed }: Parts,
  { fromMs, toMs }: Span,
  left: NewestCalls,
): LedgerStatement {
  const values: (string | number)[] = []
  const bind: Bind = value => `$${values.push(value)}`
  const counted = (name: string, part: Part, limit: number) => {
    const [first, ...others] = part
    const columns = [...new Set(others.flatMap(one => one.columns))]
    const span = `started_at_ms >= ${bind(fromMs)} and started_at_ms < ${bind(toMs)}`
    const read = `select ${columns.join(', ') || '1'} from ledger
      where ${first ? `${first.text(bind)} and ` : ''}${span} limit ${bind(limit)}`
    const tested = others.map(one => one.text(bind)).join(' and ')
    const matching = tested === '' ? 'count(*)' : `coalesce(sum(case when ${tested} then 1 else 0 end), 0)`
    return `(select count(*) as read_${name}, ${matching} as ${name} from (${read}) as rows_${name}) as of_${name}`
  }
  const counts = [counted('calls', calls, left.calls), counted('failed', failed, left.failed)]
  const ids =
    left.newest > 0 ? [`${newestText(kind, calls, { fromMs, toMs, limit: left.newest }, bind)} as newest`] : []
  return { text: `select * from ${[...counts, ...ids].join(', ')}`, values }
}

/** The conditions of the query, those with the fewest entries first. Exported for the test of their plans. */
export async function chosenParts(database: LedgerSource, query: HistogramQuery): Promise<Parts> {
  const conditions = conditionsOf(query)
  const outcome = outcomeOf(query)
  const failure = failureCondition(outcome)
  const all = [...conditions, failure]
  const sizes = new Map<Condition, number>()
  if (conditions.length > 0)
    for (const one of all) {
      const [found] = await database.select(
        barStatement(database.kind, { calls: [one], failed: [one], outcome: undefined }, query, {
          calls: comparedEntries,
          failed: 0,
          newest: 0,
        }),
      )
      sizes.set(one, Number(found?.calls ?? 0))
    }
  const tested = testedConditions(query)
  const ordered = (part: Part) => {
    const found = part.toSorted((a, b) => (sizes.get(a) ?? 0) - (sizes.get(b) ?? 0))
    return tested.length > 0 && found.length === 0 ? [anyCall, ...tested] : [...found, ...tested]
  }
  const failed = ordered(all)
  return { calls: isFailure(outcome) ? failed : ordered(conditions), failed, outcome }
}

/** `failure` = any but `success`. */
const outcomeOf = (query: HistogramQuery): string | undefined =>
  query.outcome ?? (isOfFailures(query) ? anyFailure : undefined)

const anyFailure = 'failure'

const isFailure = (outcome: string | undefined) => outcome !== undefined && outcome !== 'success'

/** What did not succeed, as the index of failures says it (`database/baseline/ledger.ts`). */
function failureCondition(outcome: string | undefined): Condition {
  const failures = ['error', 'client_closed', 'upstream_cut', 'interrupted']
  const wanted = outcome !== undefined && failures.includes(outcome) ? [outcome] : failures
  return {
    columns: ['outcome'],
    text: bind => `outcome in (${wanted.map(bind).join(', ')}) and outcome <> 'success'`,
  }
}

function conditionsOf(query: HistogramQuery): Condition[] {
  const { visible, hits } = query
  const equal = (column: string, value: string | undefined): Condition[] =>
    value === undefined ? [] : [{ columns: [column], text: bind => `${column} = ${bind(storableParameter(value))}` }]
  return [
    ...equal('request_id', query.requestId),
    ...equal('session_id', query.sessionId),
    ...equal('key_id', query.keyId),
    ...equal('end_user', query.endUser),
    ...equal('user_id', query.userId),
    ...equal('team_id', query.teamId),
    ...(visible ? [{ columns: Object.keys(visible), text: (bind: Bind) => visibleCondition(visible, bind) }] : []),
    ...(hits ? [{ columns: ['guardrails', 'cache_hit_kind'], text: () => hitConditions[hits] }] : []),
    ...amongConditions(query.among),
    ...equal('model', query.model),
  ]
}

/** The same from the sums of days, which know neither sessions nor kinds of failures; undefined = they do not say. */
function usageQuery(query: HistogramQuery): UsageQuery | undefined {
  const { visible, requestId, sessionId, hits, endUser, keyId, userId, teamId, model, among } = query
  if (testedConditions(query).length > 0) return undefined
  if (requestId !== undefined || sessionId !== undefined || hits !== undefined || isFailure(outcomeOf(query)))
    return undefined
  const isOwned = [visible, keyId, userId, teamId, among].some(one => one !== undefined)
  const where = {
    ...(endUser !== undefined && { entity: [endUser] }),
    ...(keyId !== undefined && { key_id: [keyId] }),
    ...(userId !== undefined && { user_id: [userId] }),
    ...(teamId !== undefined && { team_id: [teamId] }),
    ...(model !== undefined && { model: [model] }),
    ...among,
  }
  const [firstDay, lastDay] = [Math.floor(query.fromMs / dayMs), Math.floor((query.toMs - 1) / dayMs)]
  return {
    scope: endUser !== undefined ? 'customer' : isOwned ? 'key' : 'total',
    firstDay,
    lastDay,
    where,
    visible,
    groups: ['day'],
    order: 'day',
    limit: lastDay - firstDay + 1,
  }
}

/** Whole days by their sums, and the parts of a day at both ends of the span by its rows. */
async function countDays(
  { fromMs, toMs, bars, nowMs, outcome }: HistogramQuery,
  groups: readonly UsageGroup[],
  countRows: (spans: readonly Span[]) => Promise<CountedBars>,
): Promise<CountedBars & Pick<CallHistogram, 'unit'>> {
  const sums = new Map(groups.map(group => [group.day, group]))
  const firstDay = Math.ceil(fromMs / dayMs)
  // A span that reaches the present counts the whole of today: no call is later than now.
  const endDay = toMs >= nowMs ? Math.ceil(toMs / dayMs) : Math.floor(toMs / dayMs)
  const end = endDay * dayMs < toMs ? await countRows([{ fromMs: endDay * dayMs, toMs }]) : undefined
  if (end && end.bars.length === 0) return { bars: [], countedFromMs: toMs, unit: 'day' }
  const days = Math.max(1, Math.ceil((endDay - firstDay) / Math.max(1, bars - 2)))
  const whole: HistogramBar[] = []
  for (let day = firstDay; day < endDay; day += days) {
    const of = Array.from({ length: Math.min(days, endDay - day) }, (_, at) => sums.get(day + at))
    const calls = of.reduce((sum, one) => sum + (one?.requests ?? 0), 0)
    const failed = of.reduce((sum, one) => sum + (one ? one.requests - one.successfulRequests : 0), 0)
    whole.push({
      fromMs: day * dayMs,
      toMs: Math.min(toMs, (day + of.length) * dayMs),
      ...outcomeCounts(outcome, calls, failed),
    })
  }
  const start = firstDay * dayMs > fromMs ? await countRows([{ fromMs, toMs: firstDay * dayMs }]) : undefined
  const counted = [...(start?.bars ?? []), ...whole, ...(end?.bars ?? [])]
  return { bars: counted, countedFromMs: counted[0]?.fromMs ?? toMs, unit: 'day' }
}

/** Pages that follow the ledger are sent no more than that in some seconds. */
const newestMax = 1000

interface NewestOfSpan extends Pick<HistogramBar, 'fromMs' | 'toMs'> {
  readonly limit: number
}

/**
 * A table of one row: the ids among the newest `limit` calls of a span that have all conditions, and the first moment
 * of those that were looked at.
 */
function newestText(
  kind: LedgerSource['kind'],
  [first, ...others]: readonly TestedCondition[],
  { fromMs, toMs, limit }: NewestOfSpan,
  bind: (value: string | number) => string,
): string {
  const columns = [...new Set(['request_id', 'started_at_ms', ...others.flatMap(one => one.columns)])]
  const span = `started_at_ms >= ${bind(fromMs)} and started_at_ms < ${bind(toMs)}`
  const rows = `select ${columns.join(', ')} from ledger where ${first ? `${first.text(bind)} and ` : ''}${span}
    order by started_at_ms desc limit ${bind(limit)}`
  const tested = others.map(one => one.text(bind)).join(' and ')
  const id = tested === '' ? 'request_id' : `case when ${tested} then request_id end`
  const list = kind === 'sqlite' ? `json_group_array(${id})` : `cast(json_agg(${id}) as text)`
  return `(select count(*) as newest_read, min(started_at_ms) as newest_from_ms, ${list} as newest_ids
    from (${rows}) as newest_rows)`
}

/** Collects what statements with `newestText` found, newest span first. */
class NewestCounted {
  readonly #ids: string[] = []
  #fromMs: number | undefined
  #left = newestMax

  /** How many further calls may be looked at; 0 = no more. */
  get left(): number {
    return this.#left
  }

  add(found: Record<string, unknown> | undefined): void {
    if (!found || this.#left <= 0) return
    this.#left -= Number(found.newest_read)
    const ids = JSON.parse(String(found.newest_ids ?? '[]')) as (string | null)[]
    for (const id of ids) if (id !== null) this.#ids.push(id)
    // Further calls of the first millisecond may have been left out.
    if (this.#left <= 0) this.#fromMs = Number(found.newest_from_ms) + 1
  }

  /** `countedFromMs` = from there on everything was looked at, if there were not too many. */
  counted(countedFromMs: number): Pick<CallHistogram, 'newestIds' | 'newestFromMs'> {
    return { newestIds: this.#ids, newestFromMs: this.#fromMs ?? countedFromMs }
  }
}
