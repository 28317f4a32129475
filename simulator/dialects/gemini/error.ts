/** Google's errors: https://cloud.google.com/apis/design/errors. */
import type { JsonObject } from '../../lib/json.ts'
import type { ErrorDetails } from '../openai/error.ts'

const statuses: Record<number, [string, string]> = {
  400: ['INVALID_ARGUMENT', 'Request contains an invalid argument.'],
  401: ['UNAUTHENTICATED', 'Request had invalid authentication credentials. Expected OAuth 2 access token.'],
  403: ['PERMISSION_DENIED', 'Permission denied on resource project sim.'],
  404: ['NOT_FOUND', 'models/sim is not found for API version v1beta, or is not supported for generateContent.'],
  429: ['RESOURCE_EXHAUSTED', 'Resource has been exhausted (e.g. check quota).'],
  500: ['INTERNAL', 'An internal error has occurred. Please retry.'],
  503: ['UNAVAILABLE', 'The model is overloaded. Please try again later.'],
  504: ['DEADLINE_EXCEEDED', 'The request timed out. Please try again.'],
}

const kinds: Record<string, string> = {
  quota: 'You exceeded your current quota, please check your plan and billing details.',
  'context-length': 'The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).',
  'content-filter': 'The prompt was refused by the content policy.',
}

/** `retryAfterS` becomes a `RetryInfo` detail, as google.rpc defines it. */
export function geminiError(details: ErrorDetails): JsonObject {
  const [status, text] = statuses[details.status] ?? statuses[details.status >= 500 ? 500 : 400]!
  const message = details.message ?? kinds[details.kind ?? ''] ?? text
  const { retryAfterS } = details
  const retry = { '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: `${retryAfterS}s` }
  return {
    error: {
      code: details.status,
      message,
      status: details.code ?? status,
      ...(retryAfterS !== undefined && { details: [retry] }),
    },
  }
}
