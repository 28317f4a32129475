/** Which fields of a client's body reach an upstream, what stands for absent ones, and whose ids it may name. */
import { z } from 'zod'
import { settingKeys, withDefaults } from '../../core/setting-keys.ts'
import type { Values } from '../../core/setting-keys.ts'
import { guardrailName } from '../../guardrails/params.ts'
import { checkedText, openMap, text } from './value-types.ts'
import type { CachePoint } from '../../core/dialects/prompt-marks.ts'
import { lazy } from '../../lib/lazy.ts'

const dropParams = {
  type: () => z.boolean(),
  description:
    'true: parameters that the upstream does not take are dropped and named in a header. false: such calls are ' +
    'refused. Left out: all are dropped but `n`, as a call for several answers is refused by what gives one.',
} as const

const penalty = () => z.number().min(-2).max(2)
const wantsThinking = 'must have a `type` of `enabled`, `disabled` or `adaptive`'
const headerName = () => z.string().regex(/^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}$/, 'must be the name of a header')
/** Fields that the gateway itself sets or reads. */
const ownFields: ReadonlySet<string> = new Set(['model', 'messages', 'prompt', 'input', 'stream', 'n'])

/**
 * Keys of `proxy_params` for fields that a call does not have, in LiteLLM's names. Their words in other dialects:
 * core/dialects/default-fields.ts.
 */
const defaultFieldKeys = settingKeys('routing', {
  temperature: {
    type: () => z.number().min(0).max(2),
    description: 'The temperature of calls that give none.',
    example: 0.2,
  },
  top_p: {
    type: () => z.number().min(0).max(1),
    description: 'The `top_p` of calls that give none, which is the share of likely tokens that are drawn from.',
    example: 0.9,
  },
  top_k: {
    type: () => z.number().int().min(0),
    description: 'The `top_k` of calls that give none, which is the number of likely tokens that are drawn from.',
    example: 40,
  },
  frequency_penalty: {
    type: penalty,
    description: 'The `frequency_penalty` of chats and completions that give none.',
    example: 0.5,
  },
  presence_penalty: {
    type: penalty,
    description: 'The `presence_penalty` of chats and completions that give none.',
    example: 0.5,
  },
  seed: {
    type: () => z.number().int(),
    description: 'The `seed` of chats and completions that give none.',
    example: 7,
  },
  stop: {
    type: () => z.union([text(), z.array(text()).min(1)]),
    description: 'The stop sequences of chats, completions and Messages that give none.',
    example: ['END'],
  },
  thinking: {
    type: () =>
      openMap().refine(({ type }) => ['enabled', 'disabled', 'adaptive'].includes(String(type)), wantsThinking),
    description: 'How chats and Messages think that say nothing about reasoning, in the words of Messages.',
    example: { type: 'enabled', budget_tokens: 4096 },
  },
  reasoning_effort: {
    type: () => z.enum(['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max']),
    description: 'How much chats, Responses and Messages think that say nothing about reasoning.',
    example: 'high',
  },
  extra_body: {
    type: () =>
      z.record(
        z.string().refine(name => !ownFields.has(name), 'is set by the gateway or the client; take it out'),
        z.unknown(),
      ),
    description:
      'Fields that are added to chats, completions and embeddings without them, such as a host takes beyond the API.',
    example: { chat_template_kwargs: { enable_thinking: false } },
  },
})

/** Without these there is no call. */
const neededFields = ['model', 'messages', 'input', 'prompt', 'contents', 'stream']
const droppedName = () =>
  checkedText(text(), name => {
    if (neededFields.includes(name)) return 'is what a call is made of; take it out'
    return /[.[\]*]/.test(name) ? 'is the path of a part; name a whole field of the body' : undefined
  })
const droppedFields = {
  type: () => z.array(droppedName()).max(100),
  description:
    'Fields of a body that are never sent to this upstream, as it takes none or takes them otherwise than it should. ' +
    'The answer names them as dropped; a call with one that restricts how it is served is refused.',
}

