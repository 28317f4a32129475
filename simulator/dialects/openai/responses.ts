/** OpenAI responses, input: https://platform.openai.com/docs/api-reference/responses. Responses are not stored. */
import { ApiError, jsonResponse } from '../response.ts'
import { isJsonObject, objectsOf } from '../../lib/json.ts'
import type { GenerationRequest, ToolDefinition } from '../../generation/types.ts'
import type { JsonObject } from '../../lib/json.ts'
import { readMaxTokens, textOf, reasoningTokensFor } from './chat.ts'
import { checkReasoning, checkResponsesModel, defaultEffort } from './model-apis.ts'
import { checkEffortWord, checkToolName } from './tool-rules.ts'
import { writeResponse } from './responses-output.ts'
import type { EndpointHandler } from '../endpoint.ts'
import { countTokens } from '../../generation/tokens.ts'

function itemsOf(body: JsonObject): JsonObject[] {
  const { input } = body
  if (typeof input === 'string') return [{ type: 'message', role: 'user', content: input }]
  if (input === undefined)
    throw new ApiError("Missing required parameter: 'input'.", {
      param: 'input',
      code: 'missing_required_parameter',
    })
  if (!Array.isArray(input) || !input.every(isJsonObject))
    throw new ApiError("Invalid type for 'input': expected a string or an array of objects.", {
      param: 'input',
      code: 'invalid_type',
    })
  return input
}

function checkPreviousResponse(body: JsonObject): void {
  if (typeof body.previous_response_id !== 'string') return
  throw new ApiError(`Previous response with id '${body.previous_response_id}' not found.`, {
    param: 'previous_response_id',
    code: 'previous_response_not_found',
  })
}

const isClientCall = (item: JsonObject): boolean => item.type === 'function_call' || item.type === 'custom_tool_call'

/** OpenAI refuses a tool result without its call, and a call without its result. */
function checkCalls(items: readonly JsonObject[]): void {
  const known = new Set(items.filter(item => /_call$/.test(String(item.type))).map(item => item.call_id))
  const answered = new Set(items.filter(item => /_call_output$/.test(String(item.type))).map(item => item.call_id))
  for (const [at, item] of items.entries()) {
    if (!isClientCall(item)) continue
    checkToolName(item.name, `input[${at}].name`)
    if (!answered.has(item.call_id))
      throw new ApiError(
        `No tool output found for ${item.type === 'function_call' ? 'function' : 'custom tool'} call ` +
          `${String(item.call_id)}.`,
        { param: 'input' },
      )
  }
  for (const item of items)
    if (/_call_output$/.test(String(item.type)) && !known.has(item.call_id))
      throw new ApiError(
        `No tool call found for ${String(item.type).replaceAll('_', ' ')} with call_id ${String(item.call_id)}.`,
        { param: 'input' },
      )
}

function readTools(value: unknown): ToolDefinition[] {
  for (const [at, tool] of objectsOf(value).entries())
    if (tool.type === 'function' || tool.type === 'custom') checkToolName(tool.name, `tools[${at}].name`)
  return objectsOf(value)
    .filter(tool => tool.type === 'function' || tool.type === 'custom')
    .map(tool => ({
      name: String(tool.name),
      schema: tool.parameters,
      takesText: tool.type === 'custom',
    }))
}

function readToolChoice(value: unknown): GenerationRequest['toolChoice'] {
  if (value === 'none' || value === 'required') return value
  if (!isJsonObject(value)) return 'auto'
  if (value.type === 'allowed_tools') return value.mode === 'required' ? 'required' : 'auto'
  return value.type === 'function' || value.type === 'custom' ? { name: String(value.name) } : 'auto'
}

function readFormat(text: unknown): GenerationRequest['json'] {
  const format = isJsonObject(text) ? text.format : undefined
  if (!isJsonObject(format)) return undefined
  if (format.type === 'json_object') return {}
  return format.type === 'json_schema' ? { schema: format.schema } : undefined
}

/** Text of the tool results at the end of the conversation. */
function lastResults(items: readonly JsonObject[]): string[] {
  const results: string[] = []
  for (const item of items) {
    if (/_call_output$/.test(String(item.type))) results.push(textOf(item.output))
    else results.length = 0
  }
  return results
}

const effortOf = ({ reasoning }: JsonObject): unknown => (isJsonObject(reasoning) ? reasoning.effort : undefined)

function readResponses(body: JsonObject, model: string): GenerationRequest {
  checkPreviousResponse(body)
  checkResponsesModel(model, body)
  checkEffortWord(effortOf(body), 'reasoning.effort')
  const items = itemsOf(body)
  checkCalls(items)
  checkReasoning(items)
  const messages = items.filter(item => typeof item.role === 'string')
  const results = lastResults(items)
  const parts = messages.flatMap(message => objectsOf(message.content))
  const texts = items.map(item => textOf(item.content) || textOf(item.output)).join('')
  return {
    model,
    userText: textOf(messages.findLast(message => message.role === 'user')?.content),
    conversationKey: JSON.stringify([body.instructions ?? null, items]),
    inputTokens: countTokens(textOf(body.instructions) + texts),
    images: parts.filter(part => part.type === 'input_image').length,
    ...(results.length > 0 && { toolResult: results.join(' ') }),
    tools: readTools(body.tools),
    toolChoice: readToolChoice(body.tool_choice),
    parallelTools: body.parallel_tool_calls !== false,
    json: readFormat(body.text),
    maxTokens: readMaxTokens(body.max_output_tokens, 'max_output_tokens', 16),
    stop: [],
    choices: 1,
    reasoningTokens: reasoningTokensFor(effortOf(body) ?? defaultEffort(model)),
    wantsImage: objectsOf(body.tools).some(tool => tool.type === 'image_generation'),
  }
}

/** `/responses`, streamed or not. Throws ApiError, also for a `previous_response_id`, since nothing is stored. */
export const openaiResponses: EndpointHandler = ({ body, model, generate, usageOf }) =>
  writeResponse(generate(readResponses(body, model)), body, usageOf)

/** `/responses/input_tokens`: the token count of the same body. Throws ApiError. */
export const inputTokens: EndpointHandler = ({ body, model }) =>
  jsonResponse({ object: 'response.input_tokens', input_tokens: readResponses(body, model).inputTokens })
