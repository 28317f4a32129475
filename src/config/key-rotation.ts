/** The settings of the ages of keys, from a checked configuration. */
import { readDuration } from '../access/key.ts'
import type { KeyRotationSettings } from '../core/settings.ts'
import type { Config } from './sections/file.ts'

const graceDefault = '7d'
const remindersDefault = ['7d', '1d']

/** When the texts of keys have to be replaced; throws nothing, as the durations were checked with the file. */
export function keyRotationOf(general: NonNullable<Config['general_settings']>): KeyRotationSettings {
  const {
    max_key_age: maxAge,
    key_rotation_grace: grace = graceDefault,
    key_reminders: reminders = remindersDefault,
  } = general
  return {
    maxAgeMs: maxAge === undefined ? null : msOf(maxAge),
    graceMs: msOf(grace),
    reminderStagesMs: reminders.map(msOf),
    webhookUrls: [general.alert_to_webhook_url?.key_alerts ?? []].flat(),
    alertEmails: [general.alert_to_email?.key_alerts ?? []].flat(),
  }
}

function msOf(text: string): number {
  const read = readDuration(text)
  return 'ms' in read ? read.ms : 0
}
