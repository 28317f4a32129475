/**
 * What an upstream's error is, wherever it stands: a status line, a whole answer, an event, a choice, a line of a
 * stream or of a batch (docs/decisions/0087). Its kind decides the rest by the table of `core/errors.ts`: the status
 * and code that clients read, whether it is tried again, whether it counts for a cooldown, and its fallbacks.
 */
import { refusalOf } from '../../../rules/refusals.ts'
import type { RefusalKind } from '../../../rules/refusal-rows.ts'
import { isObject } from '../../lib/json/json-values.ts'
import type { Json } from '../../lib/json/json-values.ts'
import { GatewayError } from '../errors.ts'
import type { FaultKind, ReportedError } from '../errors.ts'
import type { UpstreamFault } from '../provider.ts'
import { isFrameworkError, readErrorBody, saysError } from './error-body.ts'

const kinds: Readonly<Record<RefusalKind, FaultKind>> = {
  'too-long': 'context-too-long',
  'content-policy': 'content-policy',
  'bad-input': 'upstream-refused',
  refused: 'upstream-refused',
  'too-large': 'too-large',
  'unknown-model': 'model-not-found',
  'bad-key': 'upstream-credentials',
  'no-credit': 'upstream-credentials',
  rate: 'upstream-rate-limited',
  overloaded: 'upstream-overloaded',
  timeout: 'upstream-timeout',
  'bad-gateway': 'upstream-broken',
  failed: 'upstream-failed',
}

/** Codes of filters that clients know; others become the gateway's own. */
const filterCodes: ReadonlySet<string> = new Set([
  'content_policy_violation',
  'content_filter',
  'cyber_policy',
  'invalid_prompt',
])

/** An error of one upstream. */
export interface UpstreamError extends ReportedError {
  /** `Provider.name`; '' = not known here. */
  readonly host: string
  /** Of the status line; absent = the error stands in an answer that was announced as a success. */
  readonly status?: number
  /** As in `RefusalText`. */
  isEcho?(this: void, words: string): boolean
}

/** The fault that the error is. The message is the upstream's own. */
export function classify({ host, status, body, name, kind: usual, isEcho }: UpstreamError): UpstreamFault {
  const error = readErrorBody(body)
  const stated = status ?? error.status
  const codes = name === undefined || name === '' ? error.codes : [name, ...error.codes]
  const refusal = refusalOf({ host, status: stated, codes, message: error.message, ...(isEcho && { isEcho }) })
  const kind = refusal === 'failed' && usual ? usual : kinds[refusal]
  const missing = stated === undefined ? 'the upstream failed' : `the upstream answered with the status ${stated}`
  const message = error.message || missing
  const rest = { ...(error.retryAfterMs !== undefined && { retryAfterMs: error.retryAfterMs }) }
  // The message says whose account it is, and the code is left out: no client is to take it for its own.
  if (refusal === 'no-credit')
    return { kind, message: `the gateway's account at the upstream cannot pay: ${message}`, ...rest }
  const code = codeFor(kind, name || error.code)
  return {
    kind,
    message,
    ...(code !== undefined && { code }),
    ...(error.param !== undefined && { param: error.param }),
    // A refusal keeps its own status, but a server that failed over a request's fault has none.
    ...(kind === 'upstream-refused' && { status: stated !== undefined && stated < 500 ? stated : 400 }),
    ...rest,
  }
}

/** For these kinds clients look for OpenAI's codes, which are set from the kind. */
function codeFor(kind: FaultKind, code: string | undefined): string | undefined {
  if (kind === 'context-too-long') return undefined
  return kind === 'content-policy' && !filterCodes.has(code ?? '') ? undefined : code
}

/**
 * The error that an answer reports which was announced as a success. The router judges it anew, with the words of the
 * host.
 */
export function failureOfBody(body: unknown, more: Omit<ReportedError, 'body'> = {}): GatewayError {
  const reported = { body, ...more }
  const { message, ...fault } = classify({ host: '', ...reported })
  const error = new GatewayError(fault.kind, message, fault)
  error.reported = reported
  return error
}

/** `{detail}`, `{message}`, `{msg}` or `{errors}` where an answer was due, as web frameworks write errors. */
export function frameworkError(body: Json): GatewayError | undefined {
  return isFrameworkError(body) ? failureOfBody(body) : undefined
}

/** The error that a body names as such, or the list around it; undefined = it names none. */
export function namedError(body: unknown): GatewayError | undefined {
  const first: unknown = Array.isArray(body) ? body[0] : body
  return isObject(first) && saysError(first) ? failureOfBody(first) : undefined
}
