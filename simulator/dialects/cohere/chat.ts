/** Cohere's chat, version 2, requests and responses: https://docs.cohere.com/reference/chat and /v2/docs/streaming. */
import { ApiError, jsonResponse } from '../response.ts'
import { isJsonObject, objectsOf } from '../../lib/json.ts'
import type { SimulatedResponse, StreamEvent } from '../response.ts'
import type {
  GenerationRequest,
  Generation,
  GeneratedToolCall,
  GeneratedChoice,
  TokenUsage,
} from '../../generation/types.ts'
import type { JsonObject } from '../../lib/json.ts'
import { dataEvent, namedEvent } from '../stream-events.ts'
import { readMaxTokens, textOf } from '../openai/chat.ts'
import type { ErrorDetails } from '../openai/error.ts'
import type { EndpointHandler } from '../endpoint.ts'
import { countTokens } from '../../generation/tokens.ts'

const thinkingTokensMax = 16
const stopsMax = 5
const roles: ReadonlySet<unknown> = new Set(['system', 'user', 'assistant', 'tool'])

const invalid = (what: string): ApiError => new ApiError(`invalid request: ${what}`)

function messagesOf(body: JsonObject): JsonObject[] {
  const { messages } = body
  if (!Array.isArray(messages) || messages.length === 0 || !messages.every(isJsonObject))
    throw invalid('all elements in history must have a message.')
  for (const message of messages) {
    if (!roles.has(message.role)) throw invalid(`invalid role provided: ${String(message.role)}`)
    if (message.role === 'tool' && typeof message.tool_call_id !== 'string')
      throw invalid('tool messages must have a tool_call_id.')
  }
  return messages
}

/** Cohere's ranges are narrower than those of other vendors; values outside are refused, not clamped. */
function checkRanges(body: JsonObject): void {
  const ranges: [string, number, number][] = [
    ['temperature', 0, 1],
    ['p', 0.01, 0.99],
    ['k', 0, 500],
    ['frequency_penalty', 0, 1],
    ['presence_penalty', 0, 1],
  ]
  for (const [name, least, most] of ranges) {
    const value = body[name]
    if (value !== undefined && !(typeof value === 'number' && value >= least && value <= most))
      throw invalid(`${name} must be between ${least} and ${most} inclusive.`)
  }
  if (Array.isArray(body.stop_sequences) && body.stop_sequences.length > stopsMax)
    throw invalid(`stop_sequences must have at most ${stopsMax} elements.`)
}

/** A tool's result: a text, or parts of text and documents. */
function resultText(content: unknown): string {
  if (typeof content === 'string') return content
  return objectsOf(content)
    .map(part => {
      const document = isJsonObject(part.document) ? part.document : {}
      return typeof part.text === 'string'
        ? part.text
        : typeof document.data === 'string'
          ? document.data
          : JSON.stringify(document.data ?? '')
    })
    .join('')
}

function lastResults(messages: readonly JsonObject[]): string[] {
  const results: string[] = []
  for (const message of messages) {
    if (message.role === 'tool') results.push(resultText(message.content))
    else results.length = 0
  }
  return results
}

function readThinking({ thinking }: JsonObject): number {
  if (!isJsonObject(thinking) || thinking.type === 'disabled') return 0
  return Math.min(
    typeof thinking.token_budget === 'number' ? thinking.token_budget : thinkingTokensMax,
    thinkingTokensMax,
  )
}

function readChat(body: JsonObject, model: string): GenerationRequest {
  const messages = messagesOf(body)
  checkRanges(body)
  const results = lastResults(messages)
  const format = isJsonObject(body.response_format) ? body.response_format : {}
  const tools = objectsOf(body.tools).map(tool => (isJsonObject(tool.function) ? tool.function : {}))
  const user = messages.findLast(message => message.role === 'user')
  return {
    model,
    userText: textOf(user?.content),
    conversationKey: JSON.stringify([messages, body.seed ?? null]),
    inputTokens: countTokens(messages.map(message => resultText(message.content)).join('')),
    images: messages.flatMap(message => objectsOf(message.content)).filter(part => part.type === 'image_url').length,
    ...(results.length > 0 && { toolResult: results.join(' ') }),
    tools: tools.map(tool => ({ name: String(tool.name ?? ''), schema: tool.parameters, takesText: false })),
    toolChoice: body.tool_choice === 'REQUIRED' ? 'required' : body.tool_choice === 'NONE' ? 'none' : 'auto',
    parallelTools: true,
    json: format.type === 'json_object' ? { schema: format.json_schema ?? format.schema } : undefined,
    maxTokens: readMaxTokens(body.max_tokens, 'max_tokens'),
    stop: Array.isArray(body.stop_sequences) ? body.stop_sequences.filter(stop => typeof stop === 'string') : [],
    choices: 1,
    reasoningTokens: readThinking(body),
  }
}

/** Cohere writes some counts as `12.0`; here they are integers. */
function cohereUsage({ inputTokens, outputTokens, cachedTokens }: TokenUsage): JsonObject {
  const counts = { input_tokens: inputTokens, output_tokens: outputTokens }
  // Cohere's own prompt counts in `tokens` but is not billed.
  return {
    billed_units: counts,
    tokens: { ...counts, input_tokens: inputTokens + 66 },
    cached_tokens: cachedTokens,
  }
}

