/** A chat request as the body of OpenAI's Responses (API reference, "Create a model response"). */
import { namesOfSet } from '../../../core/hub/chat-fields.ts'
import type { CarriedProperty } from '../../../core/hub/chat-fields.ts'
import type { ChatRequest, ResponseFormat, Tool } from '../../../core/hub/chat.ts'
import type { FieldRules } from '../../../core/dialects/field-rules.ts'
import type { TranslatedCall } from '../../../core/provider.ts'
import { isObject } from '../../../lib/json/json-values.ts'
import type { Json } from '../../../lib/json/json-values.ts'
import { RuledFields } from '../field-rules.ts'
import { cachesTools, withEffort } from '../request.ts'
import { inputItems } from './input.ts'
import { plainInput } from './plain-input.ts'

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
  /** What its model refuses. */
  readonly rules: FieldRules
  /** Whose encrypted reasoning can be sent. */
  readonly account: string
}

/**
 * The body, and the fields it cannot carry. Nothing is stored at the upstream unless the client asks for it. Throws
 * `invalid-request` for audio, and for documents where the host takes none.
 */
export function responsesBody(
  request: ChatRequest,
  model: string,
  host: HostOptions,
): Pick<TranslatedCall, 'dropped'> & { readonly body: Json } {
  const tools = host.textTools ? request.tools : request.tools?.map(({ freeText: _, ...tool }) => tool)
  const { items, dropped } = input(request, new Set(textToolNames(tools)), host)
  const { maxOutputTokens } = request
  const checkedText = ruledFields(request, tools, { model, rules: host.rules })
  const body: Json = {
    model,
    input: items,
    store: false,
    ...given({
      max_output_tokens: maxOutputTokens === undefined ? undefined : Math.max(maxOutputTokens, outputTokensMin),
    }),
    ...checkedText.body,
    ...(request.stream && { stream: true }),
  }
  const cached = cachesTools(request) ? ['cache_control'] : []
  const raised = maxOutputTokens !== undefined && maxOutputTokens < outputTokensMin ? ['max_tokens'] : []
  const lost = [...raised, ...checkedText.dropped, ...namesOfSet(request, unsaid)]
  return { body, dropped: [...new Set([...lost, ...cached, ...dropped])] }
}

function input(
  { messages }: ChatRequest,
  textTools: ReadonlySet<string>,
  { account, rules }: HostOptions,
): { items: Json[]; dropped: string[] } {
  const { items, dropped } = inputItems(messages, textTools, account)
  if (!rules.plainInput) return { items, dropped }
  const plain = plainInput(items)
  return { items: plain.items, dropped: [...dropped, ...plain.dropped] }
}

interface RuledBy {
  readonly model: string
  readonly rules: FieldRules
}

/** The fields that the rules of a host may refuse, and what is lost of them, by the names of chats. */
function ruledFields(request: ChatRequest, tools: readonly Tool[] | undefined, { model, rules }: RuledBy): RuledFields {
  const fields = extraFields(request)
  const said = withEffort(request, rules.fields.get('reasoning'), one => ({ effort: one }))
  const effort = said.request.reasoning?.effort
  const reasoning = effort === undefined ? undefined : { effort }
  const choice = toolChoice(request, tools)
  const others: Json = { reasoning, tool_choice: choice }
  const checkedText = new RuledFields(rules, name => others[name])
  checkedText.dropped.push(...fields.dropped, ...said.unsaid)
  checkedText.set('reasoning', reasoning, 'reasoning_effort')
  // Where none can be included, only what the client itself asks for is lost.
  const thinks =
    !rules.fields.has('include') && (checkedText.body.reasoning !== undefined || reasoningModel.test(model))
  checkedText.set('include', includes(request, thinks), 'logprobs')
  checkedText.set('tools', tools?.map(toolOf))
  checkedText.set('tool_choice', choice)
  checkedText.set('parallel_tool_calls', request.parallelToolCalls)
  checkedText.set('temperature', request.temperature)
  checkedText.set('top_p', request.topP)
  checkedText.set('top_logprobs', request.logprobs ? request.topLogprobs : undefined)
  setText(checkedText, request)
  checkedText.set('user', request.user)
  checkedText.set('metadata', request.metadata)
  checkedText.set('service_tier', request.serviceTier)
  for (const [name, value] of Object.entries(fields.taken)) checkedText.set(name, value)
  return checkedText
}

/** The format and the verbosity are one field here, and two of a chat. */
function setText(checkedText: RuledFields, { responseFormat, extra }: ChatRequest): void {
  if (responseFormat) checkedText.set('text', { format: formatOf(responseFormat) }, 'response_format')
  const verbosity = extra.format === 'openai-chat' ? extra.fields.verbosity : undefined
  const { text } = checkedText.body
  if (verbosity !== undefined) checkedText.set('text', { ...(isObject(text) && text), verbosity }, 'verbosity')
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

function formatOf(format: ResponseFormat): Json {
  if (format.type === 'text') return { type: 'text' }
  if (format.type === 'json-object') return { type: 'json_object' }
  const { name, schema, strict, description } = format
  return { type: 'json_schema', name, schema, ...given({ strict, description }) }
}

/** What is not stored is sent back by the client: the thinking too, encrypted. */
function includes({ logprobs }: ChatRequest, thinks: boolean): string[] | undefined {
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
