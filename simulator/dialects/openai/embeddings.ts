/** OpenAI's embeddings and model lists: https://platform.openai.com/docs/api-reference. */
import { ApiError, unbilled } from '../response.ts'
import type { SimulatedResponse } from '../response.ts'
import type { JsonObject } from '../../lib/json.ts'
import type { TokenUsage, UsageWriter } from '../../generation/types.ts'
import { createdS } from './chat.ts'
import { hash, seededRandom } from '../../generation/random.ts'
import { countTokens } from '../../generation/tokens.ts'

const dimensionsDefault = 1536
const dimensionsMax = 4096
const inputsMax = 2048

/** The models that the simulator lists. It answers for any name. */
export const modelNames = ['sim-chat', 'sim-reasoning', 'sim-embedding', 'sim-claude'] as const

const isTokens = (value: unknown): value is number[] =>
  Array.isArray(value) && value.length > 0 && value.every(one => typeof one === 'number')

function inputsOf(value: unknown): (string | number[])[] {
  const list = typeof value === 'string' || isTokens(value) ? [value] : value
  const isGood = Array.isArray(list) && list.length > 0 && list.length <= inputsMax
  if (!isGood || !list.every(one => (typeof one === 'string' && one !== '') || isTokens(one)))
    throw new ApiError(
      "'$.input' is invalid. Please check the API reference: https://platform.openai.com/docs/api-reference.",
      {
        param: 'input',
      },
    )
  return list
}

/** A unit vector determined by seed, model and input. */
export function vectorOf(input: string | number[], dimensions: number, seedText: string): Float32Array {
  const random = seededRandom(hash(`${seedText}\n${typeof input === 'string' ? input : JSON.stringify(input)}`))
  const vector = Float32Array.from({ length: dimensions }, () => random() * 2 - 1)
  const norm = Math.hypot(...vector)
  return vector.map(one => one / norm)
}

/** The number of dimensions. Throws ApiError. */
export function openaiDimensions(value: unknown, otherwise: number): number {
  const dimensions = value ?? otherwise
  if (typeof dimensions === 'number' && Number.isInteger(dimensions) && dimensions >= 1 && dimensions <= dimensionsMax)
    return dimensions
  throw new ApiError(`Invalid 'dimensions': expected an integer from 1 to ${dimensionsMax}.`, {
    param: 'dimensions',
  })
}

/** The response to an embeddings request. Throws ApiError. */
export function answerEmbeddings(
  body: JsonObject,
  context: { model: string; seed: number; usageOf: UsageWriter },
): SimulatedResponse {
  const inputs = inputsOf(body.input)
  const dimensions = openaiDimensions(body.dimensions, dimensionsDefault)
  const isBase64 = body.encoding_format === 'base64'
  const data = inputs.map((input, index) => {
    const vector = vectorOf(input, dimensions, `${context.seed}\n${context.model}`)
    const embedding = isBase64 ? Buffer.from(vector.buffer).toString('base64') : [...vector]
    return { object: 'embedding', index, embedding }
  })
  const inputTokens = inputs.reduce((sum, one) => sum + (typeof one === 'string' ? countTokens(one) : one.length), 0)
  const billed: TokenUsage = {
    inputTokens,
    outputTokens: 0,
    cachedTokens: 0,
    cacheWriteTokens: 0,
    cacheWriteOneHourTokens: 0,
    reasoningTokens: 0,
  }
  const reported = context.usageOf(billed)
  const usage = reported
    ? { usage: { prompt_tokens: reported.prompt_tokens, total_tokens: reported.total_tokens } }
    : {}
  const content = JSON.stringify({ object: 'list', data, model: context.model, ...usage })
  return { status: 200, headers: [], content, billable: { inputTokens, outputTokens: 0 } }
}

/** The model list, or one model. */
export function openaiModels(id?: string): SimulatedResponse {
  const entry = (name: string) => ({ id: name, object: 'model', created: createdS, owned_by: 'simulator' })
  const content = id === undefined ? { object: 'list', data: modelNames.map(entry) } : entry(id)
  return { status: 200, headers: [], content: JSON.stringify(content), billable: unbilled }
}
