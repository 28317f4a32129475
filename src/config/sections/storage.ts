/** What keys may store (`access/storage-quota.ts`), and how long it is kept. */
import { z } from 'zod'
import { settingKeys, withDefaults } from '../../core/setting-keys.ts'
import type { Values } from '../../core/setting-keys.ts'
import { dayMs } from '../../lib/clock.ts'
import { count } from './value-types.ts'

const days = () => z.number().positive().max(3650)

/** Keys of `general_settings`. The first two may be null, for no limit. */
export const storageKeys = settingKeys('retention', {
  max_stored_objects_per_key: {
    type: () => count().nullable(),
    default: 100_000,
    description:
      'How many assistants, threads, messages, runs, stored responses, files and batches a key may have together; ' +
      'what would be more is refused with 429. null means no limit. The master key has none.',
    example: 100_000,
  },
  max_stored_mb_per_key: {
    type: () => z.number().min(0.001).max(1_048_576).nullable(),
    default: 1024,
    description:
      'How many MB of the database the stored objects of a key may take together; of files and batches only their ' +
      'records count. null means no limit.',
    example: 1024,
  },
  response_retention_days: {
    type: days,
    default: 30,
    description: 'How many days /v1/responses keeps answers.',
    example: 30,
  },
  chat_retention_days: {
    type: days,
    description:
      'How many days conversations are kept after their last message at most. Without it each person decides.',
    example: 365,
  },
})

/** What a key may store, and for how long. */
export function storageSettingsOf(given: Values<typeof storageKeys>) {
  const general = withDefaults(storageKeys, given)
  const { max_stored_mb_per_key: mb, chat_retention_days: chatDays } = general
  return {
    storageQuota: {
      objectsMax: general.max_stored_objects_per_key,
      bytesMax: mb === null ? null : Math.floor(mb * 1024 * 1024),
    },
    responseRetentionMs: general.response_retention_days * dayMs,
    ...(chatDays !== undefined && { chatRetentionMs: chatDays * dayMs }),
  }
}
