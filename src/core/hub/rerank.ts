/** Hub types of reranking: documents ordered by how well they answer a query. */
import type { Usage } from '../usage/usage.ts'

/** A call to order documents in the hub's words. */
export interface RerankRequest {
  model: string
  query: string
  /** The texts to be ordered; a structured document is its fields as YAML-like lines. */
  documents: string[]
  /** How many of the best to return; absent = all. */
  topN?: number
  /** Tokens of each document that count; absent = the vendor's default. */
  maxTokensPerDocument?: number
  user?: string
  extra: { format: string; fields: Record<string, unknown> }
}

/** Its answer. */
export interface RerankResult {
  /**
   * Best first. `index` is the document's place in the request; `score` is between 0 and 1 where the vendor says so.
   */
  results: { index: number; score: number }[]
  usage: Usage
}
