/** Decodes a Messages request into hub types. */
import { createHash } from 'node:crypto'
import type { ChatRequest, ReasoningEffort, ResponseFormat, Tool, ToolChoice } from '../../core/hub/chat.ts'
import { reasoningEfforts } from '../../core/hub/chat-fields.ts'
import type { JsonBody } from '../../lib/json/json-body.ts'
import { parseChecked, shown } from '../common/field-checks.ts'
import type { ExactFields } from '../common/field-checks.ts'
import { isObject } from '../../lib/json/json-values.ts'
import type { Json } from '../../lib/json/json-values.ts'
import { readFields } from '../common/field-table.ts'
import { readCacheControl } from '../common/cache-control.ts'
import { untranslatable } from '../common/untranslatable.ts'
import { MessagesDecoder } from './decode-messages.ts'
import { unsupportedThread } from './error.ts'
import { messagesTable } from './fields.ts'
import { exactNames } from '../../lib/json/exact-json.ts'

/** What the client's tools and its model wrote. */
const exactFields: ExactFields = [
  ['messages', exactNames('input')],
  ['tools', exactNames('input_schema')],
  ['output_config', exactNames('schema')],
  ['output_format', exactNames('schema')],
]

/** What a client sees of the thinking: nothing, unless it asks; or only the proof that lets it be continued. */
export type ThinkingDisplay = 'none' | 'proofs' | 'full'

/** Marks requests whose client wants to see thinking. A symbol is copied with the request and never becomes JSON. */
const display = Symbol('thinking display')

interface MarkedRequest extends ChatRequest {
  [display]?: ThinkingDisplay
}

/** `none` also for requests of other formats. */
export function thinkingDisplay(request: ChatRequest): ThinkingDisplay {
  return (request as MarkedRequest)[display] ?? 'none'
}

/** Throws `unprocessable` for what this dialect allows and no other vendor has. */
export function decodeMessagesBody(body: JsonBody): ChatRequest {
  const fields = parseChecked(body, exactFields)
  if (fields.max_tokens === 0)
    throw untranslatable(['max_tokens'], 'filling a prompt cache without an answer (0) is known to Claude alone')
  const dropped = new Set<string>()
  const decoder = new MessagesDecoder(dropped)
  const system = decoder.system(fields.system)
  const request: MarkedRequest = {
    model: typeof fields.model === 'string' ? fields.model : '',
    messages: [...system, ...decoder.messages(fields.messages as Json[])],
    stream: fields.stream === true,
    includeUsage: true,
    extra: { format: 'anthropic-messages', fields: {} },
  }
  readFields(fields, messagesTable, request, request.extra.fields)
  if (isObject(fields.thread)) {
    // The rest of the conversation is kept elsewhere: an answer without it would be to another question.
    request.essentialExtra = ['thread']
    request.essentialCode = unsupportedThread
  }
  readSampling(fields, request)
  readMetadata(fields.metadata, request, dropped)
  readTools(fields, request, dropped)
  readThinking(fields, request, dropped)
  const format = responseFormat(fields, dropped)
  if (format) request.responseFormat = format
  if (dropped.size > 0) request.dropped = [...dropped]
  return request
}

function readSampling(fields: Json, request: ChatRequest): void {
  if (typeof fields.top_k === 'number' && fields.top_k > 0) request.topK = fields.top_k
  if (Array.isArray(fields.stop_sequences) && fields.stop_sequences.length > 0)
    request.stop = fields.stop_sequences as string[]
  if (typeof fields.service_tier === 'string')
    request.serviceTier = fields.service_tier === 'standard_only' ? 'default' : fields.service_tier
}

/** OpenAI refuses longer names of users; Claude Code sends a whole document. */
const userLengthMax = 64

function readMetadata(value: unknown, request: ChatRequest, dropped: Set<string>): void {
  if (!isObject(value)) return
  for (const name of Object.keys(value)) if (name !== 'user_id' && value[name] != null) dropped.add(`metadata.${name}`)
  const { user_id: user } = value
  if (typeof user !== 'string' || user === '') return
  request.user = user.length <= userLengthMax ? user : createHash('sha256').update(user).digest('hex')
}

