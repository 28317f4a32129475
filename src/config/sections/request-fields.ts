/** Keys of the configuration about a client's body: which fields reach an upstream, what stands for absent ones. */
import { z } from 'zod'
import { guardrailName } from '../../guardrails/params.ts'
import { defaultFieldParams } from './default-fields.ts'

const dropParams = z
  .boolean()
  .optional()
  .describe(
    'true: parameters that the upstream does not take are dropped and named in a header; false: such calls are ' +
      'refused. When left out all are dropped but `n`: a call for several answers is refused by what gives one.',
  )

/** Of `proxy_params`. */
export const fieldParams = {
  drop_params: dropParams,
  allowed_fields: z
    .array(z.string().min(1))
    .optional()
    .describe(
      'Fields of a body that pass to this upstream although they choose another model, route, plugin or data source ' +
        'there (`models`, `provider`, `plugins`, ...), or although `forward_unknown_fields` is false.',
    ),
  forward_unknown_fields: z.boolean().optional().describe('As in `settings`, for this upstream.'),
  guardrails: z
    .array(guardrailName)
    .max(100)
    .optional()
    .describe('Guardrails that hold for every call that this model may serve.'),
  ...defaultFieldParams,
}

/** The keys of `settings` that say which fields of a body reach an upstream. */
export const fieldSettings = {
  drop_params: dropParams,
  forward_unknown_fields: z
    .boolean()
    .optional()
    .describe(
      'false = fields of a body that its dialect does not know are not sent; true (when left out) = they pass, ' +
        'except those that choose a model, route, plugin or data source at the upstream. See `allowed_fields`.',
    ),
}

/** Of `general_settings`: models for calls that name none, in LiteLLM's words where it has one. */
export const defaultModelSettings = {
  moderation_model: z
    .string()
    .min(1)
    .optional()
    .describe(
      'For moderations without `model`; left out = the first moderation model, else the first guard model, else the ' +
        "one of OpenAI's where a pattern such as `openai/*` has it.",
    ),
  image_generation_model: z
    .string()
    .min(1)
    .optional()
    .describe(
      'For images without `model`; left out = the first image generation model that the key may use, else the one of ' +
        "OpenAI's where a pattern such as `openai/*` has it.",
    ),
  files_model: z
    .string()
    .min(1)
    .optional()
    .describe('Files whose upload names no upstream go to that of this model, where several upstreams take files.'),
}

/** Of `general_settings`. */
export const objectIdSettings = {
  provider_object_ids: z
    .enum(['master_key', 'all_keys', 'none'])
    .optional()
    .describe(
      "Who may name objects of the provider's account by the provider's own ids (files, vector stores, containers, " +
        'prompts, cached contents, addresses in its storage): only calls with the `master_key` (when left out), ' +
        '`all_keys`, or `none`.',
    ),
}
