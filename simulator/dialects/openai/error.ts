/** OpenAI's errors: https://platform.openai.com/docs/guides/error-codes. */
import type { JsonObject } from '../../lib/json.ts'
import type { StreamEvent } from '../response.ts'
import { dataEvent } from '../stream-events.ts'

/**
 * The content of an error, independent of the vendor. Each dialect fills in what is left out according to the status.
 */
export interface ErrorDetails {
  readonly status: number
  readonly message?: string
  readonly param?: string | null
  readonly code?: string | null
  /** A cause that shares its status with others: quota, context-length, content-filter. */
  readonly kind?: string
  /** Seconds until a retry, for dialects that say so in the body. */
  readonly retryAfterS?: number
}

const causes: Record<string, { message: string; type: string; code: string | null }> = {
  '401': {
    message:
      'Incorrect API key provided: sk-sim****0000. You can find your API key at ' +
      'https://platform.openai.com/account/api-keys.',
    type: 'invalid_request_error',
    code: 'invalid_api_key',
  },
  '403': {
    message: 'You are not allowed to sample from this model',
    type: 'invalid_request_error',
    code: 'model_not_found',
  },
  '404': {
    message: 'The model `sim` does not exist or you do not have access to it.',
    type: 'invalid_request_error',
    code: 'model_not_found',
  },
  '429': {
    message:
      'Rate limit reached for sim in organization org-sim on requests per min (RPM): Limit 3, Used 3, Requested 1. ' +
      'Please try again in 1s.',
    type: 'requests',
    code: 'rate_limit_exceeded',
  },
  '500': {
    message: 'The server had an error while processing your request. Sorry about that!',
    type: 'server_error',
    code: null,
  },
  '503': {
    message: 'The server is currently overloaded with other requests. Sorry about that! You can retry your request.',
    type: 'server_error',
    code: null,
  },
  quota: {
    message: 'You exceeded your current quota, please check your plan and billing details.',
    type: 'insufficient_quota',
    code: 'insufficient_quota',
  },
  'context-length': {
    message:
      "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens. Please " +
      'reduce the length of the messages.',
    type: 'invalid_request_error',
    code: 'context_length_exceeded',
  },
  'content-filter': {
    message: 'The response was filtered due to the prompt triggering our content management policy.',
    type: 'invalid_request_error',
    code: 'content_filter',
  },
}

/** An error body; streams use the same form. */
export function openaiError(details: ErrorDetails): JsonObject {
  const isServerError = details.status >= 500
  const general = {
    message: isServerError ? causes['500']!.message : 'Invalid request.',
    type: isServerError ? 'server_error' : 'invalid_request_error',
    code: null,
  }
  const cause = causes[details.kind ?? ''] ?? causes[String(details.status)] ?? general
  const { message = cause.message, param = null, code = cause.code } = details
  return { error: { message, type: cause.type, param, code } }
}

/** An error event in a stream. */
export function openaiFailure(): StreamEvent {
  return dataEvent(openaiError({ status: 500 }), 'error')
}
