/**
 * The fields of a chat request in OpenAI's names (API reference, "Create chat completion"). These are also the names by
 * which the gateway reports dropped fields and supported parameters, in all dialects of clients and upstreams.
 */
import type { ChatRequest, Tool } from './chat.ts'
import * as type from '../dialects/fields.ts'
import type { Field } from '../dialects/fields.ts'
import { effortWords } from '../../../rules/efforts.ts'

/** Flags of `model_info` and the catalogue; false = the model lacks the ability, and its fields mean nothing to it. */
export type Ability =
  | 'supports_function_calling'
  | 'supports_tool_choice'
  | 'supports_parallel_function_calling'
  | 'supports_reasoning'
  | 'supports_web_search'
  | 'supports_audio_output'

/** One field of a chat request. */
export interface ChatField extends Field<ChatRequest> {
  /**
   * Requests that ask for it, to find out whether a provider's translation drops it; one that passes is enough. A plain
   * field with a property has one by its schema.
   */
  readonly probes?: readonly Partial<ChatRequest>[]
  /** Further names by which its loss may be reported. */
  readonly lostAs?: readonly string[]
  /** A value that asks for nothing: no loss where a provider drops it. */
  readonly neutral?: unknown
  readonly needs?: readonly Ability[]
  /** Every chat takes it: the gateway itself sees to it, or there is no chat without it. */
  readonly always?: true
  /** Safety classifiers, which judge one message and write one word, take it too. */
  readonly guard?: true
  /** Only OpenAI's own hosts are known to take it; to others it is forwarded, and they judge it. */
  readonly newest?: true
}

const tools: Tool[] = [{ name: 'name', parameters: { type: 'object', properties: {} } }]
const schema = { type: 'object', properties: {}, additionalProperties: false }
const calling: Ability = 'supports_function_calling'

/** The client's words for how much a model shall think. */
export const reasoningEfforts = effortWords

/** `reasoning_effort` of chats: as if the field were absent. Groq's word; most upstreams refuse it. */
export const defaultEffort = 'default'

/** Fields that text completions have too, with the same meaning. */
export const sharedChatFields: readonly ChatField[] = [
  { name: 'seed', schema: type.int64, property: 'seed', probes: [{ seed: 7 }], guard: true },
  {
    name: 'n',
    schema: type.integer(1, 128),
    property: 'choices',
    neutral: 1,
    description: 'How many choices there are in the answer.',
  },
  {
    name: 'stop',
    schema: type.anyOf(type.text, type.texts),
    property: 'stop',
    converted: true,
    probes: [{ stop: ['stop'] }],
  },
  { name: 'stream', schema: type.boolean, always: true, guard: true },
  { name: 'stream_options', schema: { type: 'object' }, always: true, guard: true },
  { name: 'temperature', schema: type.number(0, 2), property: 'temperature', guard: true },
  { name: 'top_p', schema: type.number(0, 1), property: 'topP' },
  { name: 'frequency_penalty', schema: type.number(-2, 2), property: 'frequencyPenalty' },
  { name: 'presence_penalty', schema: type.number(-2, 2), property: 'presencePenalty' },
  { name: 'logit_bias', schema: { type: 'object', additionalProperties: { type: 'number' } }, property: 'logitBias' },
  { name: 'user', schema: type.text, property: 'user', guard: true },
  {
    name: 'metadata',
    schema: type.object,
    property: 'metadata',
    probes: [{ metadata: { team: 'text' } }],
    guard: true,
  },
]

const toolFields: readonly ChatField[] = [
  { name: 'tools', schema: type.objects, property: 'tools', converted: true, probes: [{ tools }], needs: [calling] },
  {
    name: 'tool_choice',
    schema: type.anyOf(type.text, type.object),
    property: 'toolChoice',
    converted: true,
    probes: [
      { tools, toolChoice: 'required' },
      { tools, toolChoice: { name: 'name' } },
    ],
    needs: [calling, 'supports_tool_choice'],
  },
  {
    name: 'parallel_tool_calls',
    schema: type.boolean,
    property: 'parallelToolCalls',
    // Without the field a model decides by itself: only `false` asks for something that can be lost.
    neutral: true,
    probes: [{ tools, parallelToolCalls: false }],
    needs: [calling, 'supports_parallel_function_calling'],
  },
  {
    name: 'functions',
    schema: type.objects,
    probes: [{ tools }],
    lostAs: ['tools'],
    needs: [calling],
    description: 'It is the older name of `tools`.',
  },
  {
    name: 'function_call',
    schema: type.anyOf(type.text, type.object),
    probes: [{ tools, toolChoice: { name: 'name' } }],
    lostAs: ['tool_choice'],
    needs: [calling, 'supports_tool_choice'],
    description: 'It is the older name of `tool_choice`.',
  },
]

