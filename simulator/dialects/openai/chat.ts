/**
 * OpenAI chat completions, requests and responses: https://platform.openai.com/docs/api-reference/chat. Reasoning is
 * sent as `reasoning_content`, as DeepSeek and vLLM do.
 */
import { ApiError } from '../response.ts'
import { isJsonObject, objectsOf } from '../../lib/json.ts'
import type { SimulatedResponse, StreamEvent } from '../response.ts'
import type {
  GenerationRequest,
  ToolDefinition,
  Generation,
  GeneratedToolCall,
  GeneratedChoice,
  TokenUsage,
  UsageWriter,
} from '../../generation/types.ts'
import type { JsonObject } from '../../lib/json.ts'
import { dataEvent } from '../stream-events.ts'
import { openaiFailure } from './error.ts'
import { checkChatModel } from './model-apis.ts'
import { checkEffortWord, checkToolNames, checkToolResults } from './tool-rules.ts'
import { hash } from '../../generation/random.ts'
import { countTokens, tokensOf } from '../../generation/tokens.ts'

/** Creation time of all responses, 2025-01-01, so that the same request gives the same bytes. Unix time in seconds. */
export const createdS = 1_735_689_600
/** `system_fingerprint` of every response. */
export const fingerprint = 'fp_5f6d8a1c2e'

const choicesMax = 128
const effortTokens: Record<string, number> = { none: 0, minimal: 4, low: 8, medium: 16, high: 32, xhigh: 64, max: 64 }

/** Number of reasoning tokens for a `reasoning_effort`. */
export function reasoningTokensFor(effort: unknown): number {
  return effortTokens[String(effort ?? 'none')] ?? 0
}

/** The text of a message: a string, or the text parts joined. */
export function textOf(content: unknown): string {
  if (typeof content === 'string') return content
  return objectsOf(content)
    .map(part => (typeof part.text === 'string' ? part.text : ''))
    .join('')
}

/** A token limit of at least `min`, checked as OpenAI does. Throws ApiError. */
export function readMaxTokens(value: unknown, param: string, min = 1): number | undefined {
  if (value === undefined || value === null) return undefined
  if (typeof value === 'number' && Number.isInteger(value) && value >= min) return value
  throw new ApiError(`Invalid '${param}': integer below minimum value. Expected a value >= ${min}.`, { param })
}

/** The number of choices, 1 to 128. Throws ApiError. */
export function readChoices(value: unknown): number {
  if (value === undefined || value === null) return 1
  if (typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= choicesMax) return value
  throw new ApiError(`Invalid 'n': expected an integer from 1 to ${choicesMax}.`, { param: 'n' })
}

/** `stop` as a list. */
export function readStop(value: unknown): string[] {
  const list = Array.isArray(value) ? value : [value]
  return list.filter(stop => typeof stop === 'string')
}

function readTools(value: unknown): ToolDefinition[] {
  return objectsOf(value).map(tool => {
    const takesText = tool.type === 'custom'
    const described = isJsonObject(tool.function) ? tool.function : isJsonObject(tool.custom) ? tool.custom : {}
    return { name: String(described.name ?? ''), schema: described.parameters, takesText }
  })
}

function readToolChoice(value: unknown): GenerationRequest['toolChoice'] {
  if (value === 'none' || value === 'required') return value
  if (!isJsonObject(value)) return 'auto'
  if (value.type === 'allowed_tools' && isJsonObject(value.allowed_tools))
    return value.allowed_tools.mode === 'required' ? 'required' : 'auto'
  const chosen = isJsonObject(value.function) ? value.function : value.custom
  return isJsonObject(chosen) ? { name: String(chosen.name) } : 'auto'
}

function readFormat(value: unknown): GenerationRequest['json'] {
  if (!isJsonObject(value)) return undefined
  if (value.type === 'json_object') return {}
  return value.type === 'json_schema' && isJsonObject(value.json_schema)
    ? { schema: value.json_schema.schema }
    : undefined
}

function checkMessages(body: JsonObject): JsonObject[] {
  const { messages } = body
  if (messages === undefined)
    throw new ApiError("Missing required parameter: 'messages'.", {
      param: 'messages',
      code: 'missing_required_parameter',
    })
  if (!Array.isArray(messages) || messages.length === 0 || !messages.every(isJsonObject))
    throw new ApiError("Invalid 'messages': expected an array of objects with at least 1 element.", {
      param: 'messages',
    })
  const roles = new Set(['system', 'developer', 'user', 'assistant', 'tool', 'function'])
  messages.forEach((message, at) => {
    if (roles.has(String(message.role))) return
    const param = `messages[${at}].role`
    throw new ApiError(`Invalid value: '${message.role}'. Supported values are: ${[...roles].join(', ')}.`, { param })
  })
  return messages
}

