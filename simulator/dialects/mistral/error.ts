/** Mistral's errors: https://docs.mistral.ai/api. Validation errors have FastAPI's format. */
import type { JsonObject } from '../../lib/json.ts'
import type { ErrorDetails } from '../openai/error.ts'

const causes: Record<number, [type: string, code: string, message: string]> = {
  400: ['invalid_request_error', '3051', 'Invalid request.'],
  404: ['invalid_request_error', '1500', 'no Route matched with those values'],
  429: ['rate_limited', '1300', 'Rate limit exceeded'],
  500: ['internal_server_error', '3000', 'Service unavailable.'],
  503: ['service_unavailable', '3001', 'Service tier capacity exceeded for this model.'],
}

const kinds: Record<string, string> = {
  quota: 'You have exceeded your monthly quota.',
  'context-length':
    'Prompt contains 140000 tokens and 0 draft tokens, too large for model with 131072 maximum context length',
  'content-filter': 'The request was refused by the content policy.',
}

/** `code` is a string of digits; 401 and 422 have formats of their own. */
export function mistralError(details: ErrorDetails): JsonObject {
  if (details.status === 401) return { detail: 'Unauthorized' }
  if (details.status === 422) {
    const loc = ['body', ...(details.param ? details.param.split('.') : [])]
    return {
      detail: [
        {
          type: details.code ?? 'value_error',
          loc,
          msg: details.message ?? 'Input should be valid',
          input: null,
        },
      ],
    }
  }
  const [type, code, message] = causes[details.status] ?? causes[details.status >= 500 ? 500 : 400]!
  return {
    object: 'error',
    message: details.message ?? kinds[details.kind ?? ''] ?? message,
    type,
    param: null,
    code: details.code ?? code,
  }
}
