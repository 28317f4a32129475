/** How OpenAI and compatible vendors report usage. Used by formats and providers. */
import type { Usage } from './usage.ts'

const tokensMax = 1_000_000_000

/** A plausible count: an integer from 0 to 10^9. */
function count(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= tokensMax ? value : undefined
}

function details(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
}

/**
 * The `usage` object of a chat completion, text completion or embeddings answer. Undefined when it is
 * missing or not plausible (negative, fractional, not numbers).
 */
export function readOpenaiUsage(value: unknown): Usage | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  const usage = value as Record<string, unknown>
  const inputTokens = count(usage.prompt_tokens)
  const outputTokens = count(usage.completion_tokens ?? 0)
  if (inputTokens === undefined || outputTokens === undefined) return undefined
  const input = details(usage.prompt_tokens_details)
  const output = details(usage.completion_tokens_details)
  const result: Usage = { inputTokens, outputTokens }
  const cached = count(input.cached_tokens ?? usage.prompt_cache_hit_tokens ?? usage.cache_read_input_tokens)
  const written = count(usage.cache_creation_input_tokens ?? input.cache_write_tokens)
  const reasoning = count(output.reasoning_tokens)
  const inputAudio = count(input.audio_tokens)
  const outputAudio = count(output.audio_tokens)
  if (cached) result.cachedInputTokens = Math.min(cached, inputTokens)
  if (written) result.cacheWriteTokens = Math.min(written, inputTokens)
  if (reasoning) result.reasoningTokens = reasoning
  if (inputAudio) result.inputAudioTokens = Math.min(inputAudio, inputTokens)
  if (outputAudio) result.outputAudioTokens = Math.min(outputAudio, outputTokens)
  return result
}

/**
 * Of a chunk of a stream: beside its choices, where Groq has it as well (`x_groq.usage`), or inside of the choice that
 * ends (platform.moonshot.ai/docs/api/chat).
 */
export function readChunkUsage(chunk: Readonly<Record<string, unknown>>): Usage | undefined {
  const [choice] = Array.isArray(chunk.choices) ? (chunk.choices as unknown[]) : []
  return (
    readOpenaiUsage(chunk.usage) ??
    readOpenaiUsage(details(chunk.x_groq).usage) ??
    readOpenaiUsage(details(choice).usage)
  )
}

/**
 * The `usage` of a Response. Undefined when it is missing or not plausible: such a report is worth no more than none.
 */
export function readResponsesUsage(value: unknown): Usage | undefined {
  const usage = details(value)
  const inputTokens = count(usage.input_tokens)
  const outputTokens = count(usage.output_tokens)
  if (inputTokens === undefined || outputTokens === undefined) return undefined
  const result: Usage = { inputTokens, outputTokens }
  const input = details(usage.input_tokens_details)
  const cached = count(input.cached_tokens)
  const written = count(input.cache_write_tokens)
  const reasoning = count(details(usage.output_tokens_details).reasoning_tokens)
  if (cached) result.cachedInputTokens = Math.min(cached, inputTokens)
  if (written) result.cacheWriteTokens = Math.min(written, inputTokens)
  if (reasoning) result.reasoningTokens = reasoning
  return result
}
