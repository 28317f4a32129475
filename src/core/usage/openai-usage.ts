/**
 * How OpenAI and compatible vendors report the usage of a chat (Chat Completions). Used by formats and providers. The
 * names and what they count, by vendor (2026-11):
 *
 * - OpenAI: `prompt_tokens_details` (cached, cache_write, audio, image), all within `prompt_tokens`; `service_tier`
 * - xAI: `reasoning_tokens` beside `completion_tokens` (docs.x.ai, "Reasoning"); `cost_in_usd_ticks`
 * - Moonshot, Together: `cached_tokens` beside the totals; Mistral: `num_cached_tokens`, `service_tier` in the usage
 * - DeepSeek: `prompt_cache_hit_tokens`; DashScope: `cache_creation_input_tokens` in the details
 * - OpenRouter, Perplexity: `cost`
 */
import type { Usage } from './usage.ts'
import { countOf, firstCount, membersOf, nanoUsdOf, setCount, setServed } from './usage-fields.ts'

/**
 * The `usage` object of a chat completion, text completion or embeddings answer; `serviceTier` = that of the answer.
 * Undefined when the counts of input or output are missing or not plausible (negative, fractional, not numbers).
 */
export function readOpenaiUsage(value: unknown, serviceTier?: unknown): Usage | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  const usage = value as Record<string, unknown>
  const inputTokens = countOf(usage.prompt_tokens)
  const completion = countOf(usage.completion_tokens ?? 0)
  if (inputTokens === undefined || completion === undefined) return undefined
  const input = membersOf(usage.prompt_tokens_details)
  const output = membersOf(usage.completion_tokens_details)
  const reasoning = firstCount(output.reasoning_tokens, usage.reasoning_tokens)
  const isBeside = isReasoningBeside(completion, reasoning, inputTokens, usage.total_tokens)
  const outputTokens = isBeside ? completion + reasoning : completion
  const result: Usage = { inputTokens, outputTokens }
  const { prompt_cache_hit_tokens: hits, cache_read_input_tokens: reads, num_cached_tokens: numbered } = usage
  const reported = firstCount(input.cached_tokens, hits, reads, usage.cached_tokens) || firstCount(numbered)
  const cached = Math.min(reported, inputTokens)
  const { cache_creation_input_tokens: created } = usage
  const written = firstCount(input.cache_write_tokens, input.cache_creation_input_tokens, created)
  setCount(result, 'cachedInputTokens', cached)
  setCount(result, 'cacheWriteTokens', written, inputTokens - cached)
  setLongWrites(result, input)
  // Alibaba Cloud, "Context Cache" (2026-10): other prices than those of the implicit cache.
  if (input.cache_type === 'ephemeral') setCount(result, 'explicitCachedTokens', cached)
  setCount(result, 'reasoningTokens', reasoning, outputTokens)
  setCount(result, 'inputAudioTokens', firstCount(input.audio_tokens), inputTokens)
  setCount(result, 'outputAudioTokens', firstCount(output.audio_tokens), outputTokens)
  setCount(result, 'inputImageTokens', firstCount(input.image_tokens), inputTokens)
  setCount(result, 'outputImageTokens', firstCount(output.image_tokens), outputTokens)
  setCount(result, 'inputVideoTokens', firstCount(input.video_tokens), inputTokens)
  setServed(result, { serviceTier: serviceTier ?? usage.service_tier })
  setReportedCost(result, usage)
  setToolCounts(result, usage)
  return result
}

/** OpenAI's writes by their lifetime ("Prompt caching", 2026-11): `cache_write_tokens_details.ttl_12h_tokens`. */
export function setLongWrites(result: Usage, details: Readonly<Record<string, unknown>>): void {
  const { cacheWriteTokens } = result
  if (!cacheWriteTokens || details.cache_write_tokens_details === undefined) return
  const byLifetime = membersOf(details.cache_write_tokens_details)
  setCount(result, 'cacheWriteTwelveHourTokens', firstCount(byLifetime.ttl_12h_tokens), cacheWriteTokens)
}

/**
 * true = the vendor counts reasoning beside the output, not within it: its total has both, or there is more of it than
 * of the output.
 */
function isReasoningBeside(completion: number, reasoning: number, input: number, total: unknown): boolean {
  if (reasoning === 0) return false
  return reasoning > completion || total === input + completion + reasoning
}

/**
 * Of a chunk of a stream, or of a whole answer: beside its choices, where Groq has it as well (`x_groq.usage`), or
 * inside of the choice that ends (platform.moonshot.ai/docs/api/chat).
 */
export function readChunkUsage(chunk: Readonly<Record<string, unknown>>): Usage | undefined {
  const { service_tier: tier, choices } = chunk
  return (
    readOpenaiUsage(chunk.usage, tier) ??
    readOpenaiUsage(membersOf(chunk.x_groq).usage, tier) ??
    (Array.isArray(choices) ? readOpenaiUsage(membersOf(choices[0]).usage, tier) : undefined)
  )
}

const ticksPerNanoUsd = 10n

/**
 * What the host says that the call cost: xAI `cost_in_usd_ticks` (10^10 a dollar; docs.x.ai, "Cost Tracking"),
 * OpenRouter `cost` (openrouter.ai, "Usage accounting": what it charged; with an own key of the vendor, what that
 * charges comes on top), Perplexity `cost.total_cost`.
 */
export function setReportedCost(result: Usage, usage: Readonly<Record<string, unknown>>): void {
  const ticks = usage.cost_in_usd_ticks
  if (typeof ticks === 'number' && Number.isSafeInteger(ticks) && ticks >= 0)
    result.reportedCostNanoUsd = (BigInt(ticks) + ticksPerNanoUsd / 2n) / ticksPerNanoUsd
  if (usage.cost === undefined || usage.cost === null) return
  const { total_cost: total, currency = 'USD' } = membersOf(usage.cost)
  const charged = nanoUsdOf(currency === 'USD' ? (total ?? usage.cost) : undefined)
  const ofVendor = usage.is_byok === true ? nanoUsdOf(membersOf(usage.cost_details).upstream_inference_cost) : 0n
  if (charged !== undefined && ofVendor !== undefined) result.reportedCostNanoUsd = charged + ofVendor
}

/** Uses of the host's own tools, where the usage counts them: xAI, OpenRouter (`server_tool_use`), Perplexity. */
export function setToolCounts(result: Usage, usage: Readonly<Record<string, unknown>>): void {
  if (usage.server_side_tool_usage_details !== undefined) setXaiTools(result, usage.server_side_tool_usage_details)
  const searches = firstCount(membersOf(usage.server_tool_use).web_search_requests, usage.num_search_queries)
  setCount(result, 'webSearches', (result.webSearches ?? 0) + searches)
}

/** docs.x.ai, "Tools Pricing" (2026-11): each of these has a price a call; MCP has none. */
function setXaiTools(result: Usage, value: unknown): void {
  const calls = membersOf(value)
  const sumOf = (...names: readonly string[]) => names.reduce((sum, name) => sum + (countOf(calls[name]) ?? 0), 0)
  setCount(result, 'webSearches', sumOf('web_search_calls', 'x_search_calls'))
  setCount(result, 'fileSearches', sumOf('file_search_calls', 'collections_search_calls'))
  setCount(result, 'codeSessions', sumOf('code_interpreter_calls', 'code_execution_calls'))
  setCount(result, 'otherToolUses', sumOf('document_search_calls', 'attachment_search_calls', 'image_generation_calls'))
}
