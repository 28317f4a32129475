/** Prices as numbers by path (`input`, `tiers.272001.input`, `variants.flex.output`), so that lists can be compared. */
import type { ListedPrice } from '../../src/config/prices/read-price-keys.ts'
import { priceUnits, unitScales } from '../../src/config/prices/list-prices.ts'
import type { ListedPrices, PriceUnit } from '../../src/config/prices/list-prices.ts'

/** Dollars for a million tokens or characters, or for one of another unit, by path. */
export type FlatPrices = Record<string, number>

/** What a list says of one model. */
export interface ListedFacts {
  /** Input and output together. */
  contextWindow?: number
  maxInputTokens?: number
  maxOutputTokens?: number
  mode?: string
  /** True and false by LiteLLM's names. */
  flags?: Record<string, boolean>
}

/** What a list says of one model, by its name there. */
export interface ListedModel {
  readonly prices: FlatPrices
  /** Prices that are no single number, and are taken as they are: hours, places, what holds later. */
  readonly whole?: Pick<ListedPrices, 'hours' | 'regionPercent' | 'later' | 'audioSecondsMin' | 'isFee'>
  readonly facts?: ListedFacts
  /** The name as the list writes it; absent = it is not known. */
  readonly written?: string
}

/** Models by their names (as of `listName`), by our provider. */
export type PriceList = Map<string, Map<string, ListedModel>>

/** Twelve digits are more than any vendor writes, and fewer than what arithmetic with floats spoils. */
export const tidy = (dollars: number): number => Number(dollars.toPrecision(12))

/** The path of a unit in a tier of a variant. */
export function pathOf(unit: string, fromInputTokens?: number, variant?: string): string {
  const tier = fromInputTokens === undefined ? '' : `tiers.${fromInputTokens}.`
  return `${variant === undefined ? '' : `variants.${variant}.`}${tier}${unit}`
}

/** The terms of an entry by path. */
export function flatTerms(terms: readonly ListedPrice[]): FlatPrices {
  const flat: FlatPrices = {}
  for (const { unit, price, variant, fromInputTokens } of terms)
    flat[pathOf(unit, fromInputTokens, variant)] = tidy(Number(price) / (unitScales[unit] === 'million' ? 1e9 : 1e15))
  return flat
}

/** The reverse of `pathOf`, for all paths together. */
export function listedPrices(flat: FlatPrices): ListedPrices {
  const direct: Record<string, number> = {}
  const tiers = new Map<number, FlatPrices>()
  const variants = new Map<string, FlatPrices>()
  for (const path of Object.keys(flat).sort(byUnit)) {
    const [head = '', name = '', ...rest] = path.split('.')
    if (head === 'tiers') own(tiers, Number(name))[rest.join('.')] = flat[path]!
    else if (head === 'variants') own(variants, name)[rest.join('.')] = flat[path]!
    else direct[path] = flat[path]!
  }
  const sorted = [...tiers].sort(([one], [other]) => one - other)
  const named = [...variants].sort(([one], [other]) => (one < other ? -1 : 1))
  return {
    ...direct,
    ...(sorted.length > 0 && { tiers: sorted.map(([from, prices]) => [from, listedPrices(prices)] as const) }),
    ...(named.length > 0 && {
      variants: Object.fromEntries(named.map(([name, prices]) => [name, listedPrices(prices)])),
    }),
  }
}

function own<Key>(map: Map<Key, FlatPrices>, key: Key): FlatPrices {
  const found = map.get(key) ?? {}
  map.set(key, found)
  return found
}

function byUnit(one: string, other: string): number {
  const rank = (path: string) => priceUnits.indexOf(path.slice(path.lastIndexOf('.') + 1) as PriceUnit)
  return rank(one) - rank(other)
}
