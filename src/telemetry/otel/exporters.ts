/** The official SDK, set up for the gateway's calls. Runs on a thread of its own (`otlp-worker.ts`). */
import type { Attributes } from '@opentelemetry/api'
import { OTLPLogExporter as JsonLogExporter } from '@opentelemetry/exporter-logs-otlp-http'
import { OTLPLogExporter } from '@opentelemetry/exporter-logs-otlp-proto'
import { OTLPMetricExporter as JsonMetricExporter } from '@opentelemetry/exporter-metrics-otlp-http'
import { OTLPMetricExporter } from '@opentelemetry/exporter-metrics-otlp-proto'
import { OTLPTraceExporter as JsonTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto'
import {
  defaultResource,
  detectResources,
  envDetector,
  hostDetector,
  processDetector,
  resourceFromAttributes,
  serviceInstanceIdDetector,
} from '@opentelemetry/resources'
import { BatchLogRecordProcessor, LoggerProvider } from '@opentelemetry/sdk-logs'
import { MeterProvider, PeriodicExportingMetricReader } from '@opentelemetry/sdk-metrics'
import { AlwaysOnSampler, BatchSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace'
import type { OpenTelemetrySettings, OtlpCounts, OtlpSignal } from '../../core/open-telemetry.ts'
import { CallLogs } from './log-view.ts'
import type { ExportItem } from './messages.ts'
import { CallMetrics } from './metric-view.ts'
import { PendingExports } from './pending-exports.ts'
import { CallSpans, GivenIds } from './span-view.ts'

const scope = 'modelgate'
/** Beyond what waits in the SDK when it is full, so that what is dropped is dropped, and counted, here alone. */
const spareRoom = 1024

/** Everything that is sent to the collector. */
export class Exporters {
  readonly #spans: CallSpans | undefined
  readonly #metrics: CallMetrics | undefined
  readonly #logs: CallLogs | undefined
  readonly #pending: Readonly<Record<OtlpSignal, PendingExports>>
  readonly #flushes: (() => Promise<void>)[] = []

  constructor({ signals, variables }: OpenTelemetrySettings, version: string) {
    const number = (name: string, byDefault: number): number => {
      const given = Number(variables[name])
      return variables[name] !== undefined && Number.isFinite(given) && given > 0 ? given : byDefault
    }
    this.#pending = {
      traces: new PendingExports(number('OTEL_BSP_MAX_QUEUE_SIZE', 8192)),
      metrics: new PendingExports(Infinity),
      logs: new PendingExports(number('OTEL_BLRP_MAX_QUEUE_SIZE', 8192)),
    }
    const setUp = { variables, version, number, resource: resourceOf(version) }
    if (signals.includes('traces')) this.#spans = this.#traced(setUp)
    if (signals.includes('metrics')) this.#metrics = this.#metered(setUp)
    if (signals.includes('logs')) this.#logs = this.#logged(setUp)
  }

  take(item: ExportItem): void {
    if (item.kind === 'call') {
      this.#spans?.add(item.call)
      this.#metrics?.add(item.call)
      this.#logs?.addCall(item.call)
    } else if (item.kind === 'line') this.#logs?.addLine(item.line)
    else this.#logs?.addContent(item.content)
  }

  counts(): OtlpCounts {
    const { traces, metrics, logs } = this.#pending
    return {
      exported: { traces: traces.exported, metrics: metrics.exported, logs: logs.exported },
      lost: { traces: traces.lost(), metrics: metrics.lost(), logs: logs.lost() },
    }
  }

  async flush(): Promise<void> {
    await Promise.allSettled(this.#flushes.map(flush => flush()))
  }

  #traced({ variables, version, number, resource }: SetUp): CallSpans {
    const ids = new GivenIds()
    const pending = this.#pending.traces
    const exporter = speaksJson(variables, 'TRACES') ? new JsonTraceExporter() : new OTLPTraceExporter()
    const processor = new BatchSpanProcessor({
      exporter: pending.counted(exporter),
      maxQueueSize: pending.max + spareRoom,
      maxExportBatchSize: number('OTEL_BSP_MAX_EXPORT_BATCH_SIZE', 512),
      scheduledDelayMillis: number('OTEL_BSP_SCHEDULE_DELAY', 1000),
      exportTimeoutMillis: number('OTEL_BSP_EXPORT_TIMEOUT', 30_000),
    })
    const limit = number('OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT', number('OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT', 4096))
    const provider = new TracerProvider({
      resource,
      idGenerator: ids,
      sampler: new AlwaysOnSampler(),
      spanProcessors: [processor],
      spanLimits: { attributeValueLengthLimit: limit },
    })
    this.#flushes.push(() => provider.forceFlush())
    return new CallSpans(provider.getTracer(scope, version), ids, pending)
  }

  #metered({ variables, version, number, resource }: SetUp): CallMetrics {
    const exporter = speaksJson(variables, 'METRICS') ? new JsonMetricExporter() : new OTLPMetricExporter()
    const interval = number('OTEL_METRIC_EXPORT_INTERVAL', 60_000)
    const reader = new PeriodicExportingMetricReader({
      exporter: this.#pending.metrics.countedMetrics(exporter),
      exportIntervalMillis: interval,
      exportTimeoutMillis: Math.min(number('OTEL_METRIC_EXPORT_TIMEOUT', 30_000), interval),
    })
    const provider = new MeterProvider({ resource, readers: [reader] })
    this.#flushes.push(() => provider.forceFlush())
    return new CallMetrics(provider.getMeter(scope, version))
  }

  #logged({ variables, version, number, resource }: SetUp): CallLogs {
    const pending = this.#pending.logs
    const exporter = speaksJson(variables, 'LOGS') ? new JsonLogExporter() : new OTLPLogExporter()
    const processor = new BatchLogRecordProcessor({
      exporter: pending.counted(exporter),
      maxQueueSize: pending.max + spareRoom,
      maxExportBatchSize: number('OTEL_BLRP_MAX_EXPORT_BATCH_SIZE', 512),
      scheduledDelayMillis: number('OTEL_BLRP_SCHEDULE_DELAY', 1000),
      exportTimeoutMillis: number('OTEL_BLRP_EXPORT_TIMEOUT', 30_000),
    })
    const provider = new LoggerProvider({ resource, processors: [processor] })
    this.#flushes.push(() => provider.forceFlush())
    return new CallLogs(provider.getLogger(scope, version), pending)
  }
}

