/** `countTokens` (ai.google.dev/api/tokens). */
import { brokenProtocol } from '../../core/errors.ts'
import type { TokenCount } from '../../core/provider.ts'
import { countOf } from '../../core/usage/usage-fields.ts'
import { objectOf } from '../../lib/json/json-values.ts'

/** Throws `upstream-broken` when there is no count. */
export function countResult(body: unknown): TokenCount {
  const inputTokens = countOf(objectOf(body).totalTokens)
  if (inputTokens === undefined) throw brokenProtocol('no totalTokens')
  return { inputTokens }
}