/** Reads a chat request. Throws ApiError. */
export function readChat(body: JsonObject, model: string): GenerationRequest {
  checkChatModel(model, body)
  const messages = checkMessages(body)
  checkEffortWord(body.reasoning_effort, 'reasoning_effort')
  checkToolNames(body, messages)
  checkToolResults(messages)
  const results: string[] = []
  for (const message of messages) {
    if (message.role === 'tool') results.push(textOf(message.content))
    else results.length = 0
  }
  const images = messages.flatMap(message => objectsOf(message.content)).filter(part => part.type === 'image_url')
  const user = messages.findLast(message => message.role === 'user')
  return {
    model,
    userText: textOf(user?.content),
    conversationKey: JSON.stringify([messages, body.seed ?? null]),
    inputTokens: countTokens(messages.map(message => textOf(message.content)).join('')),
    images: images.length,
    toolResult: results.length > 0 ? results.join(' ') : undefined,
    tools: readTools(body.tools),
    toolChoice: readToolChoice(body.tool_choice),
    parallelTools: body.parallel_tool_calls !== false,
    json: readFormat(body.response_format),
    maxTokens:
      readMaxTokens(body.max_completion_tokens, 'max_completion_tokens') ??
      readMaxTokens(body.max_tokens, 'max_tokens'),
    stop: readStop(body.stop),
    choices: readChoices(body.n),
    reasoningTokens: reasoningTokensFor(body.reasoning_effort),
    wantsImage: Array.isArray(body.modalities) && body.modalities.includes('image'),
  }
}

/** `usage` of chat and text completions. */
export function openaiUsage(usage: TokenUsage): JsonObject {
  return {
    prompt_tokens: usage.inputTokens,
    completion_tokens: usage.outputTokens,
    total_tokens: usage.inputTokens + usage.outputTokens,
    prompt_tokens_details: {
      cached_tokens: usage.cachedTokens,
      audio_tokens: 0,
      ...(usage.cacheWriteTokens > 0 ? { cache_write_tokens: usage.cacheWriteTokens } : {}),
    },
    completion_tokens_details: {
      reasoning_tokens: usage.reasoningTokens,
      audio_tokens: 0,
      accepted_prediction_tokens: 0,
      rejected_prediction_tokens: 0,
    },
  }
}

function finishReason(choice: GeneratedChoice): string {
  return choice.finish.replace('-', '_')
}

function tokenLogprob(token: string, rank: number): JsonObject {
  const text = rank === 0 ? token : tokensOf(`${token}${rank}`).at(-1)!
  const logprob = -((hash(token) % 1000) / 2000) - rank
  return { token: text, logprob, bytes: [...Buffer.from(text)] }
}

/** An invented log probability, the same for the same token. */
export function logprobOf(token: string, topCount: number): JsonObject {
  const top = Array.from({ length: Math.min(topCount, 20) }, (_, rank) => tokenLogprob(token, rank))
  return { ...tokenLogprob(token, 0), top_logprobs: top }
}

interface ChatShape {
  readonly topLogprobs: number | undefined
  readonly includeUsage: boolean
}

function shapeOf(body: JsonObject): ChatShape {
  const wantsLogprobs = body.logprobs === true
  return {
    topLogprobs: wantsLogprobs ? Number(body.top_logprobs ?? 0) || 0 : undefined,
    includeUsage: isJsonObject(body.stream_options) && body.stream_options.include_usage === true,
  }
}

function logprobs(shape: ChatShape, tokens: readonly string[]): JsonObject | null {
  if (shape.topLogprobs === undefined) return null
  return { content: tokens.map(token => logprobOf(token, shape.topLogprobs!)), refusal: null }
}

function toolCall(call: GeneratedToolCall): JsonObject {
  const id = `call_${call.id}`
  const text = call.pieces.join('')
  return call.takesText
    ? { id, type: 'custom', custom: { name: call.name, input: text } }
    : { id, type: 'function', function: { name: call.name, arguments: text } }
}

/** Images in a chat answer, in OpenRouter's format: OpenAI's chat has none. */
function imageParts(choice: GeneratedChoice): JsonObject[] {
  return choice.images.map(({ data, mediaType }) => ({
    type: 'image_url',
    image_url: { url: `data:${mediaType};base64,${data}` },
  }))
}

function choiceObject(choice: GeneratedChoice, index: number, shape: ChatShape): JsonObject {
  const text = choice.text.join('')
  const message: JsonObject = {
    role: 'assistant',
    content: choice.calls.length > 0 && text === '' ? null : text,
    ...(choice.reasoning.length > 0 ? { reasoning_content: choice.reasoning.join('') } : {}),
    ...(choice.calls.length > 0 ? { tool_calls: choice.calls.map(toolCall) } : {}),
    ...(choice.images.length > 0 ? { images: imageParts(choice) } : {}),
    refusal: null,
    annotations: [],
  }
  return { index, message, logprobs: logprobs(shape, choice.text), finish_reason: finishReason(choice) }
}