interface SetUp {
  readonly variables: OpenTelemetrySettings['variables']
  readonly version: string
  readonly resource: ReturnType<typeof resourceOf>
  number(name: string, byDefault: number): number
}

function speaksJson(variables: OpenTelemetrySettings['variables'], signal: string): boolean {
  const own = variables[`OTEL_EXPORTER_OTLP_${signal}_PROTOCOL`] ?? variables.OTEL_EXPORTER_OTLP_PROTOCOL
  return own === 'http/json'
}

/**
 * What `OTEL_SERVICE_NAME` and `OTEL_RESOURCE_ATTRIBUTES` say wins. The command line may hold secrets: it is left out.
 */
function resourceOf(version: string) {
  const own: Attributes = { 'service.name': 'modelgate', 'service.version': version }
  const found = detectResources({ detectors: [hostDetector, serviceInstanceIdDetector, processDetector] })
  const { 'process.pid': pid } = found.attributes
  const { 'host.name': host, 'host.arch': arch, 'service.instance.id': instance } = found.attributes
  const place = { 'process.pid': pid, 'host.name': host, 'host.arch': arch, 'service.instance.id': instance }
  return defaultResource()
    .merge(resourceFromAttributes(own))
    .merge(resourceFromAttributes(place))
    .merge(detectResources({ detectors: [envDetector] }))
}
