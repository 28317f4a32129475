/**
 * Hands finished calls, lines of the log and what was said to a thread that exports them. The thread that serves writes
 * a short JSON of each and nothing more; what the other thread does not take in time is dropped and counted.
 */
import type { Settlement } from '../../core/call.ts'
import type { BodyListener } from '../../core/ledger/body-listener.ts'
import { otlpSignals } from '../../core/open-telemetry.ts'
import type { OpenTelemetrySettings, OtlpCounts, OtlpSignal } from '../../core/open-telemetry.ts'
import type { Clock } from '../../lib/clock.ts'
import { workerUrl } from '../../lib/program-files.ts'
import type { LineListener } from '../log.ts'
import { callRecord } from './call-record.ts'
import type { ExportItem, OtlpReply, OtlpRequest } from './messages.ts'

/** Of calls and lines that the thread has not taken; each has some 600 bytes. */
const waitingMax = 8192
/** Of what was said, which is larger. */
const waitingContentBytesMax = 16 * 1024 * 1024
const batchMax = 128
const batchMs = 200
const flushMs = 3000

/** What the export is made with. */
interface ExportParts {
  readonly settings: OpenTelemetrySettings
  readonly version: string
  readonly clock: Pick<Clock, 'epochMs'>
  /** The thread has a problem of its own; the collector's are counted. */
  report(problem: string): void
}

type MutableCounts = { exported: Record<OtlpSignal, number>; lost: Record<OtlpSignal, Record<LossReason, number>> }
type LossReason = 'queue_full' | 'failed'

/** Nothing was sent, and nothing was lost. */
const noCounts = (): MutableCounts => ({
  exported: { traces: 0, metrics: 0, logs: 0 },
  lost: {
    traces: { queue_full: 0, failed: 0 },
    metrics: { queue_full: 0, failed: 0 },
    logs: { queue_full: 0, failed: 0 },
  },
})

/** Never throws, never waits. */
export class OtlpExport {
  readonly #parts: ExportParts
  readonly #has: Readonly<Record<OtlpSignal, boolean>>
  #worker: Worker | undefined
  #waiting: ExportItem[] = []
  /** Given to the thread, and not taken yet. */
  #given = 0
  #contentBytes = 0
  #timer: ReturnType<typeof setTimeout> | undefined
  #flushed: (() => void) | undefined
  #isStopped = false
  /** Of threads that have ended, and of what never reached one. */
  readonly #own = noCounts()
  #ofThread: OtlpCounts = noCounts()

  constructor(parts: ExportParts) {
    this.#parts = parts
    const { signals } = parts.settings
    this.#has = {
      traces: signals.includes('traces'),
      metrics: signals.includes('metrics'),
      logs: signals.includes('logs'),
    }
  }

  /** `isKept` = its spans are to be sent. */
  call(settlement: Settlement, isKept: boolean): void {
    const { traces, metrics, logs } = this.#has
    if (!metrics && !logs && !(traces && isKept)) return
    if (this.#isFull()) {
      // Logs and spans are missing; a metric lacks one call.
      if (traces && isKept) this.#own.lost.traces.queue_full++
      if (metrics) this.#own.lost.metrics.queue_full++
      if (logs) this.#own.lost.logs.queue_full++
      return
    }
    this.#add({ kind: 'call', call: callRecord(settlement, isKept && traces) })
  }

  /** A line of the gateway's log. */
  line: LineListener = (level, message, fields) => {
    if (!this.#has.logs) return
    if (this.#isFull()) this.#own.lost.logs.queue_full++
    else this.#add({ kind: 'line', line: { atMs: this.#parts.clock.epochMs(), level, message, fields } })
  }

  /** What was said in a call whose bodies are stored. */
  content: BodyListener = ({ trace, operation, model }, said) => {
    if (!trace) return
    const bytes = said.request.text.length + (said.answer?.text.length ?? 0)
    if (this.#isFull() || this.#contentBytes + bytes > waitingContentBytesMax) {
      this.#own.lost.logs.queue_full++
      return
    }
    this.#contentBytes += bytes
    const { traceId, spanId } = trace
    this.#add({
      kind: 'content',
      content: { atMs: this.#parts.clock.epochMs(), traceId, spanId, operation, model, said },
    })
  }

  counts(): OtlpCounts {
    const sum = noCounts()
    for (const signal of otlpSignals)
      for (const one of [this.#own, this.#ofThread]) {
        sum.exported[signal] += one.exported[signal]
        sum.lost[signal].queue_full += one.lost[signal].queue_full
        sum.lost[signal].failed += one.lost[signal].failed
      }
    return sum
  }

  /** What is at hand is sent, as far as the collector takes it within seconds. */
  async stop(): Promise<void> {
    this.#isStopped = true
    this.#send()
    const worker = this.#worker
    if (!worker) return
    await Promise.race([
      new Promise<void>(resolve => {
        this.#flushed = resolve
        this.#post({ kind: 'flush' })
      }),
      Bun.sleep(flushMs),
    ])
    worker.terminate()
  }

  #isFull(): boolean {
    return this.#isStopped || this.#waiting.length + this.#given >= waitingMax
  }

  #add(item: ExportItem): void {
    this.#waiting.push(item)
    if (this.#waiting.length >= batchMax) this.#send()
    else this.#timer ??= setTimeout(() => this.#send(), batchMs).unref()
  }

  #send(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    const items = this.#waiting
    if (items.length === 0) return
    this.#waiting = []
    this.#given += items.length
    this.#contentBytes = 0
    this.#post({ kind: 'batch', count: items.length, json: JSON.stringify(items) })
  }

  #post(request: OtlpRequest): void {
    this.#worker ??= this.#start()
    this.#worker.postMessage(request)
  }

  #start(): Worker {
    const { settings, version, report } = this.#parts
    const worker = new Worker(workerUrl('otlp-worker', import.meta.url), { smol: true })
    worker.onmessage = ({ data }: MessageEvent<OtlpReply>) => this.#receive(data)
    worker.onerror = event => report(`the thread that exports to the collector failed: ${event.message}`)
    worker.addEventListener('close', () => this.#ended(worker))
    // The DOM's type of Worker does not have Bun's `unref`.
    ;(worker as Worker & { unref(): void }).unref()
    worker.postMessage({ kind: 'open', settings, version } satisfies OtlpRequest)
    return worker
  }

  #receive(reply: OtlpReply): void {
    switch (reply.kind) {
      case 'problem':
        return this.#parts.report(reply.text)
      case 'flushed':
        return this.#flushed?.()
      case 'counts':
        this.#ofThread = reply.counts
        return
      case 'taken':
        this.#given -= reply.count
        this.#ofThread = reply.counts
    }
  }

  /** The next call starts another thread; what this one had is lost. */
  #ended(worker: Worker): void {
    if (this.#worker !== worker) return
    this.#worker = undefined
    this.#flushed?.()
    const { exported, lost } = this.#ofThread
    for (const signal of otlpSignals) {
      this.#own.exported[signal] += exported[signal]
      this.#own.lost[signal].queue_full += lost[signal].queue_full
      this.#own.lost[signal].failed += lost[signal].failed + (this.#has[signal] ? this.#given : 0)
    }
    this.#ofThread = noCounts()
    this.#given = 0
  }
}
