/** Log records: one a finished call, one a line of the gateway's log, and events with what was said. */
import { ROOT_CONTEXT, SeverityNumber, TraceFlags, trace } from '@opentelemetry/api'
import type { Context, Logger } from '@opentelemetry/api'
import { callAttributes, known, operationOf } from './call-attributes.ts'
import { attribute, contentEvent } from './conventions.ts'
import type { CallRecord } from './call-record.ts'
import { readContent } from './content-view.ts'
import type { ContentRecord, LineRecord } from './messages.ts'
import type { PendingExports } from './pending-exports.ts'

const severities: Readonly<Record<LineRecord['level'], SeverityNumber>> = {
  debug: SeverityNumber.DEBUG,
  info: SeverityNumber.INFO,
  warn: SeverityNumber.WARN,
  error: SeverityNumber.ERROR,
}

/** Makes log records by the SDK's logger. */
export class CallLogs {
  readonly #logger: Logger
  readonly #pending: PendingExports

  constructor(logger: Logger, pending: PendingExports) {
    this.#logger = logger
    this.#pending = pending
  }

  addCall(call: CallRecord): void {
    if (!this.#pending.admits(1)) return
    const level = call.isOurFault ? 'error' : 'info'
    this.#logger.emit({
      eventName: 'modelgate.call',
      timestamp: call.startedAtMs + call.durationMs,
      severityNumber: severities[level],
      severityText: level,
      body: call.message === undefined ? 'call' : `call: ${call.message}`,
      attributes: known({ ...callAttributes(call), 'modelgate.call.duration_ms': call.durationMs }),
      context: call.span ? contextOf(call.span) : ROOT_CONTEXT,
    })
  }

  addLine({ atMs, level, message, fields }: LineRecord): void {
    if (!this.#pending.admits(1)) return
    this.#logger.emit({
      timestamp: atMs,
      severityNumber: severities[level],
      severityText: level,
      body: message,
      attributes: known({ ...fields }),
      context: ROOT_CONTEXT,
    })
  }

  addContent(content: ContentRecord): void {
    if (!this.#pending.admits(1)) return
    const { input, output, system } = readContent(content.said)
    this.#logger.emit({
      eventName: contentEvent,
      timestamp: content.atMs,
      severityNumber: SeverityNumber.INFO,
      attributes: known({
        [attribute.operationName]: operationOf(content.operation),
        [attribute.requestModel]: content.model || undefined,
        [attribute.inputMessages]: input,
        [attribute.outputMessages]: output,
        [attribute.systemInstructions]: system,
      }),
      context: contextOf(content),
    })
  }
}

const contextOf = ({ traceId, spanId }: { readonly traceId: string; readonly spanId: string }): Context =>
  trace.setSpanContext(ROOT_CONTEXT, { traceId, spanId, traceFlags: TraceFlags.SAMPLED })
