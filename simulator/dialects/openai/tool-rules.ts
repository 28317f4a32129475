/** What OpenAI refuses of tools and their results (API reference, "Chat"; its own error messages). */
import { isJsonObject, objectsOf } from '../../lib/json.ts'
import type { JsonObject } from '../../lib/json.ts'
import { ApiError } from '../response.ts'

const nameCharactersMax = 64
const namePattern = /^[a-zA-Z0-9_-]+$/
const efforts = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max']

/** Throws ApiError for a name that is too long or has other characters. `param` = where it stands. */
export function checkToolName(name: unknown, param: string): void {
  if (typeof name !== 'string' || name === '')
    throw new ApiError(`Missing required parameter: '${param}'.`, { param, code: 'missing_required_parameter' })
  if (name.length > nameCharactersMax)
    throw new ApiError(
      `Invalid '${param}': string too long. Expected a string with maximum length ${nameCharactersMax}, but got a ` +
        `string with length ${name.length} instead.`,
      { param, code: 'string_above_max_length' },
    )
  if (!namePattern.test(name))
    throw new ApiError(
      `Invalid '${param}': string does not match pattern. Expected a string that matches the pattern ` +
        "'^[a-zA-Z0-9_-]+$'.",
      { param, code: 'invalid_value' },
    )
}

/** Throws ApiError for an effort that is none of OpenAI's words. */
export function checkEffortWord(effort: unknown, param: string): void {
  if (effort === undefined || effort === null || efforts.includes(effort as string)) return
  const words = efforts.map(word => `'${word}'`).join(', ')
  throw new ApiError(`Invalid value: '${String(effort)}'. Supported values are: ${words}.`, {
    param,
    code: 'invalid_value',
  })
}

/** The function or custom part of a tool or a call; of flat tools the tool itself. */
const described = (tool: JsonObject): [JsonObject, string] =>
  isJsonObject(tool.custom) ? [tool.custom, 'custom'] : [isJsonObject(tool.function) ? tool.function : {}, 'function']

/** Throws ApiError for names of tools, and of calls in the conversation, that are refused. */
export function checkToolNames(body: JsonObject, messages: readonly JsonObject[]): void {
  for (const [at, tool] of objectsOf(body.tools).entries()) {
    const [part, kind] = described(tool)
    checkToolName(part.name, `tools[${at}].${kind}.name`)
  }
  for (const [at, message] of messages.entries())
    for (const [place, call] of objectsOf(message.tool_calls).entries()) {
      const [part, kind] = described(call)
      checkToolName(part.name, `messages[${at}].tool_calls[${place}].${kind}.name`)
    }
}

/** Throws ApiError for a result without its call, and for calls without their results right behind them. */
export function checkToolResults(messages: readonly JsonObject[]): void {
  let open = new Set<unknown>()
  let answering = false
  for (const [at, message] of [...messages, {} as JsonObject].entries()) {
    const param = `messages.[${at}].role`
    if (message.role === 'tool') {
      if (!answering)
        throw new ApiError(
          "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.",
          { param },
        )
      if (!open.delete(message.tool_call_id) && open.size > 0)
        throw new ApiError(`Invalid parameter: 'tool_call_id' of '${String(message.tool_call_id)}' not found.`, {
          param: `messages.[${at}].tool_call_id`,
        })
      continue
    }
    if (open.size > 0)
      throw new ApiError(
        "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. " +
          `The following tool_call_ids did not have response messages: ${[...open].join(', ')}`,
        { param },
      )
    open = new Set(objectsOf(message.tool_calls).map(call => call.id))
    answering = open.size > 0
  }
}
