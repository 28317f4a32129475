/** How budgets are kept, and those of the configuration itself. */
import { z } from 'zod'
import { isTimeZone, readBudgetDuration } from '../../access/limits/budget-window.ts'
import type { BudgetRule, BudgetSettings } from '../../core/tenancy/budgets.ts'
import { settingKeys, withDefaults } from '../../core/setting-keys.ts'
import type { Values } from '../../core/setting-keys.ts'
import type { alertKeys } from './alerts.ts'
import { unlimited } from '../../core/tenancy/tenancy.ts'
import type { SpendingFields } from '../../core/tenancy/tenancy.ts'
import { budgetUsd, checkedText, count, id } from './value-types.ts'

/** A text such as `30d` or `1mo` after which a budget begins anew. */
export const budgetDuration = () =>
  checkedText(z.string(), given => {
    const read = readBudgetDuration(given)
    return 'problem' in read ? read.problem : undefined
  })

/** Keys of `general_settings`. */
export const budgetKeys = settingKeys('limits', {
  budget_fit: {
    type: () => z.enum(['refuse', 'shrink']),
    default: 'refuse',
    description:
      'What happens to a call that can cost more than is left of a budget: `refuse` it, or `shrink` its maximum of ' +
      'output tokens to what is left. A call without a maximum always gets one that fits.',
    example: 'shrink',
  },
  budget_unknown_price: {
    type: () => z.enum(['refuse', 'reserve', 'allow']),
    default: 'refuse',
    description:
      'What happens to calls of a model without a price where a budget holds: `refuse` them, `reserve` and charge ' +
      '`budget_reserve` for each, or `allow` them, uncounted.',
    example: 'reserve',
  },
  budget_reserve: {
    type: () => z.number().min(0).max(9_000_000),
    default: 0.1,
    description:
      'US dollars that are reserved for a call of which it is not known how much it can cost, and charged where it ' +
      'is not known at its end either.',
    example: 0.1,
  },
  unowned_limits: {
    type: () => z.enum(['refuse', 'allow']),
    default: 'refuse',
    description:
      'Who may name customers and tags that have limits or a budget and belong to no team or organization, and use ' +
      'the default budget of end users. `refuse`: calls that name such a one are refused with keys of a user, team ' +
      'or organization, but of administrators, and the default is counted for each of these apart. `allow`: every ' +
      'key may name them and spend what they have.',
    example: 'allow',
  },
})

const endUserKeys = settingKeys('limits', {
  max_budget: {
    type: budgetUsd,
    description: 'What each end user (`user` of a call) without a budget of its own may cost, in US dollars.',
    example: 5,
  },
  budget_duration: {
    type: budgetDuration,
    description: 'After how long the budget begins anew of end users without their own. Left out: never.',
    example: '1d',
  },
  budget_id: {
    type: id,
    description:
      'The named budget (POST /budget/new) that sets what is not set here. Until it exists, calls that name an end ' +
      'user are refused.',
    example: 'free-tier',
  },
  rpm_limit: {
    type: count,
    description: 'The requests a minute that an end user without a limit of its own may make.',
    example: 60,
  },
  tpm_limit: {
    type: count,
    description: 'The tokens a minute that an end user without a limit of its own may use.',
    example: 100_000,
  },
  max_parallel_requests: {
    type: count,
    description: 'The calls that an end user without a limit of its own may have under way at once.',
    example: 8,
  },
})

