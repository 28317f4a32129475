/** Notifies the operator of soft budgets: by webhooks and by mail. */
import { nanoUsdToText } from '../pricing/cost.ts'
import type { BudgetSettings } from '../core/tenancy/budgets.ts'
import type { Mail } from '../core/mail.ts'
import type { DeliverAlert } from './alert-delivery.ts'
import type { SoftBudgetAlert } from './limits.ts'

interface BudgetAlertParts {
  readonly deliver: DeliverAlert
  settings(): Pick<BudgetSettings, 'webhookUrls' | 'alertEmails'>
}

/** Names of the fields: docs.litellm.ai/docs/proxy/alerting, "Webhooks" (2026-11-23). Never throws. */
export function createBudgetAlerts({ deliver, settings }: BudgetAlertParts) {
  return (alert: SoftBudgetAlert): void => {
    const { webhookUrls, alertEmails } = settings()
    if (webhookUrls.length + alertEmails.length === 0) return
    const event = eventOf(alert)
    const mail = alertEmails.length === 0 ? undefined : mailOf(event, alertEmails)
    deliver({ about: 'a budget', event, webhookUrls, mail })
  }
}

function mailOf(event: BudgetEvent, to: readonly string[]): Mail {
  const limit = event.max_budget === null ? 'there is no maximum' : `${event.max_budget} US dollars are the maximum`
  const end =
    event.budget_reset_at === null ? 'The budget never begins anew.' : `It begins anew at ${event.budget_reset_at}.`
  return {
    to,
    subject: `Soft budget crossed: ${event.scope}`,
    text:
      `${event.scope} has spent ${event.spend} US dollars, which passes its soft budget of ${event.soft_budget}; ` +
      `${limit}.\n${end}\nCalls go on until the maximum is reached.\n\nAlert: ${event.id}\n`,
  }
}

interface BudgetEvent {
  readonly id: string
  readonly event: 'soft_budget_crossed'
  readonly event_group: string
  readonly event_message: string
  readonly scope: string
  /** Amounts are US dollars. */
  readonly spend: number
  readonly soft_budget: number | null
  readonly max_budget: number | null
  readonly user_id: string | null
  readonly team_id: string | null
  readonly key_id: string | null
  /** ISO 8601. */
  readonly budget_reset_at: string | null
}

const groups: Readonly<Record<string, string>> = {
  key: 'key',
  user: 'internal_user',
  team: 'team',
  customer: 'customer',
}

function eventOf({ scope, spentNanoUsd }: SoftBudgetAlert): BudgetEvent {
  const { id, budget } = scope
  const [kind = '', ...rest] = id.split(':')
  const name = rest.join(':')
  const usd = (nanoUsd: number) => Number(nanoUsdToText(BigInt(nanoUsd)))
  return {
    id: `${id}@${budget.startMs}`,
    event: 'soft_budget_crossed',
    event_group: groups[kind] ?? kind,
    event_message: `Soft budget crossed: ${id}`,
    scope: id,
    spend: usd(spentNanoUsd),
    soft_budget: budget.softNanoUsd === null ? null : usd(budget.softNanoUsd),
    max_budget: usd(budget.maxNanoUsd),
    user_id: kind === 'user' ? name : null,
    team_id: kind === 'team' ? name : null,
    key_id: kind === 'key' ? name : null,
    budget_reset_at: budget.endMs === null ? null : new Date(budget.endMs).toISOString(),
  }
}
