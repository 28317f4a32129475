/** What a model costs: the operator's own decimals over the list prices of the catalogue, all as exact integers. */
import { batchKeys, tieredKeys, tokenKeys, unitKeys } from '../../accounts/price-keys.ts'
import type { Prices, PriceSource, PriceTier } from '../../core/usage.ts'
import { catalogueEntry } from './catalogue.ts'
import { scaled } from './decimal.ts'

/** For calls with more input than so many thousand tokens; vendors draw the line at one of these. */
const thresholds = [128, 200, 256, 272] as const

type TieredKey = `${(typeof tieredKeys)[number]}_above_${(typeof thresholds)[number]}k_tokens`
/** A price of tokens as the configuration names it: plain, in batches, or for long inputs (`..._above_200k_tokens`). */
export type TokenPriceKey = keyof typeof tokenKeys | keyof typeof batchKeys | TieredKey
/** A price of pictures, seconds, characters or requests, as the configuration names it. */
export type UnitPriceKey = keyof typeof unitKeys

/** What the operator wrote for a model: dollars for one. */
export type GivenPrices = { readonly [key in TokenPriceKey | UnitPriceKey]?: number | undefined }

const tieredKey = (key: (typeof tieredKeys)[number], threshold: (typeof thresholds)[number]): TieredKey =>
  `${key}_above_${threshold}k_tokens`

/** All of them: what the schema takes and an entry may give. */
export const tokenPriceKeys = [
  ...Object.keys(tokenKeys),
  ...Object.keys(batchKeys),
  ...thresholds.flatMap(threshold => tieredKeys.map(key => tieredKey(key, threshold))),
] as TokenPriceKey[]

/** All of them. */
export const unitPriceKeys = Object.keys(unitKeys) as UnitPriceKey[]

/** Dollars for one (`3e-06`) in nano-dollars for a million; exact, no float arithmetic. */
export function nanoUsdPerMillion(dollars: number): bigint {
  return scaled(String(dollars), 15)
}

/**
 * Vendors whose batches cost half of the list price: OpenAI and Azure ("Batch API"), Anthropic ("Batch processing"),
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

/** The catalogue's prices; null when it does not know the model, or not its price. */
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

/** Of tokens: a batch of pictures or audio is not cheaper by the same rule. */
function halved(prices: Prices): Prices {
  const tokens = Object.values(tokenKeys).flatMap(name =>
    prices[name] === undefined ? [] : [[name, (prices[name] + 1n) / 2n]],
  )
  const tiers = prices.tiers?.map(
    ({ aboveInputTokens, prices: above }): PriceTier => ({ aboveInputTokens, prices: halved(above) }),
  )
  return { ...prices, ...Object.fromEntries(tokens), ...(tiers && { tiers }) }
}

/** The prices of a deployment and who says so. `speaks` = its seconds are of audio made, not heard. */
export function resolvePrices(
  given: GivenPrices,
  listed: Prices | null,
  speaks: boolean,
): { prices: Prices | null; priceSource: PriceSource } {
  const isGiven = [...tokenPriceKeys, ...unitPriceKeys].some(key => given[key] !== undefined)
  if (!isGiven) return { prices: listed, priceSource: listed ? 'catalogue' : 'unknown' }
  return { prices: overlaid(remaining(listed, given), given, speaks), priceSource: 'config' }
}

/**
 * What is left of the list prices. With a price for input or output the operator has a contract of its own: the list's
 * caches, tiers, batches and dates belong to other numbers.
 */
function remaining(listed: Prices | null, given: GivenPrices): Prices {
  if (!listed) return {}
  if (given.input_cost_per_token === undefined && given.output_cost_per_token === undefined) return listed
  const { input, output, image, character, audioSecond, searchUnit, request, audioSecondsMin } = listed
  return defined({ input, output, image, character, audioSecond, searchUnit, request, audioSecondsMin })
}

/** What is given counts everywhere: for long inputs, in batches, and after a change of the list prices. */
function overlaid(listed: Prices, given: GivenPrices, speaks: boolean): Prices {
  const { tiers: listedTiers, batch: listedBatch, later, ...base } = listed
  const over = { ...present(given, tokenKeys), ...unitPrices(given, speaks) }
  const plain: Prices = { ...base, ...over }
  const tiers = givenTiers(given, plain) ?? listedTiers?.map(tier => ({ ...tier, prices: { ...tier.prices, ...over } }))
  const batch = { ...listedBatch, ...present(given, batchKeys) }
  return {
    ...plain,
    ...(tiers && { tiers }),
    ...(Object.keys(batch).length > 0 && { batch: overlaidBatch(plain, batch, given) }),
    ...(later && { later: later.map(({ fromMs, prices }) => ({ fromMs, prices: overlaid(prices, given, speaks) })) }),
  }
}

/** A batch price that is given counts for long inputs too: the peer's keys know no more than one. */
function overlaidBatch(plain: Prices, batch: Prices, given: GivenPrices): Prices {
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

function unitPrices(given: GivenPrices, speaks: boolean): Prices {
  const [seconds, others] = speaks
    ? [given.output_cost_per_second, given.input_cost_per_second]
    : [given.input_cost_per_second, given.output_cost_per_second]
  const second = seconds ?? others
  return { ...present(given, unitKeys), ...(second !== undefined && { audioSecond: nanoUsdPerMillion(second) }) }
}

/** Those of the keys that were given, by the names of the prices. */
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
