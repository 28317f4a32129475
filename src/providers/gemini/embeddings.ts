/** `batchEmbedContents` (ai.google.dev/api/embeddings). */
import type { EmbeddingsRequest, EmbeddingsResult } from '../../core/embeddings.ts'
import { GatewayError } from '../../core/errors.ts'
import { isObject } from '../../lib/json/json-values.ts'
import type { Json } from '../../lib/json/json-values.ts'
import { broken, objectOf, vectorOf } from '../json.ts'
import { usageOf } from './usage.ts'

/** What an embeddings request means for Google, whatever the host. */
export interface EmbeddingWish {
  readonly texts: readonly string[]
  readonly taskType: string | undefined
  readonly title: string | undefined
  readonly dimensions: number | undefined
  /** Only Vertex AI can be told; absent = do not. */
  readonly autoTruncate: boolean | undefined
  readonly dropped: readonly string[]
}

/** Throws `invalid-request` for token ids: Google embeds only texts. */
export function embeddingWish(request: EmbeddingsRequest): EmbeddingWish {
  const texts = request.inputs.map((input, at) => {
    if (typeof input === 'string') return input
    throw new GatewayError(
      'invalid-request',
      `this model embeds texts, not token ids; send \`input\`${request.inputs.length > 1 ? ` entry ${at}` : ''} as a string`,
      {
        param: 'input',
      },
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

/** `model` as in the path: `models/text-embedding-004`. */
export function batchEmbedBody(wish: EmbeddingWish, model: string): Json {
  const { taskType, title, dimensions } = wish
  return {
    requests: wish.texts.map(text => ({
      model,
      content: { parts: [{ text }] },
      ...(taskType !== undefined && { taskType }),
      ...(title !== undefined && { title }),
      ...(dimensions !== undefined && { outputDimensionality: dimensions }),
    })),
  }
}

/** Only newer models report their usage. Throws `upstream-broken` on another shape. */
export function batchEmbedResult(body: unknown): EmbeddingsResult {
  if (!isObject(body) || !Array.isArray(body.embeddings)) throw broken('no embeddings')
  return {
    vectors: body.embeddings.map(one => vectorOf(objectOf(one).values)),
    usage: usageOf(body.usageMetadata) ?? { inputTokens: 0, outputTokens: 0 },
  }
}
