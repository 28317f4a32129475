/** What hosts with OpenAI's dialect say when they refuse or fail. */
import { contextOf, openaiError, saidBy } from './refusal-rows.ts'
import type { Refusal } from './refusal-rows.ts'

const groq = saidBy('https://console.groq.com/docs/errors', '2026-11-28', [
  {
    kind: 'too-long',
    words: /reduce the length of the messages or completion/i,
    example: {
      status: 400,
      body: openaiError(
        'Please reduce the length of the messages or completion.',
        'invalid_request_error',
        'context_length_exceeded',
        'messages',
      ),
    },
  },
  { kind: 'no-credit', codes: ['blocked_api_access'] },
  {
    kind: 'overloaded',
    codes: ['capacity_exceeded'],
    example: {
      status: 498,
      body: openaiError('Flex tier capacity exceeded.', 'server_error', 'capacity_exceeded'),
    },
  },
  {
    kind: 'rate',
    example: {
      status: 413,
      body: openaiError(
        'Request too large for model `llama-3.3-70b-versatile` on tokens per minute (TPM): Limit 6000.',
        'tokens',
        'rate_limit_exceeded',
      ),
    },
  },
  {
    kind: 'unknown-model',
    example: {
      status: 404,
      body: openaiError('The model `llama-9` does not exist.', 'invalid_request_error', 'model_not_found'),
    },
  },
  {
    kind: 'bad-key',
    example: { status: 401, body: openaiError('Invalid API Key', 'invalid_request_error', 'invalid_api_key') },
  },
  {
    kind: 'bad-input',
    words: /failed to retrieve media|invalid image data/i,
    example: { status: 400, body: openaiError('invalid image data', 'invalid_request_error') },
  },
])

const xai = saidBy('https://github.com/continuedev/continue/issues/10778', '2026-11-28', [
  {
    kind: 'too-long',
    words: /maximum prompt length is [\d,]+/i,
    example: {
      status: 400,
      body: {
        code: 'invalid-argument',
        error: "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
      },
    },
  },
  {
    // A wrong key is a wrong request there.
    kind: 'bad-key',
    words: /incorrect api key provided/i,
    example: {
      status: 400,
      body: {
        code: 'Client specified an invalid argument',
        error: 'Incorrect API key provided: xa***9. You can obtain an API key from https://console.x.ai.',
      },
    },
  },
  {
    kind: 'no-credit',
    words: /used all available credits/i,
    example: {
      status: 429,
      body: {
        code: 'resource-exhausted',
        error: 'Your team has either used all available credits or reached its monthly spending limit.',
      },
    },
  },
  {
    kind: 'unknown-model',
    example: {
      status: 404,
      body: {
        code: 'Some requested entity was not found',
        error: 'The model grok-9 does not exist or your team does not have access to it.',
      },
    },
  },
  {
    kind: 'content-policy',
    words: /content violates usage guidelines/i,
    example: {
      status: 403,
      body: { code: 'permission-denied', error: 'Content violates usage guidelines.' },
    },
  },
  {
    kind: 'bad-input',
    words: /fetching image failed|invalid image(?: |:)/i,
    example: { status: 400, body: { code: 'invalid-argument', error: 'Fetching image failed with HTTP status 404.' } },
  },
  {
    kind: 'overloaded',
    example: {
      status: 503,
      body: { code: 'The service is currently unavailable', error: 'Service temporarily unavailable.' },
    },
  },
  {
    kind: 'rate',
    example: { status: 429, body: { code: 'resource-exhausted', error: 'Too many requests for team.' } },
  },
])

/** Its errors are mostly inside of a 200, with the status as `code`. */
const openrouter = saidBy('https://openrouter.ai/docs/api/reference/errors-and-debugging', '2026-11-28', [
  {
    kind: 'too-long',
    words: /exceeds (?:the )?maximum allowed input length of [\d,]+/i,
    example: {
      status: 400,
      body: {
        error: {
          code: 400,
          message:
            "This endpoint's maximum context length is 128000 tokens. However, you requested about 200000 tokens.",
        },
      },
    },
  },
  {
    kind: 'bad-input',
    words: /no endpoints found that support image input/i,
    example: { status: 404, body: { error: { code: 404, message: 'No endpoints found that support image input' } } },
  },
  {
    kind: 'unknown-model',
    words: /is not a valid model id|no endpoints found for/i,
    example: { status: 400, body: { error: { code: 400, message: 'acme/gpt-9 is not a valid model ID' } } },
  },
  {
    kind: 'no-credit',
    example: { status: 402, body: { error: { code: 402, message: 'Insufficient credits.' } } },
  },
  {
    kind: 'content-policy',
    example: {
      status: 403,
      body: {
        error: {
          code: 403,
          message: 'openai/gpt-5.4 requires moderation. Your input was flagged for "violence".',
          metadata: { reasons: ['violence'], flagged_input: 'x', provider_name: 'OpenAI' },
        },
      },
    },
  },
  {
    kind: 'rate',
    example: {
      status: 429,
      body: {
        error: {
          code: 429,
          message: 'Provider returned error',
          metadata: { raw: 'acme/m:free is temporarily rate-limited upstream', provider_name: 'Acme' },
        },
      },
    },
  },
  { kind: 'bad-key', example: { status: 401, body: { error: { code: 401, message: 'User not found.' } } } },
  {
    kind: 'overloaded',
    example: {
      status: 503,
      body: {
        error: { code: 503, message: 'There is no available model provider that meets your routing requirements' },
      },
    },
  },
])

