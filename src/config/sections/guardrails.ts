/** A guardrail in the configuration file. */
import { z } from 'zod'
import { guardrailName, guardrailParams } from '../../guardrails/params.ts'

const guardrail = z.strictObject({
  guardrail_name: guardrailName
    .describe('The name by which keys, teams, models and requests refer to it.')
    .meta({ examples: ['pii'] }),
  proxy_params: guardrailParams.describe('What it does; `litellm_params` is the same.'),
  guardrail_info: z
    .record(z.string(), z.unknown())
    .optional()
    .describe('Notes of your own, shown in lists.')
    .meta({ examples: [{ description: 'personal data of customers' }] }),
})

/** The list of the file. */
export const guardrailList = z
  .array(guardrail)
  .max(1000)
  .refine(
    list => new Set(list.map(one => one.guardrail_name)).size === list.length,
    'has two guardrails of one name; give each a name of its own',
  )
  .optional()
  .describe('Rules that read the texts of calls (docs/guardrails.md).')
