/** The spans of a finished call: its own, and below it admission, policies that it waited for, guardrails, attempts. */
import { ROOT_CONTEXT, SpanKind, SpanStatusCode, TraceFlags, trace } from '@opentelemetry/api'
import type { Attributes, Context, Span, Tracer } from '@opentelemetry/api'
import type { IdGenerator } from '@opentelemetry/sdk-trace'
import { newSpanId } from '../../lib/trace-context.ts'
import { callAttributes, operationOf, providerOf, serverOf, usageAttributes } from './call-attributes.ts'
import { attribute } from './conventions.ts'
import type { CallRecord } from './call-record.ts'
import type { PendingExports } from './pending-exports.ts'

/** Gives spans the ids that upstreams and clients know already. */
export class GivenIds implements IdGenerator {
  traceId = ''
  /** Of the next span; empty = any. */
  spanId = ''

  generateTraceId(): string {
    return this.traceId
  }

  generateSpanId(): string {
    const id = this.spanId || newSpanId()
    this.spanId = ''
    return id
  }
}

/** Milliseconds since the call began. */
interface Part {
  readonly name: string
  readonly kind: SpanKind
  readonly fromMs: number
  readonly toMs: number
  readonly attributes: Attributes
  readonly spanId?: string
  readonly error?: { readonly type: string; readonly message: string } | undefined
}

/** Policies that ask services have spans of these services. */
const withSpansOfTheirOwn: ReadonlySet<string> = new Set(['guardrails'])

/** Makes spans by the SDK's tracer. */
export class CallSpans {
  readonly #tracer: Tracer
  readonly #ids: GivenIds
  readonly #pending: PendingExports

  constructor(tracer: Tracer, ids: GivenIds, pending: PendingExports) {
    this.#tracer = tracer
    this.#ids = ids
    this.#pending = pending
  }

  /** Nothing of a call whose spans are not kept. */
  add(call: CallRecord): void {
    const { span } = call
    if (!span) return
    const parts = partsOf(call)
    if (!this.#pending.admits(parts.length + 1)) return
    this.#ids.traceId = span.traceId
    const parent = span.parentSpanId
      ? trace.setSpanContext(ROOT_CONTEXT, {
          traceId: span.traceId,
          spanId: span.parentSpanId,
          traceFlags: TraceFlags.SAMPLED,
          isRemote: true,
        })
      : ROOT_CONTEXT
    const isFailed = call.outcome !== 'success' && call.error !== undefined
    const own = this.#begin(call, parent, {
      name: nameOf(call),
      kind: SpanKind.SERVER,
      fromMs: 0,
      toMs: call.durationMs,
      attributes: callAttributes(call),
      spanId: span.spanId,
      error: isFailed ? { type: call.error!, message: call.message ?? '' } : undefined,
    })
    const within = trace.setSpan(parent, own)
    for (const part of parts) this.#begin(call, within, part).end(call.startedAtMs + part.toMs)
    own.end(call.startedAtMs + call.durationMs)
  }

  #begin(call: CallRecord, parent: Context, { name, kind, fromMs, attributes, spanId, error }: Part): Span {
    this.#ids.spanId = spanId ?? ''
    const span = this.#tracer.startSpan(name, { kind, startTime: call.startedAtMs + fromMs, attributes }, parent)
    if (error) {
      span.setAttribute(attribute.errorType, error.type)
      span.setStatus({ code: SpanStatusCode.ERROR, message: error.message })
    }
    return span
  }
}

const nameOf = ({ operation, model }: Pick<CallRecord, 'operation' | 'model'>): string =>
  model === '' ? operationOf(operation) : `${operationOf(operation)} ${model}`

function partsOf(call: CallRecord): Part[] {
  const parts: Part[] = []
  parts.push({
    name: 'admission',
    kind: SpanKind.INTERNAL,
    fromMs: 0,
    toMs: call.admittedMs ?? call.attempts[0]?.fromMs ?? call.durationMs,
    attributes: {},
  })
  for (const [policy, fromMs, toMs] of call.waits ?? [])
    if (!withSpansOfTheirOwn.has(policy))
      parts.push({
        name: policy === 'answer-cache' ? 'cache' : `policy ${policy}`,
        kind: SpanKind.INTERNAL,
        fromMs,
        toMs,
        attributes: {
          [attribute.policy]: policy,
          [attribute.cacheHit]: policy === 'answer-cache' ? (call.cacheHit ?? 'miss') : undefined,
        },
      })
  for (const [name, verdict, askedMs, waitedMs] of call.guardrails ?? [])
    parts.push({
      name: `guardrail ${name}`,
      kind: SpanKind.INTERNAL,
      // Rules that ask no service take part in admission, and have no time of their own.
      fromMs: askedMs < 0 ? (call.admittedMs ?? 0) : askedMs,
      toMs: askedMs < 0 ? (call.admittedMs ?? 0) : askedMs + waitedMs,
      attributes: { [attribute.guardrailName]: name, [attribute.guardrailVerdict]: verdict },
    })
  for (const [at, one] of call.attempts.entries())
    parts.push({
      name: nameOf({ operation: call.operation, model: one.model }),
      kind: SpanKind.CLIENT,
      fromMs: one.fromMs,
      toMs: one.toMs,
      spanId: one.spanId,
      attributes: {
        [attribute.operationName]: operationOf(call.operation),
        [attribute.providerName]: providerOf(one.provider),
        [attribute.requestModel]: one.model,
        [attribute.requestStream]: call.stream,
        [attribute.deploymentId]: one.deployment,
        [attribute.httpStatus]: one.status || undefined,
        ...serverOf(one.baseUrl),
        ...(at === call.attempts.length - 1 && !one.error
          ? { ...usageAttributes(call), [attribute.responseModel]: call.responseModel }
          : {}),
      },
      error: one.error === undefined ? undefined : { type: one.error, message: one.message ?? '' },
    })
  return parts
}
