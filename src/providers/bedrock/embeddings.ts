/**
 * Embeddings by `invoke`, in each vendor's own format (docs.aws.amazon.com/bedrock, "Amazon Titan Text Embeddings",
 * "Cohere Embed").
 */
import type { EmbeddingsRequest, EmbeddingsResult } from '../../core/hub/embeddings.ts'
import { brokenProtocol, GatewayError, unprocessable } from '../../core/errors.ts'
import type { AnswerHead } from '../../core/transport.ts'
import type { Target, TranslatedCall } from '../../core/provider.ts'
import { isObject } from '../../lib/json/json-values.ts'
import type { Json } from '../../lib/json/json-values.ts'
import { embedBody, embedInputsMax, embedResult } from '../cohere/embeddings.ts'
import { countOf } from '../../core/usage/usage-fields.ts'
import { vectorOf } from '../../core/dialects/vectors.ts'
import { bedrockHead, modelId } from './address.ts'

/** Json of Cohere's own API that Bedrock refuses. */
const notOnBedrock: readonly string[] = ['model', 'priority']
const inputTokensHeader = 'x-amzn-bedrock-input-token-count'

/**
 * Throws `invalid-request` for models that are neither Titan nor Cohere's, and `unprocessable` for token ids, which
 * Titan does not take.
 */
export function embeddingsCall(request: EmbeddingsRequest, target: Target): TranslatedCall {
  const id = modelId(target)
  const head = bedrockHead(target, 'invoke')
  if (id.includes('amazon.titan-embed-text')) return { head, ...titanBody(request, id) }
  if (id.includes('cohere.embed')) return { head, ...cohereBody(request, id) }
  throw new GatewayError(
    'invalid-request',
    'this model makes no embeddings here; use one of amazon.titan-embed-text or cohere.embed',
    {
      param: 'model',
    },
  )
}

/** Titan takes one text a request; Cohere's models as many as at Cohere itself. */
export function embeddingInputsMax(target: Target): number {
  return modelId(target).includes('amazon.titan-embed-text') ? 1 : embedInputsMax
}

/** Titan's first version has no settings. */
function titanBody(request: EmbeddingsRequest, id: string): Pick<TranslatedCall, 'body' | 'dropped'> {
  const [inputText] = request.inputs
  if (typeof inputText !== 'string') {
    const msg = 'this model takes text instead of token ids; send a string'
    throw unprocessable([{ loc: ['body', 'input'], msg, type: 'wrong_type' }])
  }
  const isFirst = id.includes('titan-embed-text-v1') || id.includes('titan-embed-g1')
  const { normalize, ...unknown } = request.extra.fields
  const dropped = Object.keys(unknown)
  if (request.user !== undefined) dropped.push('user')
  if (isFirst && request.dimensions !== undefined) dropped.push('dimensions')
  if (isFirst && normalize !== undefined) dropped.push('normalize')
  const body: Json = { inputText }
  if (!isFirst && request.dimensions !== undefined) body.dimensions = request.dimensions
  if (!isFirst && normalize !== undefined) body.normalize = normalize
  return { body, dropped }
}

function cohereBody(request: EmbeddingsRequest, id: string): Pick<TranslatedCall, 'body' | 'dropped'> {
  const { body, dropped } = embedBody(request, id)
  const lost = [...dropped]
  const sent = Object.entries(body as Json).filter(([name]) => !notOnBedrock.includes(name))
  if (request.extra.fields.priority !== undefined) lost.push('priority')
  const fixedSize = /embed-(?:english|multilingual)/.test(id)
  if (fixedSize && request.dimensions !== undefined) lost.push('dimensions')
  return {
    body: Object.fromEntries(sent.filter(([name]) => !(fixedSize && name === 'output_dimension'))),
    dropped: lost,
  }
}

/** Throws `upstream-broken` on another shape. For Cohere's models AWS reports the token count only in a header. */
export function embeddingsResult(body: unknown, request: EmbeddingsRequest, head?: AnswerHead): EmbeddingsResult {
  if (!isObject(body)) throw brokenProtocol('no object')
  const counted = countOf(Number(head?.header(inputTokensHeader) ?? Number.NaN))
  if (body.embedding !== undefined)
    return {
      vectors: [vectorOf(body.embedding)],
      usage: { inputTokens: countOf(body.inputTextTokenCount) ?? counted ?? 0, outputTokens: 0 },
    }
  const { vectors, usage } = embedResult(body, request)
  return { vectors, usage: counted === undefined ? usage : { ...usage, inputTokens: counted } }
}
