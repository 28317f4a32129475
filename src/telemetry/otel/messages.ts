/** What passes between the thread that serves and the one that exports. */
import type { OpenTelemetrySettings, OtlpCounts } from '../../core/open-telemetry.ts'
import type { CallBodies } from '../../core/ledger/stored-bodies.ts'
import type { LogFields } from '../log.ts'
import type { CallRecord } from './call-record.ts'

/** A line of the gateway's log. */
export interface LineRecord {
  readonly atMs: number
  readonly level: 'debug' | 'info' | 'warn' | 'error'
  readonly message: string
  readonly fields?: LogFields | undefined
}

/** What was said in a call, with the span that it belongs to. */
export interface ContentRecord {
  readonly atMs: number
  readonly traceId: string
  readonly spanId: string
  readonly operation: string
  readonly model: string
  readonly said: CallBodies['said']
}

/** One thing to be exported. */
export type ExportItem =
  | { readonly kind: 'call'; readonly call: CallRecord }
  | { readonly kind: 'line'; readonly line: LineRecord }
  | { readonly kind: 'content'; readonly content: ContentRecord }

/** To the thread. A batch is a JSON list of `ExportItem`. */
export type OtlpRequest =
  | { readonly kind: 'open'; readonly settings: OpenTelemetrySettings; readonly version: string }
  | { readonly kind: 'batch'; readonly count: number; readonly json: string }
  | { readonly kind: 'flush' }

/** From the thread. `count` = so many items of batches are taken; `counts` = since the thread began. */
export type OtlpReply =
  | { readonly kind: 'taken'; readonly count: number; readonly counts: OtlpCounts }
  | { readonly kind: 'counts'; readonly counts: OtlpCounts }
  | { readonly kind: 'flushed' }
  | { readonly kind: 'problem'; readonly text: string }
