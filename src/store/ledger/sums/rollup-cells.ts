/** Sums a batch of the ledger's rows in memory, so that the table of sums is changed once for each sum of a batch. */
import { columnIndex } from '../../../core/ledger/ledger-columns.ts'
import type { LedgerRow } from '../../../core/ledger/ledger-columns.ts'
import type { UsageScope } from '../../../core/ledger/usage-report.ts'
import type { ColumnValue } from '../journal/ledger-record.ts'
import { callColumns, countMax, nanoUsdMax, ownerColumns, rollupKey, sumNames } from './rollup-table.ts'
import type { RollupSum } from './rollup-table.ts'
import { dayMs } from '../../../lib/clock.ts'

/** A value as it is bound to a column of `ledger_daily`, in the order of `rollupColumns`. */
export type RollupValue = string | number | bigint

const startedAt = columnIndex('started_at_ms')
const outcome = columnIndex('outcome')
const attempts = columnIndex('attempts')
const cost = columnIndex('cost_nano_usd')
const customer = columnIndex('end_user')
const client = columnIndex('client_name')
const tags = columnIndex('request_tags')
const owners = ownerColumns.map(columnIndex)
const called = callColumns.map(columnIndex)
const keyId = columnIndex('key_id')

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
  const at = columnIndex(name)
  return row => Math.min(Number(row[at] ?? 0), countMax)
}

/** One sum of the table. */
interface Cell {
  readonly key: string
  readonly values: RollupValue[]
}

/** Rows of a batch that count in the same sums: what they add is summed up before it is added to each of these. */
interface Group {
  readonly first: readonly ColumnValue[]
  readonly day: number
  readonly cells: readonly Cell[]
  /** In the order of `amountList`. */
  readonly counts: number[]
  /** Nano-dollars: what a number holds exactly, and the rest. */
  small: number
  large: bigint
}

const separator = '\u0000'
const noOwner: readonly string[] = ownerColumns.map(() => '')
/** Sums that are not of an owner: one for all keys and teams. */
const unowned: ReadonlySet<UsageScope> = new Set<UsageScope>(['total', 'client'])
/** Rows of a day that are alike in these count in the same sums. */
const distinguishing: readonly number[] = [...owners, ...called, customer, client, tags]
/** Amounts within this are added as numbers: the sum of two is exact. */
const smallMax = Number(nanoUsdMax)

/**
 * What the rows add to the table, sorted by key: replicas that change the same sums take their locks in one order.
 * Rows have the values of `columnList`.
 */
export function rollupCells(rows: readonly (readonly ColumnValue[])[]): readonly (readonly RollupValue[])[] {
  const cells = new Map<string, Cell>()
  const groups = new Map<string, Group>()
  let group: Group | undefined
  for (const row of rows) {
    // Most rows are like the one before: no name of a group has to be made.
    if (group === undefined || !isAlike(group, row)) {
      const name = groupName(row)
      group = groups.get(name) ?? groupOf(row, cells)
      groups.set(name, group)
    }
    addToGroup(group, row)
  }
  for (const one of groups.values()) addToCells(one)
  return [...cells.values()].sort((a, b) => (a.key < b.key ? -1 : 1)).map(cell => cell.values)
}

function isAlike({ first, day }: Group, row: readonly ColumnValue[]): boolean {
  for (const at of distinguishing) if (first[at] !== row[at]) return false
  return day === dayOf(row)
}

/** `Number()` here kept the compiler's work on this and on `isAlike` from holding: seven times in eight seconds. */
const dayOf = (row: readonly ColumnValue[]): number => Math.floor((row[startedAt] as number) / dayMs)

/** No value has a separator in it; null is not an empty text. */
function groupName(row: readonly ColumnValue[]): string {
  let name = String(dayOf(row))
  for (const at of distinguishing) name += row[at] == null ? separator : `${separator}=${row[at]}`
  return name
}

function groupOf(row: readonly ColumnValue[], cells: Map<string, Cell>): Group {
  const textsOf = (positions: readonly number[]) => positions.map(at => row[at] ?? '') as string[]
  const [day, owner, call] = [dayOf(row), textsOf(owners), textsOf(called)]
  const cellOf = (scope: UsageScope, entity: ColumnValue): Cell => {
    const values = [scope, day, String(entity), ...(unowned.has(scope) ? noOwner : owner), ...call]
    const key = values.join(separator)
    const cell = cells.get(key) ?? { key, values: [...values, ...noAmounts] }
    cells.set(key, cell)
    return cell
  }
  const own = [cellOf('total', ''), cellOf('key', row[keyId]!)]
  if (row[customer] != null) own.push(cellOf('customer', row[customer]))
  if (row[client] != null) own.push(cellOf('client', row[client]))
  if (row[tags] != null) for (const tag of JSON.parse(String(row[tags])) as string[]) own.push(cellOf('tag', tag))
  return { first: row, day, cells: own, counts: amountList.map(() => 0), small: 0, large: 0n }
}

/** A batch is too small for its counts to leave the exact integers of a number. */
function addToGroup(group: Group, row: readonly ColumnValue[]): void {
  for (let at = 0; at < amountList.length; at++) group.counts[at]! += amountList[at]!(row)
  if (row[cost] == null) return
  const nanoUsd = Number(row[cost])
  if (Math.abs(nanoUsd) <= smallMax && Math.abs(group.small) <= smallMax) group.small += nanoUsd
  else group.large += nanoUsd > smallMax ? nanoUsdMax : BigInt(row[cost]!)
}

function addToCells({ cells, counts, small, large }: Group): void {
  const nanoUsd = BigInt(small) + large
  for (const { values } of cells) {
    for (let at = 0; at < counts.length; at++)
      values[rollupKey.length + at] = (values[rollupKey.length + at] as number) + counts[at]!
    values[rollupKey.length + costAt] = (values[rollupKey.length + costAt] as bigint) + nanoUsd
  }
}
