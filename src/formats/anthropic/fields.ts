/** The fields of a Messages body with their checks (platform.claude.com/docs/en/api/messages). */
import type { ChatRequest } from '../../core/hub/chat.ts'
import * as type from '../../core/dialects/fields.ts'
import { isInteger } from '../common/field-checks.ts'
import { isObject } from '../../lib/json/json-values.ts'
import type { Json } from '../../lib/json/json-values.ts'
import type { CheckedField, Path, ProblemList } from '../common/field-checks.ts'
import { fieldTable } from '../common/field-table.ts'
import { checkVendorFallbacks } from './fallbacks.ts'
import { checkCacheControl, checkMessages, checkSystem } from './inspect-messages.ts'

/** Anthropic refuses smaller budgets. */
const budgetTokensMin = 1024

function checkTools(value: unknown, problems: ProblemList): void {
  if (!Array.isArray(value)) return problems.wrong(['tools'], 'an array of tools', value)
  for (let at = 0; at < value.length && !problems.full; at++) {
    const tool: unknown = value[at]
    if (!isObject(tool)) problems.wrong(['tools', at], 'an object with `name` and `input_schema`', tool)
    else if (tool.type != null && typeof tool.type !== 'string')
      problems.wrong(['tools', at, 'type'], 'a string such as "custom"', tool.type)
    else if (tool.type == null || tool.type === 'custom') checkTool(tool, ['tools', at], problems)
    // Of Anthropic's own tools the upstream knows more.
  }
}

function checkTool(tool: Json, path: Path, problems: ProblemList): void {
  const { name, description, input_schema: schema, strict } = tool
  if (typeof name !== 'string' || name === '') problems.wrong([...path, 'name'], 'a string that is not empty', name)
  if (description != null && typeof description !== 'string')
    problems.wrong([...path, 'description'], 'a string', description)
  if (!isObject(schema)) {
    const hint = isObject(tool.function)
      ? "; this is a tool in OpenAI's form: put `name` and `input_schema` beside each other"
      : ''
    problems.wrong([...path, 'input_schema'], `an object (JSON Schema)${hint}`, schema)
  }
  if (strict != null && typeof strict !== 'boolean') problems.wrong([...path, 'strict'], 'true or false', strict)
  checkCacheControl(tool.cache_control, [...path, 'cache_control'], problems)
}

const choices: ReadonlySet<unknown> = new Set(['auto', 'any', 'tool', 'none'])

function checkToolChoice(value: unknown, problems: ProblemList): void {
  const path = ['tool_choice']
  if (!isObject(value)) return problems.wrong(path, 'an object such as {"type": "auto"}', value)
  const { type, name, disable_parallel_tool_use: single } = value
  if (!choices.has(type)) {
    if (typeof type === 'string') problems.unknownValue([...path, 'type'], '"auto", "any", "tool" or "none"', type)
    else problems.wrong([...path, 'type'], '"auto", "any", "tool" or "none"', type)
  }
  if (type === 'tool' && (typeof name !== 'string' || name === ''))
    problems.wrong([...path, 'name'], 'the name of a tool', name)
  if (single != null && typeof single !== 'boolean')
    problems.wrong([...path, 'disable_parallel_tool_use'], 'true or false', single)
}

function checkThinking(value: unknown, problems: ProblemList): void {
  const path = ['thinking']
  if (!isObject(value)) return problems.wrong(path, 'an object such as {"type": "adaptive"}', value)
  const { type, budget_tokens: budget, display } = value
  if (typeof type !== 'string') problems.wrong([...path, 'type'], '"enabled", "disabled" or "adaptive"', type)
  if (display != null && typeof display !== 'string')
    problems.wrong([...path, 'display'], '"summarized" or "omitted"', display)
  if (type !== 'enabled') return
  const what = `an integer of at least ${budgetTokensMin}`
  if (typeof budget !== 'number') problems.wrong([...path, 'budget_tokens'], what, budget)
  else if (!isInteger(budget, budgetTokensMin, Number.MAX_SAFE_INTEGER))
    problems.outOfRange([...path, 'budget_tokens'], what, budget)
}

function checkOutputFormat(value: unknown, path: Path, problems: ProblemList): void {
  if (!isObject(value)) return problems.wrong(path, 'an object such as {"type": "json_schema", "schema": {...}}', value)
  if (typeof value.type !== 'string') problems.wrong([...path, 'type'], '"json_schema"', value.type)
  else if (value.type === 'json_schema' && !isObject(value.schema))
    problems.wrong([...path, 'schema'], 'an object (JSON Schema)', value.schema)
}

function checkOutputConfig(value: unknown, problems: ProblemList): void {
  const path = ['output_config']
  if (!isObject(value)) return problems.wrong(path, 'an object such as {"effort": "high"}', value)
  const { effort, format } = value
  if (effort != null && typeof effort !== 'string')
    problems.wrong([...path, 'effort'], '"low", "medium", "high", "xhigh" or "max"', effort)
  if (format != null) checkOutputFormat(format, [...path, 'format'], problems)
}

