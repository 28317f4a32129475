/** Rows as JSON lines, by the day on which their calls began. */
import { createHash } from 'node:crypto'
import type { LedgerRow } from '../core/ledger/ledger-columns.ts'

/** An object of a bucket. */
export interface DayObject {
  readonly key: string
  readonly body: string
}

/** One row a line. */
export const jsonLines = (rows: readonly LedgerRow[]): string => rows.map(row => `${JSON.stringify(row)}\n`).join('')

/** The same for the same rows: a delivery that is repeated writes the same object again. */
export const batchId = (rows: readonly LedgerRow[]): string =>
  createHash('sha256')
    .update(rows.map(row => row.request_id).join())
    .digest('hex')
    .slice(0, 24)

/** An object for each day: `PREFIX/day=2026-11-29/ID.jsonl`, which readers of partitions understand. */
export function dayObjects(rows: readonly LedgerRow[], prefix = ''): DayObject[] {
  const start = prefix === '' || prefix.endsWith('/') ? prefix : `${prefix}/`
  const byDay = Map.groupBy(rows, row => new Date(row.started_at_ms).toISOString().slice(0, 10))
  return [...byDay].map(([day, some]) => ({ key: `${start}day=${day}/${batchId(some)}.jsonl`, body: jsonLines(some) }))
}
