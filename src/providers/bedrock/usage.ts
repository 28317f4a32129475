/** `TokenUsage` of Converse (docs.aws.amazon.com/bedrock, "TokenUsage"). */
import type { Usage } from '../../core/usage.ts'
import { isObject, objectsOf } from '../../lib/json/json-values.ts'
import { countOf } from '../json.ts'

/** AWS's `inputTokens` excludes cached input, the hub's includes it. Undefined = no valid counts. */
export function converseUsage(value: unknown): Usage | undefined {
  if (!isObject(value)) return undefined
  const input = countOf(value.inputTokens)
  const output = countOf(value.outputTokens)
  if (input === undefined || output === undefined) return undefined
  const read = countOf(value.cacheReadInputTokens) ?? 0
  const cacheWrite = countOf(value.cacheWriteInputTokens) ?? 0
  const oneHour = objectsOf(value.cacheDetails)
    .filter(detail => detail.ttl === '1h')
    .reduce((sum, detail) => sum + (countOf(detail.inputTokens) ?? 0), 0)
  return {
    inputTokens: input + read + cacheWrite,
    outputTokens: output,
    ...(read > 0 && { cachedInputTokens: read }),
    ...(cacheWrite > 0 && { cacheWriteTokens: cacheWrite }),
    ...(oneHour > 0 && { cacheWriteOneHourTokens: Math.min(oneHour, cacheWrite) }),
  }
}
