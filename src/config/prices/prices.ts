/** Prices of a model: the operator's values over the list prices of the catalogue, as exact integers. */
import { batchKeys, tieredKeys, tokenKeys, unitKeys } from '../../accounts/price-keys.ts'
import type { Prices, PriceSource, PriceTier } from '../../core/usage.ts'
import { catalogueEntry } from './catalogue.ts'
import { scaleDecimal } from './decimal.ts'

/** Thousands of input tokens above which vendors charge long-context prices. */
const thresholds = [128, 200, 256, 272] as const

type TieredKey = `${(typeof tieredKeys)[number]}_above_${(typeof thresholds)[number]}k_tokens`
/** Configuration keys for token prices: plain, batch, or for long inputs (`..._above_200k_tokens`). */
export type TokenPriceKey = keyof typeof tokenKeys | keyof typeof batchKeys | TieredKey
/** Configuration keys for prices of images, seconds, characters or requests. */
export type UnitPriceKey = keyof typeof unitKeys

/** The operator's prices for a model, in dollars for one unit. */
export type GivenPrices = { readonly [key in TokenPriceKey | UnitPriceKey]?: number | undefined }

const tieredKey = (key: (typeof tieredKeys)[number], threshold: (typeof thresholds)[number]): TieredKey =>
  `${key}_above_${threshold}k_tokens`

/** All keys of token prices. */
export const tokenPriceKeys = [
  ...Object.keys(tokenKeys),
  ...Object.keys(batchKeys),
  ...thresholds.flatMap(threshold => tieredKeys.map(key => tieredKey(key, threshold))),
] as TokenPriceKey[]

/** All keys of unit prices. */
export const unitPriceKeys = Object.keys(unitKeys) as UnitPriceKey[]

/** Converts dollars for one unit (`3e-06`) to nano-dollars for a million, exactly, without float arithmetic. */
export function nanoUsdPerMillion(dollars: number): bigint {
  return scaleDecimal(String(dollars), 15)
}

/**
 * Vendors whose batches cost half the list price: OpenAI and Azure ("Batch API"), Anthropic ("Batch processing"),
 * Google ("Batch mode", Gemini API and Vertex AI), Amazon ("Batch inference"), Mistral ("Batch"), Groq ("Batch API").
 */
const halfPriceBatches: ReadonlySet<string> = new Set([
  'openai',
  'azure',
  'anthropic',
  'gemini',
  'vertex_ai',
  'bedrock',
  'mistral',
  'groq',
])

/** The catalogue's prices; null = unknown model or unknown price. */
export function catalogPrices(provider: string, model: string): Prices | null {
  if (provider === 'local') return { input: 0n, output: 0n }
  const prices = catalogueEntry(provider, model)?.prices ?? null
  return prices && halfPriceBatches.has(provider) ? withHalfPriceBatches(prices) : prices
}

function withHalfPriceBatches(prices: Prices): Prices {
  const { later, ...base } = prices
  const batch = halved(base)
  return {
    ...base,
    ...(batch.input !== undefined && { batch }),
    ...(later && { later: later.map(({ fromMs, prices: then }) => ({ fromMs, prices: withHalfPriceBatches(then) })) }),
  }
}

/** Halves token prices only: the discount does not cover images and audio. */
function halved(prices: Prices): Prices {
  const tokens = Object.values(tokenKeys).flatMap(name =>
    prices[name] === undefined ? [] : [[name, (prices[name] + 1n) / 2n]],
  )
  const tiers = prices.tiers?.map(
    ({ aboveInputTokens, prices: above }): PriceTier => ({ aboveInputTokens, prices: halved(above) }),
  )
  return { ...prices, ...Object.fromEntries(tokens), ...(tiers && { tiers }) }
}

/** The prices of a deployment and their source. `isSpeech` = seconds are of generated audio, not of input audio. */
export function resolvePrices(
  given: GivenPrices,
  listed: Prices | null,
  isSpeech: boolean,
): { prices: Prices | null; priceSource: PriceSource } {
  const isGiven = [...tokenPriceKeys, ...unitPriceKeys].some(key => given[key] !== undefined)
  if (!isGiven) return { prices: listed, priceSource: listed ? 'catalogue' : 'unknown' }
  return { prices: withGivenPrices(remaining(listed, given), given, isSpeech), priceSource: 'config' }
}

/**
 * The list prices that remain valid. With a given price for input or output the list's caches, tiers, batches and dates
 * do not apply.
 */
function remaining(listed: Prices | null, given: GivenPrices): Prices {
  if (!listed) return {}
  if (given.input_cost_per_token === undefined && given.output_cost_per_token === undefined) return listed
  const { input, output, image, character, audioSecond, searchUnit, request, audioSecondsMin } = listed
  return defined({ input, output, image, character, audioSecond, searchUnit, request, audioSecondsMin })
}

/** Given prices also apply to long inputs, batches, and later list prices. */
function withGivenPrices(listed: Prices, given: GivenPrices, isSpeech: boolean): Prices {
  const { tiers: listedTiers, batch: listedBatch, later, ...base } = listed
  const overrides = { ...present(given, tokenKeys), ...unitPrices(given, isSpeech) }
  const plain: Prices = { ...base, ...overrides }
  const tiers =
    givenTiers(given, plain) ?? listedTiers?.map(tier => ({ ...tier, prices: { ...tier.prices, ...overrides } }))
  const batch = { ...listedBatch, ...present(given, batchKeys) }
  return {
    ...plain,
    ...(tiers && { tiers }),
    ...(Object.keys(batch).length > 0 && { batch: withGivenBatch(plain, batch, given) }),
    ...(later && {
      later: later.map(({ fromMs, prices }) => ({ fromMs, prices: withGivenPrices(prices, given, isSpeech) })),
    }),
  }
}

/** A given batch price also applies to long inputs: LiteLLM's keys have one batch price only. */
function withGivenBatch(plain: Prices, batch: Prices, given: GivenPrices): Prices {
  const { tiers, ...flat } = batch
  const isGiven = Object.keys(batchKeys).some(key => given[key as keyof GivenPrices] !== undefined)
  return { ...plain, ...flat, ...(!isGiven && tiers && { tiers }) }
}

function givenTiers(given: GivenPrices, plain: Prices): PriceTier[] | undefined {
  let below = plain
  const tiers: PriceTier[] = []
  for (const threshold of thresholds) {
    const above = present(given, Object.fromEntries(tieredKeys.map(key => [tieredKey(key, threshold), tokenKeys[key]])))
    if (Object.keys(above).length === 0) continue
    below = { ...below, ...above }
    tiers.push({ aboveInputTokens: threshold * 1000, prices: below })
  }
  return tiers.length > 0 ? tiers : undefined
}

function unitPrices(given: GivenPrices, isSpeech: boolean): Prices {
  const [seconds, others] = isSpeech
    ? [given.output_cost_per_second, given.input_cost_per_second]
    : [given.input_cost_per_second, given.output_cost_per_second]
  const second = seconds ?? others
  return { ...present(given, unitKeys), ...(second !== undefined && { audioSecond: nanoUsdPerMillion(second) }) }
}

/** The given prices of these keys, by their internal names. */
function present(given: GivenPrices, keys: Readonly<Record<string, keyof Prices>>): Prices {
  return Object.fromEntries(
    Object.entries(keys).flatMap(([key, name]) => {
      const value = given[key as keyof GivenPrices]
      return value === undefined ? [] : [[name, nanoUsdPerMillion(value)]]
    }),
  )
}

function defined(prices: Prices): Prices {
  return Object.fromEntries(Object.entries(prices).filter(([, price]) => price !== undefined))
}
