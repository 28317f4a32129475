/** Anthropic Messages, requests and responses: https://docs.anthropic.com/en/api/messages and /messages-streaming. */
import { ApiError, unbilled } from '../response.ts'
import { isJsonObject, objectsOf } from '../../lib/json.ts'
import type { SimulatedResponse, StreamEvent } from '../response.ts'
import type { GenerationRequest, Generation, GeneratedChoice, TokenUsage, UsageWriter } from '../../generation/types.ts'
import type { JsonObject } from '../../lib/json.ts'
import { namedEvent } from '../stream-events.ts'
import type { ErrorDetails } from '../openai/error.ts'
import { checkModel } from './model-rules.ts'
import { checkTools } from './tool-rules.ts'
import { modelNames } from '../openai/embeddings.ts'
import { hash, randomId, seededRandom } from '../../generation/random.ts'
import { countTokens } from '../../generation/tokens.ts'

const thinkingTokensMax = 16

function textOf(content: unknown): string {
  if (typeof content === 'string') return content
  return objectsOf(content)
    .map(block =>
      block.type === 'tool_result' ? textOf(block.content) : typeof block.text === 'string' ? block.text : '',
    )
    .join('')
}

function imagesIn(content: unknown): number {
  return objectsOf(content).reduce(
    (sum, block) => sum + (block.type === 'image' ? 1 : block.type === 'tool_result' ? imagesIn(block.content) : 0),
    0,
  )
}

function checkMessages(body: JsonObject): JsonObject[] {
  const { messages } = body
  if (messages === undefined) throw new ApiError('messages: Field required')
  if (!Array.isArray(messages) || !messages.every(isJsonObject))
    throw new ApiError('messages: Input should be a valid list')
  if (messages.length === 0) throw new ApiError('messages: at least one message is required')
  messages.forEach((message, at) => {
    if (!['user', 'assistant', 'system'].includes(String(message.role)))
      throw new ApiError(`messages.${at}.role: Input should be 'user' or 'assistant'`)
  })
  return messages
}

function readThinking(body: JsonObject, maxTokens: number): number {
  const { thinking } = body
  if (!isJsonObject(thinking) || thinking.type === 'disabled' || thinking.type === 'between_tools') return 0
  if (thinking.type === 'adaptive') return thinkingTokensMax
  const budget = Number(thinking.budget_tokens)
  if (!(budget >= 1024))
    throw new ApiError('thinking.enabled.budget_tokens: Input should be greater than or equal to 1024')
  if (budget >= maxTokens) throw new ApiError('`max_tokens` must be greater than `thinking.budget_tokens`.')
  return Math.min(budget, thinkingTokensMax)
}

function readToolChoice(value: unknown): GenerationRequest['toolChoice'] {
  if (!isJsonObject(value)) return 'auto'
  if (value.type === 'any') return 'required'
  if (value.type === 'tool') return { name: String(value.name) }
  return value.type === 'none' ? 'none' : 'auto'
}

function readFormat(body: JsonObject): GenerationRequest['json'] {
  const format = isJsonObject(body.output_config) ? body.output_config.format : body.output_format
  return isJsonObject(format) && format.type === 'json_schema' ? { schema: format.schema } : undefined
}

/** Reads a Messages request. Throws ApiError. Without `mustLimit`, `max_tokens` may be absent (count_tokens). */
export function readMessages(body: JsonObject, model: string, mustLimit = true): GenerationRequest {
  const messages = checkMessages(body)
  const maxTokens = mustLimit ? body.max_tokens : 1_000_000
  if (maxTokens === undefined) throw new ApiError('max_tokens: Field required')
  if (typeof maxTokens !== 'number' || !Number.isInteger(maxTokens) || maxTokens < 1)
    throw new ApiError('max_tokens: Input should be greater than or equal to 1')
  const last = messages.at(-1)!
  const results = objectsOf(last.content).filter(block => block.type === 'tool_result')
  const userContents = messages.filter(message => message.role === 'user').map(message => message.content)
  // A message that only holds tool results is not text of the user.
  const userTexts = userContents.filter(content => !objectsOf(content).some(block => block.type === 'tool_result'))
  const texts = [textOf(body.system), ...messages.map(message => textOf(message.content))]
  checkModel(body, messages)
  checkTools(body, messages)
  return {
    model,
    userText: textOf(userTexts.at(-1)),
    conversationKey: JSON.stringify([body.system ?? null, messages]),
    inputTokens: countTokens(texts.join('')),
    images: messages.reduce((sum, message) => sum + imagesIn(message.content), 0),
    toolResult: results.length > 0 ? results.map(block => textOf(block.content)).join(' ') : undefined,
    tools: objectsOf(body.tools)
      .filter(tool => tool.type === undefined || tool.type === 'custom')
      .map(tool => ({ name: String(tool.name ?? ''), schema: tool.input_schema, takesText: false })),
    toolChoice: readToolChoice(body.tool_choice),
    parallelTools: !(isJsonObject(body.tool_choice) && body.tool_choice.disable_parallel_tool_use === true),
    json: readFormat(body),
    maxTokens,
    stop: Array.isArray(body.stop_sequences) ? body.stop_sequences.filter(stop => typeof stop === 'string') : [],
    choices: 1,
    reasoningTokens: readThinking(body, maxTokens),
  }
}

