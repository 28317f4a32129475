/** Embeddings by `/api/embed` (Ollama's docs/api.md, "Generate Embeddings"), for clients of other dialects. */
import type { EmbeddingsRequest, EmbeddingsResult } from '../../core/hub/embeddings.ts'
import { GatewayError } from '../../core/errors.ts'
import type { Target, TranslatedCall } from '../../core/provider.ts'
import { readVector } from '../../core/dialects/vectors.ts'
import { usageOf } from './read.ts'

const ownFields = new Set(['truncate', 'keep_alive', 'options'])

/** A client's `keep_alive` overrides the configured one. Throws `invalid-request` for inputs of token ids. */
export function embedBody(request: EmbeddingsRequest, target: Target): Omit<TranslatedCall, 'head'> {
  const fields = Object.entries(request.extra.fields)
  const dropped = fields.map(([name]) => name).filter(name => !ownFields.has(name))
  if (request.user !== undefined) dropped.push('user')
  if (request.inputs.some(input => typeof input !== 'string'))
    throw new GatewayError('invalid-request', '`input`: this model takes text instead of token ids; send strings', {
      param: 'input',
    })
  const { keep_alive: keepAlive } = target.options
  const body = {
    ...(keepAlive !== undefined && { keep_alive: keepAlive }),
    ...Object.fromEntries(fields.filter(([name]) => ownFields.has(name))),
    model: target.model,
    input: request.inputs,
    ...(request.dimensions !== undefined && { dimensions: request.dimensions }),
  }
  return { body, dropped }
}

/** Throws `upstream-broken` unless there is one vector per input. The usage is 0 where none is reported. */
export function embedResult(body: unknown, request: EmbeddingsRequest): EmbeddingsResult {
  const answer = (body ?? {}) as Record<string, unknown>
  const { embeddings } = answer
  if (!Array.isArray(embeddings) || embeddings.length !== request.inputs.length)
    throw new GatewayError('upstream-broken', "the upstream's answer has not one embedding for each input")
  return { vectors: embeddings.map(readVector), usage: usageOf(answer) ?? { inputTokens: 0, outputTokens: 0 } }
}
