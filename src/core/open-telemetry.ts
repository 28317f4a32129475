/** How the gateway tells a collector of its calls (OpenTelemetry over OTLP/HTTP). */

/** What is sent. */
export const otlpSignals = ['traces', 'metrics', 'logs'] as const
/** One of the three kinds of what OpenTelemetry sends. */
export type OtlpSignal = (typeof otlpSignals)[number]

/** Which calls have spans. */
export interface TraceSampling {
  /** The part of the calls whose spans are kept, 0 to 1, by the id of their trace. */
  readonly ratio: number
  /** A client that names its own span decides for its call. */
  readonly followsParent: boolean
  /** A call that takes as long is kept in any case, as one that fails is. */
  readonly slowMs: number
}

/** What a collector gets. */
export interface OpenTelemetrySettings {
  readonly signals: readonly OtlpSignal[]
  readonly sampling: TraceSampling
  /** Calls whose bodies are stored are sent with what was said in them. */
  readonly sendsContent: boolean
  /** The variables `OTEL_...` that the exporters read: those of the process, and what the file says in their words. */
  readonly variables: Readonly<Record<string, string>>
}

/** What became of what was to be sent. Of this process since its start. */
export interface OtlpCounts {
  readonly exported: Readonly<Record<OtlpSignal, number>>
  /** `queue_full` = the collector was too slow; `failed` = it refused, or did not answer. */
  readonly lost: Readonly<Record<OtlpSignal, Readonly<Record<'queue_full' | 'failed', number>>>>
}
