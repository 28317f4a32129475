/** Counts what an exporter is given, and bounds what waits for it. */
import type { ExportResult } from '@opentelemetry/core'
import type { PushMetricExporter, ResourceMetrics } from '@opentelemetry/sdk-metrics'
import type { OtlpCounts } from '../../core/open-telemetry.ts'

/** An exporter of spans or of log records. */
interface ItemExporter<Item> {
  export(items: Item[], done: (result: ExportResult) => void): void
  shutdown(): Promise<void>
  forceFlush?(): Promise<void>
}

const succeeded = 0

/** Of one signal. */
export class PendingExports {
  readonly max: number
  exported = 0
  #failed = 0
  #dropped = 0
  #waiting = 0

  constructor(max: number) {
    this.max = max
  }

  /** Whether there is room for so many; if not, they are counted as lost. */
  admits(items: number): boolean {
    if (this.#waiting + items > this.max) {
      this.#dropped += items
      return false
    }
    this.#waiting += items
    return true
  }

  lost(): OtlpCounts['lost']['traces'] {
    return { queue_full: this.#dropped, failed: this.#failed }
  }

  /** The exporter, counted. */
  counted<Item>(exporter: ItemExporter<Item>): ItemExporter<Item> & { forceFlush(): Promise<void> } {
    return {
      export: (items, done) =>
        exporter.export(items, result => {
          this.#waiting -= items.length
          this.#count(result, items.length)
          done(result)
        }),
      shutdown: () => exporter.shutdown(),
      forceFlush: async () => exporter.forceFlush?.(),
    }
  }

  /** Of metrics each report counts as one: the next one has the same sums. */
  countedMetrics(exporter: PushMetricExporter): PushMetricExporter {
    const { selectAggregationTemporality, selectAggregation } = exporter
    return {
      export: (metrics: ResourceMetrics, done: (result: ExportResult) => void) =>
        exporter.export(metrics, result => {
          this.#count(result, 1)
          done(result)
        }),
      shutdown: () => exporter.shutdown(),
      forceFlush: () => exporter.forceFlush(),
      ...(selectAggregationTemporality && {
        selectAggregationTemporality: type => selectAggregationTemporality.call(exporter, type),
      }),
      ...(selectAggregation && { selectAggregation: type => selectAggregation.call(exporter, type) }),
    }
  }

  #count({ code }: ExportResult, items: number): void {
    if (code === succeeded) this.exported += items
    else this.#failed += items
  }
}
