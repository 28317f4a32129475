/**
 * Table `ledger_pending_sums`: sums of batches that change too many rows of `ledger_daily`, which costs most of storing
 * a row where many keys call at once. Such a batch appends its sums here, in the transaction of its rows; about once a
 * second they are added up and moved to `ledger_daily` and what follows from it (docs/decisions/0112).
 */
import type { Database } from '../../database/open.ts'
import { addDerivedText, summedText, writtenTables } from './rollup-derived.ts'
import { addRollupText, rollupColumnTexts, rollupColumns, rollupKey, sumNames } from './rollup-table.ts'

/** Batches of few keys, with at most so many sums, add them to `ledger_daily` themselves: they are seen at once. */
export const directSumsMax = 64

/** The table: only appended to and emptied, so that it has neither a key nor an index. */
export const createPendingTexts = (kind: Database['kind']): string[] => [
  `create table ledger_pending_sums (${rollupColumnTexts(kind).join(', ')}) ${kind === 'sqlite' ? 'strict' : ''}`,
]

/** Appends sums to the table; `source` provides rows with `rollupColumns`. */
export const addPendingText = (source: string): string =>
  `insert into ledger_pending_sums (${rollupColumns.join(', ')}) ${source}`

const key = rollupKey.join(', ')
const sums = sumNames.map(name => `cast(sum(${name}) as bigint) as ${name}`).join(', ')

/** Moves all pending sums to where reports read them: statements of one transaction, in which no rows are stored. */
export const foldTexts: readonly string[] = [
  addRollupText(`select ${key}, ${sums} from ledger_pending_sums where true group by ${key}`),
  ...writtenTables.flatMap(table =>
    table.scopes.map(scope => addDerivedText(table, summedText(table, scope, 'ledger_pending_sums'))),
  ),
  'delete from ledger_pending_sums',
]

/** SQL: adds to `stored` sums what `pending` selects. Both select `columns`, then the sums. */
export function withPending(stored: string, pending: string, columns: readonly string[]): string {
  return `select ${columns.join(', ')}, ${sums} from
    (select * from (${stored}) as there union all select * from (${pending}) as coming) as parts
    group by ${columns.join(', ')}`
}
