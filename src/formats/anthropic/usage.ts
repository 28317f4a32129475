/**
 * `usage` as clients get it (platform.claude.com/docs/en/api/messages, "Usage"). Anthropic counts cached input apart,
 * the hub's input includes it.
 */
import type { Usage } from '../../core/usage/usage.ts'
import type { Json } from '../../lib/json/json-values.ts'

/** `usage` of a message, and of the event that ends a stream. Nothing known = 0, because clients add the counts up. */
export function usageObject(usage?: Usage): Json {
  const {
    inputTokens,
    outputTokens,
    cachedInputTokens = 0,
    cacheWriteTokens = 0,
    reasoningTokens,
  } = usage ?? { inputTokens: 0, outputTokens: 0 }
  return {
    input_tokens: Math.max(inputTokens - cachedInputTokens - cacheWriteTokens, 0),
    cache_creation_input_tokens: cacheWriteTokens,
    cache_read_input_tokens: cachedInputTokens,
    cache_creation: usage ? cacheCreation(usage) : null,
    output_tokens: outputTokens,
    output_tokens_details: reasoningTokens === undefined ? null : { thinking_tokens: reasoningTokens },
    server_tool_use: null,
    service_tier: null,
  }
}

function cacheCreation({ cacheWriteTokens = 0, cacheWriteOneHourTokens = 0 }: Usage): Json {
  return {
    ephemeral_5m_input_tokens: Math.max(cacheWriteTokens - cacheWriteOneHourTokens, 0),
    ephemeral_1h_input_tokens: cacheWriteOneHourTokens,
  }
}
