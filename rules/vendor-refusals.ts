/** What vendors with APIs of their own say when they refuse or fail. */
import { contextOf, openaiError, saidBy } from './refusal-rows.ts'
import type { Refusal } from './refusal-rows.ts'

const anthropicError = (type: string, message: string) => ({ type: 'error', error: { type, message } })
const googleError = (code: number, status: string, message: string) => ({ error: { code, message, status } })

/** Codes of Responses: `ResponseError.code` of the types of openai 7.55. */
const openai = saidBy('https://developers.openai.com/docs/guides/error-codes', '2026-11-28', [
  {
    kind: 'too-long',
    codes: ['context_length_exceeded'],
    words: new RegExp(
      "maximum context length is [\\d,]+|exceeds? (?:the )?(?:model'?s )?maximum context length|" +
        'exceeds the context window|reduce the length of (?:the|your) (?:messages|prompt|input)',
      'i',
    ),
    example: {
      status: 400,
      body: openaiError(contextOf(128_000), 'invalid_request_error', 'context_length_exceeded', 'messages'),
    },
  },
  {
    kind: 'no-credit',
    codes: ['insufficient_quota', 'billing_hard_limit_reached', 'billing_not_active'],
    example: {
      status: 429,
      body: openaiError(
        'You exceeded your current quota, please check your plan and billing details.',
        'insufficient_quota',
        'insufficient_quota',
      ),
    },
  },
  {
    kind: 'overloaded',
    codes: ['server_is_overloaded', 'slow_down'],
    words: /model is currently overloaded|engine is currently overloaded/i,
    example: {
      status: 503,
      body: openaiError(
        'The engine is currently overloaded, please try again later',
        'service_unavailable_error',
        'server_is_overloaded',
      ),
    },
  },
  {
    kind: 'content-policy',
    codes: [
      'content_policy_violation',
      'content_filter',
      'cyber_policy',
      'bio_policy',
      'moderation_blocked',
      'image_content_policy_violation',
    ],
    words: /rejected as a result of our safety system|flagged as potentially violating our usage policy/i,
    example: {
      status: 400,
      body: openaiError(
        'Invalid prompt: your prompt was flagged as potentially violating our usage policy.',
        'invalid_request_error',
        'invalid_prompt',
      ),
    },
  },
  {
    kind: 'rate',
    codes: ['rate_limit_exceeded'],
    example: {
      status: 429,
      body: openaiError('Rate limit reached for gpt-5.4 on requests per min (RPM).', 'requests', 'rate_limit_exceeded'),
    },
  },
  {
    kind: 'unknown-model',
    codes: ['model_not_found'],
    example: {
      status: 404,
      body: openaiError(
        'The model `gpt-9` does not exist or you do not have access to it.',
        'invalid_request_error',
        'model_not_found',
      ),
    },
  },
  {
    kind: 'bad-key',
    codes: ['invalid_api_key', 'account_deactivated'],
    example: {
      status: 401,
      body: openaiError('Incorrect API key provided: sk-1***9.', 'invalid_request_error', 'invalid_api_key'),
    },
  },
  {
    kind: 'bad-input',
    codes: [
      'invalid_image*',
      'invalid_base64_image',
      'image_too_large',
      'image_too_small',
      'image_parse_error',
      'image_file_too_large',
      'unsupported_image_media_type',
      'empty_image_file',
      'failed_to_download_image',
      'image_file_not_found',
    ],
    words: /you uploaded an unsupported image|image data you provided does not represent a valid image/i,
    example: {
      status: 400,
      body: openaiError(
        'You uploaded an unsupported image. Please make sure your image is valid.',
        'invalid_request_error',
        'image_parse_error',
      ),
    },
  },
  { kind: 'timeout', codes: ['vector_store_timeout'] },
])

const anthropic = saidBy('https://docs.claude.com/en/api/errors', '2026-11-28', [
  {
    kind: 'too-long',
    words: /prompt is too long|input length and `?max_tokens`? exceed context limit/i,
    example: {
      status: 400,
      body: anthropicError(
        'invalid_request_error',
        'input length and `max_tokens` exceed context limit: 198214 + 8192 > 200000, decrease input length or ' +
          '`max_tokens` and try again',
      ),
    },
  },
  {
    kind: 'no-credit',
    codes: ['billing_error'],
    words: /credit balance is too low/i,
    example: {
      status: 400,
      body: anthropicError('invalid_request_error', 'Your credit balance is too low to access the Anthropic API.'),
    },
  },
  {
    kind: 'overloaded',
    codes: ['overloaded_error'],
    example: { status: 529, body: anthropicError('overloaded_error', 'Overloaded') },
  },
  {
    kind: 'content-policy',
    words: /output blocked by content filtering policy/i,
    example: {
      status: 400,
      body: anthropicError('invalid_request_error', 'Output blocked by content filtering policy'),
    },
  },
  // Of the thread, not of the model that the status 404 speaks of elsewhere.
  { kind: 'refused', codes: ['thread_*'] },
  {
    kind: 'bad-key',
    codes: ['authentication_error'],
    example: { status: 401, body: anthropicError('authentication_error', 'invalid x-api-key') },
  },
  { kind: 'too-large', codes: ['request_too_large'] },
  {
    kind: 'bad-input',
    words: /could not process image|image exceeds [\d.]+ ?MB maximum/i,
    example: { status: 400, body: anthropicError('invalid_request_error', 'Could not process image') },
  },
  // By its type alone.
  {
    kind: 'rate',
    example: {
      status: 429,
      body: anthropicError('rate_limit_error', "This request would exceed your organization's rate limit."),
    },
  },
  {
    kind: 'unknown-model',
    example: { status: 404, body: anthropicError('not_found_error', 'model: claude-9') },
  },
])

