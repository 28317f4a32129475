/** Embeddings in OpenAI's words, for formats that are not OpenAI's and hosts that are not quite. */
import type { EmbeddingsRequest, EmbeddingsResult } from '../../core/embeddings.ts'
import { GatewayError } from '../../core/errors.ts'
import { readOpenaiUsage } from '../../core/openai-usage.ts'
import type { MakeHead, TranslatedCall, UnaryAdapter } from '../../core/provider.ts'
import { vectorOf } from '../json.ts'
import type { CompatibleRow } from './row.ts'

/**
 * Asks for numbers where the host knows `encoding_format`, and reads base64 too. `row` says what it refuses or calls
 * otherwise. Where it reports no usage, the counts are 0.
 */
export function embeddingsAdapter(
  head: MakeHead,
  row: Pick<CompatibleRow, 'embeddings' | 'quirks'>,
): UnaryAdapter<EmbeddingsRequest, EmbeddingsResult> {
  return {
    request: (request, target) => ({ head: head(target, false), ...embeddingsBody(request, target.model, row) }),
    result: embeddingsResult,
  }
}

function embeddingsBody(
  request: EmbeddingsRequest,
  model: string,
  row: Pick<CompatibleRow, 'embeddings' | 'quirks'>,
): Omit<TranslatedCall, 'head'> {
  const own = request.extra.format === 'openai-embeddings'
  const dropped = own ? [] : Object.keys(request.extra.fields)
  const body: Record<string, unknown> = { model, input: request.inputs }
  const set = (name: string, value: unknown): void => {
    if (value === undefined) return
    if (row.quirks?.drop?.includes(name)) dropped.push(name)
    else body[row.quirks?.rename?.[name] ?? name] = value
  }
  if (own) for (const [name, value] of Object.entries(request.extra.fields)) set(name, value)
  if (row.embeddings !== 'plain') body.encoding_format = 'float'
  set('dimensions', request.dimensions)
  set('user', request.user)
  return { body, dropped }
}

/** Vectors by their `index`. Throws `upstream-broken` on one that cannot be or comes twice, and as `vector` does. */
function embeddingsResult(body: unknown): EmbeddingsResult {
  const { data, usage } = (body ?? {}) as { data?: unknown; usage?: unknown }
  if (!Array.isArray(data)) throw new GatewayError('upstream-broken', "the upstream's answer has no `data`")
  const vectors: Float32Array[] = []
  data.forEach((entry: unknown, at) => {
    const { index, embedding } = (entry ?? {}) as { index?: unknown; embedding?: unknown }
    // An index out of range would make a list with holes, or one that fills the memory.
    const place = index ?? at
    if (typeof place !== 'number' || !Number.isInteger(place) || place < 0 || place >= data.length)
      throw new GatewayError('upstream-broken', "the upstream's answer has an embedding of no input")
    vectors[place] = vector(embedding)
  })
  if (Object.keys(vectors).length !== data.length)
    throw new GatewayError('upstream-broken', "the upstream's answer has two embeddings of one input")
  return { vectors, usage: readOpenaiUsage(usage) ?? inputOnly(usage) }
}

/** Hosts of embeddings alone may report nothing but `total_tokens` (Voyage). */
function inputOnly(usage: unknown): EmbeddingsResult['usage'] {
  const total = (usage as { total_tokens?: unknown } | null | undefined)?.total_tokens
  const believed = readOpenaiUsage({ prompt_tokens: total })
  return believed ?? { inputTokens: 0, outputTokens: 0 }
}

/**
 * A list of numbers, or base64 of little-endian float32, whose last odd bytes are left out.
 * Throws `upstream-broken` on anything else.
 */
export function vector(embedding: unknown): Float32Array {
  if (typeof embedding === 'string') {
    const bytes = Buffer.from(embedding, 'base64')
    return new Float32Array(
      bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength - (bytes.byteLength % 4)),
    )
  }
  return vectorOf(embedding)
}
