/** What counts against limits of keys and users, and what decides on them without Redis. */
import { z } from 'zod'

/** Keys of `general_settings`. */
export const limitSettings = {
  rate_limit_counts: z
    .enum(['calls', 'requests'])
    .optional()
    .describe(
      'What takes one of the requests a minute: `calls` of models and files and what creates or changes assistants, ' +
        'threads and messages, or all `requests` made with a key, listing and polling too.',
    ),
  limits_without_redis: z
    .union([z.enum(['refuse', 'share']), z.number().gt(0).max(1)])
    .optional()
    .describe(
      'What decides on limits while the Redis of REDIS_URL is away: `refuse` calls of limited keys with 503; ' +
        '`share`, the default: each replica admits its part of every limit, one part for each replica that was seen ' +
        'last; or the part that each replica admits, 1 = all of it.',
    ),
}
