/** Reads the ledger: filters, newest first, pages by keyset so that new rows do not shift a page. */
import { GatewayError } from '../../../core/errors.ts'
import { columnList } from '../../../core/ledger/ledger-columns.ts'
import type { LedgerRow } from '../../../core/ledger/ledger-columns.ts'
import type {
  CallOrder,
  LedgerQuery,
  RecentSpend,
  RecentSpendQuery,
  ShownPage,
  ShownQuery,
} from '../../../core/ledger/ledger.ts'
import type { VisibleUsage } from '../../../core/ledger/usage-report.ts'
import { shownCall } from '../../../core/ledger/shown-call.ts'
import type { LedgerSource, LedgerStatement } from '../ledger-database.ts'
import { selectedNames } from '../ledger-table.ts'
import { ownerNames } from './owner-names.ts'
import { amongConditions, hitConditions, isOfFailures, storableParameter, testedConditions } from './conditions.ts'

const pageRowsMax = 1000

/** A page of the ledger; the cursor is null on the last one. */
export interface LedgerPage extends Pick<ShownPage, 'sortedFromMs'> {
  readonly rows: LedgerRow[]
  readonly nextCursor: string | null
}

interface PageStatement extends LedgerStatement {
  /** How many rows a page has. */
  readonly pageRows: number
  /**
   * Of conditions that no index knows: finds the last row of those that the statement looks at, if there are so many.
   * The next page begins behind it where this one is not full.
   */
  readonly lastLookedAt?: LedgerStatement
  /** The rows are not in the order of their moments, so that no cursor goes on behind them. */
  readonly isSorted: boolean
  /** Counts the rows of all pages: `found` of the `looked_at`; one more than the most = there are more. */
  readonly count?: LedgerStatement
}

/**
 * What rows are ordered by, and the columns that it takes. Of more than `lookedAtMax` rows the newest are: to order a
 * million takes 0.4 s on both databases, four times what a question may take, and an index a field would be written for
 * each call.
 */
const orders: Readonly<Record<CallOrder, { readonly columns: readonly string[]; readonly text: string }>> = {
  end: { columns: ['duration_ms'], text: 'started_at_ms + duration_ms' },
  cost: { columns: ['cost_nano_usd'], text: 'cost_nano_usd' },
  tokens: {
    columns: ['input_tokens', 'output_tokens'],
    text: 'coalesce(input_tokens + output_tokens, input_tokens, output_tokens)',
  },
  duration: { columns: ['duration_ms'], text: 'duration_ms' },
  model: { columns: ['model'], text: 'model' },
  first_byte: { columns: ['first_byte_ms'], text: 'first_byte_ms' },
}

/** Rows that one question looks at, where no index or sum answers it: a tenth of a second of SQLite. */
export const lookedAtMax = 40_000

type Bind = (value: string | number) => string

/** Those that an index knows, but for the cursor of the page. */
function foundConditions(query: ShownQuery, bind: Bind): string[] {
  const conditions: string[] = []
  const equal = (column: string, value: string | undefined) => {
    if (value !== undefined) conditions.push(`${column} = ${bind(storableParameter(value))}`)
  }
  if (query.visible !== undefined) conditions.push(visibleCondition(query.visible, bind))
  equal('key_id', query.keyId)
  equal('user_id', query.userId)
  equal('team_id', query.teamId)
  equal('end_user', query.endUser)
  equal('request_id', query.requestId)
  equal('session_id', query.sessionId)
  for (const one of amongConditions(query.among)) conditions.push(one.text(bind))
  const [model, outcome] = searchedColumns(query)
  equal(model, query.model)
  equal(outcome, query.outcome)
  // What the index of failures says.
  if (isOfFailures(query) || (outcome === 'outcome' && query.outcome !== 'success'))
    conditions.push("outcome <> 'success'")
  if (query.hits !== undefined) conditions.push(hitConditions[query.hits])
  if (query.fromMs !== undefined) conditions.push(`started_at_ms >= ${bind(Math.ceil(query.fromMs))}`)
  if (query.toMs !== undefined) conditions.push(`started_at_ms < ${bind(Math.ceil(query.toMs))}`)
  return conditions
}

