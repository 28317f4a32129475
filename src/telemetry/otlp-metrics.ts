/** Metrics of what is sent to a collector of OpenTelemetry. */
import { otlpSignals } from '../core/open-telemetry.ts'
import type { OtlpCounts } from '../core/open-telemetry.ts'
import type { Exposition } from './exposition.ts'

/** Nothing is shown where no collector is configured. */
export function exposeOtlp(out: Exposition, counts: OtlpCounts | undefined): void {
  if (!counts) return
  const sent = {
    name: 'modelgate_otlp_exported_total',
    help: 'Spans, log records and reports of metrics that a collector has taken.',
  }
  for (const signal of otlpSignals) out.value({ ...sent, type: 'counter' }, { signal }, counts.exported[signal])
  const lost = {
    name: 'modelgate_otlp_lost_total',
    help: 'Those that it has not taken, or was too slow for, by reason.',
  }
  for (const signal of otlpSignals)
    for (const [reason, count] of Object.entries(counts.lost[signal]))
      out.value({ ...lost, type: 'counter' }, { signal, reason }, count)
}
