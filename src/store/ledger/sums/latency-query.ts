/** Reads how long calls took from table `ledger_latency`. */
import type { LatencyField, LatencyGroup, LatencyMeasure, LatencyQuery } from '../../../core/ledger/latency.ts'
import { bucketColumns } from './latency-table.ts'
import type { LedgerStatement } from '../ledger-database.ts'
import { dayMs, hourMs } from '../../../lib/clock.ts'

const groupsMax = 20_000

/** Reads two parts of the primary key: days have what hours were, until these were added to them. */
export function latencyStatement({ unit, first, last, groups }: LatencyQuery): LedgerStatement {
  const hours = unit === 'day' ? dayMs / hourMs : 1
  const ofHours = `unit = 'hour' and start >= $1 * ${hours} and start < ($2 + 1) * ${hours}`
  const columns: Readonly<Record<LatencyField, string>> = {
    start: unit === 'day' ? `case when unit = 'day' then start else start / ${hours} end` : 'start',
    model: 'model',
    deployment_id: 'deployment_id',
  }
  const fields = [...groups.map(name => `${columns[name]} as ${name}`), 'measure'].join(', ')
  const counts = bucketColumns.map(name => `cast(sum(${name}) as bigint) as ${name}`)
  const ordinals = [...groups, 'measure'].map((_, at) => String(at + 1)).join(', ')
  return {
    text: `select ${fields}, ${counts.join(', ')} from ledger_latency
      where (${ofHours})${unit === 'day' ? ` or (unit = 'day' and start >= $1 and start <= $2)` : ''}
      group by ${ordinals} order by ${ordinals} limit ${groupsMax}`,
    values: [first, last],
  }
}

/** The groups of a result of `latencyStatement`. */
export function readLatency(rows: readonly Record<string, unknown>[]): LatencyGroup[] {
  return rows.map(row => ({
    start: Number(row.start ?? 0),
    model: String(row.model ?? ''),
    deploymentId: String(row.deployment_id ?? ''),
    measure: row.measure as LatencyMeasure,
    counts: bucketColumns.map(name => Number(row[name])),
  }))
}