const google = saidBy('https://ai.google.dev/gemini-api/docs/troubleshooting', '2026-11-28', [
  {
    kind: 'too-long',
    words: new RegExp(
      'input (?:context|token count).{0,60}(?:exceeds the maximum|is too long)|' +
        'exceeds? the max(?:imum)? (?:number of )?(?:input )?tokens',
      'i',
    ),
    example: {
      status: 400,
      body: googleError(
        400,
        'INVALID_ARGUMENT',
        'The input token count (1048577) exceeds the maximum number of tokens allowed (1048576).',
      ),
    },
  },
  {
    kind: 'no-credit',
    words: /prepayment credits are depleted/i,
    example: { status: 429, body: googleError(429, 'RESOURCE_EXHAUSTED', 'Your prepayment credits are depleted.') },
  },
  {
    kind: 'bad-key',
    codes: ['api_key_invalid', 'api_key_expired', 'api_key_service_blocked'],
    words: /api key (?:not valid|expired|not found)/i,
    example: {
      status: 400,
      body: googleError(400, 'INVALID_ARGUMENT', 'API key not valid. Please pass a valid API key.'),
    },
  },
  {
    kind: 'content-policy',
    words: /violat\w+ google'?s responsible ai practices/i,
    example: {
      status: 400,
      body: googleError(400, 'INVALID_ARGUMENT', "The prompt violates Google's Responsible AI practices."),
    },
  },
  { kind: 'too-large', words: /request payload size exceeds/i },
  {
    kind: 'bad-input',
    words: /unable to process input image|provided image is not valid/i,
    example: {
      status: 400,
      body: googleError(400, 'INVALID_ARGUMENT', 'Unable to process input image. Please retry or report.'),
    },
  },
  // By their status words alone.
  {
    kind: 'rate',
    example: {
      status: 429,
      body: googleError(429, 'RESOURCE_EXHAUSTED', 'You exceeded your current quota, please check your plan.'),
    },
  },
  {
    kind: 'overloaded',
    example: {
      status: 503,
      body: googleError(503, 'UNAVAILABLE', 'The model is overloaded. Please try again later.'),
    },
  },
  {
    kind: 'unknown-model',
    example: {
      status: 404,
      body: googleError(404, 'NOT_FOUND', 'models/gemini-9 is not found for API version v1beta.'),
    },
  },
])

const azure = saidBy('https://learn.microsoft.com/azure/ai-services/openai/concepts/content-filter', '2026-11-23', [
  {
    kind: 'content-policy',
    codes: ['responsibleaipolicyviolation'],
    words: /triggering .{0,30}content management policy/i,
    example: {
      status: 400,
      body: {
        error: {
          message: "The response was filtered due to the prompt triggering Azure OpenAI's content management policy.",
          type: null,
          param: 'prompt',
          code: 'content_filter',
          status: 400,
        },
      },
    },
  },
  {
    kind: 'unknown-model',
    codes: ['deploymentnotfound'],
    example: {
      status: 404,
      body: {
        error: { code: 'DeploymentNotFound', message: 'The API deployment for this resource does not exist.' },
      },
    },
  },
  {
    kind: 'bad-key',
    example: {
      status: 401,
      body: { statusCode: 401, message: 'Access denied due to invalid subscription key or wrong API endpoint.' },
    },
  },
  {
    kind: 'rate',
    example: { status: 429, body: { error: { code: '429', message: 'Requests have exceeded call rate limit.' } } },
  },
  {
    kind: 'too-long',
    example: {
      status: 400,
      body: openaiError(contextOf(8192), 'invalid_request_error', 'context_length_exceeded', 'messages'),
    },
  },
  {
    kind: 'bad-input',
    words: /invalid image (?:url|data)\b/i,
    example: {
      status: 400,
      body: openaiError('Invalid image data.', 'invalid_request_error', 'BadRequest'),
    },
  },
  {
    kind: 'overloaded',
    example: {
      status: 503,
      body: openaiError('The service is temporarily unavailable. Please try again.', 'service_unavailable'),
    },
  },
])

