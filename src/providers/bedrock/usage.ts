/** `TokenUsage` of Converse, and what served it (docs.aws.amazon.com/bedrock, "Converse", "TokenUsage", 2026-11). */
import type { Usage } from '../../core/usage/usage.ts'
import { countOf, firstCount, setCount, setServed } from '../../core/usage/usage-fields.ts'
import { isObject, objectOf, objectsOf } from '../../lib/json/json-values.ts'
import type { Json } from '../../lib/json/json-values.ts'

/**
 * Of a whole answer, or of the event `metadata` of a stream: `usage`, `serviceTier` and `performanceConfig`. AWS's
 * `inputTokens` excludes cached input, the hub's includes it. Undefined = no valid counts.
 */
export function converseUsage({ usage: value, serviceTier, performanceConfig }: Json): Usage | undefined {
  if (!isObject(value)) return undefined
  const input = countOf(value.inputTokens)
  const output = countOf(value.outputTokens)
  if (input === undefined || output === undefined) return undefined
  const read = firstCount(value.cacheReadInputTokens)
  const written = firstCount(value.cacheWriteInputTokens)
  const oneHour = objectsOf(value.cacheDetails)
    .filter(detail => detail.ttl === '1h')
    .reduce((sum, detail) => sum + firstCount(detail.inputTokens), 0)
  const usage: Usage = { inputTokens: input + read + written, outputTokens: output }
  setCount(usage, 'cachedInputTokens', read)
  setCount(usage, 'cacheWriteTokens', written)
  setCount(usage, 'cacheWriteOneHourTokens', oneHour, written)
  setServed(usage, { serviceTier: objectOf(serviceTier).type, speed: objectOf(performanceConfig).latency })
  return usage
}