/** `usage` of a non-streamed message. Input read from or written to the cache is not part of `input_tokens`. */
export function anthropicUsage(usage: TokenUsage): JsonObject {
  return {
    input_tokens: usage.inputTokens - usage.cachedTokens - usage.cacheWriteTokens,
    cache_creation_input_tokens: usage.cacheWriteTokens,
    cache_read_input_tokens: usage.cachedTokens,
    cache_creation: {
      ephemeral_5m_input_tokens: usage.cacheWriteTokens - usage.cacheWriteOneHourTokens,
      ephemeral_1h_input_tokens: usage.cacheWriteOneHourTokens,
    },
    output_tokens: usage.outputTokens,
    service_tier: 'standard',
  }
}

function stopReason(choice: GeneratedChoice): string {
  if (choice.finish === 'length') return 'max_tokens'
  if (choice.finish === 'content-filter') return 'refusal'
  if (choice.finish === 'tool-calls') return 'tool_use'
  return choice.stopSequence === undefined ? 'end_turn' : 'stop_sequence'
}

function signatureOf(choice: GeneratedChoice): string {
  return Buffer.from(randomId(seededRandom(hash(choice.reasoning.join(''))), 96)).toString('base64')
}

/** Arguments cut by the token limit are not valid JSON: Anthropic then sends an empty object. */
function inputOf(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return {}
  }
}

/** A content block: its start event, its deltas with their tokens, and its non-streamed form. */
interface Block {
  readonly start: JsonObject
  readonly deltas: Iterable<[JsonObject, 0 | 1]>
  readonly whole: JsonObject
}

function* deltasOf(type: string, field: string, pieces: readonly string[]): Generator<[JsonObject, 0 | 1]> {
  // Anthropic starts the input of a tool with an empty piece.
  if (type === 'input_json_delta') yield [{ type, [field]: '' }, 0]
  for (const piece of pieces) yield [{ type, [field]: piece }, 1]
}

function blocksOf(choice: GeneratedChoice): Block[] {
  const blocks: Block[] = []
  if (choice.reasoning.length > 0) {
    const signature = signatureOf(choice)
    const deltas = function* (): Generator<[JsonObject, 0 | 1]> {
      yield* deltasOf('thinking_delta', 'thinking', choice.reasoning)
      yield [{ type: 'signature_delta', signature }, 0]
    }
    const whole = { type: 'thinking', thinking: choice.reasoning.join(''), signature }
    blocks.push({ start: { type: 'thinking', thinking: '', signature: '' }, deltas: deltas(), whole })
  }
  const text = choice.text.join('')
  if (text !== '' || (choice.calls.length === 0 && blocks.length === 0)) {
    const deltas = deltasOf('text_delta', 'text', choice.text)
    blocks.push({ start: { type: 'text', text: '' }, deltas, whole: { type: 'text', text } })
  }
  for (const call of choice.calls) {
    const head = { type: 'tool_use', id: `toolu_${call.id}`, name: call.name }
    const whole = { ...head, input: inputOf(call.pieces.join('')) }
    const deltas = deltasOf('input_json_delta', 'partial_json', call.pieces)
    blocks.push({ start: { ...head, input: {} }, deltas, whole })
  }
  return blocks
}

