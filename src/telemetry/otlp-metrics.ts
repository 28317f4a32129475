/** Metrics of what is sent to a collector of OpenTelemetry. */
import { otlpSignals } from '../core/open-telemetry.ts'
import type { OtlpCounts } from '../core/open-telemetry.ts'
import type { Exposition } from './exposition.ts'

/** Nothing is shown where no collector is configured. */
export function exposeOtlp(out: Exposition, counts: OtlpCounts | undefined): void {
  if (!counts) return
  for (const signal of otlpSignals) out.value('modelgate_otlp_exported_total', { signal }, counts.exported[signal])
  for (const signal of otlpSignals)
    for (const [reason, count] of Object.entries(counts.lost[signal]))
      out.value('modelgate_otlp_lost_total', { signal, reason }, count)
}
