/** Reranking without a model: how near the n-gram embeddings of query and document are. */
import type { RerankRequest, RerankResult } from '../../core/rerank.ts'
import { embed } from './embeddings.ts'
import { LocalRefusal } from './refusal.ts'

const documentsMax = 1000
const lengthMax = 1_000_000

interface Body {
  readonly query: string
  readonly documents: readonly string[]
}

/**
 * Scores every document from 0 to 1; the body is the hub's own, since no vendor's dialect is spoken here. Throws
 * LocalRefusal on more than it could score in a moment.
 */
export function answerRerank({ query, documents }: Body): object {
  const length = documents.reduce((sum, one) => sum + one.length, query.length)
  if (documents.length > documentsMax || length > lengthMax)
    throw new LocalRefusal(
      'documents',
      `at most ${documentsMax} documents of ${lengthMax} characters in all; send fewer at a time`,
    )
  const wanted = embed(query)
  const scores = documents.map(document => {
    const vector = embed(document)
    let product = 0
    for (let at = 0; at < vector.length; at++) product += vector[at]! * wanted[at]!
    return Math.min(Math.max(product, 0), 1)
  })
  return { scores, tokens: Math.ceil(length / 4) }
}

/** For `answerRerank` alone: the body never leaves this process. */
export const rerankBody = ({ query, documents }: RerankRequest): Body => ({ query, documents })

/** Reads what `answerRerank` wrote, unchecked. Of equal scores the earlier document comes first. */
export function rerankResult(body: unknown, request: RerankRequest): RerankResult {
  const { scores, tokens } = body as { scores: number[]; tokens: number }
  const results = scores
    .map((score, index) => ({ index, score }))
    .sort((a, b) => b.score - a.score || a.index - b.index)
  return { results: results.slice(0, request.topN ?? results.length), usage: { inputTokens: tokens, outputTokens: 0 } }
}
