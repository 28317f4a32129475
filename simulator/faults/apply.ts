/** Faults that change the content of a response. Transport faults are applied in server/send-response.ts. */
import { isJsonObject } from '../lib/json.ts'
import { unbilled } from '../dialects/response.ts'
import type { SimulatedResponse, StreamEvent } from '../dialects/response.ts'
import type { JsonObject } from '../lib/json.ts'
import type { TokenUsage } from '../generation/types.ts'
import type { Fault } from './fault.ts'
import { openaiFailure } from '../dialects/openai/error.ts'
import type { ErrorDetails } from '../dialects/openai/error.ts'
import { hash, seededRandom } from '../generation/random.ts'
import { conventionsOf } from '../dialects/conventions.ts'
import type { Dialect } from '../dialects/conventions.ts'

/** The part of the request that faults depend on. */
interface FaultContext {
  readonly dialect: Dialect
  readonly requestId: string
  /** Number of the request, which seeds the random decision of `flaky`. */
  readonly n: number
  readonly seed: number
  /** Path and query of the request. */
  readonly target: string
  /** Base URL of the simulator. */
  readonly url: string
}

/** An error response in the format of the dialect. */
export function errorResponse(
  details: ErrorDetails,
  context: { dialect: Dialect; requestId: string },
): SimulatedResponse {
  const { error, errorHeaders } = conventionsOf(context.dialect)
  const content = JSON.stringify(error(details, context.requestId))
  return { status: details.status, headers: errorHeaders?.(details) ?? [], content, billable: unbilled }
}

const invalidNumbers: Record<string, unknown[]> = {
  negative: [-1],
  huge: [1e300],
  text: ['many'],
  fraction: [0.5],
  null: [null],
  mixed: [-1, 1e300, 'many', 0.5, null],
}

function invalidUsage(usage: JsonObject, kind: string): JsonObject {
  const values = invalidNumbers[kind] ?? invalidNumbers.mixed!
  let at = 0
  const applyFault = (value: unknown): unknown => {
    if (typeof value === 'number') return values[at++ % values.length]
    return isJsonObject(value)
      ? Object.fromEntries(Object.entries(value).map(([key, one]) => [key, applyFault(one)]))
      : value
  }
  return applyFault(usage) as JsonObject
}

/** The usage as the fault reports it. */
export function usageWithFault(
  fault: Fault | undefined,
  usageOf: (usage: TokenUsage) => JsonObject,
): (usage: TokenUsage) => JsonObject | undefined {
  if (fault?.name === 'no-usage') return () => undefined
  if (fault?.name === 'bad-usage') return usage => invalidUsage(usageOf(usage), fault.text('kind'))
  return usageOf
}

function redirect(fault: Fault, context: FaultContext): SimulatedResponse {
  const to = fault.text('to') || `${context.url}/redirected${context.target}`
  return { status: fault.number('code'), headers: [['location', to]], content: '', billable: unbilled }
}

function htmlErrorPage(status: number): SimulatedResponse {
  const title = status === 502 ? '502 Bad Gateway' : `${status} Error`
  const body = `<body>\r\n<center><h1>${title}</h1></center>\r\n<hr><center>nginx</center>\r\n</body>`
  const content = `<html>\r\n<head><title>${title}</title></head>\r\n${body}\r\n</html>\r\n`
  return { status, headers: [['content-type', 'text/html']], content, billable: unbilled }
}

function rateLimited(fault: Fault, context: FaultContext): SimulatedResponse {
  const retryAfterS = Number(fault.text('retry-after') || Number.NaN)
  const details = {
    status: 429,
    kind: fault.text('kind'),
    ...(Number.isFinite(retryAfterS) && { retryAfterS }),
  }
  const response = errorResponse(details, context)
  const names = ['retry-after', 'retry-after-ms']
  const headers = names.map(name => [name, fault.text(name)] as const).filter(([, value]) => value !== '')
  return { ...response, headers: [...response.headers, ...headers] }
}

