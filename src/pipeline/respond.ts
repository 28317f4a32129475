/** The response to a call, with the headers for deployment, attempts and cost. */
import type { Answer, Reply } from '../core/answer.ts'
import type { Call } from '../core/call.ts'
import type { GatewayError } from '../core/errors.ts'
import type { UsageSource } from '../core/usage/usage.ts'
import type { Clock } from '../lib/clock.ts'
import { thousandthsText } from '../lib/text.ts'
import { nanoUsdToText } from '../pricing/cost.ts'
import { addLitellmHeaders } from './litellm-headers.ts'

/** What answers are made with. */
interface RespondParts {
  readonly clock: Clock
}

/**
 * Once per call: its headers are `call.responseHeaders` itself, extended. Those of a stream have no cost, which is not
 * known when they are sent.
 */
export function respond(parts: RespondParts, call: Call, reply: Reply): Answer {
  const headers = answerHeaders(parts, call)
  headers['content-type'] = reply.contentType
  if (call.stream) {
    headers['cache-control'] = 'no-cache'
    headers['x-accel-buffering'] = 'no'
  }
  return { status: reply.status, headers, body: reply.body }
}

/**
 * An error in the client's dialect, with the status of its kind; `retry-after` where the error has a wait. Once per
 * call, as `respond`.
 */
export function respondError(parts: RespondParts, call: Call, error: GatewayError): Answer {
  const headers = answerHeaders(parts, call)
  headers['content-type'] = 'application/json'
  addRetryAfter(headers, error)
  return { status: error.status, headers, body: JSON.stringify(call.format!.errorBody(error, call.requestId)) }
}

/** `retry-after` in whole seconds for all clients, in milliseconds for the SDKs that read it. */
function addRetryAfter(headers: Record<string, string>, error: GatewayError): void {
  if (error.retryAfterMs === undefined) return
  headers['retry-after'] = String(Math.max(1, Math.ceil(error.retryAfterMs / 1000)))
  headers['retry-after-ms'] = String(Math.max(1, Math.ceil(error.retryAfterMs)))
}

/** Header names of one prefix, computed once: computing a name costs more than setting the header (measured). */
interface HeaderNames {
  readonly prefix: string
  readonly callId: string
  readonly modelId: string
  readonly modelGroup: string
  readonly retries: string
  readonly fallbacks: string
  readonly overheadMs: string
  /** LiteLLM's, with its prefix alone; empty = not sent. */
  readonly durationMs: string
  readonly cost: string
  readonly usageSource: string
  readonly dropped: string
}

function headerNames(prefix: string): HeaderNames {
  const isLitellm = prefix === 'x-litellm'
  return {
    prefix,
    callId: `${prefix}-call-id`,
    modelId: `${prefix}-model-id`,
    modelGroup: `${prefix}-model-group`,
    retries: `${prefix}-attempted-retries`,
    fallbacks: `${prefix}-attempted-fallbacks`,
    overheadMs: isLitellm ? `${prefix}-overhead-duration-ms` : `${prefix}-overhead-ms`,
    durationMs: isLitellm ? `${prefix}-response-duration-ms` : '',
    cost: `${prefix}-response-cost`,
    usageSource: `${prefix}-usage-source`,
    dropped: `${prefix}-dropped-params`,
  }
}

let names = headerNames('x-proxy')

/** The gateway's own headers of an answer: `call.responseHeaders` itself, extended. */
export function answerHeaders(parts: RespondParts, call: Call): Record<string, string> {
  const prefix = call.models.settings.headerPrefix
  if (names.prefix !== prefix) names = headerNames(prefix)
  // Not copied: the call has ended.
  const headers = call.responseHeaders
  headers['x-request-id'] = call.requestId
  headers[names.callId] = call.clientCallId || call.id
  const { attempt, settlement } = call
  if (attempt?.deployment) headers[names.modelId] = attempt.deployment.id
  if (call.model && call.model.length <= modelLengthMax && isHeaderSafe(call.model))
    headers[names.modelGroup] = call.model
  headers[names.retries] = String(call.progress.retries)
  headers[names.fallbacks] = String(call.progress.fallbacks)
  const durationMs = parts.clock.monotonicMs() - call.startedMs
  headers[names.overheadMs] = millisecondsText(durationMs - call.progress.upstreamMs - call.progress.waitedMs)
  if (names.durationMs !== '') headers[names.durationMs] = millisecondsText(durationMs)
  if (settlement) {
    const { costNanoUsd, usageSource } = settlement
    if (!call.stream && costNanoUsd !== null) headers[names.cost] = nanoUsdToText(costNanoUsd)
    if (isEstimated(call, usageSource)) headers[names.usageSource] = usageSource
  }
  if (attempt && attempt.dropped.length > 0) headers[names.dropped] = droppedText(attempt.dropped)
  if (names.durationMs !== '') addLitellmHeaders(headers, call)
  return headers
}

const millisecondsText = (ms: number): string => thousandthsText(Math.max(Math.round(ms * 100), 0) * 10)

/** Counting tokens is free: its header says itself that the count is an estimate. */
function isEstimated({ operation }: Call, usageSource: UsageSource): boolean {
  return (usageSource === 'estimated' || usageSource === 'mixed') && operation !== 'count-tokens'
}

/** Clients and proxies limit the size of headers, and these texts are the client's. */
const modelLengthMax = 500
const droppedLengthMax = 2048

function droppedText(dropped: readonly string[]): string {
  const text = dropped.filter(isHeaderSafe).join(',')
  return text.length <= droppedLengthMax ? text : `${text.slice(0, droppedLengthMax - 3)}...`
}

function isHeaderSafe(text: string): boolean {
  return /^[\x20-\x7e]*$/.test(text)
}
