/** OpenAI's embeddings, model lists and errors: https://platform.openai.com/docs/api-reference. */
import { BadRequest } from './ask.ts'
import type { Answer, Json, ReplyUsage } from './ask.ts'
import { createdS } from './openai-chat.ts'
import type { UsageOf } from './openai-chat.ts'
import { hash, randomOf } from './random.ts'
import { countTokens } from './text.ts'

const dimensionsDefault = 1536
const dimensionsMax = 4096
const inputsMax = 2048

/** The models the simulator lists. It answers for any name. */
export const modelNames = ['sim-chat', 'sim-reasoning', 'sim-embedding', 'sim-claude'] as const

const isTokens = (value: unknown): value is number[] =>
  Array.isArray(value) && value.length > 0 && value.every(one => typeof one === 'number')

function inputsOf(value: unknown): (string | number[])[] {
  const list = typeof value === 'string' || isTokens(value) ? [value] : value
  const isGood = Array.isArray(list) && list.length > 0 && list.length <= inputsMax
  if (!isGood || !list.every(one => (typeof one === 'string' && one !== '') || isTokens(one)))
    throw new BadRequest(
      "'$.input' is invalid. Please check the API reference: https://platform.openai.com/docs/api-reference.",
      {
        param: 'input',
      },
    )
  return list
}

/** A unit vector that seed, model and input decide. */
function vectorOf(input: string | number[], dimensions: number, seedText: string): Float32Array {
  const random = randomOf(hash(`${seedText}\n${typeof input === 'string' ? input : JSON.stringify(input)}`))
  const vector = Float32Array.from({ length: dimensions }, () => random() * 2 - 1)
  const norm = Math.hypot(...vector)
  return vector.map(one => one / norm)
}

/** Answers an embeddings request; throws BadRequest. */
export function answerEmbeddings(
  body: Json,
  context: { model: string; seed: number; usageOf: UsageOf<Json | undefined> },
): Answer {
  const inputs = inputsOf(body.input)
  const dimensions = body.dimensions ?? dimensionsDefault
  if (
    typeof dimensions !== 'number' ||
    !Number.isInteger(dimensions) ||
    dimensions < 1 ||
    dimensions > dimensionsMax
  )
    throw new BadRequest(`Invalid 'dimensions': expected an integer from 1 to ${dimensionsMax}.`, {
      param: 'dimensions',
    })
  const isBase64 = body.encoding_format === 'base64'
  const data = inputs.map((input, index) => {
    const vector = vectorOf(input, dimensions, `${context.seed}\n${context.model}`)
    const embedding = isBase64 ? Buffer.from(vector.buffer).toString('base64') : [...vector]
    return { object: 'embedding', index, embedding }
  })
  const inputTokens = inputs.reduce(
    (sum, one) => sum + (typeof one === 'string' ? countTokens(one) : one.length),
    0,
  )
  const billed: ReplyUsage = {
    inputTokens,
    outputTokens: 0,
    cachedTokens: 0,
    cacheWriteTokens: 0,
    reasoningTokens: 0,
  }
  const said = context.usageOf(billed)
  const usage = said ? { usage: { prompt_tokens: said.prompt_tokens, total_tokens: said.total_tokens } } : {}
  const content = JSON.stringify({ object: 'list', data, model: context.model, ...usage })
  return { status: 200, headers: [], content, billable: { inputTokens, outputTokens: 0 } }
}

const nothingToBill = { inputTokens: 0, outputTokens: 0 }

/** The list of models, or one of them by its identifier. */
export function openaiModels(id?: string): Answer {
  const entry = (name: string) => ({ id: name, object: 'model', created: createdS, owned_by: 'simulator' })
  const content = id === undefined ? { object: 'list', data: modelNames.map(entry) } : entry(id)
  return { status: 200, headers: [], content: JSON.stringify(content), billable: nothingToBill }
}

export interface ErrorWords {
  readonly status: number
  readonly message?: string
  readonly param?: string | null
  readonly code?: string | null
  /** A cause that shares its status with others: quota, context-length, content-filter. */
  readonly kind?: string
}

const causes: Record<string, { message: string; type: string; code: string | null }> = {
  '401': {
    message:
      'Incorrect API key provided: sk-sim****0000. You can find your API key at https://platform.openai.com/account/api-keys.',
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
      'Rate limit reached for sim in organization org-sim on requests per min (RPM): Limit 3, Used 3, Requested 1. Please try again in 1s.',
    type: 'requests',
    code: 'rate_limit_exceeded',
  },
  '500': {
    message: 'The server had an error while processing your request. Sorry about that!',
    type: 'server_error',
    code: null,
  },
  '503': {
    message:
      'The server is currently overloaded with other requests. Sorry about that! You can retry your request.',
    type: 'server_error',
    code: null,
  },
  'quota': {
    message: 'You exceeded your current quota, please check your plan and billing details.',
    type: 'insufficient_quota',
    code: 'insufficient_quota',
  },
  'context-length': {
    message:
      "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens. Please reduce the length of the messages.",
    type: 'invalid_request_error',
    code: 'context_length_exceeded',
  },
  'content-filter': {
    message: 'The response was filtered due to the prompt triggering our content management policy.',
    type: 'invalid_request_error',
    code: 'content_filter',
  },
}

/** The body of an error; also what stands in a stream. */
export function openaiError(words: ErrorWords): Json {
  const isServers = words.status >= 500
  const general = {
    message: isServers ? causes['500']!.message : 'Invalid request.',
    type: isServers ? 'server_error' : 'invalid_request_error',
    code: null,
  }
  const cause = causes[words.kind ?? ''] ?? causes[String(words.status)] ?? general
  const { message = cause.message, param = null, code = cause.code } = words
  return { error: { message, type: cause.type, param, code } }
}
