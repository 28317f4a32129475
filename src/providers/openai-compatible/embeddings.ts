/** Embeddings in OpenAI's words, for formats that are not OpenAI's. */
import type { EmbeddingsRequest, EmbeddingsResult } from '../../core/embeddings.ts'
import { GatewayError } from '../../core/errors.ts'
import { readOpenaiUsage } from '../../core/openai-usage.ts'

export function embeddingsBody(request: EmbeddingsRequest, model: string): Record<string, unknown> {
  const extra = request.extra.format === 'openai-embeddings' ? request.extra.fields : {}
  return {
    ...extra,
    model,
    input: request.inputs,
    encoding_format: 'float',
    ...(request.dimensions !== undefined && { dimensions: request.dimensions }),
    ...(request.user !== undefined && { user: request.user }),
  }
}

/** Throws `upstream-broken` when an entry is neither numbers nor base64. */
export function embeddingsResult(body: unknown): EmbeddingsResult {
  const { data, usage } = (body ?? {}) as { data?: unknown; usage?: unknown }
  if (!Array.isArray(data)) throw new GatewayError('upstream-broken', "the upstream's answer has no `data`")
  const vectors: Float32Array[] = []
  data.forEach((entry: unknown, at) => {
    const { index, embedding } = (entry ?? {}) as { index?: unknown; embedding?: unknown }
    vectors[typeof index === 'number' ? index : at] = vector(embedding)
  })
  return { vectors, usage: readOpenaiUsage(usage) ?? { inputTokens: 0, outputTokens: 0 } }
}

function vector(embedding: unknown): Float32Array {
  if (Array.isArray(embedding)) return Float32Array.from(embedding as number[])
  if (typeof embedding === 'string') {
    const bytes = Buffer.from(embedding, 'base64')
    return new Float32Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength - (bytes.byteLength % 4)))
  }
  throw new GatewayError('upstream-broken', "the upstream's answer has an embedding that is no vector")
}