/** Throws `invalid-request` on a cursor that this program did not make. */
export function ledgerStatement(query: ShownQuery, lookedAt = lookedAtMax): PageStatement {
  const values: (string | number)[] = []
  const bind = (value: string | number) => `$${values.push(value)}`
  const conditions = foundConditions(query, bind)
  const counted = query.isCounted ? { conditions: [...conditions], values: [...values], lookedAt } : undefined
  const count = counted && { count: countStatement(query, counted) }
  if (query.cursor !== undefined) {
    const { startedAtMs, requestId } = readCursor(query.cursor)
    const after = query.isOldestFirst ? '>' : '<'
    // The first condition is for the index, which an `or` alone would not use.
    conditions.push(`started_at_ms ${after}= ${bind(startedAtMs)}`)
    conditions.push(`(started_at_ms ${after} ${bind(startedAtMs)} or request_id ${after} ${bind(requestId)})`)
  }
  const pageRows = Math.max(1, Math.min(pageRowsMax, Math.trunc(query.limit) || 1))
  const where = conditions.length > 0 ? `where ${conditions.join(' and ')}` : ''
  const ordered = `order by ${timeOrder(query)}`
  // One row more than the page says whether there is another page.
  const limitOf = () => `limit ${bind(pageRows + 1)}${query.offset ? ` offset ${bind(query.offset)}` : ''}`
  const tested = testedConditions(query)
  const order = query.sortBy && orders[query.sortBy]
  if (tested.length === 0 && order === undefined) {
    const text = `select ${selectedNames} from ledger ${where} ${ordered} ${limitOf()}`
    return { text, values, pageRows, isSorted: false, ...count }
  }
  const columns = new Set(['started_at_ms', 'request_id', ...[...tested, order].flatMap(one => one?.columns ?? [])])
  // Where they are ordered by something else the newest rows are looked at, whichever end of the list comes first.
  const newest = order ? `order by ${timeOrder({})}` : ordered
  // The one behind it says whether there are more.
  const lastLookedAt: LedgerStatement = {
    text: `select started_at_ms, request_id from ledger ${where} ${newest} limit 2 offset $${values.length + 1}`,
    values: [...values, lookedAt - 1],
  }
  const looked = `select ${[...columns].join(', ')} from ledger ${where} ${newest} limit ${bind(lookedAt)}`
  const matching = tested.length > 0 ? `where ${tested.map(one => one.text(bind)).join(' and ')}` : ''
  const direction = query.isOldestFirst ? 'asc' : 'desc'
  const sorted = order ? `order by ${order.text} ${direction} nulls last, ${timeOrder({})}` : ordered
  const found = `select request_id from (${looked}) as looked ${matching} ${sorted} ${limitOf()}`
  const text = `select ${selectedNames} from ledger where request_id in (${found}) ${sorted}`
  return { text, values, pageRows, isSorted: order !== undefined, lastLookedAt, ...count }
}

/** Of a list by time. */
function timeOrder({ isOldestFirst }: Pick<LedgerQuery, 'isOldestFirst'>): string {
  const direction = isOldestFirst ? 'asc' : 'desc'
  return `started_at_ms ${direction}, request_id ${direction}`
}

