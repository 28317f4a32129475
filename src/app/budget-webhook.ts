/** Tells the operator's webhook of soft budgets. */
import { nanoUsdToText } from '../accounts/cost.ts'
import { toGatewayError } from '../core/errors.ts'
import type { BudgetSettings } from '../core/budgets.ts'
import type { Transport } from '../core/transport.ts'
import type { Logger } from '../telemetry/log.ts'
import type { SoftBudgetAlert } from './limits.ts'

const timeouts = { connectMs: 5000, firstByteMs: 10_000, idleMs: 5000, totalMs: 15_000 }
const answerBytesMax = 64 * 1024
const attemptsMax = 5
const firstPauseMs = 1000
/** Alerts that wait for a webhook which does not answer; further ones are in the log alone. */
const waitingMax = 1000

interface BudgetWebhookParts {
  readonly transport: Transport
  readonly logger: Logger
  settings(): Pick<BudgetSettings, 'webhookUrls'>
}

/**
 * Sends a `POST` with JSON for each alert, up to five times until it is answered with 2xx. `id` is the same in all of
 * them. Names of the fields: docs.litellm.ai/docs/proxy/alerting, "Webhooks" (2026-11-23). Never throws.
 */
export function createBudgetWebhook({ transport, logger, settings }: BudgetWebhookParts) {
  let waiting = 0
  const tell = (url: string, body: Uint8Array): void => {
    // An address may hold a secret: the log has its host alone.
    const { host: server } = new URL(url)
    if (waiting >= waitingMax)
      return logger.error('a webhook of budgets is too slow: an alert was not sent', { server })
    waiting++
    void send(transport, url, body)
      .catch(error =>
        logger.error('a webhook of budgets could not be told', { server, reason: toGatewayError(error).message }),
      )
      .finally(() => waiting--)
  }
  return (alert: SoftBudgetAlert): void => {
    const { webhookUrls } = settings()
    if (webhookUrls.length === 0) return
    const body = Buffer.from(JSON.stringify(eventOf(alert)))
    for (const url of webhookUrls) tell(url, body)
  }
}

async function send(transport: Transport, url: string, body: Uint8Array): Promise<void> {
  const head = { url, headers: { 'content-type': 'application/json' } }
  for (let attempt = 1; ; attempt++) {
    try {
      const answer = await transport.send({ method: 'POST', head, body: [body], timeouts }).response
      await answer.body.bytes(answerBytesMax)
      if (answer.status >= 200 && answer.status < 300) return
      throw new Error(`it answered with status ${answer.status}`)
    } catch (error) {
      if (attempt === attemptsMax) throw error
    }
    await new Promise(resolve => setTimeout(resolve, firstPauseMs * 2 ** (attempt - 1)).unref())
  }
}

const groups: Readonly<Record<string, string>> = {
  key: 'key',
  user: 'internal_user',
  team: 'team',
  customer: 'customer',
}

function eventOf({ scope, spentNanoUsd }: SoftBudgetAlert): Record<string, unknown> {
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
