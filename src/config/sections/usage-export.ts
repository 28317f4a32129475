/** Usage that is sent to other systems. Its secrets are in the environment. */
import { z } from 'zod'
import type { UsageExportSettings } from '../../core/ledger/usage-export.ts'
import { settingKeys, withDefaults } from '../../core/setting-keys.ts'
import type { Values } from '../../core/setting-keys.ts'

const address = () => z.url({ protocol: /^https?$/ })

const stripeKeys = settingKeys('general', {
  event_name: {
    type: () => z.string().min(1).max(100),
    default: 'modelgate_usage',
    description: 'The name of the meter at Stripe to which events are sent.',
    example: 'tokens',
  },
  customer: {
    type: () => z.enum(['end_user', 'key_id', 'user_id', 'team_id', 'organization_id']),
    default: 'end_user',
    description: "The column of a row that holds Stripe's id of the customer; rows without it are not sent.",
    example: 'end_user',
  },
  value: {
    type: () => z.enum(['requests', 'total_tokens', 'input_tokens', 'output_tokens', 'cost_nano_usd']),
    default: 'total_tokens',
    description: 'The column of a row that is metered; rows with 0, or where it is not known, are not sent.',
    example: 'total_tokens',
  },
  api_base: {
    type: address,
    default: 'https://api.stripe.com',
    description: "The address to which meter events are sent, in place of Stripe's own.",
    example: 'https://api.stripe.com',
  },
})

const exportKeys = settingKeys('general', {
  webhook_url: {
    type: address,
    description:
      'The address that gets every row of the ledger by POST, in lists, signed with `USAGE_EXPORT_WEBHOOK_SECRET` as ' +
      'Standard Webhooks says.',
    example: 'https://billing.example.com/usage',
    secret: 'path',
  },
  stripe: {
    keys: stripeKeys,
    description: 'Sends Stripe a meter event for each row of the ledger, with the key `STRIPE_API_KEY`.',
    usedWith: { path: 'general_settings.usage_export.stripe' },
  },
  waiting_max: {
    type: () => z.number().int().min(1).max(100_000_000),
    default: 1_000_000,
    description:
      'How many rows wait for a destination that does not take them. Later rows are not sent there, which the log ' +
      'and a metric say.',
    example: 1_000_000,
  },
})

/** Keys of `general_settings`. */
export const usageExportKeys = settingKeys('general', {
  usage_export: {
    keys: exportKeys,
    description: 'Sends rows of the ledger to other systems, each exactly once by its `request_id`.',
    example: { webhook_url: 'https://billing.example.com/usage' },
    usedWith: { path: 'general_settings.usage_export' },
  },
})

/** null = nothing is exported. */
export function usageExportOf({ usage_export: written }: Values<typeof usageExportKeys>): UsageExportSettings | null {
  if (!written) return null
  const { webhook_url: webhookUrl, stripe: writtenStripe, waiting_max: waitingMax } = withDefaults(exportKeys, written)
  const stripe = writtenStripe && withDefaults(stripeKeys, writtenStripe)
  return {
    webhookUrl: webhookUrl ?? null,
    stripe: stripe
      ? { eventName: stripe.event_name, customer: stripe.customer, value: stripe.value, baseUrl: stripe.api_base }
      : null,
    waitingMax,
  }
}
