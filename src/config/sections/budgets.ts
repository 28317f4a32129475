/** How budgets are kept, and those of the configuration itself. */
import { z } from 'zod'
import { isTimeZone, readBudgetDuration } from '../../access/limits/budget-window.ts'
import { checkedText } from '../checks/checked-text.ts'

const alertUrl = z.url({ protocol: /^https?$/ })
/** In dollars, up to what the API takes (access/fields/money.ts); more than nine million count as nine million. */
export const budgetUsd = z.number().min(0).max(1_000_000_000)
const duration = checkedText(z.string(), text => {
  const read = readBudgetDuration(text)
  return 'problem' in read ? read.problem : undefined
})

/** Keys of `general_settings`. */
export const budgetSettings = {
  budget_fit: z
    .enum(['refuse', 'shrink'])
    .optional()
    .describe(
      'A call that can cost more than is left of a budget: `refuse` it, the default, or `shrink` its maximum of ' +
        'output tokens to what is left. A call without a maximum always gets one that fits.',
    ),
  budget_unknown_price: z
    .enum(['refuse', 'reserve', 'allow'])
    .optional()
    .describe(
      'Calls of a model without a price where a budget holds: `refuse` them, the default; charge `budget_reserve` ' +
        'for each; or `allow` them, uncounted.',
    ),
  budget_reserve: z
    .number()
    .min(0)
    .max(9_000_000)
    .optional()
    .describe(
      'In US dollars: reserved for a call of which it is not known how much it can cost, and charged where it is not ' +
        'known at its end either; 0.1 when left out.',
    ),
  unowned_limits: z
    .enum(['refuse', 'allow'])
    .optional()
    .describe(
      'Customers and tags that have limits or a budget and belong to no team or organization, and the default budget ' +
        'of end users: `refuse` calls that name such a one with keys of a user, team or organization, but of ' +
        'administrators, and count the default for each of these apart (the default); `allow`: every key may name ' +
        'them and spend what they have.',
    ),
  alert_to_webhook_url: z
    .strictObject({
      budget_alerts: z
        .union([alertUrl, z.array(alertUrl).min(1).max(10)])
        .optional()
        .describe('An address, or up to ten: notified by a POST, once a period, that a soft budget is reached.')
        .meta({ examples: ['https://alerts.example.com/budgets'] }),
      key_alerts: z
        .union([alertUrl, z.array(alertUrl).min(1).max(10)])
        .optional()
        .describe('An address, or up to ten: notified by a POST of what `key_reminders` says of keys.')
        .meta({ examples: ['https://alerts.example.com/keys'] }),
      health_alerts: z
        .union([alertUrl, z.array(alertUrl).min(1).max(10)])
        .optional()
        .describe(
          'An address, or up to ten: notified by a POST that a deployment, the database, Redis, the journal or the ' +
            'disk has been unwell for a minute, and that it is well again.',
        )
        .meta({ examples: ['https://alerts.example.com/health'] }),
    })
    .optional()
    .describe('URLs that are notified of what operators have to know.'),
  alert_to_email: z
    .strictObject({
      budget_alerts: z
        .union([z.email(), z.array(z.email()).min(1).max(10)])
        .optional()
        .describe(
          'An address, or up to ten: mailed, once a period, that a soft budget is reached. The mail server is that ' +
            'of `SMTP_HOST`, `SMTP_PORT`, `SMTP_USERNAME`, `SMTP_PASSWORD`, `SMTP_SENDER_EMAIL` and `SMTP_TLS`.',
        )
        .meta({ examples: ['money@example.com'] }),
      key_alerts: z
        .union([z.email(), z.array(z.email()).min(1).max(10)])
        .optional()
        .describe('An address, or up to ten: mailed what `key_reminders` says of keys.')
        .meta({ examples: ['keys@example.com'] }),
      health_alerts: z
        .union([z.email(), z.array(z.email()).min(1).max(10)])
        .optional()
        .describe('An address, or up to ten: mailed what `alert_to_webhook_url.health_alerts` is notified of.')
        .meta({ examples: ['on-call@example.com'] }),
    })
    .optional()
    .describe('Addresses that the gateway mails what operators have to know.'),
}

/** The keys of `settings` for the budget of all calls and of each end user. */
export const commonBudgetSettings = {
  timezone: checkedText(z.string(), name => (isTimeZone(name) ? undefined : 'is no time zone of the IANA database'))
    .optional()
    .describe('Of the days, weeks and months after which budgets begin anew; UTC when left out.'),
  max_budget: budgetUsd.optional().describe('In US dollars: what all calls with virtual keys together may cost.'),
  budget_duration: duration.optional().describe('After which `max_budget` begins anew: 30d, 1mo, ...; else never.'),
  max_end_user_budget: budgetUsd
    .optional()
    .describe('In US dollars: of each end user (`user` of a call) without a budget of its own.'),
  end_user_budget_duration: duration.optional().describe('After which `max_end_user_budget` begins anew.'),
}

/** Keys of `default_internal_user_params`, beside the limits: for users who are made without them. */
export const newUserSettings = {
  user_role: z
    .enum(['internal_user', 'internal_user_viewer'])
    .optional()
    .describe('Of users who are made without a role; `internal_user` when left out.'),
  models: z.array(z.string()).max(1000).optional().describe('Of users who are made without a list of models.'),
  max_budget: budgetUsd.optional().describe('In US dollars: of users who are made without a budget.'),
  budget_duration: duration.optional().describe('Of that budget.'),
}

/** Keys of `router_settings`. */
export const providerBudgetSettings = {
  provider_budget_config: z
    .record(z.string(), z.strictObject({ budget_limit: budgetUsd, time_period: duration.optional() }))
    .optional()
    .describe(
      'What all calls at a provider may cost, in US dollars: `{openai: {budget_limit: 100, time_period: 1d}}`. Its ' +
        'deployments are passed over where too little is left.',
    ),
}