/** Whether `flaky` fails this request. */
function flakyFails(fault: Fault, context: FaultContext): boolean {
  return seededRandom(hash(`flaky ${context.n}`, context.seed))() < fault.number('p')
}

/** The response with the fault applied; unchanged when the fault concerns the transport only. */
export function applyFault(response: SimulatedResponse, fault: Fault, context: FaultContext): SimulatedResponse {
  const isWhole = typeof response.content === 'string' || response.content instanceof Uint8Array
  switch (fault.name) {
    case '429':
      return rateLimited(fault, context)
    case 'status':
      return errorResponse({ status: fault.number('code'), kind: fault.text('kind') }, context)
    case 'html-error':
      return htmlErrorPage(fault.number('code'))
    case 'redirect':
      return context.target.startsWith('/redirected/') ? response : redirect(fault, context)
    case 'flaky':
      return flakyFails(fault, context) ? errorResponse({ status: fault.number('code') }, context) : response
    case 'error-first':
    case 'error-in-stream':
      return isWhole ? errorResponse({ status: 500 }, context) : response
    case 'no-finish':
      return isWhole ? withoutFinish(response, context.dialect) : response
    default:
      return response
  }
}

/** Where a dialect writes the finish reason. The patterns must not match inside escaped tool arguments. */
const finishes: Partial<Record<Dialect, RegExp>> = {
  openai: /"(finish_reason|status)":"(?:[a-z_]*)"/g,
  gemini: /"(finishReason)":"[A-Z_]*"/g,
  bedrock: /"(stopReason)":"[a-z_]*"/g,
  ollama: /"(done|done_reason)":(?:true|"[a-z_]*")/g,
}
const finishDefault = /"(finish_reason|stop_reason)":"[A-Za-z_]*"/g

function withoutFinish(response: SimulatedResponse, dialect: Dialect): SimulatedResponse {
  if (typeof response.content !== 'string') return response
  const content = response.content.replaceAll(finishes[dialect] ?? finishDefault, '"$1":null')
  return { ...response, content }
}

/** Offset at which the text of a delta begins in its event; -1 when the event has no text. */
export function textStart(event: string): number {
  const found =
    /"(?:content|text|thinking|tool_plan|reasoning_content|arguments|partial_json|delta|input)":"(?!")/.exec(event)
  return found ? found.index + found[0].length : -1
}

/** The event without the last characters of its JSON, but with its trailing line breaks. */
function cutShort(event: StreamEvent): StreamEvent {
  const end = /\n*$/.exec(event.text)![0]
  return { ...event, text: event.text.slice(0, -10 - end.length) + end }
}

function* truncated(events: Iterable<StreamEvent>): Generator<StreamEvent> {
  let pending: StreamEvent | undefined
  let isTruncated = false
  for (const event of events) {
    if (pending && event.kind !== 'delta' && !isTruncated) {
      isTruncated = true
      yield cutShort(pending)
    } else if (pending) yield pending
    pending = event.kind === 'delta' ? event : undefined
    if (!pending) yield event
  }
}

/** The events with the fault applied. */
export function* applyFaultToEvents(response: SimulatedResponse, fault: Fault | undefined): Generator<StreamEvent> {
  const events = response.content as Iterable<StreamEvent>
  if (fault?.name === 'truncated-json') return yield* truncated(events)
  const omittedKind = fault?.name === 'no-done' ? 'end' : fault?.name === 'no-finish' ? 'finish' : undefined
  const endsWithError = fault?.name === 'error-in-stream' || fault?.name === 'error-first'
  const errorAt = !endsWithError ? Infinity : fault.name === 'error-first' ? 0 : fault.number('at')
  let at = 0
  for (const event of events) {
    if (at >= errorAt) return yield (response.failure ?? openaiFailure)(at)
    at++
    if (event.kind !== omittedKind) yield event
  }
}
