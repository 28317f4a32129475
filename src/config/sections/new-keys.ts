/** Keys of `settings` about the keys and users that are made by API, in LiteLLM's names. */
import { z } from 'zod'
import { checkedText } from '../checks/checked-text.ts'
import { budgetUsd } from './budgets.ts'
import { readDuration } from '../../access/key.ts'

const count = z.number().int().min(0).max(1_000_000_000)
const duration = checkedText(z.string(), text => {
  const read = readDuration(text)
  return 'problem' in read ? read.problem : undefined
})
const limitFields = {
  max_budget: budgetUsd
    .optional()
    .describe('In US dollars.')
    .meta({ examples: [10] }),
  budget_duration: duration
    .optional()
    .describe('After which the budget begins anew.')
    .meta({ examples: ['30d'] }),
  duration: duration
    .optional()
    .describe('How long the key lives: 30d, 1mo, ...')
    .meta({ examples: ['90d'] }),
  rpm_limit: count
    .optional()
    .describe('Requests a minute.')
    .meta({ examples: [60] }),
  tpm_limit: count
    .optional()
    .describe('Tokens a minute.')
    .meta({ examples: [100_000] }),
  max_parallel_requests: count
    .optional()
    .describe('Calls under way at once.')
    .meta({ examples: [5] }),
}

/** Keys of `settings`. */
export const newKeySettings = {
  default_key_generate_params: z
    .strictObject({
      ...limitFields,
      models: z
        .array(z.string())
        .max(1000)
        .optional()
        .describe('Names, patterns and access groups.')
        .meta({ examples: [['gpt-4.1-mini']] }),
      metadata: z
        .record(z.string(), z.unknown())
        .optional()
        .describe('Of the key.')
        .meta({ examples: [{ project: 'search' }] }),
      team_id: z
        .string()
        .min(1)
        .max(255)
        .optional()
        .describe('Of the key.')
        .meta({ examples: ['team-a'] }),
      user_id: z
        .string()
        .min(1)
        .max(255)
        .optional()
        .describe('Of the key.')
        .meta({ examples: ['user-a'] }),
    })
    .optional()
    .describe('What a key gets that is made without these fields, by API (also by `/user/new`) or the command line.'),
  upperbound_key_generate_params: z
    .strictObject(limitFields)
    .optional()
    .describe(
      'The most that a key may have, a raise included, that is made or changed by API or the command line, also by ' +
        'administrators. A key that is made without a field gets its bound, unless its default is less. Tokens of ' +
        'directories, and keys that are brought from LiteLLM, are not bound.',
    ),
  max_internal_user_budget: budgetUsd
    .optional()
    .describe('The same as `max_budget` of `default_internal_user_params`, which wins.'),
  internal_user_budget_duration: duration
    .optional()
    .describe('The same as `budget_duration` of `default_internal_user_params`, which wins.'),
}
