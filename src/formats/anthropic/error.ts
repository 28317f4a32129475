/** Errors as Anthropic's clients read them (platform.claude.com/docs/en/api/errors). */
import type { GatewayError } from '../../core/errors.ts'
import type { FaultKind } from '../../core/errors.ts'

/** What is not named here is `api_error` from status 500 on, and `invalid_request_error` below. */
const types: Readonly<Partial<Record<FaultKind, string>>> = {
  unauthenticated: 'authentication_error',
  forbidden: 'permission_error',
  'model-forbidden': 'permission_error',
  'model-blocked': 'permission_error',
  'not-found': 'not_found_error',
  'model-not-found': 'not_found_error',
  'upstream-model-missing': 'not_found_error',
  'body-timeout': 'timeout_error',
  conflict: 'conflict_error',
  'too-large': 'request_too_large',
  'rate-limited': 'rate_limit_error',
  'budget-exceeded': 'billing_error',
  overloaded: 'overloaded_error',
  'upstream-rate-limited': 'rate_limit_error',
  'upstream-timeout': 'timeout_error',
  'upstream-overloaded': 'overloaded_error',
}

/** Claude Code shortens its conversation when it reads this text: all providers' errors of this kind need it. */
const tooLongText = 'prompt is too long'

/** The code for a thread that the upstream cannot keep: Anthropic's clients then send the whole conversation. */
export const unsupportedThread = 'thread_unsupported_request'

/**
 * `{type: 'error', error: {type, message}, request_id}`; in a stream the id is only in the header that came before.
 * Errors of threads have their code in `details`, by which clients start another one, or go on without.
 */
export function anthropicErrorBody(error: GatewayError, requestId?: string): object {
  const type =
    types[error.kind] ?? (error.status >= 500 || error.kind === 'client-closed' ? 'api_error' : 'invalid_request_error')
  const needsText = error.kind === 'context-too-long' && !error.message.toLowerCase().includes(tooLongText)
  const message = needsText ? `${tooLongText}: ${error.message}` : error.message
  const details = error.code?.startsWith('thread_') ? { details: { error_code: error.code } } : {}
  return {
    type: 'error',
    error: { type, message, ...details },
    ...(requestId !== undefined && { request_id: requestId }),
  }
}

/** The same as an event of a stream that has already begun. */
export function anthropicErrorEvent(error: GatewayError): string {
  return namedEvent('error', JSON.stringify(anthropicErrorBody(error)))
}

/** One event of a stream; clients pass over events without a name. `json` is one document. */
export function namedEvent(name: string, json: string): string {
  return `event: ${name}\ndata: ${json.includes('\n') ? json.replaceAll('\n', '\ndata: ') : json}\n\n`
}
