/** What can be said of a chat request without any model (OpenAI API reference, "Create chat completion"). */
import type { Inspection } from '../../../core/format.ts'
import type { JsonBody } from '../../../lib/json/json-body.ts'
import {
  booleanField,
  checkFields,
  integerBetween,
  isObject,
  objectField,
  oneOf,
  ProblemList,
  readField,
  sharedChecks,
  stringField,
  textOf,
} from '../../common/field-checks.ts'
import type { Check, Fields, Path } from '../../common/field-checks.ts'
import { checkMessages } from './inspect-messages.ts'
import { checkChosenTool } from './inspect-tool-choice.ts'

const toolModes = new Set<unknown>(['auto', 'none', 'required', 'any'])
/** The last three are other vendors'; they are theirs to judge. */
const responseTypes = new Set<unknown>(['text', 'json_object', 'json_schema', 'grammar', 'regex', 'structural_tag'])

function checkFunction(value: unknown, path: Path, problems: ProblemList): void {
  if (!isObject(value)) return problems.wrong(path, 'an object with a `name`', value)
  if (typeof value.name !== 'string' || value.name === '')
    problems.wrong([...path, 'name'], 'a string that is not empty', value.name)
  if (value.description != null && typeof value.description !== 'string')
    problems.wrong([...path, 'description'], 'a string', value.description)
  if (value.parameters != null && !isObject(value.parameters))
    problems.wrong([...path, 'parameters'], 'an object (JSON Schema)', value.parameters)
  if (value.strict != null && typeof value.strict !== 'boolean')
    problems.wrong([...path, 'strict'], 'true or false', value.strict)
}

function checkTools(value: unknown, problems: ProblemList): void {
  if (!Array.isArray(value)) return problems.wrong(['tools'], 'an array of tools', value)
  for (let at = 0; at < value.length && !problems.full; at++) {
    const tool: unknown = value[at]
    if (!isObject(tool)) problems.wrong(['tools', at], 'an object with `type` and `function`', tool)
    else if (typeof tool.type !== 'string')
      problems.wrong(['tools', at, 'type'], 'a string such as "function"', tool.type)
    else if (tool.type === 'function') checkFunction(tool.function, ['tools', at, 'function'], problems)
    else if (tool.type === 'custom' && !(isObject(tool.custom) && typeof tool.custom.name === 'string'))
      problems.wrong(['tools', at, 'custom'], 'an object with a `name`', tool.custom)
  }
}

function checkFunctions(value: unknown, problems: ProblemList): void {
  if (!Array.isArray(value)) return problems.wrong(['functions'], 'an array of functions', value)
  for (let at = 0; at < value.length && !problems.full; at++) checkFunction(value[at], ['functions', at], problems)
}

function checkToolChoice(value: unknown, problems: ProblemList): void {
  const what = '"auto", "none", "required" or {"type": "function", "function": {"name": ...}}'
  if (typeof value === 'string') {
    if (!toolModes.has(value)) problems.unknownValue(['tool_choice'], what, value)
    return
  }
  if (!isObject(value)) return problems.wrong(['tool_choice'], what, value)
  if (typeof value.type !== 'string') return problems.wrong(['tool_choice', 'type'], '"function"', value.type)
  if (value.type === 'function' || value.type === 'custom') {
    const named = isObject(value[value.type]) ? (value[value.type] as Fields) : value
    if (typeof named.name !== 'string' || named.name === '')
      problems.wrong(['tool_choice', value.type, 'name'], 'the name of a tool', named.name)
  } else if (value.type === 'allowed_tools') {
    const allowed = value.allowed_tools
    if (!isObject(allowed) || !Array.isArray(allowed.tools))
      problems.wrong(['tool_choice', 'allowed_tools'], 'an object with `mode` and `tools`', allowed)
  } else if (!toolModes.has(value.type)) {
    problems.unknownValue(['tool_choice', 'type'], '"function", "custom" or "allowed_tools"', value.type)
  }
}

function checkFunctionCall(value: unknown, problems: ProblemList): void {
  const what = '"auto", "none" or {"name": ...}'
  if (value === 'auto' || value === 'none') return
  if (typeof value === 'string') return problems.unknownValue(['function_call'], what, value)
  if (!isObject(value) || typeof value.name !== 'string') problems.wrong(['function_call'], what, value)
}

