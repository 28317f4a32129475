/** Reranking (docs.cohere.com/reference/rerank); billed by search units, not by tokens. */
import type { TranslatedCall } from '../../core/provider.ts'
import type { RerankRequest } from '../../core/hub/rerank.ts'
import { rerankExtra } from '../openai-compatible/rerank.ts'

export { rerankResult } from '../openai-compatible/rerank.ts'

/** Extra fields are sent only where the client used Cohere's dialect; otherwise they are dropped. */
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
