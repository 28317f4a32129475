/** Prices of a model: the operator's values over the list prices, as exact integers. */
import type { Prices, PriceSource } from '../../core/usage/prices.ts'
import { catalogueEntry } from './catalogue.ts'
import { givenOver } from './given-prices.ts'
import { readPriceKeys } from './read-price-keys.ts'
import type { PricedModel } from './read-price-keys.ts'

/** What the operator says of prices, under LiteLLM's keys (read-price-keys.ts); other keys are passed over. */
export type GivenPrices = Readonly<Record<string, unknown>>

/** The prices of a deployment. */
export interface ResolvedPrices {
  /** null = not known. */
  readonly prices: Prices | null
  readonly priceSource: PriceSource
}

/** The list's prices where calls are computed (`placeOf`); null = unknown model or unknown price. */
export function catalogPrices(provider: string, model: string, place?: string): Prices | null {
  if (provider === 'local') return { input: 0n, output: 0n }
  return catalogueEntry(provider, model, place)?.prices ?? null
}

/** The prices of a deployment and their source. */
export function resolvePrices(given: GivenPrices, listed: Prices | null, model: PricedModel): ResolvedPrices {
  const read = readPriceKeys(given, model)
  if (read.terms.length === 0 && !read.regionPercent && !read.hours)
    return { prices: listed, priceSource: listed ? 'catalogue' : 'unknown' }
  return { prices: givenOver(listed, read), priceSource: 'config' }
}
