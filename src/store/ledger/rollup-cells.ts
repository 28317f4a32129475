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

function counted(name: keyof LedgerRow): (row: readonly ColumnValue[]) => number {
  const at = place(name)
  return row => Math.min(Number(row[at] ?? 0), countMax)
}

interface Cell {
  readonly key: string
  readonly values: RollupValue[]
}

const separator = '\u0000'

/**
 * What the rows add to the table, sorted by key: replicas that change the same sums take their locks in one order.
 * Rows have the values of `firstColumns` or of `columnList`.
 */
export function rollupCells(rows: readonly (readonly ColumnValue[])[]): readonly (readonly RollupValue[])[] {
  const cells = new Map<string, Cell>()
  for (const row of rows) {
    const day = Math.floor(Number(row[startedAt]) / dayMs)
    const call = called.map(at => row[at] ?? '') as string[]
    const owner = owners.map(at => row[at] ?? '') as string[]
    const shared = { row, day, call, callText: call.join(separator) }
    const keyed = { ...shared, owner, ownerText: owner.join(separator) }
    const unkeyed = { ...shared, owner: noOwner, ownerText: '' }
    add(cells, 'total', '', unkeyed)
    add(cells, 'key', String(row[keyId]), keyed)
    if (row[customer] != null) add(cells, 'customer', String(row[customer]), keyed)
    if (row[client] != null) add(cells, 'client', String(row[client]), unkeyed)
    if (row[tags] != null) for (const tag of JSON.parse(String(row[tags])) as string[]) add(cells, 'tag', tag, keyed)
  }
  return [...cells.values()].sort((a, b) => (a.key < b.key ? -1 : 1)).map(cell => cell.values)
}

const noOwner: readonly string[] = ownerColumns.map(() => '')

interface RowParts {
  readonly row: readonly ColumnValue[]
  readonly day: number
  readonly call: readonly string[]
  readonly callText: string
  readonly owner: readonly string[]
  readonly ownerText: string
}

function add(cells: Map<string, Cell>, scope: UsageScope, entity: string, parts: RowParts): void {
  const { row, day, call, callText, owner, ownerText } = parts
  const key = `${scope}${separator}${day}${separator}${entity}${separator}${ownerText}${separator}${callText}`
  let values = cells.get(key)?.values
  if (values === undefined) {
    values = [scope, day, entity, ...owner, ...call, ...sumNames.map((_, at) => (at === costAt ? 0n : 0))]
    cells.set(key, { key, values })
  }
  // A batch is too small for its counts to leave the exact integers of a number.
  for (let at = 0; at < amountList.length; at++)
    values[rollupKey.length + at] = (values[rollupKey.length + at] as number) + amountList[at]!(row)
  if (row[cost] == null) return
  const nanoUsd = BigInt(row[cost]!)
  const counted = nanoUsd > nanoUsdMax ? nanoUsdMax : nanoUsd
  values[rollupKey.length + costAt] = (values[rollupKey.length + costAt] as bigint) + counted
}
