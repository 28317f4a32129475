/** `model_info` of an entry of `model_list`: what is known about the model, and what it can do by itself. */
import { z } from 'zod'
import { settingKeys } from '../../core/setting-keys.ts'
import { priceKeys } from './prices.ts'
import { count, modelName, text } from './value-types.ts'

/** true, false, or null and absent = not said. */
const flag = () => z.boolean().nullable()
const ability = <const Example extends boolean>(description: string, example: Example) =>
  ({ type: flag, description, example }) as const
const modalities = () => z.array(z.enum(['text', 'image', 'audio', 'video']))

/** What a model can do; the defaults by name are in `config/models/model-profile.ts` and `responses-models.ts`. */
const abilityKeys = settingKeys('providers', {
  supports_vision: ability('Whether the model takes images as input.', true),
  supports_function_calling: ability('Whether the model takes tools and calls them.', true),
  supports_parallel_function_calling: ability('Whether the model calls several tools at once.', true),
  supports_tool_choice: ability('Whether the model takes the field `tool_choice`.', true),
  supports_response_schema: ability('Whether the model takes a JSON schema for its answer.', true),
  supports_reasoning: ability('Whether the model thinks before it answers.', false),
  supports_prompt_caching: ability('Whether its provider keeps prompts at a lower price.', false),
  supports_system_messages: ability('Whether the model takes system messages.', true),
  supports_audio_input: ability('Whether the model takes audio as input.', false),
  supports_audio_output: ability('Whether the model answers with audio.', false),
  supports_video_input: ability('Whether the model takes video as input.', false),
  supports_pdf_input: ability('Whether the model takes PDF files as input.', false),
  supports_image_output: ability('Whether the model answers with images.', false),
  supports_web_search: ability('Whether the model searches the web by itself.', false),
  supported_modalities: {
    type: modalities,
    description: 'What the model takes as input. Left out: it is made from the keys `supports_...`.',
    example: ['text', 'image'],
  },
  supported_output_modalities: {
    type: modalities,
    description: 'What the model answers with. Left out: it is made from the keys `supports_...`.',
    example: ['text'],
  },
  tool_calling: {
    type: () => z.enum(['auto', 'native', 'forced_only', 'prompted', 'after_think', 'none']),
    description:
      'How tools reach the model. Left out: `auto`, which goes by its name; `native` where the name says nothing.',
    example: 'prompted',
  },
  thinking: {
    type: () => z.enum(['separate', 'tags', 'tags_open']),
    description:
      'Where the thinking of the model is. `tags`: as <think>...</think> in the text. `tags_open`: the text begins ' +
      'inside it. Left out: its name decides.',
    example: 'tags',
  },
  alternate_roles: ability(
    'Whether the template of the model wants user and assistant in turn; tool results go back as user.',
    true,
  ),
  structured_output: {
    type: () => z.enum(['native', 'json_object', 'none']),
    description:
      'What the host of the model enforces; otherwise a schema is asked for in the prompt and checked by the ' +
      'gateway. Left out: it is sent as it is, and whole answers to strict schemas are checked unless the host is ' +
      'known to enforce them.',
    example: 'json_object',
  },
  chat_api: {
    type: () => z.enum(['auto', 'chat', 'responses']),
    description:
      'Where the upstream is asked for chats: /chat/completions or /responses. Left out: `auto`, by the model and by ' +
      'what the call asks for.',
    example: 'responses',
  },
  guard: ability('Whether the model is a safety classifier: one user message in, safe or unsafe out.', false),
})

/** The keys of `model_info`. */
export const modelInfoKeys = {
  ...settingKeys('providers', {
    id: {
      type: () => z.string().regex(/^[A-Za-z0-9._:-]{1,128}$/, 'an id has 1 to 128 letters, digits and . _ : -'),
      description:
        'A name of your own for the deployment, as it stands in headers and the ledger. Entries that differ in their ' +
        'key alone are otherwise distinguished by their order.',
      example: 'gpt-eu-1',
    },
    mode: {
      type: () =>
        z.enum([
          'chat',
          'completion',
          'embedding',
          'moderation',
          'rerank',
          'image_generation',
          'audio_speech',
          'audio_transcription',
        ]),
      description: 'The kind of calls that the model is for. Left out: its name decides.',
      example: 'chat',
    },
    base_model: {
      type: text,
      description:
        'The name that the price catalogue and the rules of what a model refuses know, when the upstream uses its own.',
      example: 'gpt-4o',
    },
    access_groups: {
      type: () => z.array(text()),
      description: 'Names of groups: a key that lists one may use the models in it.',
      example: ['research'],
    },
    team_id: {
      type: text,
      description:
        'The team whose keys alone may call the model; a key of another team, or of none, does not see it. It stands ' +
        'in the place of a shared model of its name.',
      example: 'research',
    },
    team_public_model_name: {
      type: modelName,
      description: 'The name by which the keys of the team (`team_id`) call the model, in the place of `model_name`.',
      example: 'fast',
    },
    display_name: {
      type: text,
      description: 'A name for people, which is shown in lists of models.',
      example: 'GPT-4.1 mini',
    },
    description: {
      type: text,
      description: 'A sentence about the model, which is shown in lists of models.',
      example: 'Fast and cheap, for short texts.',
    },
    max_tokens: {
      type: count,
      description: 'How many tokens of output the model makes at most, as lists of models show it.',
      example: 16_384,
    },
    max_input_tokens: {
      type: count,
      description: 'How many tokens of input the model takes at most.',
      example: 128_000,
    },
    max_output_tokens: {
      type: count,
      description: 'How many tokens of output the model makes at most; `max_tokens` is its other name.',
      example: 16_384,
    },
    context_window: {
      type: count,
      description: 'How many tokens input and output may have together. Left out: as the catalogue says.',
      example: 128_000,
    },
    output_vector_size: {
      type: count,
      description: 'How many dimensions an embedding of the model has.',
      example: 1024,
    },
  }),
  ...abilityKeys,
  ...priceKeys,
}
