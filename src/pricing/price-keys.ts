/**
 * LiteLLM's names of prices, in dollars for one unit, as in configurations and in lists of models
 * (docs.litellm.ai/docs/proxy/custom_pricing and the keys of its list at version 1.109.1, 2026-11).
 */
import type { PriceName, Prices } from '../core/usage/prices.ts'
import { recordOf } from '../lib/record-of.ts'

/** Prices of a token. Tiers, variants and places change them. */
export const tokenKeys = {
  input_cost_per_token: 'input',
  output_cost_per_token: 'output',
  cache_read_input_token_cost: 'cacheRead',
  cache_read_input_audio_token_cost: 'cacheReadAudio',
  cache_read_input_image_token_cost: 'cacheReadImage',
  cache_creation_input_token_cost: 'cacheWrite',
  cache_creation_input_token_cost_above_1hr: 'cacheWriteOneHour',
  cache_creation_input_token_cost_above_12hr: 'cacheWriteTwelveHour',
  input_cost_per_audio_token: 'inputAudio',
  output_cost_per_audio_token: 'outputAudio',
  input_cost_per_image_token: 'inputImage',
  output_cost_per_image_token: 'outputImage',
  input_cost_per_video_token: 'inputVideo',
  output_cost_per_video_token: 'outputVideo',
  output_cost_per_reasoning_token: 'reasoning',
} as const satisfies Record<string, PriceName>

/** Prices of other units. Seconds have two names: of audio input or of audio output, and a model has one of them. */
export const unitKeys = {
  output_cost_per_image: 'image',
  input_cost_per_character: 'character',
  input_cost_per_second: 'audioSecond',
  output_cost_per_second: 'audioSecond',
  output_cost_per_video_per_second: 'videoSecond',
  input_cost_per_query: 'searchUnit',
  input_cost_per_request: 'request',
  ocr_cost_per_page: 'page',
  code_interpreter_cost_per_session: 'codeSession',
} as const satisfies Record<string, PriceName>

/** The prices that every model is shown with; null = not known. */
export const alwaysShownKeys = [
  'input_cost_per_token',
  'output_cost_per_token',
  'cache_read_input_token_cost',
  'cache_creation_input_token_cost',
] as const satisfies readonly (keyof typeof tokenKeys)[]

/** LiteLLM's suffix of a price key for a variant of `Prices.variants`, where it has another name. */
const variantSuffixes: Readonly<Record<string, string>> = { batch: 'batches' }
const nanoUsdPerMillion = 1e15

/** The variant of `Prices.variants` that the suffix of a key means: `batch` for `batches`. */
export function variantOf(suffix: string): string {
  return Object.keys(variantSuffixes).find(variant => variantSuffixes[variant] === suffix) ?? suffix
}

/** Prices in dollars for one, by LiteLLM's names; null = not known. */
export type ShownPrices = Record<(typeof alwaysShownKeys)[number], number | null> & Record<string, number | null>

/** Prices in dollars per unit by LiteLLM's names. `makesAudio` = the price of seconds is one of audio output. */
export function priceFields(prices: Prices | null, makesAudio: boolean): ShownPrices {
  const fields: ShownPrices = recordOf(alwaysShownKeys, () => null)
  if (!prices) return fields
  const otherSecond = makesAudio ? 'input_cost_per_second' : 'output_cost_per_second'
  for (const [key, name] of Object.entries({ ...tokenKeys, ...unitKeys })) {
    const price = prices[name]
    if (price !== undefined && key !== otherSecond) fields[key] = dollars(price)
  }
  addTiers(fields, prices, '')
  for (const [variant, given] of Object.entries(prices.variants ?? {})) {
    const suffix = `_${variantSuffixes[variant] ?? variant}`
    addTokenPrices(fields, given, suffix)
    addTiers(fields, given, suffix)
  }
  return fields
}

function addTiers(fields: Record<string, number | null>, { tiers = [] }: Prices, suffix: string): void {
  for (const { fromInputTokens, prices } of tiers)
    addTokenPrices(fields, prices, `_above_${Math.round(fromInputTokens / 1000)}k_tokens${suffix}`)
}

function addTokenPrices(fields: Record<string, number | null>, prices: Prices, suffix: string): void {
  for (const [key, name] of Object.entries(tokenKeys)) {
    const price = prices[name]
    if (price !== undefined) fields[`${key}${suffix}`] = dollars(price)
  }
}

function dollars(nanoUsd: bigint): number {
  return Number(nanoUsd) / nanoUsdPerMillion
}
