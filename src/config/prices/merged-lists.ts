/** The operator's entry of a model over the built-in one, price by price. */
import type { Prices } from '../../core/usage/prices.ts'
import { withUnknownTerms } from './billed-terms.ts'
import { givenOver } from './given-prices.ts'
import { priceUnits } from './list-prices.ts'
import type { OperatorEntry } from './operator-list.ts'
import type { ListedPrice } from './read-price-keys.ts'

/** The prices of both lists together. */
interface MergedPrices {
  readonly prices: Prices | null
  /** As `CatalogueEntry.ofOperator`. */
  readonly ofOperator: ReadonlySet<string>
}

/** The path of a price, as in `ListedEntry.disputed`: `variants.flex.tiers.200001.input`. */
function pathOfTerm({ unit, variant, fromInputTokens }: Omit<ListedPrice, 'price'>): string {
  const tier = fromInputTokens === undefined ? '' : `tiers.${fromInputTokens}.`
  return `${variant === undefined ? '' : `variants.${variant}.`}${tier}${unit}`
}

/**
 * What the operator's entry does not say stays as the built-in list has it. Tiers, variants, hours and dated prices
 * belong to the input and output of their list: they stay where both lists have these alike.
 */
export function mergedEntry({ read }: Pick<OperatorEntry, 'read'>, builtIn: Prices | null): MergedPrices {
  const own = read.terms
  if (own.length === 0) return { prices: builtIn, ofOperator: new Set() }
  const isAlike = agreesWith({ read }, builtIn)
  const given = new Set(own.map(pathOfTerm))
  const inTiers = new Set(own.flatMap(term => (term.fromInputTokens === undefined ? [] : [tiersOf(term)])))
  const kept = termsOf(builtIn ?? {}).filter(term => {
    if (given.has(pathOfTerm(term))) return false
    if (term.variant === undefined && term.fromInputTokens === undefined) return true
    // The edges of two lists do not mix.
    return isAlike && !(term.fromInputTokens !== undefined && inTiers.has(tiersOf(term)) && !sharesEdge(term, own))
  })
  const terms = [...own, ...kept]
  const regionPercent = { ...builtIn?.regionPercent, ...read.regionPercent }
  const together = { ...read, terms, ...(Object.keys(regionPercent).length > 0 && { regionPercent }) }
  const made = withUnknownTerms(givenOver(null, together), terms)
  const { audioSecondsMin, hours, later } = builtIn ?? {}
  const prices: Prices = {
    ...made,
    ...(audioSecondsMin !== undefined && { audioSecondsMin }),
    ...(isAlike && !made.hours && hours && { hours }),
    ...(isAlike && later && { later }),
  }
  return { prices: withUnknownTiers(prices), ofOperator: given }
}

/** Whether the standard prices of input and output that the entry gives are those of the built-in list. */
export function agreesWith({ read }: Pick<OperatorEntry, 'read'>, builtIn: Prices | null): boolean {
  return (['input', 'output'] as const).every(unit => {
    const given = read.terms.find(term => pathOfTerm(term) === unit)
    return given === undefined || given.price === builtIn?.[unit]
  })
}

/** Long inputs have prices of their own: a variant without any for them has no known price there. */
function withUnknownTiers(prices: Prices): Prices {
  const { tiers, variants } = prices
  if (!tiers || !variants) return prices
  const unknown = [{ fromInputTokens: tiers[0]!.fromInputTokens, prices: {} }]
  const closed = Object.entries(variants).map(([name, set]) => [name, set.tiers ? set : { ...set, tiers: unknown }])
  return { ...prices, variants: Object.fromEntries(closed) }
}

const tiersOf = ({ variant = '' }: ListedPrice): string => variant

const sharesEdge = (term: ListedPrice, own: readonly ListedPrice[]): boolean =>
  own.some(one => one.variant === term.variant && one.fromInputTokens === term.fromInputTokens)

/** All prices of calls, as terms; hours and dates are left out. */
function termsOf(prices: Prices, variant?: string): ListedPrice[] {
  const inScope = (scope: Prices, fromInputTokens?: number) =>
    priceUnits.flatMap((unit): ListedPrice[] => {
      const price = scope[unit]
      if (price === undefined) return []
      return [
        {
          unit,
          price,
          ...(variant !== undefined && { variant }),
          ...(fromInputTokens !== undefined && { fromInputTokens }),
        },
      ]
    })
  return [
    ...inScope(prices),
    ...(prices.tiers ?? []).flatMap(tier => inScope(tier.prices, tier.fromInputTokens)),
    ...Object.entries(prices.variants ?? {}).flatMap(([name, set]) => termsOf(set, name)),
  ]
}
