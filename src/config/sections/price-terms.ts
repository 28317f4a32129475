/** Discounts and margins: LiteLLM's two keys by provider, and the same by key, team and organization. */
import { z } from 'zod'
import { settingKeys } from '../../core/setting-keys.ts'
import type { Values } from '../../core/setting-keys.ts'
import type { PriceAdjustment, PriceAdjustmentSettings } from '../../core/usage/price-terms.ts'
import { id } from './value-types.ts'

const share = () => z.number().min(0).max(1)
const percentage = () => z.number().min(0).max(100)
const margin = () =>
  z.union([
    percentage(),
    z.strictObject({ percentage: percentage().optional(), fixed_amount: z.number().min(0).max(1000).optional() }),
  ])
const byOwner = () => z.record(id(), z.strictObject({ discount: share().optional(), margin: margin().optional() }))

/** Keys of `settings`. The first two are LiteLLM's (docs.litellm.ai/docs/proxy/pricing_calculator, 2026-11-23). */
export const priceTermKeys = settingKeys('prices', {
  cost_discount_config: {
    type: () => z.record(id(), share()),
    description:
      'The share that is taken off what calls cost, by provider: 0.05 is 5 %. `global` stands for all other providers.',
    example: { vertex_ai: 0.05 },
  },
  cost_margin_config: {
    type: () => z.record(id(), margin()),
    description:
      'The share that is put on top of what calls cost, after the discount, by provider: 0.1 is 10 %, or ' +
      '`percentage` and `fixed_amount` in US dollars a call. `global` stands for all other providers.',
    example: { global: 0.1, openai: { percentage: 0.08, fixed_amount: 0.0005 } },
  },
  cost_terms: {
    keys: settingKeys('prices', {
      keys: {
        type: byOwner,
        description: 'The discount and margin that hold for calls with a key, by the ids of keys (`token_id`).',
        example: { 'key-b': { margin: 0.5 } },
      },
      teams: {
        type: byOwner,
        description: 'The discount and margin that hold for the calls of a team, by the ids of teams.',
        example: { 'team-a': { discount: 0.2 } },
      },
      organizations: {
        type: byOwner,
        description: 'The discount and margin that hold for an organization, by the ids of organizations.',
        example: { 'org-c': { margin: 0.1 } },
      },
    }),
    description:
      'Discounts and margins by the ids of keys, teams and organizations, which come on top of those of the ' +
      'provider. The organization comes first, the key last.',
    example: { teams: { 'team-a': { discount: 0.2 } }, keys: { 'key-b': { margin: 0.5 } } },
  },
})

type OwnersTerms = z.output<ReturnType<typeof byOwner>>
type MarginConfig = z.output<ReturnType<typeof margin>>

/** null = list prices for all callers. */
export function readPriceTerms(config: Values<typeof priceTermKeys>): PriceAdjustmentSettings | null {
  const { cost_discount_config: discounts = {}, cost_margin_config: margins = {}, cost_terms: owners = {} } = config
  const names = new Set([...Object.keys(discounts), ...Object.keys(margins)])
  const ofOwners = (list: OwnersTerms = {}) =>
    Object.fromEntries(Object.entries(list).map(([owner, one]) => [owner, termOf(one.discount, one.margin)]))
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
