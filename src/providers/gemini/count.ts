/** `countTokens` (ai.google.dev/api/tokens). */
import type { TokenCount } from '../../core/provider.ts'
import { countOf } from '../../core/usage/usage-fields.ts'
import { broken } from '../json.ts'
import { objectOf } from '../../lib/json/json-values.ts'

/** Throws `upstream-broken` when there is no count. */
export function countResult(body: unknown): TokenCount {
  const inputTokens = countOf(objectOf(body).totalTokens)
  if (inputTokens === undefined) throw broken('no totalTokens')
  return { inputTokens }
}