/** Names of exceptions are types; whole answers have them in a header. */
const bedrock = saidBy(
  'https://docs.aws.amazon.com/bedrock/latest/userguide/troubleshooting-api-error-codes.html',
  '2026-11-23',
  [
    {
      kind: 'bad-key',
      codes: [
        'expiredtokenexception',
        'incompletesignatureexception',
        'invalidsignatureexception',
        'missingauthenticationtokenexception',
        'unrecognizedclientexception',
      ],
      example: {
        status: 403,
        body: {
          __type: 'com.amazon.coral.service#UnrecognizedClientException',
          message: 'The security token included in the request is invalid.',
        },
      },
    },
    {
      kind: 'too-long',
      words: new RegExp(
        'input tokens exceeded|number of input tokens exceeds|input length .{0,40}exceeds|' +
          'exceeds the maximum (?:input|context|allowed)|expected maxLength|input is too long for requested model|' +
          'too many input tokens',
        'i',
      ),
      example: { status: 400, body: { message: 'Input is too long for requested model.' } },
    },
    {
      kind: 'unknown-model',
      words: /provided model identifier is invalid|could not resolve the foundation model/i,
      example: { status: 400, body: { message: 'The provided model identifier is invalid.' } },
    },
    {
      kind: 'overloaded',
      words: /model is not ready/i,
      example: { status: 429, body: { message: 'Model is not ready for inference.' } },
    },
    {
      kind: 'no-credit',
      words: /invalid_payment_instrument/i,
      example: {
        status: 403,
        body: { message: 'Model access is denied due to INVALID_PAYMENT_INSTRUMENT.' },
      },
    },
    // A failed dependency: what the model itself answered.
    { kind: 'failed', statuses: [424] },
    {
      kind: 'rate',
      example: {
        status: 429,
        body: {
          __type: 'com.amazon.coral.service#ThrottlingException',
          message: 'Too many tokens, please wait before trying again.',
        },
      },
    },
  ],
)

const mistral = saidBy('https://docs.mistral.ai/api/', '2026-11-23', [
  {
    kind: 'too-long',
    words: /too large for model with [\d,]+ maximum context length/i,
    example: {
      status: 400,
      body: {
        object: 'error',
        message: 'Prompt contains 40000 tokens, too large for model with 32768 maximum context length',
        type: 'invalid_request_error',
        param: null,
        code: '3051',
      },
    },
  },
  {
    kind: 'unknown-model',
    codes: ['invalid_model', '1500'],
    example: {
      status: 400,
      body: { object: 'error', message: 'Invalid model: x', type: 'invalid_model', param: null, code: '1500' },
    },
  },
  {
    kind: 'bad-input',
    codes: ['invalid_request_file', '3310'],
    words: /could not be loaded as a valid image/i,
    example: {
      status: 400,
      body: {
        object: 'error',
        message: 'Image could not be loaded as a valid image',
        type: 'invalid_request_file',
        param: null,
        code: '3310',
      },
    },
  },
  { kind: 'bad-key', example: { status: 401, body: { detail: 'Unauthorized' } } },
  {
    kind: 'rate',
    codes: ['3505'],
    words: /service tier capacity exceeded/i,
    example: {
      status: 429,
      body: {
        object: 'error',
        message: 'Service tier capacity exceeded for this model.',
        type: 'invalid_request_error',
        param: null,
        code: '3505',
      },
    },
  },
])

const cohere = saidBy('https://docs.cohere.com/reference/errors', '2026-11-23', [
  {
    kind: 'too-long',
    words: /too many tokens: total number of tokens in the prompt/i,
    example: {
      status: 400,
      body: { message: 'too many tokens: total number of tokens in the prompt cannot exceed 4081' },
    },
  },
  { kind: 'content-policy', statuses: [498] },
  { kind: 'bad-key', example: { status: 401, body: { message: 'invalid api token' } } },
  { kind: 'unknown-model', example: { status: 404, body: { message: "model 'command-9' not found" } } },
  { kind: 'rate', example: { status: 429, body: { message: 'trial token rate limit exceeded' } } },
  {
    kind: 'no-credit',
    example: {
      status: 402,
      body: { message: 'Please add or update your payment method to continue.' },
    },
  },
])

/** By the names of the providers. */
export const vendorRefusals: Readonly<Record<string, readonly Refusal[]>> = {
  openai,
  anthropic,
  gemini: google,
  vertex_ai: [...google, ...anthropic],
  azure,
  azure_ai: azure,
  bedrock,
  mistral,
  cohere,
}
