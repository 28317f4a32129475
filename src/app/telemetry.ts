/** What tells others of the gateway: its metrics, and spans and log records for a collector. */
import packageJson from '../../package.json' with { type: 'json' }
import type { ReloadReport, ServeOptions } from '../config/serve-options.ts'
import type { SettingsSource } from '../config/settings-source.ts'
import type { CurrentConfiguration } from '../core/model-directory.ts'
import type { ClientCounts } from '../http/server/server.ts'
import { systemClock as clock } from '../lib/clock.ts'
import { descriptorLimit } from '../platform/descriptor-limit.ts'
import { CachedExposition } from '../telemetry/cached-exposition.ts'
import { withLitellmMetrics } from '../telemetry/litellm-metrics.ts'
import { mergeExpositions } from '../telemetry/merged-exposition.ts'
import type { Logger } from '../telemetry/log.ts'
import { startTracing } from '../telemetry/otel/tracing.ts'
import type { Tracing } from '../telemetry/otel/tracing.ts'
import { LoopDelay } from '../telemetry/process-metrics.ts'
import { createMetrics } from '../telemetry/prometheus.ts'
import { nearestBudgets } from './budget-gauges.ts'
import type { Store } from './store.ts'

type Metrics = ReturnType<typeof createMetrics>

interface TelemetryParts {
  readonly store: Store
  readonly source: SettingsSource
  readonly logger: Logger
  readonly clients: () => ClientCounts
  readonly options: ServeOptions
}

interface TelemetrySources {
  readonly transport: { connections(): { busy: number; idle: number } }
  readonly current: CurrentConfiguration
  readonly cooldowns: () => ReadonlyMap<string, number>
}

/** The parts that others use. */
export interface Telemetry {
  readonly metrics: Metrics
  readonly tracing: Tracing
  /** The text of `/metrics`, of all workers. */
  exposition(): Uint8Array | Promise<Uint8Array>
  /** The configuration was read anew. */
  reloaded(report: Pick<ReloadReport, 'applied'>): void
  /** What is at hand is sent. */
  stop(): Promise<void>
}

/** Counts from now on. */
export function startTelemetry(
  { store, source, logger, clients, options }: TelemetryParts,
  { transport, current, cooldowns }: TelemetrySources,
): Telemetry {
  const tracing = startTracing(current.settings.openTelemetry, { version: packageJson.version, clock, logger })
  const reloads = { applied: 0, refused: 0, appliedAtMs: clock.epochMs() }
  const loopDelay = new LoopDelay(clock)
  const metrics = createMetrics({
    loopDelay,
    cooldowns,
    reloads: () => reloads,
    nearestBudgets: nearestBudgets(store.limits.survey, () => current.settings.budgets, clock),
    tenantMetrics: () => current.settings.tenantMetrics,
    process: {
      version: packageJson.version,
      dataDirectory: options.dataDirectory,
      descriptorsMax: descriptorLimit(),
    },
    upstreamConnections: () => transport.connections(),
    clientConnections: clients,
    ledger: store.ledger,
    epochMs: () => clock.epochMs(),
    droppedLogLines: () => logger.dropped(),
    exportedUsage: () => store.usageOutbox.state(),
    databaseReachable: () => store.databaseReachable(),
    priceLists: () => source.current().priceLists,
    redis: options.worker?.hasOwnStore ? undefined : store.redis,
    cacheCounts: () => store.answerCache.answers.counts(),
    bodyCounts: () => store.bodies.counts(),
    otlpCounts: () => tracing.counts(),
  })
  const { worker } = options
  const named = (text: string) => (current.settings.litellmMetricNames ? withLitellmMetrics(text) : text)
  // Those of several workers are named once they are one text.
  const own = new CachedExposition(() => (worker ? metrics.text() : named(metrics.text())), clock)
  worker?.serveMetrics(() => Buffer.from(own.bytes()).toString())
  return {
    metrics,
    tracing,
    exposition: () =>
      worker ? worker.metrics().then(texts => Buffer.from(named(mergeExpositions(texts)))) : own.bytes(),
    reloaded({ applied }) {
      if (applied) reloads.appliedAtMs = clock.epochMs()
      reloads[applied ? 'applied' : 'refused']++
    },
    stop() {
      loopDelay.stop()
      return tracing.stop()
    },
  }
}
