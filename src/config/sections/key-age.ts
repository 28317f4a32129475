/** How old the texts of keys may become, and who is reminded before. */
import { z } from 'zod'
import type { KeyRotationSettings } from '../../core/settings.ts'
import { settingKeys, withDefaults } from '../../core/setting-keys.ts'
import type { Values } from '../../core/setting-keys.ts'
import type { alertKeys } from './alerts.ts'
import { duration, durationMs } from './value-types.ts'

/** Keys of `general_settings`. */
export const keyAgeKeys = settingKeys('limits', {
  max_key_age: {
    type: duration,
    description:
      'How old the text of a key may become, as 90d; then it has to be replaced (POST /key/regenerate), and is ' +
      'refused when `key_rotation_grace` is over as well. Without it texts may be of any age.',
    example: '90d',
  },
  key_rotation_grace: {
    type: duration,
    default: '7d',
    description:
      'How long the text of a key works that should have been replaced, by `max_key_age` or by `rotation_interval`.',
    example: '14d',
  },
  key_reminders: {
    type: () => z.array(duration()).max(5),
    default: ['7d', '1d'],
    description:
      'How long before a key ends, or its text has to be replaced, it is announced, each time once: in the log, to ' +
      "the addresses of `key_alerts`, and by mail to the key's user. An empty list means never.",
    example: ['14d', '1d'],
    group: 'mail',
  },
})

/** When the texts of keys have to be replaced, and who is told. */
export function keyRotationOf(given: Values<typeof keyAgeKeys> & Values<typeof alertKeys>): KeyRotationSettings {
  const { max_key_age: maxAge, key_rotation_grace: grace, key_reminders: reminders } = withDefaults(keyAgeKeys, given)
  return {
    maxAgeMs: maxAge === undefined ? null : durationMs(maxAge),
    graceMs: durationMs(grace),
    reminderStagesMs: reminders.map(durationMs),
    webhookUrls: [given.alert_to_webhook_url?.key_alerts ?? []].flat(),
    alertEmails: [given.alert_to_email?.key_alerts ?? []].flat(),
  }
}
