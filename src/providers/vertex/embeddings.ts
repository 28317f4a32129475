/** Text embeddings by `predict` (cloud.google.com/vertex-ai/generative-ai/docs/model-reference/text-embeddings-api). */
import { brokenProtocol } from '../../core/errors.ts'
import type { EmbeddingsResult } from '../../core/hub/embeddings.ts'
import { isObject, objectOf } from '../../lib/json/json-values.ts'
import type { Json } from '../../lib/json/json-values.ts'
import type { EmbeddingInput } from '../gemini/embeddings.ts'
import { countOf } from '../../core/usage/usage-fields.ts'
import { vectorOf } from '../../core/dialects/vectors.ts'

/** Texts of one request (cloud.google.com/vertex-ai/docs/generative-ai/embeddings/get-text-embeddings). */
export const predictInputsMax = 250

/** The body of `predict`: one instance per text. */
export function predictBody({ texts, taskType, title, dimensions, autoTruncate }: EmbeddingInput): Json {
  return {
    instances: texts.map(content => ({
      content,
      ...(taskType !== undefined && { task_type: taskType }),
      ...(title !== undefined && { title }),
    })),
    parameters: {
      // The API's default is to truncate long texts silently.
      autoTruncate: autoTruncate ?? false,
      ...(dimensions !== undefined && { outputDimensionality: dimensions }),
    },
  }
}

/** Throws `upstream-broken` on another shape. */
export function predictResult(body: unknown): EmbeddingsResult {
  if (!isObject(body) || !Array.isArray(body.predictions)) throw brokenProtocol('no predictions')
  const found = body.predictions.map(one => objectOf(objectOf(one).embeddings))
  const inputTokens = found.reduce((sum, one) => sum + (countOf(objectOf(one.statistics).token_count) ?? 0), 0)
  return { vectors: found.map(one => vectorOf(one.values)), usage: { inputTokens, outputTokens: 0 } }
}
