/** Reads the snapshot of the package model-prices: models.dev with corrections from the vendors' pages. */
import { listName } from '../../src/config/prices/model-names.ts'
import { pathOf, tidy } from './flat.ts'
import type { FlatPrices, ListedModel, PriceList } from './flat.ts'
import { listedProviders } from './provider-names.ts'

interface Rates {
  readonly input?: number
  readonly output?: number
  readonly cache_read?: number
  readonly cache_write?: number
  readonly cache_write_1h_multiple?: number
  readonly tiers?: readonly (Rates & { readonly above: number })[]
}
interface Period {
  /** null = not offered from then on. */
  readonly rates: Rates | null
  /** null = since ever. */
  readonly start: string | null
}

/** What is read of the file `snapshot.json`. */
export interface Snapshot {
  readonly models_dev: { readonly committed_at: string }
  readonly prices: Readonly<Record<string, Readonly<Record<string, Readonly<Record<string, readonly Period[]>>>>>>
  readonly schedules: { readonly holidays: Readonly<Record<string, { readonly dates: readonly string[] }>> }
}

/** Standard prices, and those of its modes `batch` and `fast`, at the moment `now` (ISO 8601). */
export function readModelPricesList(snapshot: Snapshot, now: string): PriceList {
  const read: PriceList = new Map()
  for (const [provider, { modelPrices }] of Object.entries(listedProviders)) {
    const models = modelPrices === undefined ? undefined : snapshot.prices[modelPrices]
    if (!models) continue
    const listed = new Map<string, ListedModel>()
    for (const [name, periods] of Object.entries(models)) {
      const prices: FlatPrices = {
        ...ratesAt(periods.standard, now),
        ...ratesAt(periods.batch, now, 'batch'),
        ...ratesAt(periods.fast, now, 'fast'),
      }
      if ((prices.input ?? 0) > 0 || (prices.output ?? 0) > 0) listed.set(listName(name), { prices })
    }
    read.set(provider, listed)
  }
  return read
}

function ratesAt(periods: readonly Period[] = [], now: string, variant?: string): FlatPrices {
  const rates = periods.findLast(({ start }) => start === null || start <= now)?.rates
  if (!rates) return {}
  const { tiers = [], cache_write_1h_multiple: oneHour, ...base } = rates
  return Object.assign(
    flatRates({ ...base, ...(oneHour !== undefined && { cache_write_1h_multiple: oneHour }) }, undefined, variant),
    ...tiers.map(tier => flatRates(tier, tier.above + 1, variant)),
  ) as FlatPrices
}

function flatRates(rates: Rates, from: number | undefined, variant: string | undefined): FlatPrices {
  const { input, output, cache_read: cacheRead, cache_write: cacheWrite } = rates
  const given = Object.entries({ input, output, cacheRead, cacheWrite })
  return Object.fromEntries(
    given.flatMap(([unit, price]) => {
      // A write that costs nothing stands for a cache without writes of its own.
      const isKnown = typeof price === 'number' && (price > 0 || unit === 'output' || unit === 'input')
      return isKnown ? [[pathOf(unit, from, variant), tidy(price)]] : []
    }),
  )
}