function* messageEvents(reply: Generation, usageOf: UsageWriter): Generator<StreamEvent> {
  const choice = reply.choices[0]!
  const started = usageOf({ ...reply.usage, outputTokens: Math.min(1, reply.usage.outputTokens) })
  const message = {
    ...messageHead(reply),
    content: [],
    stop_reason: null,
    stop_sequence: null,
    ...(started ? { usage: started } : {}),
  }
  yield namedEvent({ type: 'message_start', message }, 'start')
  for (const [index, block] of blocksOf(choice).entries()) {
    yield namedEvent({ type: 'content_block_start', index, content_block: block.start }, 'start')
    if (index === 0) yield namedEvent({ type: 'ping' }, 'start')
    for (const [delta, tokens] of block.deltas)
      yield namedEvent({ type: 'content_block_delta', index, delta }, 'delta', tokens)
    yield namedEvent({ type: 'content_block_stop', index }, 'start')
  }
  const { service_tier: _tier, cache_creation: _creation, ...usage } = usageOf(reply.usage) ?? {}
  const delta = { stop_reason: stopReason(choice), stop_sequence: choice.stopSequence ?? null }
  const reported = Object.keys(usage).length > 0 ? { usage } : {}
  yield namedEvent({ type: 'message_delta', delta, ...reported }, 'finish')
  yield namedEvent({ type: 'message_stop' }, 'end')
}

function messageHead(reply: Generation): JsonObject {
  return { id: `msg_01${reply.id.slice(0, 22)}`, type: 'message', role: 'assistant', model: reply.model }
}

/** The response to a Messages request, streamed or not. */
export function writeMessage(reply: Generation, body: JsonObject, usageOf: UsageWriter): SimulatedResponse {
  const billable = { inputTokens: reply.usage.inputTokens, outputTokens: reply.usage.outputTokens }
  if (body.stream === true)
    return {
      status: 200,
      headers: [],
      content: messageEvents(reply, usageOf),
      billable,
      failure: anthropicFailure,
    }
  const choice = reply.choices[0]!
  const usage = usageOf(reply.usage)
  const whole = {
    ...messageHead(reply),
    content: blocksOf(choice).map(block => block.whole),
    stop_reason: stopReason(choice),
    stop_sequence: choice.stopSequence ?? null,
    ...(usage ? { usage } : {}),
  }
  return { status: 200, headers: [], content: JSON.stringify(whole), billable }
}

/** The response of /messages/count_tokens. */
export function tokenCountResponse(request: GenerationRequest): SimulatedResponse {
  const content = JSON.stringify({ input_tokens: request.inputTokens })
  return { status: 200, headers: [], content, billable: unbilled }
}

/** The model list in Anthropic's format, or one model. */
export function anthropicModels(id?: string): SimulatedResponse {
  const entry = (name: string) => ({
    type: 'model',
    id: name,
    display_name: name,
    created_at: '2025-01-01T00:00:00Z',
  })
  const list = {
    data: modelNames.map(entry),
    has_more: false,
    first_id: modelNames[0],
    last_id: modelNames.at(-1),
  }
  const content = JSON.stringify(id === undefined ? list : entry(id))
  return { status: 200, headers: [], content, billable: unbilled }
}

const types: Record<number, [string, string]> = {
  400: ['invalid_request_error', 'Invalid request.'],
  401: ['authentication_error', 'invalid x-api-key'],
  402: ['billing_error', 'Your credit balance is too low to access the API.'],
  403: ['permission_error', 'Your API key does not have permission to use the specified resource.'],
  404: ['not_found_error', 'model: sim'],
  413: ['request_too_large', 'Request exceeds the maximum allowed number of bytes.'],
  429: ['rate_limit_error', 'This request would exceed your rate limit of 3 requests per minute.'],
  500: ['api_error', 'Internal server error'],
  504: ['timeout_error', 'Request timed out'],
  529: ['overloaded_error', 'Overloaded'],
}

const kinds: Record<string, string> = {
  quota: 'Your credit balance is too low to access the API. Please go to Plans & Billing to upgrade.',
  'context-length': 'prompt is too long: 210000 tokens > 200000 maximum',
  'content-filter': 'Output blocked by content filtering policy',
}

/** An error body; without a request id, the form used in streams. */
export function anthropicError(details: ErrorDetails, requestId?: string): JsonObject {
  const [type, text] = types[details.status] ?? types[details.status >= 500 ? 500 : 400]!
  const message = details.message ?? kinds[details.kind ?? ''] ?? text
  return { type: 'error', error: { type, message }, ...(requestId ? { request_id: requestId } : {}) }
}

/** An error event in a stream. */
function anthropicFailure(): StreamEvent {
  return namedEvent(anthropicError({ status: 529 }), 'error')
}
