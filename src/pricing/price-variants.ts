/** Which of a model's prices a call is charged at: by time, by what served it, and by the length of its input. */
import type { HourPrices, Prices } from '../core/usage/prices.ts'
import type { Served } from '../core/usage/usage.ts'

/** What decides between the prices of a model, beside the usage itself. */
export interface PriceTerms {
  /** When the call began, in milliseconds since 1970. */
  readonly atMs: number
  /** When it ended; absent = at once. Where the prices of the two differ by the hour, the cost is not known. */
  readonly endedAtMs?: number | undefined
}

/** The vendors' names of the normal service: OpenAI, Anthropic, Groq, Gemini. Other names are those of variants. */
const standardServices: ReadonlySet<string> = new Set([
  '',
  'default',
  'standard',
  'standard_only',
  'on_demand',
  'normal',
])
/** Nowhere in particular: prices are as listed (platform.claude.com, "Data residency", 2026-11). */
const unspecifiedRegions: ReadonlySet<string> = new Set(['', 'global', 'not_available'])

/** The prices in force at `atMs` (epoch milliseconds), hours of the week included. `later` is sorted by `fromMs`. */
export function pricesAt(prices: Prices, atMs: number): Prices {
  let dated = prices
  if (prices.later) for (const later of prices.later) if (later.fromMs <= atMs) dated = later.prices
  if (dated.hours) for (const hours of dated.hours) if (isWithin(hours, atMs)) return hours.prices
  return dated
}

function isWithin({ windows, days, exceptDays }: HourPrices, atMs: number): boolean {
  const date = new Date(atMs)
  if (days && !days.includes(date.getUTCDay())) return false
  if (exceptDays?.includes(date.toISOString().slice(0, 10))) return false
  const minute = date.getUTCHours() * 60 + date.getUTCMinutes()
  return windows.some(({ fromMinute, toMinute }) =>
    fromMinute < toMinute ? minute >= fromMinute && minute < toMinute : minute >= fromMinute || minute < toMinute,
  )
}

/**
 * The prices of a whole call with `inputTokens`. null = not known: it was served by a variant without prices, or while
 * prices changed by the hour.
 */
export function appliedPrices(
  prices: Prices,
  served: Served | undefined,
  inputTokens: number,
  terms: PriceTerms,
): Prices | null {
  const now = pricesAt(prices, terms.atMs)
  if (terms.endedAtMs !== undefined && hasHours(prices) && pricesAt(prices, terms.endedAtMs) !== now) return null
  const variant = variantPrices(now, served)
  return variant && tierPrices(variant, inputTokens)
}

const hasHours = ({ hours, later }: Prices): boolean =>
  hours !== undefined || (later?.some(({ prices }) => prices.hours !== undefined) ?? false)

/** The last tier that so much input reaches. */
function tierPrices(prices: Prices, inputTokens: number): Prices {
  let applied = prices
  if (prices.tiers) for (const tier of prices.tiers) if (inputTokens >= tier.fromInputTokens) applied = tier.prices
  return applied
}

function variantPrices(prices: Prices, served: Served | undefined): Prices | null {
  const { speed = '', serviceTier: tier = '' } = served ?? {}
  if (standardServices.has(speed)) return tierVariant(prices, tier)
  // No vendor lists prices for a speed within another tier.
  return standardServices.has(tier) || tier === 'auto' ? (prices.variants?.[speed] ?? null) : null
}

/** null = the variant has no known price. */
function tierVariant(prices: Prices, tier: string): Prices | null {
  if (standardServices.has(tier)) return prices
  const { variants } = prices
  // The vendor chose the tier and does not say which. The price is known only if there is no tier but batches.
  if (tier === 'auto') return Object.keys(variants ?? {}).every(name => name === 'batch') ? prices : null
  if (!variants) return null
  // OpenAI's other word for the same tier (API reference, `service_tier`, 2026-11): it always answers `priority`.
  return variants[tier] ?? (tier === 'fast' ? variants.priority : undefined) ?? null
}

/**
 * Percent of the listed prices of tokens; null = not known for this region. Variants and tiers have no factors of their
 * own: those of the prices in force hold for them.
 */
export function regionPercent(prices: Prices, served: Served | undefined, atMs: number): number | null {
  const region = served?.region
  if (region === undefined || unspecifiedRegions.has(region)) return 100
  return pricesAt(prices, atMs).regionPercent?.[region] ?? null
}

/** Tiers that a call may be served by without asking: the vendor's project or contract decides (OpenAI, Anthropic). */
const unrequestedTiers = ['priority', 'scale'] as const

/**
 * All prices that a call may be charged at when it asks to be served so; a tier above its limits falls back to the
 * normal service. null = a price of what it asks for is not known.
 */
export function variantsFor(prices: Prices, { serviceTier, speed }: Served): Prices[] | null {
  const applicable: (Prices | null)[] = [prices]
  if (speed !== undefined && !standardServices.has(speed)) applicable.push(prices.variants?.[speed] ?? null)
  if (serviceTier !== undefined) applicable.push(tierVariant(prices, serviceTier))
  else for (const tier of unrequestedTiers) if (prices.variants?.[tier]) applicable.push(prices.variants[tier])
  return applicable.every(one => one !== null) ? applicable : null
}

/** The most percent of the listed prices of tokens, where the call asks for this region or for none. */
export function regionPercentMax(prices: Prices, region: string | undefined, atMs: number): number | null {
  if (region !== undefined) return regionPercent(prices, { region }, atMs)
  return prices.regionPercent ? Math.max(100, ...Object.values(prices.regionPercent)) : 100
}
