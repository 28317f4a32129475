/** Reports what keeps the gateway from its work for longer than a moment: in the log, by webhooks and by mail. */
import { hostname } from 'node:os'
import type { HealthAlertSettings } from '../core/settings.ts'
import type { TroubleClaims } from '../core/trouble-claims.ts'
import type { Clock } from '../lib/clock.ts'
import type { Logger } from '../telemetry/log.ts'
import type { DeliverAlert } from './alert-delivery.ts'

const lookMs = 15_000
/** How long a trouble has lasted when it is reported; shorter ones pass by themselves. */
export const reportedAfterMs = 60_000

/** Something that is not as it should be now. */
export interface Trouble {
  /** The same while it lasts: `database`, `deployment:ID`. */
  readonly id: string
  /** What is wrong, and what helps: one sentence for the operator. */
  readonly message: string
  /** It is this machine's alone: each replica reports its own. */
  readonly isOwn?: true
}

interface HealthParts {
  readonly clock: Pick<Clock, 'epochMs'>
  readonly logger: Logger
  readonly deliver: DeliverAlert
  /** undefined = there is no other replica. */
  readonly claims: TroubleClaims | undefined
  /** What is wrong now. */
  troubles(): readonly Trouble[]
  /** Why a trouble is over, where it is not well again. */
  endOf(id: string): string | undefined
  settings(): HealthAlertSettings
}

interface Lasting {
  readonly sinceMs: number
  trouble: Trouble
  isReported: boolean
  /** The other replicas could not be reached when it began: this one reports the end, too. */
  isAlone: boolean
}

/** Looks every 15 seconds until `stop`. */
export function watchHealth(parts: HealthParts): { stop(): Promise<void> } {
  const lasting = new Map<string, Lasting>()
  let looking: Promise<void> | undefined
  const timer = setInterval(() => {
    looking ??= look(parts, lasting).finally(() => (looking = undefined))
  }, lookMs)
  timer.unref()
  return {
    async stop() {
      clearInterval(timer)
      await looking
    },
  }
}

/**
 * Reports a trouble once when it has lasted for a minute, and its end where it was reported. Of the replicas that see
 * the same trouble one reports it. `lasting` is kept. Never rejects.
 */
export async function look(parts: HealthParts, lasting: Map<string, Lasting>): Promise<void> {
  const nowMs = parts.clock.epochMs()
  const present = new Map(parts.troubles().map(trouble => [trouble.id, trouble]))
  for (const [id, one] of [...lasting])
    if (!present.has(id)) {
      lasting.delete(id)
      if (one.isReported) await report(parts, one, nowMs)
    }
  for (const [id, trouble] of present) {
    const one = lasting.get(id) ?? { sinceMs: nowMs, trouble, isReported: false, isAlone: false }
    one.trouble = trouble
    lasting.set(id, one)
  }
  // At once: each waits for seconds where Redis is away.
  await Promise.all([...lasting.values()].map(one => stillHas(parts, one)))
  for (const one of lasting.values()) {
    if (one.isReported || nowMs - one.sinceMs < reportedAfterMs) continue
    one.isReported = true
    await report(parts, one, null)
  }
  await reportLeft(parts, nowMs)
}

const hasReceivers = ({ webhookUrls, alertEmails }: HealthAlertSettings) => webhookUrls.length + alertEmails.length > 0

/** Also before it is reported: another replica may have reported it, and died. Never rejects. */
async function stillHas({ claims, settings }: HealthParts, { trouble, isAlone }: Lasting): Promise<void> {
  if (claims && !trouble.isOwn && !isAlone && hasReceivers(settings())) await claims.lasts(trouble.id).catch(() => {})
}

/** Reports the end of what a replica has reported that is dead now, and no other one has. */
async function reportLeft(parts: HealthParts, nowMs: number): Promise<void> {
  const { claims, settings } = parts
  if (!claims || !hasReceivers(settings())) return
  for (const { trouble: id, sinceMs } of await claims.takeLeft()) {
    const message = `${id} is seen by no replica any more; the one that reported it has ended`
    const ended = { id, sinceMs, endMs: nowMs, message }
    logReport(parts, ended)
    deliverReport(parts, ended)
  }
}

/** Whether this replica reports. While the others cannot be reached it does: better reported twice than never. */
async function isReporter({ claims, logger, settings }: HealthParts, one: Lasting, what: 'began' | 'ended') {
  if (!hasReceivers(settings())) return false
  if (claims === undefined || one.trouble.isOwn || one.isAlone) return true
  const { id: trouble } = one.trouble
  try {
    return await (what === 'began' ? claims.began({ trouble, sinceMs: one.sinceMs }) : claims.ended(trouble))
  } catch (error) {
    if (what === 'began') one.isAlone = true
    logger.warn('whether another replica has reported a trouble cannot be asked', { reason: String(error) })
    return true
  }
}

/** `endMs` null = it lasts. */
async function report(parts: HealthParts, one: Lasting, endMs: number | null): Promise<void> {
  const { id, message } = one.trouble
  const text = endMs === null ? message : `${id} ${parts.endOf(id) ?? 'is well again'}`
  const made = { id, sinceMs: one.sinceMs, endMs, message: text }
  logReport(parts, made)
  if (await isReporter(parts, one, endMs === null ? 'began' : 'ended')) deliverReport(parts, made)
}

interface TroubleReport {
  readonly id: string
  readonly sinceMs: number
  readonly endMs: number | null
  readonly message: string
}

const iso = (ms: number) => new Date(ms).toISOString()

function logReport({ logger }: HealthParts, { id, sinceMs, endMs, message }: TroubleReport): void {
  const fields = { subject: id, since: iso(sinceMs) }
  if (endMs === null) logger.error(message, fields)
  else logger.info(message, fields)
}

function deliverReport({ deliver, settings }: HealthParts, { id, sinceMs, endMs, message }: TroubleReport): void {
  const host = hostname()
  const since = iso(sinceMs)
  const event = {
    id: `${id}@${sinceMs}:${endMs === null ? 'began' : 'ended'}`,
    event: endMs === null ? 'trouble_began' : 'trouble_ended',
    event_group: 'gateway',
    event_message: message,
    // Chat tools that take webhooks show it.
    text: `Modelgate on ${host}: ${message}`,
    subject: id,
    host,
    since,
    until: endMs === null ? null : iso(endMs),
  }
  const { webhookUrls, alertEmails } = settings()
  const mail =
    alertEmails.length === 0
      ? undefined
      : { to: alertEmails, subject: `Modelgate: ${id}`, text: `${event.text}\nSince ${since}.\n` }
  deliver({ about: 'the health of the gateway', event, webhookUrls, mail })
}
