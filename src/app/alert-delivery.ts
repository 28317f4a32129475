/** Brings alerts to the operator: by webhooks and by mail, repeated until they are taken. */
import { createHash } from 'node:crypto'
import { toGatewayError } from '../core/errors.ts'
import type { Mail, Mailer } from '../core/mail.ts'
import type { Transport } from '../core/transport.ts'
import type { Clock } from '../lib/clock.ts'
import type { Logger } from '../telemetry/log.ts'
import { alertMessage } from './alert-formats.ts'
import type { AlertEvent } from './alert-formats.ts'
import { webhookHeaders } from '../lib/webhook-signature.ts'

const timeouts = { connectMs: 5000, firstByteMs: 10_000, idleMs: 5000, totalMs: 15_000 }
const answerBytesMax = 64 * 1024
const attemptsMax = 5
const firstPauseMs = 1000
/** Alerts that wait for a server which does not answer; further ones are in the log alone. */
const waitingMax = 1000

interface DeliveryParts {
  readonly transport: Transport
  /** undefined = the operator named no mail server. */
  readonly mailer: Mailer | undefined
  readonly logger: Logger
  readonly clock: Pick<Clock, 'epochMs'>
  /** Signs what goes to webhooks; undefined = nothing is signed. */
  readonly webhookSecret: string | undefined
}

/** An alert on its way to webhooks and mail. */
export interface Alert {
  /** What it is about, for the log: `a budget`. */
  readonly about: string
  readonly event: AlertEvent
  readonly webhookUrls: readonly string[]
  /** undefined = none is to be sent. */
  readonly mail: Mail | undefined
}

/**
 * Sends a `POST` with JSON to each webhook, in the form of Slack, Teams, Discord or PagerDuty where it is theirs, and
 * the mail, up to five times until it is taken. Never throws.
 */
export type DeliverAlert = (alert: Alert) => void

/** One queue for all alerts. */
export function createAlertDelivery({ mailer, logger, ...webhooks }: DeliveryParts): DeliverAlert {
  let waiting = 0
  const enqueue = (about: string, server: string, send: () => Promise<void>): void => {
    if (waiting >= waitingMax)
      return logger.error(`alerts of ${about} are taken too slowly: one was not sent`, { server })
    waiting++
    void repeated(send)
      .catch(error =>
        logger.error(`an alert of ${about} could not be sent`, { server, reason: toGatewayError(error).message }),
      )
      .finally(() => waiting--)
  }
  return ({ about, event, webhookUrls, mail }) => {
    // Ids of events hold names of any script, which no header takes.
    const id = `alert_${createHash('sha256').update(event.id).digest('hex').slice(0, 32)}`
    // An address may hold a secret: the log has its host alone.
    for (const address of webhookUrls) {
      const { url, body } = alertMessage(address, event)
      const bytes = Buffer.from(JSON.stringify(body))
      enqueue(about, new URL(url).host, () => post(webhooks, url, { id, body: bytes }))
    }
    if (!mail || mail.to.length === 0) return
    if (mailer) enqueue(about, 'mail', () => mailer.send(mail))
    else logger.error(`an alert of ${about} could not be mailed: set SMTP_HOST and SMTP_SENDER_EMAIL`, { id: event.id })
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

async function post(
  { transport, clock, webhookSecret }: Omit<DeliveryParts, 'mailer' | 'logger'>,
  url: string,
  { id, body }: { readonly id: string; readonly body: Uint8Array },
): Promise<void> {
  const head = { url, headers: webhookHeaders(webhookSecret, { id, atMs: clock.epochMs(), body }) }
  const answer = await transport.send({ method: 'POST', head, body: [body], timeouts }).response
  await answer.body.bytes(answerBytesMax)
  if (answer.status < 200 || answer.status >= 300) throw new Error(`it answered with status ${answer.status}`)
}