/** Counts what the conditions find. Of those that are tested the newest rows are counted, as a page finds them. */
function countStatement(
  query: ShownQuery,
  selection: { conditions: readonly string[]; values: readonly (string | number)[]; lookedAt: number },
): LedgerStatement {
  const values = [...selection.values]
  const bind = (value: string | number) => `$${values.push(value)}`
  const conditions = testedConditions(query)
  const where = selection.conditions.length > 0 ? `where ${selection.conditions.join(' and ')}` : ''
  const columns = [...new Set(conditions.flatMap(one => one.columns))].join(', ') || '1'
  const isOldestFirst = query.isOldestFirst && !query.sortBy
  const ordered = conditions.length > 0 ? `order by started_at_ms ${isOldestFirst ? 'asc' : 'desc'}` : ''
  const looked = `select ${columns} from ledger ${where} ${ordered} limit ${bind(selection.lookedAt + 1)}`
  const tested = conditions.map(one => one.text(bind)).join(' and ')
  const found = tested === '' ? 'count(*)' : `coalesce(sum(case when ${tested} then 1 else 0 end), 0)`
  return { text: `select count(*) as looked_at, ${found} as found from (${looked}) as counted`, values }
}

/** The spending since a moment, of the newest calls. */
function recentSpendStatement({ visible, fromMs }: RecentSpendQuery, rowsMax = lookedAtMax): LedgerStatement {
  const values: (string | number)[] = []
  const bind = (value: string | number) => `$${values.push(value)}`
  const conditions = [
    `started_at_ms >= ${bind(Math.ceil(fromMs))}`,
    ...(visible ? [visibleCondition(visible, bind)] : []),
  ]
  const text = `select count(*) as calls, min(started_at_ms) as from_ms,
    cast(coalesce(sum(cost_nano_usd), 0) as text) as cost_nano_usd,
    coalesce(sum(case when cost_nano_usd is null and attempts > 0 then 1 else 0 end), 0) as unpriced
    from (select started_at_ms, cost_nano_usd, attempts from ledger where ${conditions.join(' and ')}
      order by started_at_ms desc limit ${bind(rowsMax)}) as recent`
  return { text, values }
}

/** Throws what the database throws. */
export async function readRecentSpend(
  database: LedgerSource,
  query: RecentSpendQuery,
  rowsMax = lookedAtMax,
): Promise<RecentSpend> {
  const [found] = await database.select(recentSpendStatement(query, rowsMax))
  const calls = Number(found?.calls ?? 0)
  return {
    calls,
    costNanoUsd: BigInt(String(found?.cost_nano_usd ?? 0)),
    unpriced: Number(found?.unpriced ?? 0),
    // More calls of the first millisecond may have been left out.
    fromMs: calls < rowsMax ? query.fromMs : Number(found!.from_ms) + 1,
  }
}

/**
 * How model and outcome are written. SQLite takes any index that fits: where another condition leaves fewer rows, an
 * expression keeps it from that of the model, and one of few failures from both.
 */
function searchedColumns(query: LedgerQuery): readonly [model: string, outcome: string] {
  const { visible, keyId, userId, teamId, endUser, requestId, sessionId, hits, among } = query
  const narrowing = [visible, keyId, userId, teamId, endUser, requestId, sessionId, hits, among]
  const isNarrow = narrowing.some(one => one !== undefined)
  const isFailure = query.outcome !== undefined && query.outcome !== 'success'
  return [isNarrow || isFailure ? "model || ''" : 'model', isNarrow || !isFailure ? "outcome || ''" : 'outcome']
}

/** Throws what the database throws. */
export async function readLedger(database: LedgerSource, statement: PageStatement): Promise<LedgerPage> {
  const found = await database.select(statement)
  const rows = found.slice(0, statement.pageRows).map(readRow)
  const last = rows.at(-1)
  if (statement.isSorted) return { rows, nextCursor: null, sortedFromMs: await sortedFromMs(database, statement) }
  if (found.length > rows.length && last !== undefined) return { rows, nextCursor: writeCursor(last) }
  if (statement.lastLookedAt === undefined) return { rows, nextCursor: null }
  const [looked] = await database.select(statement.lastLookedAt)
  return { rows, nextCursor: looked === undefined ? null : writeCursor(readPosition(looked)) }
}

