/** The settings of exported usage, from a checked configuration. */
import type { UsageExportSettings } from '../core/ledger/usage-export.ts'
import type { Config } from './sections/file.ts'

const waitingDefault = 1_000_000

/** null = nothing is exported. */
export function usageExportOf(general: NonNullable<Config['general_settings']>): UsageExportSettings | null {
  const { usage_export: given } = general
  if (!given) return null
  const { webhook_url: webhookUrl, stripe, waiting_max: waitingMax } = given
  return {
    webhookUrl: webhookUrl ?? null,
    stripe: stripe
      ? {
          eventName: stripe.event_name ?? 'modelgate_usage',
          customer: stripe.customer ?? 'end_user',
          value: stripe.value ?? 'total_tokens',
          baseUrl: stripe.api_base ?? 'https://api.stripe.com',
        }
      : null,
    waitingMax: waitingMax ?? waitingDefault,
  }
}
