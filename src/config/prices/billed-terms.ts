/** What of the prices in an entry of a public list counts. */
import type { Prices } from '../../core/usage/prices.ts'
import { isTokenUnit } from './list-prices.ts'
import type { PriceUnit } from './list-prices.ts'
import type { ListedPrice } from './read-price-keys.ts'

/**
 * Leaves out what is no price: zeros, which stand for unknown where everything is zero or another unit is billed, and
 * prices of units beside the tokens that a vendor bills instead (a list has both for pictures and audio).
 */
export function billedTerms(terms: readonly ListedPrice[]): readonly ListedPrice[] {
  if (!terms.some(({ price }) => price > 0n)) return []
  const has = (unit: ListedPrice['unit']) => terms.some(term => term.unit === unit && term.price > 0n)
  return terms.filter(({ unit, price }) => {
    if (unit === 'image') return price > 0n && !has('outputImage')
    if (unit === 'audioSecond') return price > 0n && !has('inputAudio') && !has('outputAudio')
    // An embedding has no output, which costs nothing.
    return price > 0n || (unit === 'output' && has('input'))
  })
}

/** Variants that cost no more than the standard service: what they do not discount keeps its standard price. */
export const discounts: ReadonlySet<string> = new Set(['batch', 'flex'])

/** The kinds of tokens without a price in dearer variants (`priority`), where the standard one would be too low. */
function gapsOf(terms: readonly ListedPrice[]): ReadonlyMap<string, readonly PriceUnit[]> {
  const flat = terms.filter(({ fromInputTokens }) => fromInputTokens === undefined)
  const kinds = flat.filter(({ unit, variant }) => variant === undefined && isTokenUnit(unit)).map(({ unit }) => unit)
  const variants = new Set(terms.flatMap(({ variant }) => (variant === undefined ? [] : [variant])))
  return new Map(
    [...variants]
      .filter(variant => !discounts.has(variant))
      .map(variant => [
        variant,
        kinds.filter(unit => !flat.some(term => term.variant === variant && term.unit === unit)),
      ]),
  )
}

/** Says in each dearer variant which prices are not known; one without a price of input or output is left out. */
export function withUnknownTerms(prices: Prices, terms: readonly ListedPrice[]): Prices {
  const gaps = gapsOf(terms)
  const { variants, ...standard } = prices
  if (!variants) return prices
  const known = Object.entries(variants).flatMap(([name, variant]): [string, Prices][] => {
    const unknown = gaps.get(name) ?? []
    if (unknown.length === 0) return [[name, variant]]
    return unknown.includes('input') || unknown.includes('output') ? [] : [[name, withoutTerms(variant, unknown)]]
  })
  return { ...standard, ...(known.length > 0 && { variants: Object.fromEntries(known) }) }
}

function withoutTerms(prices: Prices, unknown: readonly PriceUnit[]): Prices {
  const kept = Object.entries(prices).filter(([name]) => !unknown.includes(name as PriceUnit))
  const tiers = prices.tiers?.map(tier => ({ ...tier, prices: withoutTerms(tier.prices, unknown) }))
  return { ...Object.fromEntries(kept), unknown, ...(tiers && { tiers }) }
}