const together = saidBy('https://docs.together.ai/docs/error-codes', '2026-11-28', [
  {
    // A conversation that is too long has the status of a missing right.
    kind: 'too-long',
    words: /must be less than the context length|longer than the model'?s context length/i,
    example: {
      status: 403,
      body: openaiError(
        "The input (516368 tokens) is longer than the model's context length (262144 tokens).",
        'invalid_request_error',
      ),
    },
  },
  {
    kind: 'no-credit',
    example: {
      status: 402,
      body: openaiError('You have reached your monthly spending limit.', 'billing'),
    },
  },
  {
    kind: 'overloaded',
    example: { status: 503, body: openaiError('The engine is overloaded. Please try again.', 'server_error') },
  },
])

const deepseek = saidBy('https://api-docs.deepseek.com/quick_start/error_codes', '2026-11-28', [
  {
    kind: 'content-policy',
    words: /^content exists risk/i,
    example: {
      status: 400,
      body: openaiError('Content Exists Risk', 'invalid_request_error', 'invalid_request_error'),
    },
  },
  {
    kind: 'unknown-model',
    words: /^model not exist/i,
    example: { status: 400, body: openaiError('Model Not Exist', 'invalid_request_error', 'invalid_request_error') },
  },
  { kind: 'no-credit', example: { status: 402, body: openaiError('Insufficient Balance', 'unknown_error') } },
  {
    kind: 'bad-key',
    example: {
      status: 401,
      body: openaiError('Authentication Fails (no such user)', 'authentication_error', 'invalid_request_error'),
    },
  },
  { kind: 'too-long', example: { status: 400, body: openaiError(contextOf(65_536), 'invalid_request_error') } },
])

const zai = saidBy('https://docs.z.ai/api-reference/api-code', '2026-11-28', [
  {
    kind: 'bad-key',
    codes: ['1000', '1001', '1002', '1003', '1004'],
    example: { status: 401, body: { error: { code: '1002', message: 'Invalid Authentication Token' } } },
  },
  {
    kind: 'no-credit',
    codes: ['1113'],
    example: {
      status: 429,
      body: { error: { code: '1113', message: 'Insufficient balance or no resource package. Please recharge.' } },
    },
  },
  {
    kind: 'unknown-model',
    codes: ['1211'],
    example: {
      status: 400,
      body: { error: { code: '1211', message: 'Model does not exist, please check the model code' } },
    },
  },
  {
    kind: 'too-long',
    codes: ['1261'],
    words: /prompt exceeds max length/i,
    example: { status: 400, body: { error: { code: '1261', message: 'Prompt exceeds max length' } } },
  },
  {
    kind: 'content-policy',
    codes: ['1300', '1301'],
    words: /detected potentially unsafe or sensitive content/i,
    example: {
      status: 400,
      body: {
        error: {
          code: '1301',
          message: 'System detected potentially unsafe or sensitive content in input or generation.',
        },
      },
    },
  },
  {
    kind: 'rate',
    codes: ['1302', '1303'],
    example: {
      status: 429,
      body: { error: { code: '1302', message: 'High concurrency usage of this API, please reduce concurrency' } },
    },
  },
  {
    kind: 'overloaded',
    codes: ['1305', '1312'],
    example: {
      status: 429,
      body: { error: { code: '1305', message: 'The model is under high load, please try again later' } },
    },
  },
  { kind: 'failed', codes: ['1234'] },
])

