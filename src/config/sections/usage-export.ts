/** Keys of `general_settings` about usage that is sent to other systems. */
import { z } from 'zod'

/** Secrets are in the environment: `USAGE_EXPORT_WEBHOOK_SECRET`, `STRIPE_API_KEY`. */
export const exportSettings = {
  usage_export: z
    .strictObject({
      webhook_url: z
        .url({ protocol: /^https?$/ })
        .optional()
        .describe(
          'Gets every row of the ledger by POST, in lists, signed with `USAGE_EXPORT_WEBHOOK_SECRET` as Standard ' +
            'Webhooks says.',
        )
        .meta({ examples: ['https://billing.example.com/usage'] }),
      stripe: z
        .strictObject({
          event_name: z
            .string()
            .min(1)
            .max(100)
            .optional()
            .describe('The name of the meter; modelgate_usage when left out.')
            .meta({ examples: ['tokens'] }),
          customer: z
            .enum(['end_user', 'key_id', 'user_id', 'team_id', 'organization_id'])
            .optional()
            .describe(
              "What is Stripe's id of the customer in a row, `end_user` when left out; rows without it are not sent.",
            )
            .meta({ examples: ['end_user'] }),
          value: z
            .enum(['requests', 'total_tokens', 'input_tokens', 'output_tokens', 'cost_nano_usd'])
            .optional()
            .describe(
              'What is metered, `total_tokens` when left out; rows with 0, or where it is not known, are not sent.',
            )
            .meta({ examples: ['total_tokens'] }),
          api_base: z
            .url({ protocol: /^https?$/ })
            .optional()
            .describe("Instead of Stripe's own address.")
            .meta({ examples: ['https://api.stripe.com'] }),
        })
        .optional()
        .describe('Sends a meter event for each row, with the key `STRIPE_API_KEY`.'),
      waiting_max: z
        .number()
        .int()
        .min(1)
        .max(100_000_000)
        .optional()
        .describe(
          'So many rows wait for a destination that does not take them; 1,000,000 when left out. Later rows are not ' +
            'sent there, which the log and a metric say.',
        )
        .meta({ examples: [1_000_000] }),
    })
    .optional()
    .describe('Sends rows of the ledger to other systems, each exactly once by its `request_id`.'),
}
