/** `batchEmbedContents` (ai.google.dev/api/embeddings). */
import type { EmbeddingsRequest, EmbeddingsResult } from '../../core/hub/embeddings.ts'
import { brokenProtocol, GatewayError } from '../../core/errors.ts'
import { isObject, objectOf } from '../../lib/json/json-values.ts'
import type { Json } from '../../lib/json/json-values.ts'
import { vectorOf } from '../../core/dialects/vectors.ts'
import { readGeminiUsage } from '../../core/usage/gemini-usage.ts'

/** The API refuses more: "at most 100 requests can be in one batch". */
export const batchInputsMax = 100

/** The parts of an embeddings request that Google's two APIs (AI Studio, Vertex AI) share. */
export interface EmbeddingInput {
  readonly texts: readonly string[]
  readonly taskType: string | undefined
  readonly title: string | undefined
  readonly dimensions: number | undefined
  /** Vertex AI only: false = inputs that are too long are refused instead of truncated. */
  readonly autoTruncate: boolean | undefined
  readonly dropped: readonly string[]
}

/** Throws `invalid-request` for inputs of token ids: Google embeds only texts. */
export function embeddingInput(request: EmbeddingsRequest): EmbeddingInput {
  const texts = request.inputs.map((input, at) => {
    if (typeof input === 'string') return input
    const entry = request.inputs.length > 1 ? ` entry ${at}` : ''
    throw new GatewayError(
      'invalid-request',
      `this model embeds texts, not token ids; send \`input\`${entry} as a string`,
      { param: 'input' },
    )
  })
  const {
    task_type,
    taskType = task_type,
    title,
    auto_truncate,
    autoTruncate = auto_truncate,
    ...others
  } = request.extra.fields
  return {
    texts,
    taskType: typeof taskType === 'string' ? taskType : undefined,
    title: typeof title === 'string' ? title : undefined,
    dimensions: request.dimensions,
    autoTruncate: typeof autoTruncate === 'boolean' ? autoTruncate : undefined,
    dropped: [...Object.keys(others), ...(request.user === undefined ? [] : ['user'])],
  }
}

/** The body of `batchEmbedContents`. `model` as in the path: `models/text-embedding-004`. */
export function batchEmbedBody(input: EmbeddingInput, model: string): Json {
  const { taskType, title, dimensions } = input
  return {
    requests: input.texts.map(text => ({
      model,
      content: { parts: [{ text }] },
      ...(taskType !== undefined && { taskType }),
      ...(title !== undefined && { title }),
      ...(dimensions !== undefined && { outputDimensionality: dimensions }),
    })),
  }
}

/** Usage is 0 for older models, which do not report it. Throws `upstream-broken` on another shape. */
export function batchEmbedResult(body: unknown): EmbeddingsResult {
  if (!isObject(body) || !Array.isArray(body.embeddings)) throw brokenProtocol('no embeddings')
  return {
    vectors: body.embeddings.map(one => vectorOf(objectOf(one).values)),
    usage: readGeminiUsage(body) ?? { inputTokens: 0, outputTokens: 0 },
  }
}
