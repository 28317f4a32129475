/** Decodes a chat request of OpenAI's dialect into hub types. */
import type { ChatRequest, ReasoningEffort, ResponseFormat, Tool, ToolChoice } from '../../../core/hub/chat.ts'
import { defaultEffort } from '../../../core/hub/chat-fields.ts'
import type { JsonBody } from '../../../lib/json/json-body.ts'
import { readCacheControl } from '../../common/cache-control.ts'
import { parseChecked, shown } from '../../common/field-checks.ts'
import type { ExactFields } from '../../common/field-checks.ts'
import { isObject } from '../../../lib/json/json-values.ts'
import type { Json } from '../../../lib/json/json-values.ts'
import { readFields } from '../../common/field-table.ts'
import { untranslatable } from '../../common/untranslatable.ts'
import { hasGrammar, lostGrammar, markTextTools, textTool } from '../text-tool.ts'
import { decodeMessages } from './decode-messages.ts'
import { chatTable } from './fields.ts'
import { exactNames } from '../../../lib/json/exact-json.ts'

/** What the client's tools and its model wrote. */
const exactFields: ExactFields = [
  ['tools', exactNames('parameters')],
  ['functions', exactNames('parameters')],
  ['response_format', exactNames('schema')],
]

/**
 * Marks requests that used `functions` instead of `tools`: their answers must say `function_call`.
 * A symbol, so that it is copied with the request and never written into JSON.
 */
const legacyFunctions = Symbol('legacy functions')

interface MarkedRequest extends ChatRequest {
  [legacyFunctions]?: true
}

/** true = the client knows only the old `function_call`. */
export function usesLegacyFunctions(request: ChatRequest): boolean {
  return (request as MarkedRequest)[legacyFunctions] === true
}

/** Throws `unprocessable` for what this dialect allows and no other vendor has. */
export function decodeChat(body: JsonBody): ChatRequest {
  const fields = parseChecked(body, exactFields)
  const request: MarkedRequest = {
    model: typeof fields.model === 'string' ? fields.model : '',
    messages: decodeMessages(fields.messages as Json[]),
    stream: fields.stream === true,
    includeUsage: includesUsage(fields),
    extra: { format: 'openai-chat', fields: {} },
  }
  // Beside its text: alone it is refused.
  if ((fields.messages as Json[]).some(isSpoken)) request.dropped = ['messages.audio']
  readFields(fields, chatTable, request, request.extra.fields)
  readSampling(fields, request)
  const { logprobs, top_logprobs: alternatives } = fields
  if (typeof logprobs === 'boolean') request.logprobs = logprobs
  else if (typeof logprobs === 'number') {
    request.logprobs = true
    if (logprobs > 0) request.topLogprobs = logprobs
  }
  if (typeof alternatives === 'number' && request.logprobs) request.topLogprobs = alternatives
  const understood: string[] = []
  if (mentionsTools(fields)) readTools(fields, request, understood)
  const format = responseFormat(fields.response_format)
  if (format) request.responseFormat = format
  const reasoning = readReasoning(fields)
  if (reasoning) request.reasoning = reasoning
  // Hosts with chat templates get the field as it is; for all others the hub says the same.
  const template = thinkingMode(fields)
  if (template !== undefined && Object.keys(fields.chat_template_kwargs as Json).length === 1)
    understood.push('chat_template_kwargs')
  if (understood.length > 0) request.understoodExtra = understood
  return request
}

/** `audio: {id}` of an earlier answer, which only the vendor knows that spoke it. */
const isSpoken = ({ role, audio }: Json): boolean => role === 'assistant' && isObject(audio)

/** `chat_template_kwargs.thinking_mode`, as servers of open models take it; undefined = absent. */
function thinkingMode({ chat_template_kwargs: template }: Json): boolean | undefined {
  const mode = isObject(template) ? template.thinking_mode : undefined
  return mode === 'on' || mode === 'off' ? mode === 'on' : undefined
}

/** The client wants the usage event, which only streams have. */
export function includesUsage(fields: Json): boolean {
  return fields.stream === true && isObject(fields.stream_options) && fields.stream_options.include_usage === true
}

/** The fields that chat and text completions share, and whose values the hub says in another way. */
export function readSampling(fields: Json, request: ChatRequest): void {
  if (typeof fields.max_completion_tokens === 'number') request.maxOutputTokens = fields.max_completion_tokens
  // 0 and -1 are how other vendors say "off".
  if (typeof fields.top_k === 'number' && fields.top_k > 0) request.topK = fields.top_k
  if (typeof fields.stop === 'string') request.stop = [fields.stop]
  else if (Array.isArray(fields.stop) && fields.stop.length > 0) request.stop = fields.stop as string[]
}

const mentionsTools = ({ tools, functions, tool_choice: choice, function_call: call }: Json): boolean =>
  (tools ?? functions ?? choice ?? call) != null