/** When the oldest of the calls began that were ordered; null = there are no others. */
async function sortedFromMs(database: LedgerSource, { lastLookedAt }: PageStatement): Promise<number | null> {
  const [last, next] = lastLookedAt ? await database.select(lastLookedAt) : []
  return last && next ? Number(last.started_at_ms) : null
}

type CursorPosition = Pick<LedgerRow, 'started_at_ms' | 'request_id'>

const readPosition = (found: Record<string, unknown>): CursorPosition => ({
  started_at_ms: Number(found.started_at_ms),
  request_id: String(found.request_id),
})

/**
 * As `readLedger`, written for the API. Keys are named by their hashes, those that are deleted by their ids. Throws
 * what the database throws.
 */
export async function readShownLedger(
  source: LedgerSource,
  statement: PageStatement,
  lookedAt = lookedAtMax,
): Promise<ShownPage> {
  const { rows, ...read } = await readLedger(source, statement)
  const namesOf = await ownerNames(source, rows)
  const shown = rows.map(row => shownCall(row, namesOf(row)))
  const page = { rows: new TextEncoder().encode(shown.join(',')), ...read }
  if (statement.count === undefined) return page
  const [counted] = await source.select(statement.count)
  const isCapped = Number(counted?.looked_at ?? 0) > lookedAt
  return { ...page, total: { rows: Math.min(Number(counted?.found ?? 0), lookedAt), isCapped } }
}

/** Numbers arrive as number or text, booleans as 0 and 1: here they become what `LedgerRow` says. */
export function readRow(found: Record<string, unknown>): LedgerRow {
  const row: Record<string, unknown> = {}
  for (const { name, kind } of columnList) {
    const value = found[name]
    if (value === null || value === undefined) row[name] = null
    else if (kind === 'text' || kind === 'decimal' || kind === 'json') row[name] = String(value)
    else if (kind === 'list') row[name] = listOf(String(value))
    else row[name] = kind === 'boolean' ? Number(value) === 1 : Number(value)
  }
  return row as unknown as LedgerRow
}

/** null = it was changed by hand, and is no list: the rest of the row is worth showing all the same. */
function listOf(stored: string): readonly string[] | null {
  try {
    const list: unknown = JSON.parse(stored)
    return Array.isArray(list) ? list.map(String) : null
  } catch {
    return null
  }
}

function writeCursor(row: CursorPosition): string {
  return Buffer.from(JSON.stringify([row.started_at_ms, row.request_id])).toString('base64url')
}

function readCursor(cursor: string): { startedAtMs: number; requestId: string } {
  try {
    const parts: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString('utf8'))
    if (Array.isArray(parts) && parts.length === 2) {
      const [startedAtMs, requestId] = parts as unknown[]
      if (Number.isSafeInteger(startedAtMs) && typeof requestId === 'string')
        return { startedAtMs: startedAtMs as number, requestId: storableParameter(requestId) }
    }
  } catch {
    // Falls through to the error for every foreign cursor.
  }
  throw new GatewayError('invalid-request', 'cursor: is not one that this gateway gave out; begin without a cursor', {
    param: 'cursor',
  })
}

/** A condition on rows of the ledger. `bind` adds a value to the statement's, and returns its placeholder. */
export function visibleCondition(visible: VisibleUsage, bind: (value: string) => string): string {
  const alternatives = visibleAlternatives(visible, bind)
  return alternatives.length === 0 ? '1 = 0' : `(${alternatives.join(' or ')})`
}

/** Conditions of which one has to hold, on rows of the ledger or on its sums. `bind` as in `visibleCondition`. */
export function visibleAlternatives(
  visible: VisibleUsage,
  bind: (value: string) => string,
  columnOf: (field: string) => string = field => field,
): string[] {
  return Object.entries(visible)
    .filter(([, values]) => values.length > 0)
    .map(
      ([field, values]) => `${columnOf(field)} in (${values.map(value => bind(storableParameter(value))).join(', ')})`,
    )
}
