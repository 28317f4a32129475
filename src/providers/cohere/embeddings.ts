/** Embeddings of texts and images (docs.cohere.com/reference/embed). */
import type { EmbeddingsRequest, EmbeddingsResult } from '../../core/hub/embeddings.ts'
import { GatewayError } from '../../core/errors.ts'
import type { TranslatedCall } from '../../core/provider.ts'
import type { Json } from '../../lib/json/json-values.ts'
import { readVector } from '../../core/dialects/vectors.ts'
import { cohereUsage } from './read.ts'

/** Cohere's own fields that a client may send in addition to OpenAI's. */
const ownFields = new Set(['input_type', 'truncate', 'max_tokens', 'priority'])
/** Texts or images of one request (docs.cohere.com/reference/embed, read 2026-11-26). */
export const embedInputsMax = 96
const imageUrl = /^data:image\/[a-z0-9.+-]+;base64,/i

/**
 * The body of `/v2/embed`. An input that is a `data:image/...` URL is sent as an image. Throws `invalid-request` for
 * inputs of token ids.
 */
export function embedBody(request: EmbeddingsRequest, model: string): Omit<TranslatedCall, 'head'> {
  const inputs = request.inputs.map(text)
  const dropped = Object.keys(request.extra.fields).filter(name => !ownFields.has(name))
  if (request.user !== undefined) dropped.push('user')
  const body: Json = { model, embedding_types: ['float'] }
  // `input_type` is required; most vectors are stored to be searched.
  body.input_type = 'search_document'
  if (!inputs.some(input => imageUrl.test(input))) body.texts = inputs
  else if (inputs.length === 1) {
    // embed-v3 and later take `images`; `inputs` needs embed-v4.
    body.images = inputs
    body.input_type = 'image'
  } else body.inputs = inputs.map(input => ({ content: [part(input)] }))
  for (const [name, value] of Object.entries(request.extra.fields)) if (ownFields.has(name)) body[name] = value
  if (request.dimensions !== undefined) body.output_dimension = request.dimensions
  return { body, dropped }
}

function text(input: string | number[]): string {
  if (typeof input === 'string') return input
  throw new GatewayError('invalid-request', '`input`: this model takes text instead of token ids; send strings', {
    param: 'input',
  })
}

function part(input: string): Json {
  return imageUrl.test(input) ? { type: 'image_url', image_url: { url: input } } : { type: 'text', text: input }
}

/** Throws `upstream-broken` unless there is one vector per input. Usage = the billed tokens, also those of images. */
export function embedResult(body: unknown, request: EmbeddingsRequest): EmbeddingsResult {
  const { embeddings, meta } = (body ?? {}) as { embeddings?: unknown; meta?: Json }
  // Older models return the list itself instead of an object by type.
  const float = Array.isArray(embeddings) ? embeddings : (embeddings as Json | null | undefined)?.float
  if (!Array.isArray(float) || float.length !== request.inputs.length)
    throw new GatewayError('upstream-broken', "the upstream's answer has not one embedding for each input")
  return { vectors: float.map(readVector), usage: embedUsage(meta) }
}

function embedUsage(meta: Json | undefined): EmbeddingsResult['usage'] {
  const billed = (meta?.billed_units ?? {}) as Json
  const images = cohereUsage({ tokens: { input_tokens: billed.image_tokens } })?.inputTokens ?? 0
  const texts = cohereUsage(meta)?.inputTokens ?? 0
  const usage: EmbeddingsResult['usage'] = { inputTokens: texts + images, outputTokens: 0 }
  return images > 0 ? { ...usage, inputImageTokens: images } : usage
}
