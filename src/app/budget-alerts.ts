/** Tells the operator of soft budgets: by webhooks and by mail. */
import { nanoUsdToText } from '../accounts/cost.ts'
import { toGatewayError } from '../core/errors.ts'
import type { BudgetSettings } from '../core/budgets.ts'
import type { Mail, Mailer } from '../core/mail.ts'
import type { Transport } from '../core/transport.ts'
import type { Logger } from '../telemetry/log.ts'
import type { SoftBudgetAlert } from './limits.ts'

const timeouts = { connectMs: 5000, firstByteMs: 10_000, idleMs: 5000, totalMs: 15_000 }
const answerBytesMax = 64 * 1024
const attemptsMax = 5
const firstPauseMs = 1000
/** Alerts that wait for a server which does not answer; further ones are in the log alone. */
const waitingMax = 1000

interface BudgetAlertParts {
  readonly transport: Transport
  /** undefined = the operator named no mail server. */
  readonly mailer: Mailer | undefined
  readonly logger: Logger
  settings(): Pick<BudgetSettings, 'webhookUrls' | 'alertEmails'>
}

/**
 * Sends a `POST` with JSON to each webhook, and a mail to all addresses together, up to five times until it is taken.
 * `id` is the same in all of them. Names of the fields: docs.litellm.ai/docs/proxy/alerting, "Webhooks" (2026-11-23).
 * Never throws.
 */
export function createBudgetAlerts({ transport, mailer, logger, settings }: BudgetAlertParts) {
  let waiting = 0
  const tell = (server: string, send: () => Promise<void>): void => {
    if (waiting >= waitingMax)
      return logger.error('alerts of budgets are taken too slowly: one was not sent', { server })
    waiting++
    void repeated(send)
      .catch(error =>
        logger.error('an alert of a budget could not be sent', { server, reason: toGatewayError(error).message }),
      )
      .finally(() => waiting--)
  }
  return (alert: SoftBudgetAlert): void => {
    const { webhookUrls, alertEmails } = settings()
    if (webhookUrls.length + alertEmails.length === 0) return
    const event = eventOf(alert)
    const body = Buffer.from(JSON.stringify(event))
    // An address may hold a secret: the log has its host alone.
    for (const url of webhookUrls) tell(new URL(url).host, () => post(transport, url, body))
    if (alertEmails.length === 0) return
    if (mailer) tell('mail', () => mailer.send(mailOf(event, alertEmails)))
    else logger.error('an alert of a budget could not be mailed: set SMTP_HOST and SMTP_SENDER_EMAIL', { id: event.id })
  }
}

async function repeated(send: () => Promise<void>): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await send()
    } catch (error) {
      if (attempt === attemptsMax) throw error
    }
    await new Promise(resolve => setTimeout(resolve, firstPauseMs * 2 ** (attempt - 1)).unref())
  }
}

async function post(transport: Transport, url: string, body: Uint8Array): Promise<void> {
  const head = { url, headers: { 'content-type': 'application/json' } }
  const answer = await transport.send({ method: 'POST', head, body: [body], timeouts }).response
  await answer.body.bytes(answerBytesMax)
  if (answer.status < 200 || answer.status >= 300) throw new Error(`it answered with status ${answer.status}`)
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
