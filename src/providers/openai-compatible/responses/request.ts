/** A chat request as the body of OpenAI's Responses (API reference, "Create a model response"). */
import { namesOfSet } from '../../../core/chat-fields.ts'
import type { CarriedProperty } from '../../../core/chat-fields.ts'
import type { ChatRequest, ResponseFormat, Tool } from '../../../core/chat.ts'
import type { TranslatedCall } from '../../../core/provider.ts'
import { isObject } from '../../../lib/json/json-values.ts'
import type { Json } from '../../../lib/json/json-values.ts'
import { unsaidReasoning, usesCacheControl } from '../request.ts'
import { inputItems } from './input.ts'

/** Properties that Responses has no field for. */
const unsaid: readonly CarriedProperty[] = [
  'choices',
  'stop',
  'seed',
  'frequencyPenalty',
  'presencePenalty',
  'logitBias',
  'topK',
]

/** Fields of chat completions that Responses has under the same name, with the same meaning. */
const sameInChat = new Set(['store', 'prompt_cache_key', 'prompt_cache_retention', 'safety_identifier'])

/** Responses refuses a smaller limit of the output (error `integer_below_min_value`). */
const outputTokensMin = 16

/**
 * Model names that reason (developers.openai.com, "Models"): only these take `include: reasoning.encrypted_content`;
 * others refuse it ("Encrypted content is not supported with this model").
 */
const reasoningModel = /(?:^|[/.])(?:o[1-9](?:-|$)|gpt-[5-9](?![^/]*-chat)|codex|computer-use)/i

interface HostOptions {
  readonly textTools?: boolean
  /** Whose encrypted reasoning can be sent. */
  readonly account: string
}

/**
 * The body, and the fields it cannot carry. Nothing is stored at the upstream unless the client asks for it. Throws
 * `invalid-request` for audio.
 */
export function responsesBody(
  request: ChatRequest,
  model: string,
  host: HostOptions,
): Pick<TranslatedCall, 'body' | 'dropped'> {
  const tools = host.textTools ? request.tools : request.tools?.map(({ freeText: _, ...tool }) => tool)
  const { items, dropped } = inputItems(request.messages, new Set(textToolNames(tools)), host.account)
  const text = textOptions(request)
  const { maxOutputTokens, temperature, topP, user, metadata, serviceTier } = request
  const fields = extraFields(request)
  const body: Json = {
    model,
    input: items,
    store: false,
    ...given({
      include: includes(request, model),
      tools: tools?.map(toolOf),
      tool_choice: toolChoice(request, tools),
      parallel_tool_calls: request.parallelToolCalls,
      max_output_tokens: maxOutputTokens === undefined ? undefined : Math.max(maxOutputTokens, outputTokensMin),
      temperature,
      top_p: topP,
      top_logprobs: request.logprobs ? request.topLogprobs : undefined,
      text: Object.keys(text).length > 0 ? text : undefined,
      reasoning: request.reasoning?.effort === undefined ? undefined : { effort: request.reasoning.effort },
      user,
      metadata,
      service_tier: serviceTier,
    }),
    ...fields.taken,
    ...(request.stream && { stream: true }),
  }
  const cached = usesCacheControl(request) ? ['cache_control'] : []
  const lost = [...fields.dropped, ...namesOfSet(request, unsaid), ...unsaidReasoning(request), ...cached, ...dropped]
  return { body, dropped: lost }
}

function given(fields: Json): Json {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))
}

/** `verbosity` is said inside `text`. */
function extraFields({ extra }: ChatRequest): { taken: Json; dropped: string[] } {
  if (extra.format === 'openai-responses') return { taken: extra.fields, dropped: [] }
  const isChat = extra.format === 'openai-chat'
  const taken: Json = {}
  const dropped: string[] = []
  for (const [name, value] of Object.entries(extra.fields))
    if (isChat && sameInChat.has(name)) taken[name] = value
    else if (!(isChat && name === 'verbosity')) dropped.push(name)
  return { taken, dropped }
}

function textOptions({ responseFormat, extra }: ChatRequest): Json {
  return given({
    format: responseFormat && formatOf(responseFormat),
    verbosity: extra.format === 'openai-chat' ? extra.fields.verbosity : undefined,
  })
}

function formatOf(format: ResponseFormat): Json {
  if (format.type === 'text') return { type: 'text' }
  if (format.type === 'json-object') return { type: 'json_object' }
  const { name, schema, strict, description } = format
  return { type: 'json_schema', name, schema, ...given({ strict, description }) }
}

/** What is not stored is sent back by the client: the thinking too, encrypted. */
function includes({ logprobs, reasoning }: ChatRequest, model: string): string[] | undefined {
  const thinks = reasoningModel.test(model) || reasoning?.effort !== undefined
  const list = [
    ...(thinks ? ['reasoning.encrypted_content'] : []),
    ...(logprobs ? ['message.output_text.logprobs'] : []),
  ]
  return list.length > 0 ? list : undefined
}

const textToolNames = (tools: readonly Tool[] | undefined): string[] =>
  (tools ?? []).filter(tool => tool.freeText).map(tool => tool.name)

/** Unlike chat completions, Responses makes schemas strict unless the tool says otherwise. */
function toolOf({ name, description, parameters, strict, freeText }: Tool): Json {
  if (freeText)
    return { type: 'custom', name, ...given({ description: freeText.description, format: freeText.format }) }
  return {
    type: 'function',
    name,
    ...given({ description }),
    parameters: isObject(parameters) ? parameters : { type: 'object', properties: {} },
    strict: strict ?? false,
  }
}

function toolChoice({ toolChoice: choice }: ChatRequest, tools: readonly Tool[] | undefined): unknown {
  if (typeof choice !== 'object') return choice
  const isText = textToolNames(tools).includes(choice.name)
  return { type: isText ? 'custom' : 'function', name: choice.name }
}
