/** Mistral's errors: https://docs.mistral.ai/api. A wrong field is a list of places, as FastAPI writes it. */
import type { Json } from '../../generation/types.ts'
import type { ErrorWords } from '../openai/error.ts'

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

/** `code` is a text of digits where Mistral has one; 401 and 422 have shapes of their own. */
export function mistralError(words: ErrorWords): Json {
  if (words.status === 401) return { detail: 'Unauthorized' }
  if (words.status === 422) {
    const loc = ['body', ...(words.param ? words.param.split('.') : [])]
    return {
      detail: [
        {
          type: words.code ?? 'value_error',
          loc,
          msg: words.message ?? 'Input should be valid',
          input: null,
        },
      ],
    }
  }
  const [type, code, message] = causes[words.status] ?? causes[words.status >= 500 ? 500 : 400]!
  return {
    object: 'error',
    message: words.message ?? kinds[words.kind ?? ''] ?? message,
    type,
    param: null,
    code: words.code ?? code,
  }
}