const reasoningFields: readonly ChatField[] = [
  {
    name: 'reasoning_effort',
    schema: type.oneOf(...reasoningEfforts, defaultEffort),
    property: 'reasoning',
    converted: true,
    // A model with one word for thinking has it for all of the client's words, which are reported.
    probes: [{ reasoning: { effort: 'high' } }, { reasoning: { effort: 'low' } }, { reasoning: { enabled: true } }],
    lostAs: ['reasoning', 'thinking'],
    needs: ['supports_reasoning'],
  },
  {
    name: 'top_k',
    schema: type.integer(-1),
    property: 'topK',
    converted: true,
    probes: [{ topK: 5 }],
    description: 'Vendors other than OpenAI have it; 0 and -1 switch it off.',
  },
  {
    name: 'thinking',
    schema: { type: 'object' },
    probes: [{ reasoning: { budgetTokens: 2048 } }],
    lostAs: ['reasoning', 'reasoning_effort'],
    needs: ['supports_reasoning'],
    description: "It is Anthropic's field, with `type` and `budget_tokens`.",
  },
  {
    name: 'reasoning',
    schema: { type: 'object' },
    description: "It is OpenRouter's field, with `effort`, `max_tokens` and `enabled`.",
  },
]

const message = {
  type: 'object',
  properties: {
    role: { enum: ['system', 'developer', 'user', 'assistant', 'tool', 'function'] },
    content: { anyOf: [type.text, type.objects, { type: 'null' }] },
    name: { type: ['string', 'null'] },
    tool_call_id: { type: 'string' },
    tool_calls: type.objects,
  },
  required: ['role'],
}

/** Every field of a chat but those for the gateway itself. */
export const chatFields: readonly ChatField[] = [
  {
    name: 'messages',
    schema: { type: 'array', items: message, minItems: 1 },
    required: true,
    always: true,
    guard: true,
  },
  { name: 'model', schema: type.text, required: true, always: true, guard: true },
  ...toolFields,
  {
    name: 'max_tokens',
    schema: type.integer(1),
    property: 'maxOutputTokens',
    probes: [{ maxOutputTokens: 2048 }],
    guard: true,
  },
  {
    name: 'max_completion_tokens',
    schema: type.integer(1),
    probes: [{ maxOutputTokens: 2048 }],
    lostAs: ['max_tokens'],
    guard: true,
    description: 'The newer name of `max_tokens`; it counts where both are sent.',
  },
  ...sharedChatFields,
  {
    name: 'logprobs',
    schema: type.anyOf(type.boolean, type.integer(0, 20)),
    property: 'logprobs',
    converted: true,
    neutral: false,
    probes: [{ logprobs: true }],
    description: 'A number is what Together and Fireworks take: how many alternatives are wanted beside each token.',
  },
  {
    name: 'top_logprobs',
    schema: type.integer(0, 20),
    property: 'topLogprobs',
    converted: true,
    probes: [{ logprobs: true, topLogprobs: 1 }],
  },
  {
    name: 'response_format',
    schema: { type: 'object' },
    property: 'responseFormat',
    converted: true,
    probes: [
      { responseFormat: { type: 'json-object' } },
      { responseFormat: { type: 'json-schema', name: 'name', schema } },
    ],
  },
  {
    name: 'service_tier',
    schema: type.text,
    property: 'serviceTier',
    neutral: 'auto',
    probes: ['default', 'flex', 'priority'].map(serviceTier => ({ serviceTier })),
  },
  ...reasoningFields,
  {
    name: 'chat_template_kwargs',
    schema: type.object,
    extra: true,
    description: 'It is for hosts that have chat templates.',
  },
  { name: 'modalities', schema: type.anything, extra: true, newest: true },
  { name: 'audio', schema: type.anything, extra: true, newest: true, needs: ['supports_audio_output'] },
  { name: 'prediction', schema: type.anything, extra: true, newest: true },
  { name: 'store', schema: type.anything, extra: true, newest: true },
  { name: 'verbosity', schema: type.anything, extra: true, newest: true },
  { name: 'web_search_options', schema: type.anything, extra: true, newest: true, needs: ['supports_web_search'] },
  { name: 'prompt_cache_key', schema: type.anything, extra: true, newest: true },
  { name: 'safety_identifier', schema: type.anything, extra: true, newest: true },
]

/** Fields that only OpenAI's own hosts are known to take. */
export const newestChatFields: readonly string[] = chatFields.filter(field => field.newest).map(field => field.name)

/** The properties of the hub and the field that says each, in the order of the table. */
export const carriedFields: readonly (ChatField & { readonly property: keyof ChatRequest })[] = chatFields.filter(
  (field): field is ChatField & { readonly property: keyof ChatRequest } => field.property !== undefined,
)
const fieldOf = new Map(carriedFields.map(field => [field.property, field]))

const neutralValues = new Map(chatFields.map(field => [field.name, field.neutral]))

/** The value of a field that asks for nothing; undefined = there is none. */
export const neutralOf = (name: string): unknown => neutralValues.get(name)

/** A property of the hub that a provider may have no word for. */
export type CarriedProperty = Exclude<
  keyof ChatRequest,
  | 'model'
  | 'messages'
  | 'stream'
  | 'includeUsage'
  | 'extra'
  | 'understoodExtra'
  | 'essentialExtra'
  | 'essentialCode'
  | 'series'
  | 'dropped'
>

/**
 * The client's names of those `properties` that the request sets, in this order: what a provider reports as dropped,
 * because it has no word for them. A value that asks for nothing (one choice, no logprobs) is no loss.
 */
export function namesOfSet(request: ChatRequest, properties: readonly CarriedProperty[]): string[] {
  const names: string[] = []
  for (const property of properties) {
    const { name, neutral } = fieldOf.get(property)!
    const value = request[property]
    if (value !== undefined && value !== neutral) names.push(name)
  }
  return names
}
