/** Usage in the words of the Responses dialect (API reference, "The response object", `usage`). */
import type { Usage } from '../../../core/usage.ts'
import { isInteger, isObject } from '../../common/field-checks.ts'

const tokensMax = 1_000_000_000

/** The dialect requires both details: a count that was not reported is 0. */
export function usageObject(usage: Usage): Record<string, unknown> {
  return {
    input_tokens: usage.inputTokens,
    input_tokens_details: {
      cached_tokens: usage.cachedInputTokens ?? 0,
      cache_write_tokens: usage.cacheWriteTokens ?? 0,
    },
    output_tokens: usage.outputTokens,
    output_tokens_details: { reasoning_tokens: usage.reasoningTokens ?? 0 },
    total_tokens: usage.inputTokens + usage.outputTokens,
  }
}

/** Undefined when it is missing or not believable: such a report is worth no more than none. */
export function readUsage(value: unknown): Usage | undefined {
  if (!isObject(value)) return undefined
  const { input_tokens: inputTokens, output_tokens: outputTokens } = value
  if (!isInteger(inputTokens, 0, tokensMax) || !isInteger(outputTokens, 0, tokensMax)) return undefined
  const usage: Usage = { inputTokens, outputTokens }
  const input = isObject(value.input_tokens_details) ? value.input_tokens_details : {}
  const output = isObject(value.output_tokens_details) ? value.output_tokens_details : {}
  const { cached_tokens: cached, cache_write_tokens: written } = input
  const { reasoning_tokens: reasoning } = output
  if (isInteger(cached, 1, tokensMax)) usage.cachedInputTokens = Math.min(cached, inputTokens)
  if (isInteger(written, 1, tokensMax)) usage.cacheWriteTokens = Math.min(written, inputTokens)
  if (isInteger(reasoning, 1, tokensMax)) usage.reasoningTokens = reasoning
  return usage
}
