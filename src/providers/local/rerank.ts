/** Simulated reranking: the cosine similarity of the n-gram embeddings of query and document. */
import type { RerankRequest, RerankResult } from '../../core/hub/rerank.ts'
import { embed } from './embeddings.ts'
import { LocalRefusal } from './refusal.ts'

const documentsMax = 1000
const lengthMax = 1_000_000

interface Body {
  readonly query: string
  readonly documents: readonly string[]
}

/**
 * Scores every document from 0 to 1. The body has the hub's fields, as no vendor's dialect is served. Throws
 * LocalRefusal for inputs beyond the limits above.
 */
export function answerRerank({ query, documents }: Body): object {
  const length = documents.reduce((sum, one) => sum + one.length, query.length)
  if (documents.length > documentsMax || length > lengthMax)
    throw new LocalRefusal(
      'documents',
      `at most ${documentsMax} documents of ${lengthMax} characters in all; send fewer at a time`,
    )
  const queryVector = embed(query)
  const scores = documents.map(document => {
    const vector = embed(document)
    let product = 0
    for (let at = 0; at < vector.length; at++) product += vector[at]! * queryVector[at]!
    return Math.min(Math.max(product, 0), 1)
  })
  return { scores, tokens: Math.ceil(length / 4) }
}

/** The body for `answerRerank`; it does not leave this process. */
export const rerankBody = ({ query, documents }: RerankRequest): Body => ({ query, documents })

/** Reads the answer of `answerRerank` without checks. Documents with equal scores stay in their order. */
export function rerankResult(body: unknown, request: RerankRequest): RerankResult {
  const { scores, tokens } = body as { scores: number[]; tokens: number }
  const results = scores
    .map((score, index) => ({ index, score }))
    .sort((a, b) => b.score - a.score || a.index - b.index)
  return { results: results.slice(0, request.topN ?? results.length), usage: { inputTokens: tokens, outputTokens: 0 } }
}
