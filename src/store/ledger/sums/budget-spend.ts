/**
 * Table `budget_spend`: what each process's calls cost in each period of each budget. The ledger's worker adds to it in
 * the transaction of the rows, so that it is the sum of the ledger by construction; beside the rows it has what open
 * batches reserve. What came back of these, with the row of the batch's end, stands below 0 under `-PROCESS`, so that
 * every amount only grows.
 */
import { columnIndex } from '../../../core/ledger/ledger-columns.ts'
import type { Database } from '../../database/open.ts'
import { readBudgetScopes } from '../../../core/tenancy/budget-charge.ts'
import type { ColumnValue } from '../journal/ledger-record.ts'

/** In the order of the table: scope, start of the period (milliseconds since 1970), process, nano-dollars. */
export const budgetColumns = ['scope', 'window_start_ms', 'writer', 'spent_nano_usd'] as const
/** One row of the table, or what is to be added to it. Nano-dollars are a bigint. */
export type BudgetAmount = readonly [scope: string, startMs: number, writer: string, nanoUsd: bigint]

/** The table, and that of the periods for which the operator was notified that a soft limit was reached. */
export function createBudgetTexts(kind: Database['kind']): string[] {
  const options = kind === 'sqlite' ? 'strict, without rowid' : 'with (fillfactor = 80)'
  const integer = kind === 'sqlite' ? 'integer' : 'bigint'
  return [
    `create table budget_spend (scope text not null, window_start_ms ${integer} not null, writer text not null,
      spent_nano_usd ${integer} not null, primary key (scope, window_start_ms, writer)) ${options}`,
    `create table budget_alerts (scope text not null, window_start_ms ${integer} not null,
      primary key (scope, window_start_ms))`,
  ]
}

/** Adds amounts to the table; `source` provides rows with `budgetColumns`. */
export function addBudgetText(source: string): string {
  return `insert into budget_spend (${budgetColumns.join(', ')}) ${source}
    on conflict (scope, window_start_ms, writer)
    do update set spent_nano_usd = budget_spend.spent_nano_usd + excluded.spent_nano_usd`
}

const scopesAt = columnIndex('budget_scopes')
const amountAt = columnIndex('budget_nano_usd')

/** What rows of the ledger add to the table, sorted: replicas that change the same amounts lock them in one order. */
export function budgetAmounts(rows: readonly (readonly ColumnValue[])[]): readonly BudgetAmount[] {
  const sums = new Map<string, { readonly amount: BudgetAmount; sum: bigint }>()
  for (const [list, total] of totalsByList(rows)) {
    const { writer, periods } = readBudgetScopes(JSON.parse(list) as string[])
    const add = (scope: string, startMs: number, of: string, more: bigint) => {
      const key = `${scope}\u0000${startMs}\u0000${of}`
      const known = sums.get(key)
      if (known) known.sum += more
      else sums.set(key, { amount: [scope, startMs, of, 0n], sum: more })
    }
    for (const { scope, startMs, nanoUsd: own, returnedNanoUsd: returned } of periods) {
      add(scope, startMs, writer, own === undefined ? total.nanoUsd : BigInt(own) * BigInt(total.rows))
      if (returned !== undefined) add(scope, startMs, `-${writer}`, -BigInt(returned) * BigInt(total.rows))
    }
  }
  return [...sums]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([, { amount, sum }]) => [amount[0], amount[1], amount[2], sum] as const)
}

/** What the rows with one list of budgets cost together. */
interface ListTotal {
  rows: number
  nanoUsd: bigint
}

/** By list: calls of a key mostly have the same one, which is read once for all of them. */
function totalsByList(rows: readonly (readonly ColumnValue[])[]): Map<string, ListTotal> {
  const totals = new Map<string, ListTotal>()
  for (const row of rows) {
    // Records of earlier versions have neither of these columns.
    const [list, nanoUsd] = [row[scopesAt], row[amountAt]]
    if (list === null || list === undefined || nanoUsd === null || nanoUsd === undefined) continue
    const known = totals.get(String(list))
    if (known) {
      known.rows++
      known.nanoUsd += BigInt(nanoUsd)
    } else totals.set(String(list), { rows: 1, nanoUsd: BigInt(nanoUsd) })
  }
  return totals
}
