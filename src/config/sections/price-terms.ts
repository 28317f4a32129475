/** Discounts and margins: LiteLLM's two keys by provider, and the same by key, team and organization. */
import { z } from 'zod'

const share = z.number().min(0).max(1)
const percentage = z.number().min(0).max(100)
const margin = z.union([
  percentage,
  z.strictObject({ percentage: percentage.optional(), fixed_amount: z.number().min(0).max(1000).optional() }),
])
const byName = <Value extends z.ZodType>(value: Value) => z.record(z.string().min(1).max(255), value).optional()
const terms = byName(z.strictObject({ discount: share.optional(), margin: margin.optional() }))

/** Keys of `settings`. The first two are LiteLLM's (docs.litellm.ai/docs/proxy/pricing_calculator, 2026-11-23). */
export const priceTermSettings = {
  cost_discount_config: byName(share).describe(
    'By provider: the share that is taken off what its calls cost, 0.05 for 5 %. `global` = all other providers.',
  ),
  cost_margin_config: byName(margin).describe(
    'By provider: the share that is put on top, after the discount: 0.1 for 10 %, or `percentage` and ' +
      '`fixed_amount` in US dollars a call. `global` = all other providers.',
  ),
  cost_terms: z
    .strictObject({
      keys: terms.describe('By the ids of keys (`token_id`).').meta({ examples: [{ 'key-b': { margin: 0.5 } }] }),
      teams: terms.describe('By the ids of teams.').meta({ examples: [{ 'team-a': { discount: 0.2 } }] }),
      organizations: terms.describe('By the ids of organizations.').meta({ examples: [{ 'org-c': { margin: 0.1 } }] }),
    })
    .optional()
    .describe(
      'The same by the ids of keys, teams and organizations: `discount` and `margin`, on top of those of the ' +
        'provider. The organization comes first, the key last.',
    ),
}
