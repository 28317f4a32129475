/**
 * Reranking in Jina's format (jina.ai/reranker), which Together, SiliconFlow and vLLM share, and in Voyage's
 * (docs.voyageai.com/docs/reranker). Cohere's answers have the same `results` and are read here as well.
 */
import { brokenProtocol } from '../../core/errors.ts'
import { headOf } from '../../core/target-cache.ts'
import { readOpenaiUsage } from '../../core/usage/openai-usage.ts'
import type { MakeHead, TranslatedCall, UnaryAdapter } from '../../core/provider.ts'
import type { RerankRequest, RerankResult } from '../../core/hub/rerank.ts'
import type { Usage } from '../../core/usage/usage.ts'
import { isObject } from '../../lib/json/json-values.ts'
import type { Json } from '../../lib/json/json-values.ts'

/** `dialect` decides the name of the limit: `top_n` in Jina's, `top_k` in Voyage's. Results are sorted, best first. */
export function rerankAdapter(head: MakeHead, dialect: 'jina' | 'voyage'): UnaryAdapter<RerankRequest, RerankResult> {
  const topField = dialect === 'voyage' ? 'top_k' : 'top_n'
  return {
    request: (request, target) => ({
      head: headOf(target, head),
      ...rerankBody(request, target.model, topField),
    }),
    result: rerankResult,
  }
}

function rerankBody(request: RerankRequest, model: string, topField: string): Omit<TranslatedCall, 'head'> {
  const { fields, dropped } = rerankExtra(request, 'jina-rerank')
  if (request.maxTokensPerDocument !== undefined) dropped.push('max_tokens_per_doc')
  const body: Json = {
    ...fields,
    model,
    query: request.query,
    documents: request.documents,
    // The gateway has the documents: the format adds them to the answer.
    return_documents: false,
  }
  if (request.topN !== undefined) body[topField] = request.topN
  return { body, dropped }
}

/** The client's extra fields, sent only where its dialect is `dialect`, and the dropped ones. */
export function rerankExtra(request: RerankRequest, dialect: string): { fields: Json; dropped: string[] } {
  const { return_documents: _, ...fields } = request.extra.fields
  const own = request.extra.format === dialect
  const dropped = own ? [] : Object.keys(fields)
  if (request.user !== undefined) dropped.push('user')
  return { fields: own ? fields : {}, dropped }
}

/** Throws `upstream-broken` on an invalid or repeated index, or a score that is no number. */
export function rerankResult(body: unknown, request: RerankRequest): RerankResult {
  if (!isObject(body)) throw brokenProtocol('no object')
  const list = body.results ?? body.data
  if (!Array.isArray(list)) throw brokenProtocol('no results')
  const seen = new Set<number>()
  const results = list.map((entry: unknown) => {
    const { index, relevance_score: score } = isObject(entry) ? entry : {}
    if (typeof index !== 'number' || !Number.isInteger(index) || index < 0 || index >= request.documents.length)
      throw brokenProtocol('a result for no document')
    if (seen.has(index)) throw brokenProtocol('two results for one document')
    if (typeof score !== 'number' || !Number.isFinite(score)) throw brokenProtocol('a result without a score')
    seen.add(index)
    return { index, score }
  })
  results.sort((a, b) => b.score - a.score)
  // Some hosts ignore the limit.
  return { results: results.slice(0, request.topN), usage: rerankUsage(body) }
}

function rerankUsage(body: Json): Usage {
  const usage = isObject(body.usage) ? body.usage : {}
  const meta = isObject(body.meta) ? body.meta : {}
  const tokens = isObject(meta.tokens) ? meta.tokens : {}
  const billed = isObject(meta.billed_units) ? meta.billed_units : {}
  const input = usage.prompt_tokens ?? usage.total_tokens ?? tokens.input_tokens ?? billed.input_tokens
  const units = billed.search_units
  return {
    inputTokens: readOpenaiUsage({ prompt_tokens: input })?.inputTokens ?? 0,
    outputTokens: 0,
    ...(typeof units === 'number' && Number.isFinite(units) && units > 0 && { searchUnits: units }),
  }
}
