/** Percentiles as the API shows them. */
import { latencyPercentile } from '../../../core/ledger/latency.ts'
import type { LatencyGroup, LatencyMeasure } from '../../../core/ledger/latency.ts'

interface Percentiles {
  readonly calls: number
  readonly p50_ms: number | null
  readonly p95_ms: number | null
  readonly p99_ms: number | null
}

/** Of calls, and of their streams until the first byte; null = there were none. */
export interface LatencyFigures extends Percentiles {
  readonly first_byte: Percentiles
}

/** Of the counts of one group, which has a row for each measure that it has. */
export function latencyFigures(rows: readonly LatencyGroup[]): LatencyFigures {
  const of = (measure: LatencyMeasure): Percentiles => {
    const counts = rows.find(one => one.measure === measure)?.counts ?? []
    const at = (share: number) => latencyPercentile(counts, share)
    return { calls: counts.reduce((sum, one) => sum + one, 0), p50_ms: at(0.5), p95_ms: at(0.95), p99_ms: at(0.99) }
  }
  return { ...of('total'), first_byte: of('first_byte') }
}
