/** Discounts and margins, from a checked configuration. */
import type { PriceAdjustment, PriceAdjustmentSettings } from '../core/usage/price-terms.ts'
import type { Config } from './sections/file.ts'

type TermConfig = NonNullable<Config['settings']>
type MarginConfig = NonNullable<TermConfig['cost_margin_config']>[string]
type OwnersTerms = NonNullable<TermConfig['cost_terms']>['keys']

/** null = list prices for all callers. */
export function readPriceTerms(config: TermConfig): PriceAdjustmentSettings | null {
  const { cost_discount_config: discounts = {}, cost_margin_config: margins = {}, cost_terms: owners = {} } = config
  const names = new Set([...Object.keys(discounts), ...Object.keys(margins)])
  const ofOwners = (list: OwnersTerms = {}) =>
    Object.fromEntries(Object.entries(list).map(([id, one]) => [id, termOf(one.discount, one.margin)]))
  const { global, ...providers } = Object.fromEntries(
    // A provider with one of the two takes the other from `global`.
    [...names].map(name => [name, termOf(discounts[name] ?? discounts.global, margins[name] ?? margins.global)]),
  )
  const settings = {
    providers,
    global,
    keys: ofOwners(owners.keys),
    teams: ofOwners(owners.teams),
    organizations: ofOwners(owners.organizations),
  }
  const isEmpty = Object.values(settings).every(one => one === undefined || Object.keys(one).length === 0)
  return isEmpty ? null : settings
}

function termOf(discount = 0, given: MarginConfig = 0): PriceAdjustment {
  const { percentage: more = 0, fixed_amount: fixed = 0 } = typeof given === 'number' ? { percentage: given } : given
  return {
    discountPpm: Math.round(discount * 1e6),
    marginPpm: Math.round(more * 1e6),
    fixedNanoUsd: BigInt(Math.round(fixed * 1e9)),
  }
}
