/** The fields of a Responses body with their checks (API reference, "Create a model response"). */
import { reasoningEfforts } from '../../../core/hub/chat-fields.ts'
import type { ChatRequest } from '../../../core/hub/chat.ts'
import * as type from '../../../core/dialects/fields.ts'
import { isObject } from '../../../lib/json/json-values.ts'
import type { CheckedField, Path, ProblemList } from '../../common/field-checks.ts'
import { fieldTable } from '../../common/field-table.ts'
import { oneOf } from '../../common/plain-checks.ts'
import { checkInput } from './inspect-items.ts'

const toolModes = new Set<unknown>(['auto', 'none', 'required'])
/** Types that name a tool of the client's own. */
const namedChoices = new Set<unknown>(['function', 'custom'])

function checkTools(value: unknown, problems: ProblemList): void {
  if (!Array.isArray(value)) return problems.wrong(['tools'], 'an array of tools', value)
  for (let at = 0; at < value.length && !problems.full; at++) checkTool(value[at], ['tools', at], problems)
}

function checkTool(tool: unknown, path: Path, problems: ProblemList): void {
  if (!isObject(tool)) return problems.wrong(path, 'an object with a `type`', tool)
  if (typeof tool.type !== 'string') return problems.wrong([...path, 'type'], 'a string such as "function"', tool.type)
  if (tool.type !== 'function' && tool.type !== 'custom' && tool.type !== 'namespace') return
  if (isObject(tool.function))
    return problems.add(
      [...path, 'function'],
      '`function` belongs to chat completions; here `name`, `description` and `parameters` stand in the tool itself',
      'invalid',
    )
  if (typeof tool.name !== 'string' || tool.name === '')
    problems.wrong([...path, 'name'], 'a string that is not empty', tool.name)
  if (tool.description != null && typeof tool.description !== 'string')
    problems.wrong([...path, 'description'], 'a string', tool.description)
  if (tool.parameters != null && !isObject(tool.parameters))
    problems.wrong([...path, 'parameters'], 'an object (JSON Schema)', tool.parameters)
  if (tool.strict != null && typeof tool.strict !== 'boolean')
    problems.wrong([...path, 'strict'], 'true or false', tool.strict)
  if (tool.type !== 'namespace') return
  if (!Array.isArray(tool.tools)) return problems.wrong([...path, 'tools'], 'an array of tools', tool.tools)
  for (let at = 0; at < tool.tools.length && !problems.full; at++) {
    const inner: unknown = tool.tools[at]
    if (isObject(inner) && inner.type === 'namespace')
      problems.unknownValue([...path, 'tools', at, 'type'], '"function" or "custom"', inner.type)
    else checkTool(inner, [...path, 'tools', at], problems)
  }
}

function checkToolChoice(value: unknown, problems: ProblemList): void {
  const what = '"auto", "none", "required" or {"type": "function", "name": ...}'
  if (typeof value === 'string') {
    if (!toolModes.has(value)) problems.unknownValue(['tool_choice'], what, value)
    return
  }
  if (!isObject(value)) return problems.wrong(['tool_choice'], what, value)
  if (typeof value.type !== 'string')
    return problems.wrong(['tool_choice', 'type'], 'a string such as "function"', value.type)
  if (namedChoices.has(value.type) && (typeof value.name !== 'string' || value.name === ''))
    problems.wrong(['tool_choice', 'name'], 'the name of a tool', value.name)
  if (value.type !== 'allowed_tools') return
  if (!Array.isArray(value.tools) || !value.tools.every(isObject))
    problems.wrong(
      ['tool_choice', 'tools'],
      'an array of objects such as {"type": "function", "name": ...}',
      value.tools,
    )
  oneOf(['tool_choice', 'mode'], ['auto', 'required'])(value.mode, problems)
}

const formatTypes = oneOf(['text', 'format', 'type'], ['text', 'json_object', 'json_schema'])

function checkText(value: unknown, problems: ProblemList): void {
  if (!isObject(value)) return problems.wrong(['text'], 'an object such as {"format": {"type": "text"}}', value)
  if (value.verbosity != null) oneOf(['text', 'verbosity'], ['low', 'medium', 'high'])(value.verbosity, problems)
  const { format } = value
  if (format == null) return
  if (!isObject(format)) return problems.wrong(['text', 'format'], 'an object such as {"type": "json_object"}', format)
  formatTypes(format.type, problems)
  if (format.type !== 'json_schema') return
  if (typeof format.name !== 'string' || format.name === '')
    problems.wrong(['text', 'format', 'name'], 'a string that is not empty', format.name)
  if (!isObject(format.schema)) problems.wrong(['text', 'format', 'schema'], 'an object (JSON Schema)', format.schema)
  if (format.strict != null && typeof format.strict !== 'boolean')
    problems.wrong(['text', 'format', 'strict'], 'true or false', format.strict)
}

