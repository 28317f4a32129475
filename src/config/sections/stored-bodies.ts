/** Keys about storing what is said in calls, and the settings that are made of them (docs/stored-bodies.md). */
import { z } from 'zod'
import { days } from './ledger.ts'

/** Of `general_settings`; the first is LiteLLM's. */
export const bodyStoreSettings = {
  store_prompts_in_spend_logs: z
    .boolean()
    .optional()
    .describe(
      'true: request and answer of every call are stored, encrypted, unless its key, its team or its client says no. ' +
        'false: of none. Left out: of keys and teams that say so (docs/stored-bodies.md).',
    ),
  maximum_stored_bodies_retention_period: days.optional().describe('How long they are kept; 30d when left out.'),
  max_stored_body_kb: z
    .number()
    .min(1)
    .max(65_536)
    .optional()
    .describe('Of one request or answer; longer ones are cut. 1024 when left out.'),
  max_stored_bodies_mb: z
    .number()
    .min(0.1)
    .max(1_073_741_824)
    .optional()
    .describe('Of all that are stored: the oldest are deleted beyond it. 10240 when left out.'),
  max_waiting_bodies_mb: z
    .number()
    .min(0.1)
    .max(65_536)
    .optional()
    .describe('Of those in memory, of open calls and on their way: what is beyond it is not stored. 64 when left out.'),
  stored_bodies_readers: z
    .enum(['owners', 'proxy_admins'])
    .optional()
    .describe(
      'Who reads and deletes them. owners: who may read the call in the ledger. proxy_admins: administrators alone. ' +
        'owners when left out.',
    ),
}

/** Of `settings`, as LiteLLM names them. */
export const bodyRefusalSettings = {
  turn_off_message_logging: z
    .boolean()
    .optional()
    .describe('true: nothing that is said in calls is stored, also where keys or teams ask for it.'),
  global_disable_no_log_param: z
    .boolean()
    .optional()
    .describe('true: clients cannot keep their calls from being stored (`no-log`).'),
}
