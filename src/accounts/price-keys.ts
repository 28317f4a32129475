/** Prices under the names that users of the peer know, in dollars for one: read in the configuration, shown in lists. */
import type { Prices } from '../core/usage.ts'

/** Of tokens. */
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

/** Of tokens of calls in a batch, where those cost less or more. */
export const batchKeys = { input_cost_per_token_batches: 'input', output_cost_per_token_batches: 'output' } as const

/** What is not counted in tokens. Seconds have two names; a model either hears or speaks. */
export const unitKeys = {
  output_cost_per_image: 'image',
  input_cost_per_character: 'character',
  input_cost_per_second: 'audioSecond',
  output_cost_per_second: 'audioSecond',
  input_cost_per_query: 'searchUnit',
  input_cost_per_request: 'request',
} as const satisfies Record<string, keyof Prices>

/** Those that have other prices for long inputs, under `..._above_200k_tokens`. */
export const tieredKeys = [
  'input_cost_per_token',
  'output_cost_per_token',
  'cache_read_input_token_cost',
  'cache_creation_input_token_cost',
] as const

/** Shown for every model: null = not known. */
const always: readonly string[] = tieredKeys
const nanoUsdPerMillion = 1e15

/** `speaks` = its seconds are of audio made. Exact as far as a float holds the decimal. */
export function priceFields(prices: Prices | null, speaks: boolean): Record<string, number | null> {
  const fields: Record<string, number | null> = Object.fromEntries(always.map(key => [key, null]))
  if (!prices) return fields
  const otherSecond = speaks ? 'input_cost_per_second' : 'output_cost_per_second'
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
