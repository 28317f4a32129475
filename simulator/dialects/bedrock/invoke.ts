/**
 * Bedrock's `invoke` for embeddings, with Titan's and Cohere's formats: https://docs.aws.amazon.com/bedrock, "Amazon
 * Titan Text Embeddings".
 */
import { ApiError, jsonResponse } from '../response.ts'
import { checkAwsAuthorization } from './authorization.ts'
import { embedResponse } from '../cohere/embed.ts'
import { vectorOf } from '../openai/embeddings.ts'
import type { EndpointHandler } from '../endpoint.ts'
import { countTokens } from '../../generation/tokens.ts'

const dimensionsDefault = 1024
const titanFields: ReadonlySet<string> = new Set(['inputText', 'dimensions', 'normalize', 'embeddingTypes'])

const invalid = (message: string): ApiError => new ApiError(message, { code: 'ValidationException' })

/** The model's name decides the format. Unknown fields of Titan's format are refused, as AWS does. Throws ApiError. */
export const bedrockInvoke: EndpointHandler = ({ request, body, model, seed }) => {
  checkAwsAuthorization(request)
  if (model.includes('cohere.embed')) {
    const answer = embedResponse(body, { model, seed, hasMeta: false })
    return { ...answer, headers: [['x-amzn-bedrock-input-token-count', String(answer.billable.inputTokens)]] }
  }
  if (!model.includes('titan-embed'))
    throw invalid('Malformed input request, please reformat your input and try again.')
  const extra = Object.keys(body).find(name => !titanFields.has(name))
  if (extra !== undefined)
    throw invalid(
      `Malformed input request: #: extraneous key [${extra}] is not permitted, please reformat your input and try ` +
        'again.',
    )
  const { inputText, dimensions = dimensionsDefault } = body
  if (typeof inputText !== 'string' || inputText === '')
    throw invalid(
      'Malformed input request: expected minLength: 1, actual: 0, please reformat your input and try again.',
    )
  if (dimensions !== 256 && dimensions !== 512 && dimensions !== 1024)
    throw invalid(
      'Malformed input request: #/dimensions: not one of 256, 512, 1024, please reformat your input and try again.',
    )
  const embedding = [...vectorOf(inputText, dimensions, `${seed}\n${model}`)]
  const inputTokens = countTokens(inputText)
  return jsonResponse(
    { embedding, embeddingsByType: { float: embedding }, inputTextTokenCount: inputTokens },
    { inputTokens, outputTokens: 0 },
  )
}
