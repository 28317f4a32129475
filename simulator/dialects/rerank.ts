/** Reranking as Cohere, Jina and Voyage write it: words that query and document share decide. */
import { BadRequest, isJson, jsonAnswer } from '../generation/types.ts'
import type { Json } from '../generation/types.ts'
import { hash, randomId, randomOf } from '../generation/random.ts'
import type { Answerer } from './endpoint.ts'
import { countTokens } from '../generation/tokens.ts'

const wordsIn = (text: string): Set<string> => new Set(text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [])

/** Documents with equal words are told apart by a little chance. */
function scoreOf(query: string, document: string, seed: number): number {
  const [asked, said] = [wordsIn(query), wordsIn(document)]
  const shared = [...asked].filter(word => said.has(word)).length
  const chance = randomOf(hash(`${query}\n${document}`, seed))() / 100
  return asked.size === 0 ? chance : (shared / asked.size) * 0.98 + chance
}

function documentsOf(value: unknown): string[] {
  if (!Array.isArray(value) || value.length === 0)
    throw new BadRequest('invalid request: list of documents must not be empty', { param: 'documents' })
  return value.map(one => (isJson(one) ? String(one.text ?? JSON.stringify(one)) : String(one)))
}

/**
 * Path and step decide whose: `/v2/rerank` is Cohere's, which bills one search; behind `/voyage/` Voyage's, with
 * `top_k`; else Jina's. Throws BadRequest.
 */
export const rerank: Answerer = ({ body, model, seed, request }) => {
  const { query } = body
  if (typeof query !== 'string' || query === '')
    throw new BadRequest('invalid request: query must be at least 1 token long', { param: 'query' })
  const documents = documentsOf(body.documents)
  const path = request.target.split('?', 1)[0]!
  const isVoyage = path.includes('/voyage/')
  const limit = (isVoyage ? body.top_k : body.top_n) ?? documents.length
  if (typeof limit !== 'number' || !Number.isInteger(limit) || limit < 1)
    throw new BadRequest(`invalid request: ${isVoyage ? 'top_k' : 'top_n'} must be a positive integer`)
  const results: Json[] = documents
    .map((document, index) => ({ index, relevance_score: scoreOf(query, document, seed) }))
    .sort((a, b) => b.relevance_score - a.relevance_score)
    .slice(0, limit)
  const tokens =
    countTokens(query) * documents.length + documents.reduce((sum, document) => sum + countTokens(document), 0)
  if (path.endsWith('/v2/rerank')) {
    const meta = { api_version: { version: '2' }, billed_units: { search_units: 1 } }
    return jsonAnswer({ id: randomId(randomOf(hash(query, seed)), 24), results, meta })
  }
  const billable = { inputTokens: tokens, outputTokens: 0 }
  if (isVoyage) return jsonAnswer({ object: 'list', data: results, model, usage: { total_tokens: tokens } }, billable)
  // Jina gives the documents back unless it is told not to.
  const shown =
    body.return_documents === false
      ? results
      : results.map(one => ({ ...one, document: { text: documents[Number(one.index)] } }))
  return jsonAnswer({ model, object: 'list', usage: { total_tokens: tokens }, results: shown }, billable)
}
