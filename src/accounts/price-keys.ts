/**
 * Prices under LiteLLM's names, in dollars per unit, as in the configuration and in model lists
 * (https://docs.litellm.ai/docs/proxy/custom_pricing).
 */
import type { Prices } from '../core/usage.ts'

/** Prices per token. */
export const tokenKeys = {
  input_cost_per_token: 'input',
  output_cost_per_token: 'output',
  cache_read_input_token_cost: 'cacheRead',
  cache_creation_input_token_cost: 'cacheWrite',
  cache_creation_input_token_cost_above_1hr: 'cacheWriteOneHour',
  input_cost_per_audio_token: 'inputAudio',
  output_cost_per_audio_token: 'outputAudio',
  input_cost_per_image_token: 'inputImage',
  output_cost_per_image_token: 'outputImage',
  output_cost_per_reasoning_token: 'reasoning',
} as const satisfies Record<string, keyof Prices>

/** Prices per token of calls in a batch. */
export const batchKeys = { input_cost_per_token_batches: 'input', output_cost_per_token_batches: 'output' } as const

/** Prices of other units. Seconds have two names: of audio input or of audio output, and a model has one of them. */
export const unitKeys = {
  output_cost_per_image: 'image',
  input_cost_per_character: 'character',
  input_cost_per_second: 'audioSecond',
  output_cost_per_second: 'audioSecond',
  input_cost_per_query: 'searchUnit',
  input_cost_per_request: 'request',
} as const satisfies Record<string, keyof Prices>

/** The prices that may be tiered by input length, under names such as `..._above_200k_tokens`. */
export const tieredKeys = [
  'input_cost_per_token',
  'output_cost_per_token',
  'cache_read_input_token_cost',
  'cache_creation_input_token_cost',
] as const

/** Fields that are present for every model; null = the price is unknown. */
const alwaysPresent: readonly string[] = tieredKeys
const nanoUsdPerMillion = 1e15

/** Prices in dollars per unit by LiteLLM's names. `makesAudio` = the price of seconds is one of audio output. */
export function priceFields(prices: Prices | null, makesAudio: boolean): Record<string, number | null> {
  const fields: Record<string, number | null> = Object.fromEntries(alwaysPresent.map(key => [key, null]))
  if (!prices) return fields
  const otherSecond = makesAudio ? 'input_cost_per_second' : 'output_cost_per_second'
  for (const [key, name] of Object.entries({ ...tokenKeys, ...unitKeys })) {
    const price = prices[name]
    if (price !== undefined && key !== otherSecond) fields[key] = dollars(price)
  }
  for (const { aboveInputTokens, prices: above } of prices.tiers ?? [])
    for (const key of tieredKeys) {
      const price = above[tokenKeys[key]]
      if (price !== undefined) fields[`${key}_above_${Math.ceil(aboveInputTokens / 1000)}k_tokens`] = dollars(price)
    }
  for (const [key, name] of Object.entries(batchKeys)) {
    const price = prices.batch?.[name]
    if (price !== undefined) fields[key] = dollars(price)
  }
  return fields
}

function dollars(nanoUsd: bigint): number {
  return Number(nanoUsd) / nanoUsdPerMillion
}
