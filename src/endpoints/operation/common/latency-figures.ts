/** Percentiles as the API shows them. */
import { latencyPercentile } from '../../../core/ledger/latency.ts'
import type { LatencyGroup, LatencyMeasure } from '../../../core/ledger/latency.ts'
import { described, integer, nullable, number, shape } from '../../openapi/schema.ts'

const milliseconds = nullable(described('Milliseconds; null = no call was counted.', number))
const percentiles = { calls: integer, p50_ms: milliseconds, p95_ms: milliseconds, p99_ms: milliseconds }

/** How long calls took. */
export const latency = {
  ...percentiles,
  first_byte: described('Of the calls that were streamed: until the first byte of the answer.', shape(percentiles)),
}

/** Of the counts of one group, which has a row for each measure that it has. */
export function latencyFigures(rows: readonly LatencyGroup[]) {
  const of = (measure: LatencyMeasure) => {
    const counts = rows.find(one => one.measure === measure)?.counts ?? []
    const at = (share: number) => latencyPercentile(counts, share)
    return { calls: counts.reduce((sum, one) => sum + one, 0), p50_ms: at(0.5), p95_ms: at(0.95), p99_ms: at(0.99) }
  }
  return { ...of('total'), first_byte: of('first_byte') }
}
