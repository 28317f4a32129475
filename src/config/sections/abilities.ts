/** The part of `model_info` about what a model can do by itself, and what the gateway does for it. */
import { z } from 'zod'

/** true, false, or null and absent = not said. */
export const flag = z.boolean().nullable().optional()

/** Keys of `model_info`; the defaults by name are in `config/models/model-profile.ts` and `responses-models.ts`. */
export const abilities = {
  tool_calling: z
    .enum(['auto', 'native', 'forced_only', 'prompted', 'after_think', 'none'])
    .optional()
    .describe('How tools reach the model. Default: auto, by its name; native where the name says nothing.'),
  thinking: z
    .enum(['separate', 'tags', 'tags_open'])
    .optional()
    .describe('Where its thinking is. tags: <think>...</think> in the text; tags_open: the text begins inside it.'),
  alternate_roles: flag.describe('Its template wants user and assistant in turn; tool results go back as user.'),
  structured_output: z
    .enum(['native', 'json_object', 'none'])
    .optional()
    .describe(
      'What its host enforces; otherwise a schema is asked for in the prompt and checked by the gateway. Unset: ' +
        'sent as it is, and whole answers to strict schemas are checked unless the host is known to enforce them.',
    ),
  chat_api: z
    .enum(['auto', 'chat', 'responses'])
    .optional()
    .describe(
      'Where the upstream is asked for chats: /chat/completions or /responses. Default: auto, by the model and ' +
        'by what the call asks for.',
    ),
  guard: flag.describe('A safety classifier: one user message in, safe or unsafe out.'),
}
