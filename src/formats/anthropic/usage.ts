/**
 * `usage` both ways (platform.claude.com/docs/en/api/messages, "Usage"). Anthropic counts cached input apart; the hub's
 * input includes it.
 */
import type { Usage } from '../../core/usage.ts'
import { isObject } from '../common/field-checks.ts'
import type { Fields } from '../common/field-checks.ts'

const tokensMax = 1_000_000_000

/** A plausible count: an integer from 0 to 10^9. */
export function count(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= tokensMax ? value : undefined
}

/** Undefined when it is missing or not believable: such a report is worth no more than none. */
export function readUsage(value: unknown): Usage | undefined {
  if (!isObject(value)) return undefined
  const [input, output] = [count(value.input_tokens), count(value.output_tokens)]
  const [read, written] = [count(value.cache_read_input_tokens ?? 0), count(value.cache_creation_input_tokens ?? 0)]
  if (input === undefined || output === undefined || read === undefined || written === undefined) return undefined
  const usage: Usage = { inputTokens: input + read + written, outputTokens: output }
  const oneHour = isObject(value.cache_creation) ? count(value.cache_creation.ephemeral_1h_input_tokens) : undefined
  const thinking = isObject(value.output_tokens_details)
    ? count(value.output_tokens_details.thinking_tokens)
    : undefined
  if (read > 0) usage.cachedInputTokens = read
  if (written > 0) usage.cacheWriteTokens = written
  if (oneHour) usage.cacheWriteOneHourTokens = Math.min(oneHour, written)
  if (thinking) usage.reasoningTokens = Math.min(thinking, output)
  return usage
}

/** The reports of a stream: each count replaces the one before. */
export function mergeUsage(before: Fields, report: unknown): Fields {
  if (!isObject(report)) return before
  return { ...before, ...Object.fromEntries(Object.entries(report).filter(([, value]) => value != null)) }
}

/** `usage` of a message, and of the event that ends a stream. Nothing known = 0, because clients add the counts up. */
export function usageObject(usage?: Usage): Fields {
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

function cacheCreation({ cacheWriteTokens = 0, cacheWriteOneHourTokens = 0 }: Usage): Fields {
  return {
    ephemeral_5m_input_tokens: Math.max(cacheWriteTokens - cacheWriteOneHourTokens, 0),
    ephemeral_1h_input_tokens: cacheWriteOneHourTokens,
  }
}