/** Keys of `settings` for the budget of all calls and of each end user. */
export const commonBudgetKeys = settingKeys('limits', {
  timezone: {
    type: () =>
      checkedText(z.string(), name => (isTimeZone(name) ? undefined : 'is no time zone of the IANA database')),
    default: 'UTC',
    description: 'The time zone of the days, weeks and months after which budgets begin anew.',
    example: 'Europe/Berlin',
  },
  max_budget: {
    type: budgetUsd,
    description: 'What all calls with virtual keys together may cost, in US dollars.',
    example: 1000,
  },
  budget_duration: {
    type: budgetDuration,
    description: 'After how long `settings.max_budget` begins anew, as 30d or 1mo. Without it that never happens.',
    example: '1mo',
  },
  max_end_user_budget: {
    type: budgetUsd,
    sameAs: 'settings.default_end_user_params.max_budget',
    description: 'The same as `max_budget` of `default_end_user_params`, which wins.',
    example: 5,
  },
  end_user_budget_duration: {
    type: budgetDuration,
    sameAs: 'settings.default_end_user_params.budget_duration',
    description: 'The same as `budget_duration` of `default_end_user_params`, which wins.',
    example: '1d',
  },
  max_end_user_budget_id: {
    type: id,
    sameAs: 'settings.default_end_user_params.budget_id',
    description: 'The same as `budget_id` of `default_end_user_params`, which wins.',
    example: 'free-tier',
  },
  default_end_user_params: {
    keys: endUserKeys,
    description:
      'Limits and the budget of every end user (`user` of a call) without their own, also of those who are not stored.',
    example: { max_budget: 5, budget_duration: '1d' },
  },
})

/** Keys of `router_settings`. */
export const providerBudgetKeys = settingKeys('limits', {
  provider_budget_config: {
    type: () =>
      z.record(z.string(), z.strictObject({ budget_limit: budgetUsd(), time_period: budgetDuration().optional() })),
    description:
      'What all calls at a provider may cost, in US dollars, by its name. Its deployments are passed over where too ' +
      'little is left.',
    example: { openai: { budget_limit: 100, time_period: '1d' } },
  },
})

/** The sections in which keys about budgets stand. */
interface BudgetSections {
  readonly general_settings?: Values<typeof budgetKeys> & Values<typeof alertKeys>
  readonly settings?: Values<typeof commonBudgetKeys>
  readonly router_settings?: Values<typeof providerBudgetKeys>
}

/** Undefined sections are empty ones. */
export function budgetSettingsOf(config: BudgetSections): BudgetSettings {
  const { general_settings: given = {}, router_settings: router = {} } = config
  const general = withDefaults(budgetKeys, given)
  const common = withDefaults(commonBudgetKeys, config.settings ?? {})
  return {
    fit: general.budget_fit,
    unknownPrice: general.budget_unknown_price,
    reserveNanoUsd: Math.round(general.budget_reserve * nanoUsdPerUsd),
    timeZone: common.timezone,
    webhookUrls: [given.alert_to_webhook_url?.budget_alerts ?? []].flat(),
    alertEmails: [given.alert_to_email?.budget_alerts ?? []].flat(),
    all: budgetRuleOf(common.max_budget, common.budget_duration),
    endUser: endUserDefaultsOf(common),
    unownedLimits: general.unowned_limits,
    providers: Object.fromEntries(
      Object.entries(router.provider_budget_config ?? {}).map(([name, { budget_limit: usd, time_period: period }]) => [
        name,
        budgetRuleOf(usd, period)!,
      ]),
    ),
  }
}

function endUserDefaultsOf(common: Values<typeof commonBudgetKeys>): SpendingFields | null {
  const given = common.default_end_user_params ?? {}
  const rule = budgetRuleOf(
    given.max_budget ?? common.max_end_user_budget,
    given.budget_duration ?? common.end_user_budget_duration,
  )
  const defaults: SpendingFields = {
    ...unlimited,
    ...rule,
    budgetId: given.budget_id ?? common.max_end_user_budget_id ?? null,
    requestsPerMinute: given.rpm_limit ?? null,
    tokensPerMinute: given.tpm_limit ?? null,
    parallelRequests: given.max_parallel_requests ?? null,
  }
  return Bun.deepEquals(defaults, unlimited) ? null : defaults
}

const nanoUsdPerUsd = 1e9

/** null = there is no budget. */
export function budgetRuleOf(usd: number | undefined, duration: string | undefined): BudgetRule | null {
  if (usd === undefined) return null
  return { maxBudgetNanoUsd: BigInt(Math.round(usd * nanoUsdPerUsd)), budgetDuration: duration ?? null }
}
