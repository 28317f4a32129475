/** Keys of `general_settings` about what keys may store (`access/storage-quota.ts`), and how long it is kept. */
import { z } from 'zod'

/** The first two may be null, for no limit. */
export const storageSettings = {
  max_stored_objects_per_key: z
    .number()
    .int()
    .min(1)
    .max(1_000_000_000)
    .nullable()
    .optional()
    .describe(
      'Assistants, threads, messages, runs, stored responses, files and batches of a key together; what would be ' +
        'more is refused with 429. 100,000 when left out; null = no limit. The master key has none.',
    ),
  max_stored_mb_per_key: z
    .number()
    .min(0.001)
    .max(1_048_576)
    .nullable()
    .optional()
    .describe(
      'The same in MB of the database; of files and batches only their records. 1024 when left out; null = no limit.',
    ),
  response_retention_days: z
    .number()
    .positive()
    .max(3650)
    .optional()
    .describe('How long /v1/responses keeps answers; 30 unless said.'),
  chat_retention_days: z
    .number()
    .positive()
    .max(3650)
    .optional()
    .describe('How long conversations are kept after their last message at most; absent = as each person says.'),
}
