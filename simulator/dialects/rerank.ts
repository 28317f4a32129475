/**
 * Reranking in the formats of Cohere, Jina and Voyage. The score is the share of query words that a document contains.
 */
import { ApiError, jsonResponse } from './response.ts'
import { isJsonObject } from '../lib/json.ts'
import type { JsonObject } from '../lib/json.ts'
import { hash, randomId, seededRandom } from '../generation/random.ts'
import type { EndpointHandler } from './endpoint.ts'
import { countTokens } from '../generation/tokens.ts'

const wordsOf = (text: string): Set<string> => new Set(text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [])

/** A small random part breaks ties between documents with equal words. */
function scoreOf(query: string, document: string, seed: number): number {
  const [queryWords, documentWords] = [wordsOf(query), wordsOf(document)]
  const shared = [...queryWords].filter(word => documentWords.has(word)).length
  const chance = seededRandom(hash(`${query}\n${document}`, seed))() / 100
  return queryWords.size === 0 ? chance : (shared / queryWords.size) * 0.98 + chance
}

function documentsOf(value: unknown): string[] {
  if (!Array.isArray(value) || value.length === 0)
    throw new ApiError('invalid request: list of documents must not be empty', { param: 'documents' })
  return value.map(one => (isJsonObject(one) ? String(one.text ?? JSON.stringify(one)) : String(one)))
}

/**
 * The path decides the format: `/v2/rerank` is Cohere's, which bills one search unit; `/voyage/` is Voyage's, with
 * `top_k`; otherwise Jina's. Throws ApiError.
 */
export const rerank: EndpointHandler = ({ body, model, seed, request }) => {
  const { query } = body
  if (typeof query !== 'string' || query === '')
    throw new ApiError('invalid request: query must be at least 1 token long', { param: 'query' })
  const documents = documentsOf(body.documents)
  const path = request.target.split('?', 1)[0]!
  const isVoyage = path.includes('/voyage/')
  const limit = (isVoyage ? body.top_k : body.top_n) ?? documents.length
  if (typeof limit !== 'number' || !Number.isInteger(limit) || limit < 1)
    throw new ApiError(`invalid request: ${isVoyage ? 'top_k' : 'top_n'} must be a positive integer`)
  const results: JsonObject[] = documents
    .map((document, index) => ({ index, relevance_score: scoreOf(query, document, seed) }))
    .sort((a, b) => b.relevance_score - a.relevance_score)
    .slice(0, limit)
  const tokens =
    countTokens(query) * documents.length + documents.reduce((sum, document) => sum + countTokens(document), 0)
  if (path.endsWith('/v2/rerank')) {
    const meta = { api_version: { version: '2' }, billed_units: { search_units: 1 } }
    return jsonResponse({ id: randomId(seededRandom(hash(query, seed)), 24), results, meta })
  }
  const billable = { inputTokens: tokens, outputTokens: 0 }
  if (isVoyage) return jsonResponse({ object: 'list', data: results, model, usage: { total_tokens: tokens } }, billable)
  // Jina returns the documents unless `return_documents` is false.
  const visibleResults =
    body.return_documents === false
      ? results
      : results.map(one => ({ ...one, document: { text: documents[Number(one.index)] } }))
  return jsonResponse({ model, object: 'list', usage: { total_tokens: tokens }, results: visibleResults }, billable)
}
