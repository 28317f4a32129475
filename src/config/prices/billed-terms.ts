/** What of the prices in an entry of a public list counts. */
import { isTokenUnit } from './list-prices.ts'
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
const discounts: ReadonlySet<string> = new Set(['batch', 'flex'])

/** Leaves out dearer variants (`priority`) that lack the price of a kind of token: the standard one is too low. */
export function withoutGaps(terms: readonly ListedPrice[]): readonly ListedPrice[] {
  const standard = terms.filter(
    ({ variant, fromInputTokens }) => variant === undefined && fromInputTokens === undefined,
  )
  const kinds = standard.map(({ unit }) => unit).filter(isTokenUnit)
  return terms.filter(
    ({ variant }) =>
      variant === undefined ||
      discounts.has(variant) ||
      kinds.every(unit => terms.some(term => term.variant === variant && term.unit === unit)),
  )
}