function finishReason(choice: GeneratedChoice): string {
  if (choice.finish === 'length') return 'MAX_TOKENS'
  if (choice.finish === 'tool-calls') return 'TOOL_CALL'
  if (choice.finish === 'content-filter') return 'ERROR_TOXIC'
  return choice.stopSequence === undefined ? 'COMPLETE' : 'STOP_SEQUENCE'
}

const callHead = (call: GeneratedToolCall): JsonObject => ({
  id: `${call.name}_${call.id.slice(0, 12)}`,
  type: 'function',
})

/** With tool calls, reasoning and text form the `tool_plan`. */
function wholeMessage(choice: GeneratedChoice): JsonObject {
  const text = choice.text.join('')
  const thinking = choice.reasoning.join('')
  if (choice.calls.length > 0)
    return {
      role: 'assistant',
      ...(thinking + text !== '' && { tool_plan: thinking + text }),
      tool_calls: choice.calls.map(call => ({
        ...callHead(call),
        function: { name: call.name, arguments: call.pieces.join('') },
      })),
    }
  const content = [...(thinking === '' ? [] : [{ type: 'thinking', thinking }]), { type: 'text', text }]
  return { role: 'assistant', content }
}

const delta = (type: string, message: JsonObject, index = 0): JsonObject => ({ type, index, delta: { message } })

function* contentEvents(kind: 'thinking' | 'text', pieces: readonly string[], index: number): Generator<StreamEvent> {
  yield namedEvent(delta('content-start', { content: { type: kind, [kind]: '' } }, index), 'start')
  for (const piece of pieces)
    yield namedEvent(delta('content-delta', { content: { [kind]: piece } }, index), 'delta', 1)
  yield namedEvent({ type: 'content-end', index }, 'start')
}

function* callEvents(call: GeneratedToolCall, index: number): Generator<StreamEvent> {
  const started = { ...callHead(call), function: { name: call.name, arguments: '' } }
  yield namedEvent(delta('tool-call-start', { tool_calls: started }, index), 'start')
  for (const piece of call.pieces)
    yield namedEvent(delta('tool-call-delta', { tool_calls: { function: { arguments: piece } } }, index), 'delta', 1)
  yield namedEvent({ type: 'tool-call-end', index }, 'start')
}

function* chatEvents(reply: Generation, usage: JsonObject | undefined): Generator<StreamEvent> {
  const choice = reply.choices[0]!
  const message = { role: 'assistant', content: [], tool_plan: '', tool_calls: [], citations: [] }
  yield namedEvent({ id: reply.id, type: 'message-start', delta: { message } }, 'start')
  if (choice.calls.length > 0) {
    for (const piece of [...choice.reasoning, ...choice.text])
      yield namedEvent({ type: 'tool-plan-delta', delta: { message: { tool_plan: piece } } }, 'delta', 1)
    for (const [index, call] of choice.calls.entries()) yield* callEvents(call, index)
  } else {
    if (choice.reasoning.length > 0) yield* contentEvents('thinking', choice.reasoning, 0)
    yield* contentEvents('text', choice.text, choice.reasoning.length > 0 ? 1 : 0)
  }
  const end = { finish_reason: finishReason(choice), ...(usage && { usage }) }
  yield namedEvent({ type: 'message-end', delta: end }, 'finish')
  yield dataEvent('[DONE]', 'end')
}

/** A failed generation ends with `message-end` and the finish reason ERROR. */
function failure(): StreamEvent {
  return namedEvent({ type: 'message-end', delta: { finish_reason: 'ERROR', error: 'internal server error' } }, 'error')
}

/** `/v2/chat`. Throws ApiError. */
export const cohereChat: EndpointHandler = ({ body, model, generate, usageOf }): SimulatedResponse => {
  const reply = generate(readChat(body, model))
  const usage = usageOf(cohereUsage)(reply.usage)
  const billable = { inputTokens: reply.usage.inputTokens, outputTokens: reply.usage.outputTokens }
  if (body.stream === true) return { status: 200, headers: [], content: chatEvents(reply, usage), billable, failure }
  const choice = reply.choices[0]!
  return jsonResponse(
    {
      id: reply.id,
      finish_reason: finishReason(choice),
      message: wholeMessage(choice),
      ...(usage && { usage }),
    },
    billable,
  )
}

const messages: Record<number, string> = {
  400: 'invalid request: message must be at least 1 token long or tool results must be specified.',
  401: 'invalid api token',
  402: 'Please add or update your payment method at https://dashboard.cohere.com/billing',
  403: 'your API key does not have access to this resource',
  404: "model 'sim' not found, make sure the correct model ID was used and that you have access to the model.",
  422: 'invalid request: unprocessable entity',
  429:
    'You are using a Trial key, which is limited to 20 API calls / minute. You can continue to use the Trial key ' +
    'for free.',
  498: 'invalid request: blocked by the block list',
  500: 'internal server error, this has been reported to our developers.',
  503: 'The service is temporarily unavailable. Please try again.',
}

const kinds: Record<string, string> = {
  quota: 'monthly quota exceeded for your key',
  'context-length': 'too many tokens: total number of tokens in the prompt cannot exceed 128000 - received 140000.',
  'content-filter': 'invalid request: content policy violation',
}

/** An id and a message; the status is the only machine-readable part. */
export function cohereError(details: ErrorDetails, requestId: string): JsonObject {
  const text = messages[details.status] ?? messages[details.status >= 500 ? 500 : 400]!
  return { id: requestId, message: details.message ?? kinds[details.kind ?? ''] ?? text }
}