const checkEffort = oneOf(['reasoning', 'effort'], reasoningEfforts)
const checkSummary = oneOf(['reasoning', 'summary'], ['auto', 'concise', 'detailed'])

function checkReasoning(value: unknown, problems: ProblemList): void {
  if (!isObject(value)) return problems.wrong(['reasoning'], 'an object such as {"effort": "low"}', value)
  if (value.effort != null) checkEffort(value.effort, problems)
  if (value.summary != null) checkSummary(value.summary, problems)
}

function checkMetadata(value: unknown, problems: ProblemList): void {
  if (!isObject(value)) return problems.wrong(['metadata'], 'an object of strings', value)
  for (const [key, item] of Object.entries(value))
    if (typeof item !== 'string') problems.wrong(['metadata', key], 'a string', item)
}

function checkManagement(value: unknown, problems: ProblemList): void {
  const what = 'an array such as [{"type": "compaction", "compact_threshold": 200000}]'
  if (!Array.isArray(value) || !value.every(isObject)) return problems.wrong(['context_management'], what, value)
  for (const [at, { type: kind, compact_threshold: threshold }] of value.entries()) {
    if (typeof kind !== 'string') problems.wrong(['context_management', at, 'type'], '"compaction"', kind)
    if (threshold != null && !(Number.isSafeInteger(threshold) && (threshold as number) > 0))
      problems.wrong(['context_management', at, 'compact_threshold'], 'a number of tokens', threshold)
  }
}

function refuseConversation(_value: unknown, problems: ProblemList): void {
  problems.add(
    ['conversation'],
    'conversations are not kept here; continue an answer with `previous_response_id`, or send the items in `input`',
    'unsupported',
  )
}

const responsesFields: readonly CheckedField<ChatRequest>[] = [
  { name: 'model', schema: type.text, required: true },
  { name: 'input', schema: type.anyOf(type.text, type.objects), check: checkInput },
  { name: 'instructions', schema: type.text },
  { name: 'stream', schema: type.boolean },
  { name: 'stream_options', schema: type.object },
  {
    name: 'store',
    schema: type.boolean,
    description: 'true by default: the answer can be fetched and continued by its id.',
  },
  {
    name: 'background',
    schema: type.boolean,
    description: 'true = answered at once with a queued response, to be polled.',
  },
  { name: 'previous_response_id', schema: type.text, description: 'It is a stored response of the same key.' },
  {
    name: 'conversation',
    schema: type.anything,
    check: refuseConversation,
    description: 'Refused: none is kept here.',
  },
  {
    name: 'context_management',
    schema: type.objects,
    check: checkManagement,
    description: 'A conversation of at least `compact_threshold` tokens is compacted before it is answered.',
  },
  { name: 'include', schema: type.texts },
  { name: 'tools', schema: type.objects, property: 'tools', converted: true, check: checkTools },
  {
    name: 'tool_choice',
    schema: type.anyOf(type.text, type.object),
    property: 'toolChoice',
    converted: true,
    check: checkToolChoice,
  },
  { name: 'parallel_tool_calls', schema: type.boolean, property: 'parallelToolCalls', converted: true },
  { name: 'max_output_tokens', schema: type.integer(1), property: 'maxOutputTokens' },
  { name: 'max_tool_calls', schema: type.integer(0), extra: true },
  { name: 'temperature', schema: type.number(0, 2), property: 'temperature' },
  { name: 'top_p', schema: type.number(0, 1), property: 'topP' },
  { name: 'top_logprobs', schema: type.integer(0, 20), property: 'topLogprobs', converted: true },
  { name: 'truncation', schema: type.oneOf('auto', 'disabled') },
  { name: 'text', schema: { type: 'object' }, property: 'responseFormat', converted: true, check: checkText },
  { name: 'reasoning', schema: { type: 'object' }, property: 'reasoning', converted: true, check: checkReasoning },
  { name: 'metadata', schema: { type: 'object' }, check: checkMetadata },
  { name: 'user', schema: type.text, property: 'user', converted: true },
  { name: 'safety_identifier', schema: type.text, property: 'user', converted: true },
  { name: 'prompt_cache_key', schema: type.text, extra: true },
  { name: 'service_tier', schema: type.text, property: 'serviceTier', converted: true },
  { name: 'prompt', schema: type.object, description: 'A prompt stored by the vendor; others are refused.' },
]
/** By name; the request of "Create a model response". */
export const responsesTable = fieldTable(responsesFields)
