/** What can be said of a request without any model (platform.claude.com/docs/en/api/messages; API versions 2023-06-01 and 2026-10-21). */
import type { Inspection } from '../../core/format.ts'
import type { JsonBody } from '../../lib/json/json-body.ts'
import {
  booleanField,
  checkFields,
  integerBetween,
  isInteger,
  isObject,
  numberBetween,
  objectField,
  ProblemList,
  readField,
  stringArray,
  stringField,
  textOf,
} from '../common/field-checks.ts'
import type { Check, Fields, Path } from '../common/field-checks.ts'
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

function checkTool(tool: Fields, path: Path, problems: ProblemList): void {
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

/** In a large body the large fields wait for `decode`, which runs the same checks. */
export const messagesChecks: ReadonlyMap<string, Check> = new Map<string, Check>([
  ['model', stringField('model')],
  // 0 fills the prompt cache without an answer.
  ['max_tokens', integerBetween('max_tokens', 0)],
  ['messages', checkMessages],
  ['system', checkSystem],
  ['stream', booleanField('stream')],
  ['temperature', numberBetween('temperature', 0, 1)],
  ['top_p', numberBetween('top_p', 0, 1)],
  ['top_k', integerBetween('top_k', 0)],
  ['stop_sequences', stringArray('stop_sequences')],
  ['tools', checkTools],
  ['tool_choice', checkToolChoice],
  ['thinking', checkThinking],
  ['output_config', checkOutputConfig],
  ['output_format', (value, problems) => checkOutputFormat(value, ['output_format'], problems)],
  ['metadata', checkMetadata],
  ['service_tier', stringField('service_tier')],
  ['container', checkContainer],
  ['mcp_servers', checkServers],
  ['context_management', objectField('context_management')],
  ['cache_control', objectField('cache_control')],
  ['diagnostics', objectField('diagnostics')],
  ['inference_geo', stringField('inference_geo')],
  ['speed', stringField('speed')],
])

const missingMessages = '`messages` is missing; send [{"role": "user", "content": "..."}]'

function checkPresence(body: JsonBody, problems: ProblemList): void {
  // Of large messages only the presence is known.
  if (body.has('messages') && (body.sizeOf('messages') > 4 || readField(body, 'messages') !== null)) return
  const remedy = body.has('input') ? '; this is a Responses body (`input`): send it to /v1/responses' : ''
  problems.add(['messages'], missingMessages + remedy, 'missing')
}

/** Everything but `max_tokens` is the same where tokens are counted. */
export function inspectCount(body: JsonBody): Inspection {
  return { ...inspectWith(body, new ProblemList()), stream: false }
}

/** Checks every field the gateway knows. Throws `invalid-request` when one of a large body is not JSON. */
export function inspectMessages(body: JsonBody): Inspection {
  const list = new ProblemList()
  if (readField(body, 'max_tokens') == null)
    list.add(
      ['max_tokens'],
      '`max_tokens` is missing; send the most tokens the answer may have, such as 4096',
      'missing',
    )
  return inspectWith(body, list)
}

function inspectWith(body: JsonBody, list: ProblemList): Inspection {
  checkFields(body, messagesChecks, list)
  checkPresence(body, list)
  const metadata = body.has('metadata') ? readField(body, 'metadata') : undefined
  return {
    model: textOf(body, 'model'),
    stream: readField(body, 'stream') === true,
    endUser: isObject(metadata) && typeof metadata.user_id === 'string' ? metadata.user_id : '',
    problems: list.problems,
  }
}
