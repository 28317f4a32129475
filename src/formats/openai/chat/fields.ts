/** The fields of a chat body with their checks (OpenAI API reference, "Create chat completion"). */
import { chatFields, reasoningEfforts } from '../../../core/hub/chat-fields.ts'
import type { ChatRequest } from '../../../core/hub/chat.ts'
import { isObject } from '../../../lib/json/json-values.ts'
import type { Json } from '../../../lib/json/json-values.ts'
import type { Check, Path, ProblemList } from '../../common/field-checks.ts'
import { fieldTable, withChecks } from '../../common/field-table.ts'
import { overrideFields } from '../../common/gateway-fields.ts'
import { oneOf } from '../../common/plain-checks.ts'
import { checkMessages } from './inspect-messages.ts'

const toolModes = new Set<unknown>(['auto', 'none', 'required', 'any'])
/** The last three are other vendors', which check them further. */
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
    else if (tool.type === 'custom') checkTextTool(tool, ['tools', at, 'custom'], problems)
  }
}

/** Cursor has the name beside the type, as in Responses. */
function checkTextTool({ custom, name }: Json, path: Path, problems: ProblemList): void {
  const named = isObject(custom) ? custom.name : custom === undefined ? name : undefined
  if (typeof named !== 'string' || named === '') problems.wrong(path, 'an object with a `name`', custom)
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
    const named = isObject(value[value.type]) ? (value[value.type] as Json) : value
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

const checkEffort = oneOf(['reasoning', 'effort'], reasoningEfforts)

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

/** OpenAI's word, or the count of Together and Fireworks. */
function checkLogprobs(value: unknown, problems: ProblemList): void {
  if (typeof value === 'boolean') return
  const what = 'true, false or an integer from 0 to 20'
  if (typeof value !== 'number') problems.wrong(['logprobs'], what, value)
  else if (!Number.isInteger(value) || value < 0 || value > 20) problems.outOfRange(['logprobs'], what, value)
}

function checkStop(value: unknown, problems: ProblemList): void {
  if (typeof value === 'string') return
  if (!Array.isArray(value)) return problems.wrong(['stop'], 'a string or an array of strings', value)
  if (value.length > stopsMax)
    problems.add(['stop'], `\`stop\` must have at most ${stopsMax} entries; got ${value.length}`, 'out_of_range')
  for (let at = 0; at < value.length && !problems.full; at++)
    if (typeof value[at] !== 'string') problems.wrong(['stop', at], 'a string', value[at])
}

/** OpenAI takes 4; other vendors up to 16. */
const stopsMax = 16

function checkLogitBias(value: unknown, problems: ProblemList): void {
  if (!isObject(value)) return problems.wrong(['logit_bias'], 'an object of token id to bias', value)
  for (const [token, bias] of Object.entries(value)) {
    if (problems.full) return
    if (typeof bias !== 'number') problems.wrong(['logit_bias', token], 'a number between -100 and 100', bias)
    else if (!(bias >= -100 && bias <= 100))
      problems.outOfRange(['logit_bias', token], 'a number between -100 and 100', bias)
  }
}

/** Of the fields that text completions have too. `checkStreamOptions` looks at the options beside `stream`. */
export const sharedChecks: Readonly<Record<string, Check>> = {
  stream_options: () => {},
  stop: checkStop,
  logit_bias: checkLogitBias,
}

/** By name; the request of "Create chat completion". */
export const chatTable = fieldTable<ChatRequest>([
  ...withChecks(chatFields, {
    ...sharedChecks,
    logprobs: checkLogprobs,
    messages: checkMessages,
    tools: checkTools,
    tool_choice: checkToolChoice,
    functions: checkFunctions,
    function_call: checkFunctionCall,
    response_format: checkResponseFormat,
    reasoning: checkReasoning,
    thinking: checkThinking,
  }),
  ...overrideFields,
])
