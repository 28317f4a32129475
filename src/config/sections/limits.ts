/** What counts against limits of keys and users, what decides on them without Redis, and limits of users. */
import { z } from 'zod'
import { settingKeys, withDefaults } from '../../core/setting-keys.ts'
import type { Values } from '../../core/setting-keys.ts'
import { count } from './value-types.ts'

/** Keys of `general_settings`. */
export const limitKeys = settingKeys('limits', {
  max_keys_per_user: {
    type: count,
    description: 'How many valid keys a user may have. Without it there is no limit.',
    example: 5,
  },
  rate_limit_counts: {
    type: () => z.enum(['calls', 'requests']),
    default: 'calls',
    description:
      'What takes one of the requests a minute: `calls` are those of models and files and what creates or changes ' +
      'assistants, threads and messages; `requests` are all that are made with a key, listing and polling too.',
    example: 'calls',
  },
  limits_without_redis: {
    type: () => z.union([z.enum(['refuse', 'share']), z.number().gt(0).max(1)]),
    default: 'share',
    description:
      'What decides on limits while the Redis of REDIS_URL is away. With `refuse` calls of limited keys get 503. ' +
      'With `share` each replica admits its part of every limit, one part for each replica that was seen last. A ' +
      'number is the part that each replica admits, 1 = all of it.',
    example: 'share',
  },
})

/** How calls are counted. */
export function limitSettingsOf(given: Values<typeof limitKeys>) {
  const general = withDefaults(limitKeys, given)
  return {
    keysPerUser: general.max_keys_per_user ?? null,
    rateLimitCounts: general.rate_limit_counts,
    limitsWithoutRedis: general.limits_without_redis,
  }
}
