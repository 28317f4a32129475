/** Google's counts, embeddings, pictures and models: https://ai.google.dev/api. */
import { BadRequest, isJson, jsonAnswer, objectsOf } from '../../generation/types.ts'
import type { Answer, Json } from '../../generation/types.ts'
import { readGenerate } from './generate-content.ts'
import { pngOf } from '../../generation/media.ts'
import { textOf } from '../openai/chat.ts'
import { modelNames, vectorOf } from '../openai/embeddings.ts'
import { hash, randomOf } from '../../generation/random.ts'
import type { Answerer } from '../endpoint.ts'
import { countTokens } from '../../generation/tokens.ts'

const dimensionsDefault = 768
const dimensionsMax = 3072
const batchMax = 100
const picturesMax = 4

const invalid = (message: string): BadRequest => new BadRequest(message, { code: 'INVALID_ARGUMENT' })

/** The whole request may stand inside, so that tools and instructions are counted. */
export const geminiCount: Answerer = ({ body, model }) => {
  const inner = isJson(body.generateContentRequest) ? body.generateContentRequest : body
  const totalTokens = readGenerate(inner, model).inputTokens
  return jsonAnswer({ totalTokens, promptTokensDetails: [{ modality: 'TEXT', tokenCount: totalTokens }] })
}

interface Wish {
  readonly text: string
  readonly dimensions: number
}

function dimensionsOf(value: unknown): number {
  if (value === undefined) return dimensionsDefault
  if (typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= dimensionsMax) return value
  throw invalid(`output_dimensionality must be between 1 and ${dimensionsMax}.`)
}

function embedWish(request: Json): Wish {
  const { content } = request
  if (!isJson(content)) throw invalid('* EmbedContentRequest.content: content is empty')
  return { text: textOf(content.parts), dimensions: dimensionsOf(request.outputDimensionality) }
}

function valuesOf({ text, dimensions }: Wish, seedText: string): number[] {
  return [...vectorOf(text, dimensions, seedText)]
}

/** `embedContent`. 768 numbers unless `outputDimensionality` says otherwise, 3072 at most. Throws BadRequest. */
export const geminiEmbed: Answerer = ({ body, model, seed }) => {
  const wish = embedWish(body)
  return jsonAnswer(
    { embedding: { values: valuesOf(wish, `${seed}\n${model}`) } },
    { inputTokens: countTokens(wish.text), outputTokens: 0 },
  )
}

/** Every request inside has to name the model of the path. */
export const geminiEmbeds: Answerer = ({ body, model, seed }) => {
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
  const wishes = requests.map(embedWish)
  const inputTokens = wishes.reduce((sum, { text }) => sum + countTokens(text), 0)
  return jsonAnswer(
    { embeddings: wishes.map(wish => ({ values: valuesOf(wish, `${seed}\n${model}`) })) },
    { inputTokens, outputTokens: 0 },
  )
}

/** Vertex AI's embeddings, or Imagen's pictures. */
export const geminiPredict: Answerer = ({ body, model, seed }) => {
  const instances = objectsOf(body.instances)
  const parameters = isJson(body.parameters) ? body.parameters : {}
  if (instances.length === 0) throw invalid('Invalid instances: at least one instance is required.')
  if (typeof instances[0]!.prompt === 'string') return painted(instances[0]!.prompt, { parameters, model, seed })
  const wishes = instances.map(one => ({
    text: String(one.content ?? ''),
    dimensions: dimensionsOf(parameters.outputDimensionality),
  }))
  const predictions = wishes.map(wish => {
    const statistics = { truncated: false, token_count: countTokens(wish.text) }
    return { embeddings: { values: valuesOf(wish, `${seed}\n${model}`), statistics } }
  })
  const inputTokens = wishes.reduce((sum, { text }) => sum + countTokens(text), 0)
  return jsonAnswer(
    {
      predictions,
      metadata: { billableCharacterCount: wishes.reduce((sum, { text }) => sum + text.length, 0) },
    },
    {
      inputTokens,
      outputTokens: 0,
    },
  )
}

function painted(
  prompt: string,
  { parameters, model, seed }: { parameters: Json; model: string; seed: number },
): Answer {
  const { sampleCount = 1 } = parameters
  if (typeof sampleCount !== 'number' || sampleCount < 1 || sampleCount > picturesMax)
    throw invalid(`sampleCount must be between 1 and ${picturesMax}.`)
  const random = randomOf(hash(`${model}\n${prompt}`, seed))
  const one = () => ({ mimeType: 'image/png', bytesBase64Encoded: pngOf(random, 64, 64).toString('base64') })
  return jsonAnswer({ predictions: Array.from({ length: sampleCount }, one) })
}

/** The list of models in Google's shape, or one of them. */
export function geminiModels(id?: string): Answer {
  const entry = (name: string) => ({
    name: `models/${name}`,
    version: '001',
    displayName: name,
    inputTokenLimit: 1_048_576,
    outputTokenLimit: 65_536,
    supportedGenerationMethods: ['generateContent', 'countTokens', 'embedContent'],
  })
  return jsonAnswer(id === undefined ? { models: modelNames.map(entry) } : entry(id))
}