const vendorNames = () => z.array(text()).max(100)

const cachePoint = lazy(() =>
  z
    .strictObject({
      location: z.enum(['message', 'tool_config']),
      role: z.enum(['system', 'developer', 'user', 'assistant', 'tool']).nullish(),
      index: z.coerce.number().int().nullish(),
      control: z.strictObject({ type: z.literal('ephemeral'), ttl: z.enum(['5m', '1h']).optional() }).optional(),
    })
    .refine(
      ({ location, role, index }) => location === 'tool_config' || role != null || index != null,
      'must say the `role` or the `index` of messages',
    ),
)

/** What is checked as a whole, as the points are words of LiteLLM's and no keys of ours. */
const isCachePoint = (point: unknown): boolean => cachePoint().safeParse(point).success

/** The marks that points ask for. */
export function cachePointsOf(points: readonly unknown[]): CachePoint[] {
  return points.map(point => {
    const { location, role, index, control } = cachePoint().parse(point)
    return {
      location,
      ...(role != null && { role }),
      ...(index != null && { index }),
      ...(control && { control: control.ttl ? { type: control.type, ttl: control.ttl } : { type: control.type } }),
    }
  })
}

/** Keys of `proxy_params`. */
export const modelFieldKeys = {
  ...settingKeys('routing', {
    cache_control_injection_points: {
      type: () =>
        z
          .array(
            openMap().refine(
              isCachePoint,
              'must be `{location: message, role: system}`, `{location: message, index: -1}` or ' +
                '`{location: tool_config}`, each with or without `control: {type: ephemeral, ttl: 1h}`',
            ),
          )
          .max(4),
      description:
        "Where a mark for the upstream's prompt cache is set in chats that have none: behind messages of a `role` or " +
        'at an `index`, below 0 from the end, or behind the tools (`tool_config`). `control` says for how long.',
      example: [{ location: 'message', role: 'system' }],
    },
    prompt_caching: {
      type: () => z.enum(['auto', 'off']),
      default: 'off',
      description:
        'auto: chats without a mark for the prompt cache get some behind the tools, the system prompt and the last ' +
        'but one turn, for upstreams that cache what is marked (Claude, Bedrock).',
      example: 'auto',
    },
    forward_client_credentials: {
      type: vendorNames,
      description:
        'The providers whose credentials callers may bring for this model: one that sends the key of the gateway in ' +
        '`x-proxy-api-key` or `x-litellm-api-key`, and beside it a token or key of the provider of this model, is ' +
        'served with theirs, at their cost. Without a key of its own the model is served in no other way.',
      example: ['anthropic'],
      group: 'providers',
    },
    drop_params: { ...dropParams, example: false },
    additional_drop_params: { ...droppedFields, example: ['tool_choice'] },
    allowed_fields: {
      type: () => z.array(text()),
      description:
        'Fields of a body that pass to this upstream although they choose another model, route, plugin or data ' +
        'source there (`models`, `provider`, `plugins`, ...), or although `forward_unknown_fields` is false.',
      example: ['models'],
    },
    forward_unknown_fields: {
      type: () => z.boolean(),
      description:
        'Whether fields pass to this upstream that its dialect does not know, in place of what `settings` says.',
      example: false,
    },
    forward_traceparent: {
      type: () => z.boolean(),
      description:
        'Whether this upstream is told in which trace a call is (`traceparent`, `tracestate`, `baggage`), in place ' +
        'of what `settings` says.',
      example: true,
    },
    guardrails: {
      type: () => z.array(guardrailName()).max(100),
      description: 'Guardrails that hold for every call that this model may serve.',
      example: ['pii'],
    },
  }),
  ...defaultFieldKeys,
}