/** Run by Anthropic's servers: a model elsewhere does without them. */
const serverTools = ['web_search', 'web_fetch', 'code_execution', 'tool_search', 'advisor', 'mcp_toolset']
const toolFields: ReadonlySet<string> = new Set([
  'type',
  'name',
  'description',
  'input_schema',
  'strict',
  'cache_control',
])

function readTools(fields: Json, request: ChatRequest, dropped: Set<string>): void {
  const tools: Tool[] = []
  ;((fields.tools ?? []) as Json[]).forEach((tool, at) => {
    if (tool.type == null || tool.type === 'custom') tools.push(customTool(tool, dropped))
    else if (serverTools.some(kind => String(tool.type).startsWith(kind))) dropped.add(`tools.${String(tool.type)}`)
    // Not dropped but refused: an agent that lacks its tools does something else without noticing.
    else throw untranslatable(['tools', at, 'type'], `only Claude knows tools of type ${shown(tool.type)}`)
  })
  if (tools.length > 0) request.tools = tools
  const choice = fields.tool_choice
  if (!isObject(choice)) return
  if (choice.type === 'tool' && !tools.some(tool => tool.name === choice.name))
    throw untranslatable(
      ['tool_choice', 'name'],
      `the tool ${shown(choice.name)} is not one of \`tools\` that this model can be given`,
    )
  if (tools.length === 0) return
  request.toolChoice = toolChoice(choice)
  if (choice.disable_parallel_tool_use === true) request.parallelToolCalls = false
}

function customTool(definition: Json, dropped: Set<string>): Tool {
  for (const name of Object.keys(definition))
    if (!toolFields.has(name) && definition[name] != null) dropped.add(`tools.${name}`)
  const tool: Tool = { name: String(definition.name), parameters: definition.input_schema as Json }
  if (typeof definition.description === 'string') tool.description = definition.description
  if (typeof definition.strict === 'boolean') tool.strict = definition.strict
  const cache = readCacheControl(definition.cache_control)
  if (cache) tool.cache = cache
  return tool
}

function toolChoice({ type, name }: Json): ToolChoice {
  if (type === 'tool') return { name: String(name) }
  if (type === 'any') return 'required'
  return type === 'none' ? 'none' : 'auto'
}

const efforts: ReadonlyMap<string, ReasoningEffort> = new Map(
  reasoningEfforts.filter(word => word !== 'none').map(word => [word, word]),
)
const thinks: ReadonlySet<unknown> = new Set(['enabled', 'adaptive', 'between_tools'])

function readThinking(fields: Json, request: MarkedRequest, dropped: Set<string>): void {
  const thinking = isObject(fields.thinking) ? fields.thinking : {}
  const config = isObject(fields.output_config) ? fields.output_config : {}
  const reasoning: NonNullable<ChatRequest['reasoning']> = {}
  if (thinks.has(thinking.type)) {
    reasoning.enabled = true
    request[display] = thinking.display === 'omitted' ? 'proofs' : 'full'
    // Elsewhere a model that thinks does so before it answers, too.
    if (thinking.type === 'between_tools') dropped.add('thinking.type')
    if (thinking.type === 'enabled' && typeof thinking.budget_tokens === 'number')
      reasoning.budgetTokens = thinking.budget_tokens
  } else if (thinking.type === 'disabled') reasoning.enabled = false
  else if (thinking.type !== undefined) dropped.add('thinking')
  const effort = typeof config.effort === 'string' ? efforts.get(config.effort) : undefined
  // Elsewhere effort is effort of thinking: there is none to be set where it is switched off.
  if (effort !== undefined && reasoning.enabled !== false) reasoning.effort = effort
  else if (config.effort != null) dropped.add('output_config.effort')
  for (const name of Object.keys(config))
    if (name !== 'effort' && name !== 'format' && config[name] != null) dropped.add(`output_config.${name}`)
  if (Object.keys(reasoning).length > 0) request.reasoning = reasoning
}

/** `output_format` is the older name of `output_config.format`. */
function responseFormat(
  { output_config: config, output_format: older }: Json,
  dropped: Set<string>,
): ResponseFormat | undefined {
  const inConfig = isObject(config) && config.format != null
  const format = inConfig ? config.format : older
  if (!isObject(format)) return undefined
  if (format.type === 'json_schema') return { type: 'json-schema', name: 'response', schema: format.schema as Json }
  dropped.add(inConfig ? 'output_config.format' : 'output_format')
  return undefined
}
