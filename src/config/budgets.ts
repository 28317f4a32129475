/** The settings of budgets, from a checked configuration. */
import type { BudgetRule, BudgetSettings } from '../core/tenancy/budgets.ts'
import type { Settings } from '../core/settings.ts'
import type { Config } from './file/schema.ts'

const nanoUsdPerUsd = 1e9
const reserveUsdDefault = 0.1

/** Undefined sections are empty ones. */
export function budgetSettingsOf(config: Config): BudgetSettings {
  const { general_settings: general = {}, settings: common = {}, router_settings: router = {} } = config
  return {
    fit: general.budget_fit ?? 'refuse',
    unknownPrice: general.budget_unknown_price ?? 'refuse',
    reserveNanoUsd: Math.round((general.budget_reserve ?? reserveUsdDefault) * nanoUsdPerUsd),
    timeZone: common.timezone ?? 'UTC',
    webhookUrls: [general.alert_to_webhook_url?.budget_alerts ?? []].flat(),
    alertEmails: [general.alert_to_email?.budget_alerts ?? []].flat(),
    all: ruleOf(common.max_budget, common.budget_duration),
    endUser: ruleOf(common.max_end_user_budget, common.end_user_budget_duration),
    providers: Object.fromEntries(
      Object.entries(router.provider_budget_config ?? {}).map(([name, { budget_limit: usd, time_period: period }]) => [
        name,
        ruleOf(usd, period)!,
      ]),
    ),
  }
}

function ruleOf(usd: number | undefined, duration: string | undefined): BudgetRule | null {
  if (usd === undefined) return null
  return { maxBudgetNanoUsd: BigInt(Math.round(usd * nanoUsdPerUsd)), budgetDuration: duration ?? null }
}

type UserParams = NonNullable<NonNullable<Config['settings']>['default_internal_user_params']>

/** What users get who are made without these fields. */
export function newUsersOf(given: UserParams): Settings['newUsers'] {
  const rule = ruleOf(given.max_budget, given.budget_duration)
  return {
    role: given.user_role ?? 'internal_user',
    models: given.models ?? [],
    maxBudgetNanoUsd: rule?.maxBudgetNanoUsd ?? null,
    budgetDuration: rule?.budgetDuration ?? null,
  }
}