function deltasOf(choice: GeneratedChoice, shape: ChatShape): Iterable<[JsonObject, JsonObject | null]> {
  return (function* (): Generator<[JsonObject, JsonObject | null]> {
    for (const piece of choice.reasoning) yield [{ reasoning_content: piece }, null]
    for (const piece of choice.text) yield [{ content: piece }, logprobs(shape, [piece])]
  })()
}

/** The deltas of one tool call: first the name, then one token of the arguments each. */
function* callDeltas(call: GeneratedToolCall, index: number): Generator<[JsonObject, 0 | 1]> {
  const id = `call_${call.id}`
  if (call.takesText) {
    yield [{ index, id, type: 'custom', custom: { name: call.name, input: '' } }, 0]
    for (const piece of call.pieces) yield [{ index, custom: { input: piece } }, 1]
    return
  }
  yield [{ index, id, type: 'function', function: { name: call.name, arguments: '' } }, 0]
  for (const piece of call.pieces) yield [{ index, function: { arguments: piece } }, 1]
}

type ChunkWriter = (choices: JsonObject[], kind: StreamEvent['kind'], tokens?: number) => StreamEvent

function* choiceEvents(choice: GeneratedChoice, index: number, context: { chunk: ChunkWriter; shape: ChatShape }) {
  const { chunk, shape } = context
  const one = (delta: JsonObject, finish: string | null, probabilities: JsonObject | null = null): JsonObject[] => [
    { index, delta, logprobs: probabilities, finish_reason: finish },
  ]
  yield chunk(one({ role: 'assistant', content: '', refusal: null }, null), 'start')
  for (const [delta, probabilities] of deltasOf(choice, shape)) yield chunk(one(delta, null, probabilities), 'delta', 1)
  for (const [at, call] of choice.calls.entries())
    for (const [delta, tokens] of callDeltas(call, at)) yield chunk(one({ tool_calls: [delta] }, null), 'delta', tokens)
  if (choice.images.length > 0) yield chunk(one({ images: imageParts(choice) }, null), 'start')
  yield chunk(one({}, finishReason(choice)), 'finish')
}

/** Interleaves the events of several choices, one event each in turn, as OpenAI does. */
export function* interleave(streams: Iterator<StreamEvent>[]): Generator<StreamEvent> {
  for (let open = streams; open.length > 0; ) {
    const next: Iterator<StreamEvent>[] = []
    for (const stream of open) {
      const step = stream.next()
      if (step.done) continue
      yield step.value
      next.push(stream)
    }
    open = next
  }
}

function* chatEvents(reply: Generation, shape: ChatShape, usageOf: UsageWriter): Generator<StreamEvent> {
  const head = {
    id: `chatcmpl-${reply.id}`,
    object: 'chat.completion.chunk',
    created: createdS,
    model: reply.model,
    service_tier: 'default',
    system_fingerprint: fingerprint,
  }
  const usage = usageOf(reply.usage)
  const mayReport = shape.includeUsage && usage !== undefined
  const chunk: ChunkWriter = (choices, kind, tokens = 0) =>
    dataEvent({ ...head, choices, ...(mayReport ? { usage: null } : {}) }, kind, tokens)
  yield* interleave(reply.choices.map((choice, index) => choiceEvents(choice, index, { chunk, shape })))
  if (mayReport) yield dataEvent({ ...head, choices: [], usage }, 'usage')
  yield dataEvent('[DONE]', 'end')
}

/** The response to a chat request, streamed or not. */
export function writeChat(reply: Generation, body: JsonObject, usageOf: UsageWriter): SimulatedResponse {
  const shape = shapeOf(body)
  const billable = { inputTokens: reply.usage.inputTokens, outputTokens: reply.usage.outputTokens }
  if (body.stream === true)
    return {
      status: 200,
      headers: [],
      content: chatEvents(reply, shape, usageOf),
      billable,
      failure: openaiFailure,
    }
  const usage = usageOf(reply.usage)
  const whole = {
    id: `chatcmpl-${reply.id}`,
    object: 'chat.completion',
    created: createdS,
    model: reply.model,
    choices: reply.choices.map((choice, index) => choiceObject(choice, index, shape)),
    ...(usage ? { usage } : {}),
    service_tier: 'default',
    system_fingerprint: fingerprint,
  }
  return { status: 200, headers: [], content: JSON.stringify(whole), billable }
}