const dashscope = saidBy('https://www.alibabacloud.com/help/en/model-studio/error-code', '2026-11-28', [
  {
    kind: 'too-long',
    words: /range of input length should be/i,
    example: {
      status: 400,
      body: openaiError(
        '<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 131072]',
        'invalid_request_error',
        'invalid_parameter_error',
      ),
    },
  },
  {
    kind: 'no-credit',
    codes: ['arrearage'],
    example: {
      status: 400,
      body: openaiError('Access denied, please make sure your account is in good standing.', 'Arrearage', 'Arrearage'),
    },
  },
  {
    kind: 'bad-input',
    codes: ['invalidparameter.datainspection'],
    words: /image format is illegal|failed to download multimodal content/i,
    example: {
      status: 400,
      body: openaiError(
        'The image format is illegal and cannot be opened',
        'invalid_request_error',
        'InvalidParameter',
      ),
    },
  },
  {
    kind: 'content-policy',
    codes: ['datainspectionfailed', 'data_inspection_failed'],
    example: {
      status: 400,
      body: openaiError(
        'Input data may contain inappropriate content.',
        'data_inspection_failed',
        'data_inspection_failed',
      ),
    },
  },
  {
    kind: 'rate',
    codes: ['throttling', 'throttling.*', 'limit_requests'],
    example: {
      status: 429,
      body: openaiError('Requests rate limit exceeded, please try again later.', 'Throttling', 'Throttling.RateQuota'),
    },
  },
  {
    kind: 'bad-key',
    codes: ['invalidapikey'],
    example: { status: 401, body: openaiError('Invalid API-key provided.', 'invalid_request_error', 'InvalidApiKey') },
  },
  { kind: 'unknown-model', codes: ['modelnotfound', 'model_not_supported'] },
  { kind: 'overloaded', codes: ['modelunavailable', 'modelservingerror'] },
])

const moonshot = saidBy('https://platform.kimi.ai/docs/api/errors', '2026-11-28', [
  {
    kind: 'too-long',
    words: /exceeded model token limit|input token length too long/i,
    example: {
      status: 400,
      body: openaiError(
        'Invalid request: Your request exceeded model token limit: 262144 (requested: 269030)',
        'invalid_request_error',
      ),
    },
  },
  {
    kind: 'no-credit',
    codes: ['exceeded_current_quota_error'],
    example: {
      status: 429,
      body: openaiError('Your account is suspended, please check your plan.', 'exceeded_current_quota_error'),
    },
  },
  {
    kind: 'overloaded',
    codes: ['engine_overloaded_error'],
    example: {
      status: 429,
      body: openaiError('The engine is currently overloaded, please try again later', 'engine_overloaded_error'),
    },
  },
  {
    kind: 'content-policy',
    words: /rejected because it was considered high risk/i,
    example: {
      status: 400,
      body: openaiError('The request was rejected because it was considered high risk', 'content_filter'),
    },
  },
  {
    kind: 'rate',
    codes: ['rate_limit_reached_error'],
    example: {
      status: 429,
      body: openaiError('Your account reached max request per minute: 3.', 'rate_limit_reached_error'),
    },
  },
  {
    kind: 'unknown-model',
    codes: ['resource_not_found_error'],
    example: {
      status: 404,
      body: openaiError('Not found the model or Permission denied', 'resource_not_found_error'),
    },
  },
  {
    kind: 'bad-key',
    codes: ['invalid_authentication_error', 'incorrect_api_key_error'],
    example: { status: 401, body: openaiError('Invalid Authentication', 'invalid_authentication_error') },
  },
])

/** Codes of `base_resp`, which stands beside an answer without choices, with the status 200. */
const minimax = saidBy('https://platform.minimax.io/docs/api-reference/errorcode', '2026-11-23', [
  { kind: 'rate', codes: ['1002', '1039'] },
  { kind: 'bad-key', codes: ['1004', '2049'] },
  { kind: 'no-credit', codes: ['1008'] },
  { kind: 'content-policy', codes: ['1026', '1027'] },
  { kind: 'timeout', codes: ['1001'] },
  { kind: 'too-long', words: /context window exceeds limit/i },
])

/** Hosts of which only single codes are known: types and codes of an account that cannot pay. */
const account = (url: string, ...codes: string[]) => saidBy(url, '2026-11-23', [{ kind: 'no-credit', codes }])

/** By the names of the catalogue. */
export const compatibleRefusals: Readonly<Record<string, readonly Refusal[]>> = {
  groq,
  xai,
  openrouter,
  together_ai: together,
  deepseek,
  zai,
  dashscope,
  moonshot,
  minimax,
  novita: account('https://novita.ai/docs/api-reference/basic-error-code', 'not_enough_balance'),
  volcengine: account('https://www.volcengine.com/docs/82379/1299023', 'accountoverdueerror'),
  vercel_ai_gateway: account('https://vercel.com/docs/ai-gateway', 'insufficient_funds', 'insufficient_credits'),
  siliconflow: account('https://docs.siliconflow.com/en/faqs/error-code', 'insufficient_balance'),
}
