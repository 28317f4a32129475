/**
 * How prices are written in the built-in list: the fields of `Prices`, in dollars for a million tokens or characters,
 * and in dollars for one of every other unit.
 */
import type { HourPrices, LaterPrices, Prices, PriceTier } from '../../core/usage/prices.ts'
import { scaleDecimal } from '../../lib/text.ts'

/** Every price that is one number, with what it is counted in. */
export const unitScales = {
  input: 'million',
  output: 'million',
  cacheRead: 'million',
  cacheReadAudio: 'million',
  cacheReadImage: 'million',
  cacheWrite: 'million',
  cacheWriteOneHour: 'million',
  cacheWriteTwelveHour: 'million',
  cacheStorageTokenHour: 'million',
  inputAudio: 'million',
  outputAudio: 'million',
  inputImage: 'million',
  outputImage: 'million',
  inputVideo: 'million',
  outputVideo: 'million',
  reasoning: 'million',
  character: 'million',
  image: 'one',
  audioSecond: 'one',
  videoSecond: 'one',
  page: 'one',
  searchUnit: 'one',
  request: 'one',
  requestAtMost: 'one',
  webSearch: 'one',
  webSearchPreview: 'one',
  groundedPrompt: 'one',
  groundingQuery: 'one',
  mapsPrompt: 'one',
  mapsQuery: 'one',
  fileSearch: 'one',
  codeSession: 'one',
} as const satisfies Partial<Record<keyof Prices, 'million' | 'one'>>

/** The name of a price that is one number. */
export type PriceUnit = keyof typeof unitScales

/** The names of all prices that are one number. */
export const priceUnits = Object.keys(unitScales) as readonly PriceUnit[]

/** Whether a unit is a token, which tiers, variants and places change; other units keep their price there. */
export const isTokenUnit = (unit: PriceUnit): boolean => unitScales[unit] === 'million' && unit !== 'character'

/** A window of hours as in `Prices.hours`. */
interface ListedHours extends Omit<HourPrices, 'prices'> {
  readonly prices: ListedPrices
}

/** Prices as a list writes them. A tier holds only what differs from the tier below; a variant is complete. */
export type ListedPrices = { readonly [unit in PriceUnit]?: number } & {
  /** As `Prices.unknown`. */
  readonly unknown?: readonly PriceUnit[]
  /** As `Prices.isFee`. */
  readonly isFee?: true
  /** As `Prices.audioSecondsMin`. */
  readonly audioSecondsMin?: number
  /** By the number of input tokens from which on they apply, ascending; null = they are not known from there on. */
  readonly tiers?: readonly (readonly [fromInputTokens: number, prices: ListedPrices | null])[]
  /** As `Prices.variants`; a number = so many percent of the standard prices of tokens, in every tier. */
  readonly variants?: Readonly<Record<string, ListedPrices | number>>
  /** As `Prices.regionPercent`. */
  readonly regionPercent?: Readonly<Record<string, number>>
  /** As `Prices.hours`. */
  readonly hours?: readonly ListedHours[]
  /** By the day from which on they apply (`2027-01-01`, UTC), ascending. */
  readonly later?: readonly (readonly [day: string, prices: ListedPrices])[]
}

/** null = the list has no price at all. */
export function pricesOf(listed: ListedPrices): Prices | null {
  const base = unitPricesOf(listed)
  const unknown = listed.unknown && { unknown: listed.unknown }
  const tiers = tiersOf(listed, { ...base, ...unknown })
  const hours = listed.hours?.map((one): HourPrices => ({ ...one, prices: pricesOf(one.prices) ?? {} }))
  const later = listed.later?.map(
    ([day, prices]): LaterPrices => ({ fromMs: Date.parse(`${day}T00:00:00Z`), prices: pricesOf(prices) ?? {} }),
  )
  if (Object.keys(base).length === 0 && !later) return null
  const variants = Object.entries(listed.variants ?? {}).map(([name, given]) => [
    name,
    {
      ...(typeof given === 'number'
        ? withPercent({ ...base, ...(tiers.length > 0 && { tiers }) }, given)
        : (pricesOf(given) ?? {})),
      ...(listed.audioSecondsMin !== undefined && { audioSecondsMin: listed.audioSecondsMin }),
    },
  ])
  return {
    ...base,
    ...unknown,
    ...(listed.isFee && { isFee: true }),
    ...(listed.audioSecondsMin !== undefined && { audioSecondsMin: listed.audioSecondsMin }),
    ...(tiers.length > 0 && { tiers }),
    ...(variants.length > 0 && { variants: Object.fromEntries(variants) }),
    ...(listed.regionPercent && { regionPercent: listed.regionPercent }),
    ...(hours && { hours }),
    ...(later && { later }),
  }
}

function tiersOf({ tiers = [] }: ListedPrices, base: Prices): PriceTier[] {
  let below = base
  return tiers.map(([fromInputTokens, prices]) => {
    below = prices === null ? {} : { ...below, ...unitPricesOf(prices) }
    return { fromInputTokens, prices: below }
  })
}

/** Prices of tokens times a percentage, rounded half up; other units keep theirs. */
function withPercent(prices: Prices, percent: number): Prices {
  const scaled: { [unit in PriceUnit]?: bigint } = {}
  for (const unit of priceUnits) {
    const price = prices[unit]
    if (price !== undefined) scaled[unit] = isTokenUnit(unit) ? (price * BigInt(percent) + 50n) / 100n : price
  }
  const tiers = prices.tiers?.map(tier => ({ ...tier, prices: withPercent(tier.prices, percent) }))
  return { ...scaled, ...(tiers && { tiers }) }
}

/** Nano-dollars for a million. */
function unitPricesOf(listed: ListedPrices): Prices {
  const prices: { [unit in PriceUnit]?: bigint } = {}
  for (const unit of priceUnits) {
    const dollars = listed[unit]
    if (dollars !== undefined) prices[unit] = scaleDecimal(String(dollars), unitScales[unit] === 'million' ? 9 : 15)
  }
  return prices
}
