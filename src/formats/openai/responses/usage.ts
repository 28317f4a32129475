/** Usage in the words of the Responses dialect (API reference, "The response object", `usage`). */
import type { Usage } from '../../../core/usage/usage.ts'

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
