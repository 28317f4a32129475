/** What can be said of a Responses request without any model (API reference, "Create a model response"). */
import type { Inspection } from '../../../core/format.ts'
import type { JsonBody } from '../../../lib/json/json-body.ts'
import {
  booleanField,
  checkFields,
  integerBetween,
  isObject,
  numberBetween,
  objectField,
  oneOf,
  ProblemList,
  readField,
  stringArray,
  stringField,
  textOf,
} from '../../common/field-checks.ts'
import type { Check, Fields, Path } from '../../common/field-checks.ts'
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

const checkEffort = oneOf(['reasoning', 'effort'], ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'])
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

function refuseConversation(_value: unknown, problems: ProblemList): void {
  problems.add(
    ['conversation'],
    'conversations are not kept here; continue an answer with `previous_response_id`, or send the items in `input`',
    'unsupported',
  )
}

/** In a large body the large fields wait for `decode`, which runs the same checks. */
export const responsesChecks: ReadonlyMap<string, Check> = new Map<string, Check>([
  ['model', stringField('model')],
  ['input', checkInput],
  ['instructions', stringField('instructions')],
  ['stream', booleanField('stream')],
  ['stream_options', objectField('stream_options')],
  ['store', booleanField('store')],
  ['background', booleanField('background')],
  ['previous_response_id', stringField('previous_response_id')],
  ['conversation', refuseConversation],
  ['include', stringArray('include')],
  ['tools', checkTools],
  ['tool_choice', checkToolChoice],
  ['parallel_tool_calls', booleanField('parallel_tool_calls')],
  ['max_output_tokens', integerBetween('max_output_tokens', 1)],
  ['max_tool_calls', integerBetween('max_tool_calls', 0)],
  ['temperature', numberBetween('temperature', 0, 2)],
  ['top_p', numberBetween('top_p', 0, 1)],
  ['top_logprobs', integerBetween('top_logprobs', 0, 20)],
  ['truncation', oneOf(['truncation'], ['auto', 'disabled'])],
  ['text', checkText],
  ['reasoning', checkReasoning],
  ['metadata', checkMetadata],
  ['user', stringField('user')],
  ['safety_identifier', stringField('safety_identifier')],
  ['prompt_cache_key', stringField('prompt_cache_key')],
  ['service_tier', stringField('service_tier')],
  ['prompt', objectField('prompt')],
])

function isGiven(body: JsonBody, field: string): boolean {
  return body.has(field) && (body.sizeOf(field) > 4 || readField(body, field) !== null)
}

function checkPresence(body: JsonBody, problems: ProblemList): void {
  if (['input', 'previous_response_id', 'prompt', 'conversation'].some(field => isGiven(body, field))) return
  const remedy = body.has('messages')
    ? 'this is a chat body (`messages`): send it to /v1/chat/completions, or send `input` here'
    : 'send a string or an array of items'
  problems.add(['input'], `\`input\` is missing; ${remedy}`, 'missing')
}

/** Checks every field the gateway knows. Throws `invalid-request` when one of a large body is not JSON. */
export function inspectResponses(body: JsonBody): Inspection {
  const list = new ProblemList()
  checkFields(body, responsesChecks, list)
  checkPresence(body, list)
  return {
    model: textOf(body, 'model'),
    stream: readField(body, 'stream') === true,
    endUser: textOf(body, 'user') || textOf(body, 'safety_identifier'),
    problems: list.problems,
  }
}

/** A field as an object; empty when it is absent or something else. */
export function objectOf(value: unknown): Fields {
  return isObject(value) ? value : {}
}
