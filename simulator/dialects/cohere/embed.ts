/** Cohere's embeddings of texts and images: https://docs.cohere.com/reference/embed. Bedrock has the same format. */
import { ApiError, jsonResponse } from '../response.ts'
import { isJsonObject, objectsOf } from '../../lib/json.ts'
import type { SimulatedResponse } from '../response.ts'
import type { JsonObject } from '../../lib/json.ts'
import { textOf } from '../openai/chat.ts'
import { vectorOf } from '../openai/embeddings.ts'
import { hash, randomId, seededRandom } from '../../generation/random.ts'
import type { EndpointHandler } from '../endpoint.ts'
import { countTokens } from '../../generation/tokens.ts'

const dimensionsDefault = 1024
const inputsMax = 96
const inputTypes: ReadonlySet<unknown> = new Set([
  'search_document',
  'search_query',
  'classification',
  'clustering',
  'image',
])

const invalid = (what: string): ApiError => new ApiError(`invalid request: ${what}`)

interface Inputs {
  readonly texts: readonly string[]
  readonly images: number
}

function inputsOf(body: JsonObject): Inputs {
  if (Array.isArray(body.texts)) return { texts: body.texts.map(String), images: 0 }
  if (Array.isArray(body.images)) return { texts: body.images.map(String), images: body.images.length }
  const inputs = objectsOf(body.inputs)
  if (inputs.length === 0) throw invalid('one of texts, images or inputs must be given.')
  const isImage = (input: JsonObject): boolean => objectsOf(input.content).some(part => isJsonObject(part.image_url))
  return {
    texts: inputs.map(input => textOf(input.content) || JSON.stringify(input)),
    images: inputs.filter(isImage).length,
  }
}

/** Integer types are rounded from the same vector. */
function embeddingsOf(vectors: readonly Float32Array[], types: readonly unknown[]): JsonObject {
  const kinds: Record<string, (vector: Float32Array) => unknown> = {
    float: vector => [...vector],
    int8: vector => [...vector].map(one => Math.round(one * 127)),
    uint8: vector => [...vector].map(one => Math.round((one + 1) * 127)),
    base64: vector => Buffer.from(vector.buffer).toString('base64'),
  }
  return Object.fromEntries(
    types.map(type => {
      const kind = kinds[String(type)]
      if (!kind) throw invalid(`embedding type ${String(type)} is not one of ${Object.keys(kinds).join(', ')}.`)
      return [String(type), vectors.map(kind)]
    }),
  )
}

/** `meta` is left out on platforms that report usage elsewhere. */
export function embedResponse(
  body: JsonObject,
  context: { model: string; seed: number; hasMeta: boolean },
): SimulatedResponse {
  const { texts, images } = inputsOf(body)
  if (texts.length > inputsMax)
    throw invalid(`total number of texts must be at most ${inputsMax} - received ${texts.length}.`)
  if (!inputTypes.has(body.input_type)) throw invalid('valid input_type must be provided with the provided model')
  const { output_dimension: dimensions = dimensionsDefault, embedding_types: types = ['float'] } = body
  if (typeof dimensions !== 'number' || !Number.isInteger(dimensions) || dimensions < 1 || dimensions > 1536)
    throw invalid('output_dimension must be one of 256, 512, 1024 or 1536.')
  const seedText = `${context.seed}\n${context.model}`
  const vectors = texts.map(text => vectorOf(text, dimensions, seedText))
  const textTokens = images > 0 ? 0 : texts.reduce((sum, text) => sum + countTokens(text), 0)
  const billed = {
    ...(textTokens > 0 && { input_tokens: textTokens }),
    ...(images > 0 && { images, image_tokens: images * 100 }),
  }
  const inputTokens = textTokens + images * 100
  return jsonResponse(
    {
      id: randomId(seededRandom(hash(texts.join('\n'), context.seed)), 24),
      embeddings: embeddingsOf(vectors, Array.isArray(types) ? types : ['float']),
      ...(images === 0 && { texts }),
      response_type: 'embeddings_by_type',
      ...(context.hasMeta && { meta: { api_version: { version: '2' }, billed_units: billed } }),
    },
    { inputTokens, outputTokens: 0 },
  )
}

/** `/v2/embed`; `embedding_types` is required. Throws ApiError. */
export const cohereEmbed: EndpointHandler = ({ body, model, seed }) => {
  if (body.embedding_types === undefined) throw invalid('embedding_types must be provided.')
  return embedResponse(body, { model, seed, hasMeta: true })
}
