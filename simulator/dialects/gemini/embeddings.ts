/** Google's token counts, embeddings, Imagen and model list: https://ai.google.dev/api. */
import { ApiError, jsonResponse } from '../response.ts'
import { isJsonObject, objectsOf } from '../../lib/json.ts'
import type { SimulatedResponse } from '../response.ts'
import type { JsonObject } from '../../lib/json.ts'
import { readGenerate } from './generate-content.ts'
import { pngOf } from '../../generation/media.ts'
import { textOf } from '../openai/chat.ts'
import { modelNames, vectorOf } from '../openai/embeddings.ts'
import { hash, seededRandom } from '../../generation/random.ts'
import type { EndpointHandler } from '../endpoint.ts'
import { countTokens } from '../../generation/tokens.ts'

const dimensionsDefault = 768
const dimensionsMax = 3072
const batchMax = 100
const instancesMax = 250
const imagesMax = 4

const invalid = (message: string): ApiError => new ApiError(message, { code: 'INVALID_ARGUMENT' })

/** `countTokens`. A whole `generateContentRequest` may be given, so that tools and instructions are counted. */
export const geminiCount: EndpointHandler = ({ body, model }) => {
  const inner = isJsonObject(body.generateContentRequest) ? body.generateContentRequest : body
  const totalTokens = readGenerate(inner, model).inputTokens
  return jsonResponse({ totalTokens, promptTokensDetails: [{ modality: 'TEXT', tokenCount: totalTokens }] })
}

interface EmbeddingInput {
  readonly text: string
  readonly dimensions: number
}

function dimensionsOf(value: unknown): number {
  if (value === undefined) return dimensionsDefault
  if (typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= dimensionsMax) return value
  throw invalid(`output_dimensionality must be between 1 and ${dimensionsMax}.`)
}

function readEmbeddingInput(request: JsonObject): EmbeddingInput {
  const { content } = request
  if (!isJsonObject(content)) throw invalid('* EmbedContentRequest.content: content is empty')
  return { text: textOf(content.parts), dimensions: dimensionsOf(request.outputDimensionality) }
}

function valuesOf({ text, dimensions }: EmbeddingInput, seedText: string): number[] {
  return [...vectorOf(text, dimensions, seedText)]
}

/** `embedContent`: 768 dimensions unless `outputDimensionality` is given, at most 3072. Throws ApiError. */
export const geminiEmbed: EndpointHandler = ({ body, model, seed }) => {
  const input = readEmbeddingInput(body)
  return jsonResponse(
    { embedding: { values: valuesOf(input, `${seed}\n${model}`) } },
    { inputTokens: countTokens(input.text), outputTokens: 0 },
  )
}

/** `batchEmbedContents`: every request has to name the model of the path. Throws ApiError. */
export const geminiEmbeds: EndpointHandler = ({ body, model, seed }) => {
  const requests = objectsOf(body.requests)
  if (requests.length === 0 || requests.length > batchMax)
    throw invalid(
      `* BatchEmbedContentsRequest.requests: at least one and at most ${batchMax} requests can be in one batch`,
    )
  for (const [at, { model: named }] of requests.entries())
    if (
      String(named)
        .replace(/^models\//, '')
        .split('#', 1)[0] !== model
    )
      throw invalid(`* BatchEmbedContentsRequest.requests[${at}].model: the model does not match the one of the path`)
  const inputs = requests.map(readEmbeddingInput)
  const inputTokens = inputs.reduce((sum, { text }) => sum + countTokens(text), 0)
  return jsonResponse(
    { embeddings: inputs.map(input => ({ values: valuesOf(input, `${seed}\n${model}`) })) },
    { inputTokens, outputTokens: 0 },
  )
}

/** Vertex AI's `predict`: embeddings, or images of Imagen. Throws ApiError. */
export const geminiPredict: EndpointHandler = ({ body, model, seed }) => {
  const instances = objectsOf(body.instances)
  const parameters = isJsonObject(body.parameters) ? body.parameters : {}
  if (instances.length === 0) throw invalid('Invalid instances: at least one instance is required.')
  if (typeof instances[0]!.prompt === 'string') return imagenResponse(instances[0]!.prompt, { parameters, model, seed })
  if (instances.length > instancesMax)
    throw invalid(`Invalid instances: at most ${instancesMax} instances can be in one request.`)
  const inputs = instances.map(one => ({
    text: String(one.content ?? ''),
    dimensions: dimensionsOf(parameters.outputDimensionality),
  }))
  const predictions = inputs.map(input => {
    const statistics = { truncated: false, token_count: countTokens(input.text) }
    return { embeddings: { values: valuesOf(input, `${seed}\n${model}`), statistics } }
  })
  const inputTokens = inputs.reduce((sum, { text }) => sum + countTokens(text), 0)
  return jsonResponse(
    {
      predictions,
      metadata: { billableCharacterCount: inputs.reduce((sum, { text }) => sum + text.length, 0) },
    },
    {
      inputTokens,
      outputTokens: 0,
    },
  )
}

function imagenResponse(
  prompt: string,
  { parameters, model, seed }: { parameters: JsonObject; model: string; seed: number },
): SimulatedResponse {
  const { sampleCount = 1 } = parameters
  if (typeof sampleCount !== 'number' || sampleCount < 1 || sampleCount > imagesMax)
    throw invalid(`sampleCount must be between 1 and ${imagesMax}.`)
  const random = seededRandom(hash(`${model}\n${prompt}`, seed))
  const one = () => ({ mimeType: 'image/png', bytesBase64Encoded: pngOf(random, 64, 64).toString('base64') })
  return jsonResponse({ predictions: Array.from({ length: sampleCount }, one) })
}

/** The model list in Google's format, or one model. */
export function geminiModels(id?: string): SimulatedResponse {
  const entry = (name: string) => ({
    name: `models/${name}`,
    version: '001',
    displayName: name,
    inputTokenLimit: 1_048_576,
    outputTokenLimit: 65_536,
    supportedGenerationMethods: ['generateContent', 'countTokens', 'embedContent'],
  })
  return jsonResponse(id === undefined ? { models: modelNames.map(entry) } : entry(id))
}
