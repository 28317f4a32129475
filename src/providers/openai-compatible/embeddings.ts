/** Embeddings in OpenAI's dialect, for clients of other dialects and hosts that differ from OpenAI's. */
import { headOf } from '../../core/target-cache.ts'
import type { EmbeddingsRequest, EmbeddingsResult } from '../../core/hub/embeddings.ts'
import { GatewayError } from '../../core/errors.ts'
import { readOpenaiUsage } from '../../core/usage/openai-usage.ts'
import type { MakeHead, TranslatedCall, UnaryAdapter } from '../../core/provider.ts'
import { noFieldRules } from '../../core/dialects/field-rules.ts'
import type { FieldRules } from '../../core/dialects/field-rules.ts'
import { readVector } from '../../core/dialects/vectors.ts'
import { RuledFields } from './field-rules.ts'
import type { CompatibleRow } from './row.ts'

/** How embeddings are asked for at a host. */
interface EmbeddingsHost extends Pick<CompatibleRow, 'embeddings'> {
  readonly rules?: FieldRules
}

/**
 * Sends `encoding_format: float` unless the host refuses that field, and also reads base64. `row` = fields that the
 * host refuses or names differently. The usage is 0 where none is reported.
 */
export function embeddingsAdapter(
  head: MakeHead,
  row: EmbeddingsHost,
): UnaryAdapter<EmbeddingsRequest, EmbeddingsResult> {
  return {
    request: (request, target) => ({
      head: headOf(target, head),
      ...embeddingsBody(request, target.model, row),
    }),
    result: embeddingsResult,
  }
}

function embeddingsBody(request: EmbeddingsRequest, model: string, row: EmbeddingsHost): Omit<TranslatedCall, 'head'> {
  const own = request.extra.format === 'openai-embeddings'
  const dropped = own ? [] : Object.keys(request.extra.fields)
  const checkedText = new RuledFields(row.rules ?? noFieldRules, () => undefined)
  if (own) for (const [name, value] of Object.entries(request.extra.fields)) checkedText.set(name, value)
  if (row.embeddings !== 'plain') checkedText.body.encoding_format = 'float'
  checkedText.set('dimensions', request.dimensions)
  checkedText.set('user', request.user)
  return { body: { model, input: request.inputs, ...checkedText.body }, dropped: [...dropped, ...checkedText.dropped] }
}

/** Vectors in the order of `index`. Throws `upstream-broken` on a wrong or repeated index, and as `readVector` does. */
function embeddingsResult(body: unknown): EmbeddingsResult {
  const { data, usage } = (body ?? {}) as { data?: unknown; usage?: unknown }
  if (!Array.isArray(data)) throw new GatewayError('upstream-broken', "the upstream's answer has no `data`")
  const vectors: Float32Array[] = []
  data.forEach((entry: unknown, at) => {
    const { index, embedding } = (entry ?? {}) as { index?: unknown; embedding?: unknown }
    // Checked, because a large index would allocate a huge array.
    const position = index ?? at
    if (typeof position !== 'number' || !Number.isInteger(position) || position < 0 || position >= data.length)
      throw new GatewayError('upstream-broken', "the upstream's answer has an embedding of no input")
    vectors[position] = readVector(embedding)
  })
  if (Object.keys(vectors).length !== data.length)
    throw new GatewayError('upstream-broken', "the upstream's answer has two embeddings of one input")
  return { vectors, usage: readOpenaiUsage(usage) ?? inputOnly(usage) }
}

/** Some hosts (Voyage) report `total_tokens` only. */
function inputOnly(usage: unknown): EmbeddingsResult['usage'] {
  const total = (usage as { total_tokens?: unknown } | null | undefined)?.total_tokens
  return readOpenaiUsage({ prompt_tokens: total }) ?? { inputTokens: 0, outputTokens: 0 }
}