/** `understood` gets the names of settings that are set here and that the client did not send. */
function readTools(fields: Json, request: MarkedRequest, understood: string[]): void {
  const given = (fields.tools ?? []) as Json[]
  const tools = given.map(decodeTool)
  const functions = (fields.functions ?? []) as Json[]
  for (const definition of functions) tools.push(functionTool(definition, definition))
  if (functions.length > 0 && fields.tools == null) {
    request[legacyFunctions] = true
    // `function_call` holds one call. An upstream without the setting is no loss: the answer keeps to one call.
    request.parallelToolCalls = false
    if (typeof fields.parallel_tool_calls !== 'boolean') understood.push('parallel_tool_calls')
  }
  const choice = toolChoice(fields.tool_choice ?? fields.function_call)
  if (choice?.only) request.tools = tools.filter(tool => choice.only!.has(tool.name))
  else if (tools.length > 0) request.tools = tools
  if (choice) request.toolChoice = choice.choice
  const texts = given.filter(isTextTool)
  markTextTools(request, new Map(texts.map(tool => [nameOfTool(tool) as string, tool.custom ? 'custom' : 'function'])))
  if (hasGrammar(request.tools)) request.dropped = [...(request.dropped ?? []), lostGrammar]
}

/** `{type: "custom", custom: {name}}`, or flat as Cursor sends it. */
const isTextTool = ({ type, custom, name }: Json): boolean =>
  type === 'custom' && (isObject(custom) || typeof name === 'string')

function decodeTool(tool: Json, at: number): Tool {
  if (isTextTool(tool)) {
    const definition = isObject(tool.custom) ? tool.custom : tool
    const { name, description } = definition
    return textTool(definition, name as string, typeof description === 'string' ? description : '')
  }
  if (tool.type !== 'function' || !isObject(tool.function))
    throw untranslatable(['tools', at, 'type'], `tools of type ${shown(tool.type)} cannot be translated`)
  return functionTool(tool.function, tool)
}

function functionTool(definition: Json, carrier: Json): Tool {
  const tool: Tool = { name: definition.name as string }
  if (typeof definition.description === 'string') tool.description = definition.description
  if (isObject(definition.parameters)) tool.parameters = definition.parameters
  if (typeof definition.strict === 'boolean') tool.strict = definition.strict
  const cache = readCacheControl(carrier.cache_control ?? definition.cache_control)
  if (cache) tool.cache = cache
  return tool
}

interface Choice {
  readonly choice: ToolChoice
  /** Only these tools may be called. */
  readonly only?: ReadonlySet<unknown>
}

function toolChoice(value: unknown): Choice | undefined {
  if (typeof value === 'string') return { choice: mode(value) }
  if (!isObject(value)) return undefined
  if (value.type === 'allowed_tools') {
    const allowed = value.allowed_tools as Json
    const names = (allowed.tools as unknown[]).map(nameOfTool)
    return { choice: mode(allowed.mode), only: new Set(names) }
  }
  const name = nameOfTool(value)
  return { choice: typeof name === 'string' ? { name } : mode(value.type) }
}

function mode(value: unknown): ToolChoice {
  if (value === 'any' || value === 'required') return 'required'
  return value === 'none' ? 'none' : 'auto'
}

/** `{type, function: {name}}`, or `{name}` as the old `function_call` and the Responses dialect write it. */
function nameOfTool(value: unknown): unknown {
  if (!isObject(value)) return undefined
  const inner = value.function ?? value.custom
  return isObject(inner) ? inner.name : value.name
}

function responseFormat(value: unknown): ResponseFormat | undefined {
  if (!isObject(value)) return undefined
  if (value.type === 'text') return { type: 'text' }
  if (value.type === 'json_object') return { type: 'json-object' }
  if (value.type !== 'json_schema')
    throw untranslatable(['response_format', 'type'], `the response format ${shown(value.type)} cannot be translated`)
  const wanted = value.json_schema as Json
  const format: ResponseFormat = {
    type: 'json-schema',
    name: typeof wanted.name === 'string' && wanted.name !== '' ? wanted.name : 'response',
    schema: isObject(wanted.schema) ? wanted.schema : {},
  }
  if (typeof wanted.strict === 'boolean') format.strict = wanted.strict
  if (typeof wanted.description === 'string') format.description = wanted.description
  return format
}

/** Three spellings of one setting; `reasoning_effort` counts where they differ. */
function readReasoning(fields: Json): ChatRequest['reasoning'] {
  const { reasoning_effort, reasoning: given, thinking: other, chat_template_kwargs: template } = fields
  if ((reasoning_effort ?? given ?? other ?? template) == null) return undefined
  const reasoning = isObject(given) ? given : {}
  const thinking = isObject(other) ? other : {}
  const result: NonNullable<ChatRequest['reasoning']> = {}
  const effort = fields.reasoning_effort === defaultEffort ? undefined : (fields.reasoning_effort ?? reasoning.effort)
  if (typeof effort === 'string') result.effort = effort as ReasoningEffort
  const budget = reasoning.max_tokens ?? thinking.budget_tokens
  if (typeof budget === 'number') result.budgetTokens = budget
  if (typeof reasoning.enabled === 'boolean') result.enabled = reasoning.enabled
  else if (typeof thinking.type === 'string') result.enabled = thinking.type !== 'disabled'
  else if (thinkingMode(fields) !== undefined) result.enabled = thinkingMode(fields)
  return Object.keys(result).length > 0 ? result : undefined
}
