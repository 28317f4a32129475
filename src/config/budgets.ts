/** The settings of budgets, from a checked configuration. */
import type { BudgetRule, BudgetSettings } from '../core/tenancy/budgets.ts'
import { readDuration } from '../access/key.ts'
import type { HealthAlertSettings, KeyBounds, NewKeySettings, Settings } from '../core/settings.ts'
import type { Config } from './sections/file.ts'

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
    unownedLimits: general.unowned_limits ?? 'refuse',
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

type CommonSettings = NonNullable<Config['settings']>

/** What users get who are made without these fields. */
export function newUsersOf(common: CommonSettings): Settings['newUsers'] {
  const given = common.default_internal_user_params ?? {}
  const rule = ruleOf(
    given.max_budget ?? common.max_internal_user_budget,
    given.budget_duration ?? common.internal_user_budget_duration,
  )
  return {
    role: given.user_role ?? 'internal_user',
    models: given.models ?? [],
    maxBudgetNanoUsd: rule?.maxBudgetNanoUsd ?? null,
    budgetDuration: rule?.budgetDuration ?? null,
  }
}

/** Who is notified of outages. */
export const healthAlertsOf = (general: NonNullable<Config['general_settings']>): HealthAlertSettings => ({
  webhookUrls: [general.alert_to_webhook_url?.health_alerts ?? []].flat(),
  alertEmails: [general.alert_to_email?.health_alerts ?? []].flat(),
})

/** What keys get, and the most that they may have. */
export function newKeysOf(common: CommonSettings): NewKeySettings {
  const { default_key_generate_params: given = {}, upperbound_key_generate_params: bounds = {} } = common
  return {
    defaults: {
      ...boundsOf(given),
      ...(given.models && { models: given.models }),
      ...(given.metadata && { metadata: given.metadata }),
      ...(given.team_id !== undefined && { teamId: given.team_id }),
      ...(given.user_id !== undefined && { userId: given.user_id }),
    },
    bounds: boundsOf(bounds),
  }
}

function boundsOf(given: NonNullable<CommonSettings['upperbound_key_generate_params']>): KeyBounds {
  const lifetime = given.duration === undefined ? undefined : readDuration(given.duration)
  return {
    ...(given.max_budget !== undefined && { maxBudgetNanoUsd: BigInt(Math.round(given.max_budget * nanoUsdPerUsd)) }),
    ...(given.budget_duration !== undefined && { budgetDuration: given.budget_duration }),
    ...(lifetime && 'ms' in lifetime && { lifetimeMs: lifetime.ms }),
    ...(given.rpm_limit !== undefined && { requestsPerMinute: given.rpm_limit }),
    ...(given.tpm_limit !== undefined && { tokensPerMinute: given.tpm_limit }),
    ...(given.max_parallel_requests !== undefined && { parallelRequests: given.max_parallel_requests }),
  }
}