function checkResponseFormat(value: unknown, problems: ProblemList): void {
  if (!isObject(value)) return problems.wrong(['response_format'], 'an object such as {"type": "json_object"}', value)
  if (!responseTypes.has(value.type)) {
    const what = '"text", "json_object" or "json_schema"'
    if (typeof value.type === 'string') problems.unknownValue(['response_format', 'type'], what, value.type)
    else problems.wrong(['response_format', 'type'], what, value.type)
    return
  }
  if (value.type !== 'json_schema') return
  const path = ['response_format', 'json_schema']
  const wanted = value.json_schema
  if (!isObject(wanted)) return problems.wrong(path, 'an object with `name` and `schema`', wanted)
  if (wanted.name != null && typeof wanted.name !== 'string') problems.wrong([...path, 'name'], 'a string', wanted.name)
  if (wanted.schema != null && !isObject(wanted.schema))
    problems.wrong([...path, 'schema'], 'an object (JSON Schema)', wanted.schema)
  if (wanted.strict != null && typeof wanted.strict !== 'boolean')
    problems.wrong([...path, 'strict'], 'true or false', wanted.strict)
}

const efforts = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max']
const checkEffort = oneOf(['reasoning', 'effort'], efforts)

function checkReasoning(value: unknown, problems: ProblemList): void {
  if (!isObject(value)) return problems.wrong(['reasoning'], 'an object such as {"effort": "low"}', value)
  if (value.effort != null) checkEffort(value.effort, problems)
  checkBudget(value.max_tokens, ['reasoning', 'max_tokens'], problems)
}

function checkThinking(value: unknown, problems: ProblemList): void {
  if (!isObject(value)) return problems.wrong(['thinking'], 'an object such as {"type": "enabled"}', value)
  if (typeof value.type !== 'string') problems.wrong(['thinking', 'type'], '"enabled" or "disabled"', value.type)
  checkBudget(value.budget_tokens, ['thinking', 'budget_tokens'], problems)
}

function checkBudget(value: unknown, path: Path, problems: ProblemList): void {
  if (value == null) return
  if (typeof value !== 'number') problems.wrong(path, 'an integer of at least 0', value)
  else if (!Number.isSafeInteger(value) || value < 0) problems.outOfRange(path, 'an integer of at least 0', value)
}

/** In a large body the large fields wait for `decode`, which runs the same checks. */
export const chatChecks: ReadonlyMap<string, Check> = new Map<string, Check>([
  ...sharedChecks,
  ['messages', checkMessages],
  ['logprobs', booleanField('logprobs')],
  ['top_logprobs', integerBetween('top_logprobs', 0, 20)],
  ['max_tokens', integerBetween('max_tokens', 1)],
  ['max_completion_tokens', integerBetween('max_completion_tokens', 1)],
  ['top_k', integerBetween('top_k', -1)],
  ['service_tier', stringField('service_tier')],
  ['tools', checkTools],
  ['tool_choice', checkToolChoice],
  ['parallel_tool_calls', booleanField('parallel_tool_calls')],
  ['functions', checkFunctions],
  ['function_call', checkFunctionCall],
  ['response_format', checkResponseFormat],
  ['reasoning_effort', oneOf(['reasoning_effort'], efforts)],
  ['reasoning', checkReasoning],
  ['thinking', checkThinking],
  ['chat_template_kwargs', objectField('chat_template_kwargs')],
])

/** Outside a stream it means nothing and goes nowhere, but a wrong one is a mistake of the client all the same. */
export function checkStreamOptions(body: JsonBody, problems: ProblemList): void {
  const options = readField(body, 'stream_options')
  if (options == null) return
  if (!isObject(options))
    return problems.wrong(['stream_options'], 'an object such as {"include_usage": true}', options)
  if (options.include_usage != null && typeof options.include_usage !== 'boolean')
    problems.wrong(['stream_options', 'include_usage'], 'true or false', options.include_usage)
}

function checkPresence(body: JsonBody, problems: ProblemList): void {
  // Of large messages only the presence is known.
  if (body.has('messages') && (body.sizeOf('messages') > 4 || readField(body, 'messages') !== null)) return
  if (body.has('input')) {
    const remedy = 'this is a Responses body (`input`): send it to /v1/responses, or send `messages` here'
    problems.add(['messages'], `\`messages\` is missing; ${remedy}`, 'missing')
  } else problems.add(['messages'], '`messages` is missing; send an array of messages', 'missing')
}

/** Checks every field the gateway knows. Throws `invalid-request` when one of a large body is not JSON. */
export function inspectChat(body: JsonBody): Inspection {
  const list = new ProblemList()
  checkFields(body, chatChecks, list)
  checkPresence(body, list)
  if (body.has('stream_options')) checkStreamOptions(body, list)
  if (body.has('tool_choice') || body.has('function_call')) checkChosenTool(body, list)
  if (body.has('top_logprobs')) {
    const wanted = readField(body, 'top_logprobs')
    if (typeof wanted === 'number' && wanted > 0 && readField(body, 'logprobs') !== true)
      list.add(['top_logprobs'], '`top_logprobs` needs `logprobs` to be true; set it, or leave both out', 'invalid')
  }
  return {
    model: textOf(body, 'model'),
    stream: readField(body, 'stream') === true,
    endUser: textOf(body, 'user'),
    problems: list.problems,
  }
}
