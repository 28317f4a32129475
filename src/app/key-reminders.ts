/** Reminds of keys that soon end, or whose text soon has to be replaced: in the log, by webhooks and by mail. */
import type { KeyReminder, KeyReminderQuery, KeyReminderStore } from '../core/tenancy/key-reminders.ts'
import type { Mail, Mailer } from '../core/mail.ts'
import type { KeyRotationSettings } from '../core/settings.ts'
import type { Clock } from '../lib/clock.ts'
import type { Logger } from '../telemetry/log.ts'
import type { DeliverAlert } from './alert-delivery.ts'

const pauseMs = 5 * 60_000
const roundsMax = 50
const stopMsMax = 2000

interface ReminderParts {
  readonly store: KeyReminderStore
  readonly clock: Pick<Clock, 'epochMs'>
  readonly logger: Logger
  readonly mailer: Mailer | undefined
  readonly deliver: DeliverAlert
  settings(): KeyRotationSettings
}

/**
 * Looks at once and every five minutes, until `stop`, which resolves when no look is under way, or after two seconds: a
 * database that stands still does not hold a gateway that stops, and the next one sends what was not sent.
 */
export function watchKeys(parts: ReminderParts): { stop(): Promise<void> } {
  let stopped = false
  let looking = Promise.resolve()
  const look = () => {
    looking = looking
      .then(() => (stopped ? undefined : remind(parts)))
      .catch(error => parts.logger.warn('keys that end soon cannot be looked for', { reason: String(error) }))
  }
  look()
  const timer = setInterval(look, pauseMs)
  timer.unref()
  return {
    stop() {
      stopped = true
      clearInterval(timer)
      return Promise.race([looking, Bun.sleep(stopMsMax)])
    },
  }
}

/**
 * Sends one reminder for each key and stage, over all replicas. Of several stages that a key passed unseen only the
 * last one has it.
 */
export async function remind(parts: ReminderParts): Promise<void> {
  const { store, clock, settings } = parts
  const { reminderStagesMs, maxAgeMs, graceMs } = settings()
  if (reminderStagesMs.length === 0) return
  const nowMs = clock.epochMs()
  await store.prepare(nowMs)
  const stages = reminderStagesMs.toSorted((a, b) => a - b)
  const kinds: readonly KeyReminder['kind'][] =
    maxAgeMs === null ? ['expiry', 'rotation'] : ['expiry', 'rotation', 'age']
  for (const kind of kinds) {
    const ask = (stageMs: number, fromMs: number) =>
      remindOfAll(parts, { kind, stageMs, fromMs, toMs: nowMs + stageMs, ...(maxAgeMs !== null && { maxAgeMs }) })
    // A key whose text is overdue still works, so it is worth a reminder; one that has expired is not.
    if (kind !== 'expiry') await ask(0, nowMs - graceMs)
    for (const [at, stageMs] of stages.entries()) await ask(stageMs, nowMs + (at === 0 ? 0 : stages[at - 1]!))
  }
}

async function remindOfAll(parts: ReminderParts, query: KeyReminderQuery): Promise<void> {
  for (let round = 0; round < roundsMax; round++) {
    const claimed = await parts.store.claim(query)
    for (const one of claimed) deliverReminder(parts, one)
    if (claimed.length === 0) return
  }
}

function deliverReminder({ logger, mailer, deliver, settings }: ReminderParts, reminder: KeyReminder): void {
  const { webhookUrls, alertEmails, graceMs } = settings()
  const event = eventOf(reminder, graceMs)
  const { event_message: message, ...fields } = event
  logger.warn(message, fields)
  const to = [...alertEmails, ...(mailer && reminder.email !== null ? [reminder.email] : [])]
  if (webhookUrls.length + to.length === 0) return
  deliver({ about: 'a key', event, webhookUrls, mail: to.length === 0 ? undefined : mailOf(event, to) })
}

type KeyEvent = ReturnType<typeof eventOf>

/** Fields as those of alerts of budgets (docs.litellm.ai/docs/proxy/alerting, "Webhooks", 2026-11-23). */
function eventOf({ kind, keyId, alias, hint, userId, teamId, dueMs, stageMs }: KeyReminder, graceMs: number) {
  const isExpiry = kind === 'expiry'
  const iso = (ms: number) => new Date(ms).toISOString()
  return {
    id: `${keyId}:${kind}@${dueMs}-${stageMs}`,
    event: isExpiry ? 'key_expires' : 'key_rotation_due',
    event_group: 'key',
    event_message: isExpiry
      ? 'a key ends soon'
      : stageMs === 0
        ? 'the text of a key is too old and will be refused'
        : 'the text of a key has to be replaced soon',
    key_id: keyId,
    key_alias: alias,
    key_name: hint,
    user_id: userId,
    team_id: teamId,
    due_at: iso(dueMs),
    refused_from: iso(isExpiry ? dueMs : dueMs + graceMs),
  }
}

function mailOf(event: KeyEvent, to: readonly string[]): Mail {
  const name = event.key_alias === null ? event.key_name : `${event.key_name} (${event.key_alias})`
  const remedy =
    event.event === 'key_expires'
      ? 'Make another key before, or have its time extended (POST /key/update with `duration`).'
      : 'Replace its text by POST /key/regenerate; with `grace_period` the one before works for a while beside it.'
  return {
    to,
    subject: `Key ${name}: ${event.event_message}`,
    text:
      `The key ${name} is due at ${event.due_at} and refused from ${event.refused_from} on.\n${remedy}\n\n` +
      `Alert: ${event.id}\n`,
  }
}
