/** Walks the ledger from its oldest row to its newest, in pages by key: for exports of any size. */
import { columnList } from '../../../core/ledger/ledger-columns.ts'
import type { LedgerRow } from '../../../core/ledger/ledger-columns.ts'
import type { LedgerDatabase } from '../ledger-database.ts'
import { readRow } from './ledger-query.ts'
import { selectedNames } from '../ledger-table.ts'

const pageRows = 1000

/** Milliseconds since 1970, the first inclusive and the second exclusive. */
export interface ExportSpan {
  readonly fromMs: number
  readonly toMs: number
}

/** Oldest first. Rows that are stored meanwhile are there when they belong behind the page that is read next. */
export async function* exportPages(
  database: LedgerDatabase,
  { fromMs, toMs }: ExportSpan,
): AsyncGenerator<LedgerRow[]> {
  let after = { startedAtMs: fromMs, requestId: '' }
  for (;;) {
    const found = await database.select({
      text: `select ${selectedNames} from ledger where started_at_ms >= $1 and started_at_ms < $2
        and (started_at_ms > $1 or request_id > $3) order by started_at_ms, request_id limit ${pageRows}`,
      values: [after.startedAtMs, toMs, after.requestId],
    })
    const rows = found.map(readRow)
    const last = rows.at(-1)
    if (last === undefined) return
    yield rows
    after = { startedAtMs: last.started_at_ms, requestId: last.request_id }
  }
}

/** The names of the columns, as the first line of a CSV file (RFC 4180). */
export const csvHeading = columnList.map(({ name }) => name).join(',')

/** A row as a line of CSV: null is an empty cell, lists are JSON, money is nano-dollars without a fraction. */
export function csvLine(row: LedgerRow): string {
  return columnList.map(({ name }) => csvCell(row[name])).join(',')
}

/**
 * Where a spreadsheet takes the text behind for a formula (owasp.org/www-community/attacks/CSV_Injection): at its
 * beginning, and behind a semicolon or a tab, which part cells where the comma is that of decimals. No numbers.
 */
const formulas = /(^|[;\t])(?=[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20])(?!-?\d+(?:;|$))/g

/** A value as a cell that no spreadsheet takes for a formula. */
export function csvCell(value: LedgerRow[keyof LedgerRow]): string {
  if (value === null) return ''
  const text = typeof value === 'object' ? JSON.stringify(value) : String(value)
  const safe = typeof value === 'number' ? text : text.replace(formulas, (_all, start: string) => `${start}'`)
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}
