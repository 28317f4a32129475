/** Who is told of what operators have to know: by a POST to an address, or by mail. */
import { z } from 'zod'
import type { HealthAlertSettings } from '../../core/settings.ts'
import { settingKeys } from '../../core/setting-keys.ts'
import type { Values } from '../../core/setting-keys.ts'
import { oneOrMore } from './value-types.ts'

const addresses = () => oneOrMore(z.url({ protocol: /^https?$/ }), 10)
const mailboxes = () => oneOrMore(z.email(), 10)

/** Keys of `general_settings`. */
export const alertKeys = settingKeys('mail', {
  alert_to_webhook_url: {
    keys: settingKeys('mail', {
      budget_alerts: {
        type: addresses,
        description:
          'An address, or up to ten, that is notified by a POST, once a period, that a soft budget is reached.',
        example: 'https://alerts.example.com/budgets',
        secret: 'path',
      },
      key_alerts: {
        type: addresses,
        description: 'An address, or up to ten, that is notified by a POST of what `key_reminders` says of keys.',
        example: 'https://alerts.example.com/keys',
        secret: 'path',
      },
      health_alerts: {
        type: addresses,
        description:
          'An address, or up to ten, that is notified by a POST that a deployment, the database, Redis, the journal ' +
          'or the disk has been unwell for a minute, and that it is well again.',
        example: 'https://alerts.example.com/health',
        secret: 'path',
      },
    }),
    description: 'Addresses that are notified by a POST of what operators have to know.',
    example: { budget_alerts: 'https://alerts.example.com/budgets' },
  },
  alert_to_email: {
    keys: settingKeys('mail', {
      budget_alerts: {
        type: mailboxes,
        description:
          'An address, or up to ten, that is mailed, once a period, that a soft budget is reached. The mail server ' +
          'is that of `SMTP_HOST`, `SMTP_PORT`, `SMTP_USERNAME`, `SMTP_PASSWORD`, `SMTP_SENDER_EMAIL` and `SMTP_TLS`.',
        example: 'money@example.com',
      },
      key_alerts: {
        type: mailboxes,
        description: 'An address, or up to ten, that is mailed what `key_reminders` says of keys.',
        example: 'keys@example.com',
      },
      health_alerts: {
        type: mailboxes,
        description:
          'An address, or up to ten, that is mailed what `alert_to_webhook_url.health_alerts` is notified of.',
        example: 'on-call@example.com',
      },
    }),
    description: 'Addresses to which the gateway mails what operators have to know.',
    example: { budget_alerts: 'money@example.com' },
  },
})

/** Who is notified of outages. */
export const healthAlertsOf = (general: Values<typeof alertKeys>): HealthAlertSettings => ({
  webhookUrls: [general.alert_to_webhook_url?.health_alerts ?? []].flat(),
  alertEmails: [general.alert_to_email?.health_alerts ?? []].flat(),
})
