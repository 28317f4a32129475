/** Rows that the database will never take: kept in a file beside the journal, for an operator to look at. */
import { appendFileSync } from 'node:fs'
import { join } from 'node:path'
import type { RefusedRows } from '../ledger-database.ts'
import type { ColumnValue } from './ledger-record.ts'
import { ThrottledReport } from '../throttled-report.ts'

/** Rows that wait in memory while their file cannot be written; the journal keeps them too. */
const waitingRowsMax = 10_000

/** The name of the file in a journal's directory. */
export const refusedName = 'refused.jsonl'

/** `refused.jsonl` in the journal's directory: one `{ reason, row }` a line, values in the order of the columns. */
export class RefusedRowFile {
  readonly #path: string
  readonly #report: (problem: string) => void
  readonly #failures: ThrottledReport
  #waiting: { readonly row: readonly ColumnValue[]; readonly reason: string }[] = []
  /** The last attempt to write may have left half a line. */
  #isTorn = false

  constructor(directory: string, report: (problem: string) => void) {
    this.#path = join(directory, refusedName)
    this.#report = report
    this.#failures = new ThrottledReport({
      failing: 'rows that the database refused cannot be written to their file',
      recovered: 'rows that the database refused are in their file',
      report,
      nowMs: () => performance.now(),
    })
  }

  /** Rows that are not in the file yet. */
  get waitingCount(): number {
    return this.#waiting.length
  }

  /** Throws when too many rows wait for their file. */
  add(row: readonly ColumnValue[], error: RefusedRows): void {
    if (this.#waiting.length >= waitingRowsMax && !this.write())
      throw new Error(`${this.#waiting.length} rows that it refused cannot be kept anywhere`)
    this.#waiting.push({ row, reason: error.message })
    this.write()
  }

  /** false = the file cannot be written: the journal, which holds these rows too, must not be deleted. */
  write(): boolean {
    if (this.#waiting.length === 0) return true
    const lines = this.#waiting.map(({ row, reason }) => `${JSON.stringify({ reason, row })}\n`)
    try {
      appendFileSync(this.#path, (this.#isTorn ? '\n' : '') + lines.join(''), { mode: 0o600, flush: true })
    } catch (error) {
      this.#isTorn = true
      this.#failures.failed(error)
      return false
    }
    this.#failures.succeeded()
    for (const { reason } of this.#waiting)
      this.#report(`the database refused a row of the ledger, kept in ${this.#path}: ${reason}`)
    this.#waiting = []
    this.#isTorn = false
    return true
  }
}
