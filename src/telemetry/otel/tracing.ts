/** What the gateway hands to a collector, where one is configured; else nothing of it exists. */
import type { BodyListener } from '../../core/ledger/body-listener.ts'
import type { OpenTelemetrySettings, OtlpCounts } from '../../core/open-telemetry.ts'
import type { Clock } from '../../lib/clock.ts'
import type { Logger } from '../log.ts'
import { OtlpExport } from './otlp-export.ts'
import { noTracePolicies, tracePolicies } from './trace-policies.ts'
import type { TracePolicies } from './trace-policies.ts'

/** The parts that others use. */
export interface Tracing {
  readonly policies: TracePolicies
  /** Hears of what is stored of calls; undefined = it is not sent. */
  readonly bodies: BodyListener | undefined
  /** undefined = no collector is configured. */
  counts(): OtlpCounts | undefined
  stop(): Promise<void>
}

const off: Tracing = { policies: noTracePolicies, bodies: undefined, counts: () => undefined, stop: async () => {} }

/** `settings` null = no collector. Lines of the log go to the collector from now on. */
export function startTracing(
  settings: OpenTelemetrySettings | null,
  { version, clock, logger }: { readonly version: string; readonly clock: Clock; readonly logger: Logger },
): Tracing {
  if (!settings) return off
  let isReporting = false
  const exported = new OtlpExport({
    settings,
    version,
    clock,
    report(problem) {
      // Its own trouble is for the log alone: to send it would make more of it.
      isReporting = true
      logger.error('telemetry cannot be sent', { problem })
      isReporting = false
    },
  })
  logger.follow((...line) => {
    if (!isReporting) exported.line(...line)
  })
  return {
    policies: tracePolicies(settings.sampling, clock, (settlement, isKept) => exported.call(settlement, isKept)),
    bodies: settings.sendsContent && settings.signals.includes('logs') ? exported.content : undefined,
    counts: () => exported.counts(),
    stop: () => exported.stop(),
  }
}
