/** Reranking (docs.cohere.com/reference/rerank); billed by search units, not by tokens. */
import type { TranslatedCall } from '../../core/provider.ts'
import type { RerankRequest } from '../../core/rerank.ts'
import { rerankExtra } from '../openai-compatible/rerank.ts'

export { rerankResult } from '../openai-compatible/rerank.ts'

/** Fields beyond the hub's leave only where the client spoke Cohere's dialect; else they are dropped. */
export function rerankBody(request: RerankRequest, model: string): Omit<TranslatedCall, 'head'> {
  const { fields, dropped } = rerankExtra(request, 'cohere-rerank')
  const body = {
    ...fields,
    model,
    query: request.query,
    documents: request.documents,
    ...(request.topN !== undefined && { top_n: request.topN }),
    ...(request.maxTokensPerDocument !== undefined && { max_tokens_per_doc: request.maxTokensPerDocument }),
  }
  return { body, dropped }
}