/** Keys of `settings`. */
export const fieldKeys = settingKeys('routing', {
  extra_spend_tag_headers: {
    type: () => z.array(headerName()).max(20),
    description: 'Headers of calls that become tags of them, as `NAME: VALUE` with the name in lower case.',
    example: ['x-openwebui-user-email'],
    group: 'general',
  },
  forward_client_credentials: {
    type: vendorNames,
    description:
      'The providers whose credentials callers may bring for models at the own address of the provider, where the ' +
      'model says nothing else.',
    example: ['anthropic', 'openai'],
    group: 'providers',
  },
  drop_params: { ...dropParams, example: true },
  additional_drop_params: {
    ...droppedFields,
    description: 'Fields of a body that are never sent to models whose entry has no list of its own.',
    example: ['user'],
  },
  forward_unknown_fields: {
    type: () => z.boolean(),
    default: true,
    description:
      'true: fields of a body that its dialect does not know pass, except those that choose a model, route, plugin ' +
      'or data source at the upstream. false: they are not sent. `allowed_fields` of a model lets single ones pass.',
    example: false,
  },
  forward_traceparent: {
    type: () => z.boolean(),
    default: false,
    description:
      'true: upstreams are told in which trace a call is: by `traceparent` of the span of their attempt (of the ' +
      'client where no collector is configured), and by `tracestate` and `baggage` as the client sent them.',
    example: true,
    litellm: 'forward_traceparent_to_llm_provider',
  },
})

/**
 * Keys of `general_settings`: models for calls that name none, in LiteLLM's words where it has one; whose ids count.
 */
export const requestKeys = settingKeys('routing', {
  user_header_name: {
    type: headerName,
    description:
      'A header that names the end user of a call, in place of the `user` of its body. The headers ' +
      '`x-litellm-customer-id` and `x-litellm-end-user-id` win over it.',
    example: 'x-openwebui-user-email',
    group: 'general',
  },
  moderation_model: {
    type: text,
    description:
      'The model of moderations that name none. Left out: the first moderation model, else the first guard model, ' +
      "else the one of OpenAI's where a pattern such as `openai/*` has it.",
    example: 'omni-moderation-latest',
  },
  image_generation_model: {
    type: text,
    description:
      'The model of calls for images that name none. Left out: the first image generation model that the key may ' +
      "use, else the one of OpenAI's where a pattern such as `openai/*` has it.",
    example: 'gpt-image-1',
  },
  compaction_model: {
    type: text,
    description:
      'The model that writes the summary when a conversation is compacted whose upstream does not compact by itself, ' +
      "where the key may use it. Left out: the call's own model.",
    example: 'gpt-4.1-mini',
  },
  files_model: {
    type: text,
    description:
      'The model whose upstream gets files whose upload names no upstream, where several upstreams take files.',
    example: 'gpt-4.1-mini',
  },
  pass_through_providers: {
    type: vendorNames,
    default: [],
    description:
      'The providers to which requests of paths are passed on that the gateway does not know, under ' +
      '`/passthrough/{provider}/...` and `/{provider}/...`, with the credentials of a model of the provider. ' +
      'Nothing is passed on where a guardrail holds for every call, as it could not read it.',
    example: ['anthropic'],
    group: 'providers',
  },
  provider_object_ids: {
    type: () => z.enum(['master_key', 'all_keys', 'none']),
    default: 'master_key',
    description:
      "Who may name objects of the provider's account by the provider's own ids (files, vector stores, containers, " +
      'prompts, cached contents, addresses in its storage): only calls with the `master_key`, `all_keys`, or `none`.',
    example: 'master_key',
    group: 'general',
  },
})

/** What holds for requests that name no model, or an id of a provider. */
export function requestSettingsOf(given: Values<typeof requestKeys>) {
  const general = withDefaults(requestKeys, given)
  return {
    providerObjectIds: general.provider_object_ids,
    passThroughProviders: general.pass_through_providers,
    compactionModel: general.compaction_model,
    endUserHeader: general.user_header_name?.toLowerCase() ?? null,
    defaultModels: {
      moderation: general.moderation_model,
      image_generation: general.image_generation_model,
      files: general.files_model,
    },
  }
}
