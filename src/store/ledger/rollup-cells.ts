/** Sums a batch of the ledger's rows in memory, so that the table of sums is changed once for each sum of a batch. */
import { columnList } from '../../core/ledger-columns.ts'
import type { LedgerRow } from '../../core/ledger-columns.ts'
import type { UsageScope } from '../../core/usage-report.ts'
import type { ColumnValue } from './ledger-record.ts'
import { callColumns, countMax, dayMs, nanoUsdMax, ownerColumns, rollupKey, sumNames } from './rollup-table.ts'
import type { RollupSum } from './rollup-table.ts'

/** A value as it is bound to a column of `ledger_daily`, in the order of `rollupColumns`. */
export type RollupValue = string | number | bigint

const place = (name: keyof LedgerRow): number => columnList.findIndex(column => column.name === name)
const startedAt = place('started_at_ms')
const outcome = place('outcome')
const attempts = place('attempts')
const cost = place('cost_nano_usd')
const customer = place('end_user')
const client = place('client_name')
const tags = place('request_tags')
const owners = ownerColumns.map(place)
const called = callColumns.map(place)
const keyId = place('key_id')

/** As `rollupSums` says it in SQL. */
const amounts: Readonly<Record<Exclude<RollupSum, 'cost_nano_usd'>, (row: readonly ColumnValue[]) => number>> = {
  requests: () => 1,
  successful_requests: row => (row[outcome] === 'success' ? 1 : 0),
  unpriced_requests: row => (row[cost] === null && Number(row[attempts]) > 0 ? 1 : 0),
  input_tokens: counted('input_tokens'),
  output_tokens: counted('output_tokens'),
  cached_input_tokens: counted('cached_input_tokens'),
  cache_write_tokens: counted('cache_write_tokens'),
  reasoning_tokens: counted('reasoning_tokens'),
}
const amountList = Object.values(amounts)
const costAt = sumNames.indexOf('cost_nano_usd')
const noAmounts: readonly RollupValue[] = sumNames.map((_, at) => (at === costAt ? 0n : 0))

function counted(name: keyof LedgerRow): (row: readonly ColumnValue[]) => number {
  const at = place(name)
  return row => Math.min(Number(row[at] ?? 0), countMax)
}

/** One sum of the table. */
interface Cell {
  readonly key: string
  readonly values: RollupValue[]
}

/** Rows of a batch that are alike in day, owners and call: their sums are looked up by short names. */
interface Group {
  readonly day: number
  readonly owner: readonly string[]
  readonly call: readonly string[]
  /** By scope and entity. */
  readonly cells: Map<string, Cell>
}

/** What one row adds to each of its sums. */
interface RowAmounts {
  /** In the order of `amountList`. */
  readonly counts: readonly number[]
  readonly nanoUsd: bigint
}

const separator = '\u0000'
const noOwner: readonly string[] = ownerColumns.map(() => '')
/** Sums that are not of an owner: one for all keys and teams. */
const unowned: ReadonlySet<UsageScope> = new Set<UsageScope>(['total', 'client'])

/**
 * What the rows add to the table, sorted by key: replicas that change the same sums take their locks in one order.
 * Rows have the values of `firstColumns` or of `columnList`.
 */
export function rollupCells(rows: readonly (readonly ColumnValue[])[]): readonly (readonly RollupValue[])[] {
  const cells = new Map<string, Cell>()
  const groups = new Map<string, Group>()
  let before: RowGroup | undefined
  for (const row of rows) {
    if (before === undefined || !isAlike(before, row)) before = { row, group: groupOf(groups, row) }
    const { group } = before
    const amounts = { counts: amountList.map(amount => amount(row)), nanoUsd: nanoUsdOf(row) }
    const count = (scope: UsageScope, entity: string) => add(cellOf(cells, group, scope, entity), amounts)
    count('total', '')
    count('key', String(row[keyId]))
    if (row[customer] != null) count('customer', String(row[customer]))
    if (row[client] != null) count('client', String(row[client]))
    if (row[tags] != null) for (const tag of JSON.parse(String(row[tags])) as string[]) count('tag', tag)
  }
  return [...cells.values()].sort((a, b) => (a.key < b.key ? -1 : 1)).map(cell => cell.values)
}

/** A row, and its group: most rows are like the one before, for which no name of a group has to be made. */
interface RowGroup {
  readonly row: readonly ColumnValue[]
  readonly group: Group
}

function isAlike({ row, group }: RowGroup, next: readonly ColumnValue[]): boolean {
  for (const at of owners) if ((row[at] ?? '') !== (next[at] ?? '')) return false
  for (const at of called) if ((row[at] ?? '') !== (next[at] ?? '')) return false
  return group.day === dayOf(next)
}

const dayOf = (row: readonly ColumnValue[]): number => Math.floor(Number(row[startedAt]) / dayMs)

function groupOf(groups: Map<string, Group>, row: readonly ColumnValue[]): Group {
  const day = dayOf(row)
  let name = String(day)
  for (const at of owners) name += separator + (row[at] ?? '')
  for (const at of called) name += separator + (row[at] ?? '')
  let group = groups.get(name)
  if (group === undefined) {
    const textsOf = (places: readonly number[]) => places.map(at => row[at] ?? '') as string[]
    groups.set(name, (group = { day, owner: textsOf(owners), call: textsOf(called), cells: new Map() }))
  }
  return group
}

function cellOf(cells: Map<string, Cell>, group: Group, scope: UsageScope, entity: string): Cell {
  const name = scope + separator + entity
  const known = group.cells.get(name)
  if (known) return known
  const { day, call } = group
  const owner = unowned.has(scope) ? noOwner : group.owner
  const ownerText = unowned.has(scope) ? '' : owner.join(separator)
  const key = [scope, day, entity, ownerText, ...call].join(separator)
  const made = cells.get(key) ?? { key, values: [scope, day, entity, ...owner, ...call, ...noAmounts] }
  cells.set(key, made)
  group.cells.set(name, made)
  return made
}

/** A batch is too small for its counts to leave the exact integers of a number. */
function add({ values }: Cell, { counts, nanoUsd }: RowAmounts): void {
  for (let at = 0; at < counts.length; at++)
    values[rollupKey.length + at] = (values[rollupKey.length + at] as number) + counts[at]!
  values[rollupKey.length + costAt] = (values[rollupKey.length + costAt] as bigint) + nanoUsd
}

function nanoUsdOf(row: readonly ColumnValue[]): bigint {
  if (row[cost] == null) return 0n
  const nanoUsd = BigInt(row[cost]!)
  return nanoUsd > nanoUsdMax ? nanoUsdMax : nanoUsd
}
