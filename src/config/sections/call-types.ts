/** LiteLLM's names of kinds of calls. */
import { cachedOperations } from '../../core/cache/cache-settings.ts'
import type { CachedOperation } from '../../core/cache/cache-settings.ts'

/** LiteLLM's names of calls, by the operation that each stands for. */
const callTypes: Readonly<Record<CachedOperation, readonly string[]>> = {
  chat: ['acompletion', 'completion', 'aresponses', 'responses', 'anthropic_messages', 'agenerate_content'],
  completions: ['atext_completion', 'text_completion'],
  embeddings: ['aembedding', 'embedding'],
  rerank: ['arerank', 'rerank'],
  moderations: ['amoderation', 'moderation'],
  speech: ['aspeech', 'speech'],
  transcriptions: ['atranscription', 'transcription'],
}
/** The operation of each of these names. */
export const operationOf: ReadonlyMap<string, CachedOperation> = new Map(
  cachedOperations.flatMap(operation => callTypes[operation].map(name => [name, operation] as const)),
)
