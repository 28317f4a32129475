/** Prices that are given by LiteLLM's keys, by themselves or over those of a list. */
import type { Prices, PriceTier } from '../../core/usage/prices.ts'
import { isTokenUnit, priceUnits } from './list-prices.ts'
import type { ListedPrice, ReadPrices } from './read-price-keys.ts'

const isStandard = ({ variant, fromInputTokens }: ListedPrice): boolean =>
  variant === undefined && fromInputTokens === undefined

/**
 * The list prices that remain valid. With a given price for input or output the list's other prices of tokens, its
 * tiers, variants, hours and dates do not apply: they belong to the list's own input and output.
 */
function remaining(listed: Prices | null, terms: readonly ListedPrice[]): Prices {
  if (!listed) return {}
  if (!terms.some(term => isStandard(term) && (term.unit === 'input' || term.unit === 'output'))) return listed
  const kept = priceUnits.filter(
    unit => (!isTokenUnit(unit) && unit !== 'requestAtMost') || unit === 'input' || unit === 'output',
  )
  const units = kept.flatMap(unit => (listed[unit] === undefined ? [] : [[unit, listed[unit]] as const]))
  const { audioSecondsMin, regionPercent } = listed
  return {
    ...Object.fromEntries(units),
    ...(audioSecondsMin !== undefined && { audioSecondsMin }),
    ...(regionPercent && { regionPercent }),
  }
}

/** Given prices over those of a list, which may be null: not known. */
export function givenOver(listed: Prices | null, read: ReadPrices): Prices {
  return withGivenPrices(remaining(listed, read.terms), read)
}

/** Given standard prices also apply to long inputs, variants, hours and later list prices that are not given. */
function withGivenPrices(listed: Prices, read: ReadPrices): Prices {
  const { tiers: listedTiers, variants: listedVariants, hours: listedHours, later, ...base } = listed
  const { regionPercent = base.regionPercent } = read
  const overrides = unitPrices(read.terms.filter(isStandard))
  const plain: Prices = { ...base, ...overrides, ...(regionPercent && { regionPercent }) }
  const standardTiers = givenTiers(read.terms, undefined, plain)
  const tiers = standardTiers ?? listedTiers?.map(tier => ({ ...tier, prices: { ...tier.prices, ...overrides } }))
  const variants = givenVariants(read.terms, plain, listedVariants ?? {}, overrides)
  const hours =
    read.hours?.map(({ terms, ...when }) => ({ ...when, prices: { ...plain, ...unitPrices(terms) } })) ??
    listedHours?.map(one => ({ ...one, prices: withGivenPrices(one.prices, read) }))
  return {
    ...plain,
    ...(tiers && { tiers }),
    ...(Object.keys(variants).length > 0 && { variants }),
    ...(hours && { hours }),
    ...(later && { later: later.map(({ fromMs, prices }) => ({ fromMs, prices: withGivenPrices(prices, read) })) }),
  }
}

/** A variant takes what is not given for it from the list's variant, and what that lacks from the standard prices. */
function givenVariants(
  terms: readonly ListedPrice[],
  { regionPercent: _, ...plain }: Prices,
  listed: Readonly<Record<string, Prices>>,
  overrides: Prices,
): Record<string, Prices> {
  const names = new Set([...Object.keys(listed), ...terms.flatMap(({ variant }) => variant ?? [])])
  const variants: Record<string, Prices> = {}
  for (const name of names) {
    const own = terms.filter(({ variant }) => variant === name)
    const { tiers: listedTiers, ...flat } = listed[name] ?? {}
    const given = unitPrices(own.filter(({ fromInputTokens }) => fromInputTokens === undefined))
    const base: Prices = { ...plain, ...flat, ...overrides, ...withOneHour(given, plain) }
    const tiers =
      givenTiers(terms, name, base) ??
      (own.length > 0 ? undefined : listedTiers?.map(tier => ({ ...tier, prices: { ...tier.prices, ...overrides } })))
    variants[name] = { ...base, ...(tiers && { tiers }) }
  }
  return variants
}

/** Each tier inherits what it does not name from the one below. undefined = no tier is given. */
function givenTiers(
  terms: readonly ListedPrice[],
  variant: string | undefined,
  { regionPercent: _, ...plain }: Prices,
): PriceTier[] | undefined {
  const own = terms.filter(term => term.variant === variant && term.fromInputTokens !== undefined)
  const starts = [...new Set(own.map(term => term.fromInputTokens!))].sort((one, other) => one - other)
  let below: Prices = plain
  const tiers = starts.map((fromInputTokens): PriceTier => {
    const given = unitPrices(own.filter(term => term.fromInputTokens === fromInputTokens))
    below = { ...below, ...withOneHour(given, plain) }
    return { fromInputTokens, prices: below }
  })
  return tiers.length > 0 ? tiers : undefined
}

/** A write for an hour costs as much more than a shorter one as it does in the standard service, unless it is given. */
function withOneHour(given: Prices, { cacheWrite, cacheWriteOneHour }: Prices): Prices {
  if (given.cacheWrite === undefined || given.cacheWriteOneHour !== undefined) return given
  if (!cacheWrite || cacheWriteOneHour === undefined) return given
  return { ...given, cacheWriteOneHour: (given.cacheWrite * cacheWriteOneHour + cacheWrite / 2n) / cacheWrite }
}

const unitPrices = (terms: readonly ListedPrice[]): Prices =>
  Object.fromEntries(terms.map(({ unit, price }) => [unit, price]))
