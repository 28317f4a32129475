/** Tells of what keeps the gateway from its work for longer than a moment: in the log, by webhooks and by mail. */
import { hostname } from 'node:os'
import type { HealthAlertSettings } from '../core/settings.ts'
import type { Clock } from '../lib/clock.ts'
import type { Logger } from '../telemetry/log.ts'
import type { DeliverAlert } from './alert-delivery.ts'

const lookMs = 15_000
/** What passes by itself sooner wakes no one. */
export const toldAfterMs = 60_000

/** Something that is not as it should be now. */
export interface Trouble {
  /** The same while it lasts: `database`, `deployment:ID`. */
  readonly id: string
  /** What is wrong, and what helps: one sentence for the operator. */
  readonly message: string
}

interface HealthParts {
  readonly clock: Pick<Clock, 'epochMs'>
  readonly logger: Logger
  readonly deliver: DeliverAlert
  /** What is wrong now. */
  troubles(): readonly Trouble[]
  settings(): HealthAlertSettings
}

interface Lasting {
  readonly sinceMs: number
  trouble: Trouble
  isTold: boolean
}

/** Looks every 15 seconds until `stop`. Each replica tells what it sees by itself. */
export function watchHealth(parts: HealthParts): { stop(): Promise<void> } {
  const lasting = new Map<string, Lasting>()
  const timer = setInterval(() => look(parts, lasting), lookMs)
  timer.unref()
  return {
    stop() {
      clearInterval(timer)
      return Promise.resolve()
    },
  }
}

/** Tells of a trouble once when it has lasted for a minute, and of its end where it was told. `lasting` is kept. */
export function look(parts: HealthParts, lasting: Map<string, Lasting>): void {
  const nowMs = parts.clock.epochMs()
  const present = new Map(parts.troubles().map(trouble => [trouble.id, trouble]))
  for (const [id, one] of lasting)
    if (!present.has(id)) {
      lasting.delete(id)
      if (one.isTold) tell(parts, one, nowMs)
    }
  for (const [id, trouble] of present) {
    const one = lasting.get(id) ?? { sinceMs: nowMs, trouble, isTold: false }
    one.trouble = trouble
    lasting.set(id, one)
    if (one.isTold || nowMs - one.sinceMs < toldAfterMs) continue
    one.isTold = true
    tell(parts, one, null)
  }
}

/** `endMs` null = it lasts. */
function tell({ logger, deliver, settings }: HealthParts, { trouble, sinceMs }: Lasting, endMs: number | null): void {
  const iso = (ms: number) => new Date(ms).toISOString()
  const host = hostname()
  const message = endMs === null ? trouble.message : `${trouble.id} is well again`
  const event = {
    id: `${trouble.id}@${sinceMs}:${endMs === null ? 'began' : 'ended'}`,
    event: endMs === null ? 'trouble_began' : 'trouble_ended',
    event_group: 'gateway',
    event_message: message,
    // Chat tools that take webhooks show it.
    text: `Modelgate on ${host}: ${message}`,
    subject: trouble.id,
    host,
    since: iso(sinceMs),
    until: endMs === null ? null : iso(endMs),
  }
  const fields = { subject: trouble.id, since: event.since }
  if (endMs === null) logger.error(message, fields)
  else logger.info(message, fields)
  const { webhookUrls, alertEmails } = settings()
  if (webhookUrls.length + alertEmails.length === 0) return
  const mail =
    alertEmails.length === 0
      ? undefined
      : { to: alertEmails, subject: `Modelgate: ${trouble.id}`, text: `${event.text}\nSince ${event.since}.\n` }
  deliver({ about: 'the health of the gateway', event, webhookUrls, mail })
}