function checkMetadata(value: unknown, problems: ProblemList): void {
  if (!isObject(value)) return problems.wrong(['metadata'], 'an object such as {"user_id": "..."}', value)
  if (value.user_id != null && typeof value.user_id !== 'string')
    problems.wrong(['metadata', 'user_id'], 'a string', value.user_id)
}

function checkContainer(value: unknown, problems: ProblemList): void {
  if (typeof value !== 'string' && !isObject(value))
    problems.wrong(['container'], 'the id of a container, or an object', value)
}

function checkServers(value: unknown, problems: ProblemList): void {
  if (!Array.isArray(value)) return problems.wrong(['mcp_servers'], 'an array of MCP servers', value)
  for (let at = 0; at < value.length && !problems.full; at++) {
    const server: unknown = value[at]
    if (!isObject(server)) problems.wrong(['mcp_servers', at], 'an object with `type`, `name` and `url`', server)
    else
      for (const field of ['name', 'url'])
        if (typeof server[field] !== 'string') problems.wrong(['mcp_servers', at, field], 'a string', server[field])
  }
}

/** State of the conversation at Anthropic (beta `message-threads-2026-08-12`). */
function checkThread(value: unknown, problems: ProblemList): void {
  if (!isObject(value)) return problems.wrong(['thread'], 'an object such as {"type": "create"}', value)
  if (value.type === 'create') return
  if (value.type !== 'continue') return problems.unknownValue(['thread', 'type'], '"create" or "continue"', value.type)
  if (typeof value.previous_message_id !== 'string')
    problems.wrong(['thread', 'previous_message_id'], 'the id of the message before', value.previous_message_id)
}

/** Empty only where a thread is continued (`checkPresence`). */
const messageList = {
  type: 'array',
  items: {
    type: 'object',
    required: ['role', 'content'],
    properties: { role: { enum: ['user', 'assistant', 'system'] }, content: type.anyOf(type.text, type.objects) },
  },
}

const messagesFields: readonly CheckedField<ChatRequest>[] = [
  { name: 'model', schema: type.text, required: true },
  {
    name: 'max_tokens',
    schema: type.integer(0),
    property: 'maxOutputTokens',
    required: true,
    description: '0 fills the prompt cache without an answer.',
  },
  { name: 'messages', schema: messageList, required: true, check: checkMessages },
  { name: 'system', schema: type.anyOf(type.text, type.objects), check: checkSystem },
  { name: 'stream', schema: type.boolean },
  { name: 'temperature', schema: type.number(0, 1), property: 'temperature' },
  { name: 'top_p', schema: type.number(0, 1), property: 'topP' },
  { name: 'top_k', schema: type.integer(0), property: 'topK', converted: true },
  { name: 'stop_sequences', schema: type.texts, property: 'stop', converted: true },
  { name: 'tools', schema: type.objects, property: 'tools', converted: true, check: checkTools },
  { name: 'tool_choice', schema: { type: 'object' }, property: 'toolChoice', converted: true, check: checkToolChoice },
  { name: 'thinking', schema: { type: 'object' }, property: 'reasoning', converted: true, check: checkThinking },
  {
    name: 'thread',
    schema: { type: 'object' },
    extra: true,
    check: checkThread,
    description: 'Only Anthropic keeps threads; refused with `thread_unsupported_request` for other upstreams.',
  },
  { name: 'output_config', schema: { type: 'object' }, check: checkOutputConfig },
  {
    name: 'output_format',
    schema: { type: 'object' },
    check: (value, problems) => checkOutputFormat(value, ['output_format'], problems),
    description: 'It is the older place of `output_config.format`.',
  },
  { name: 'metadata', schema: { type: 'object' }, check: checkMetadata },
  { name: 'service_tier', schema: type.text, property: 'serviceTier', converted: true },
  { name: 'container', schema: type.anyOf(type.text, { type: 'object' }), extra: true, check: checkContainer },
  { name: 'mcp_servers', schema: type.objects, extra: true, check: checkServers },
  { name: 'context_management', schema: type.object, extra: true },
  { name: 'cache_control', schema: type.object, extra: true },
  { name: 'diagnostics', schema: type.object, extra: true },
  { name: 'inference_geo', schema: type.text, extra: true },
  { name: 'speed', schema: type.text, extra: true },
  {
    name: 'fallbacks',
    schema: type.anyOf(type.oneOf('default'), { type: 'array', items: { type: 'object', required: ['model'] } }),
    extra: true,
    check: checkVendorFallbacks,
    description:
      'Models that Anthropic asks where the call\'s declines, by its names, or "default"; not the gateway\'s.',
  },
]
/** By name; the request of Anthropic's "Create a Message". */
export const messagesTable = fieldTable(messagesFields)
/** The same where tokens are counted, but that `max_tokens` may be left out. */
export const countTable = fieldTable(
  messagesFields.map(({ required, ...field }) => ({
    ...field,
    ...(required && field.name !== 'max_tokens' && { required }),
  })),
)
