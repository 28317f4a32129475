/**
 * OpenAI chat completions, both ends: https://platform.openai.com/docs/api-reference/chat. Reasoning travels
 * as `reasoning_content`, as the vendors do that show it.
 */
import { BadRequest, isJson, objectsOf } from './ask.ts'
import type {
  Answer,
  Ask,
  AskTool,
  Json,
  Reply,
  ReplyCall,
  ReplyChoice,
  ReplyUsage,
  StreamEvent,
  UsageOf,
} from './ask.ts'
import { dataEvent } from './events.ts'
import { openaiFailure } from './openai-error.ts'
import { hash } from './random.ts'
import { countTokens, tokensOf } from './text.ts'

/** All answers were made at this second, so that the same request gets the same bytes. 2025-01-01. */
export const createdS = 1_735_689_600
/** `system_fingerprint` of every answer: there is one backend. */
export const fingerprint = 'fp_5f6d8a1c2e'

const choicesMax = 128
const effortTokens: Record<string, number> = { none: 0, minimal: 4, low: 8, medium: 16, high: 32, xhigh: 64 }

/** How long the simulator thinks for OpenAI's word of it. */
export function tokensOfEffort(effort: unknown): number {
  return effortTokens[String(effort ?? 'none')] ?? 0
}

/** The text of a message: itself, or its parts together. */
export function textOf(content: unknown): string {
  if (typeof content === 'string') return content
  return objectsOf(content)
    .map(part => (typeof part.text === 'string' ? part.text : ''))
    .join('')
}

/** How many tokens may come, checked as the vendor does. */
export function readMaxTokens(value: unknown, param: string): number | undefined {
  if (value === undefined || value === null) return undefined
  if (typeof value === 'number' && Number.isInteger(value) && value >= 1) return value
  throw new BadRequest(`Invalid '${param}': integer below minimum value. Expected a value >= 1.`, { param })
}

/** One to 128 choices. */
export function readChoices(value: unknown): number {
  if (value === undefined || value === null) return 1
  if (typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= choicesMax) return value
  throw new BadRequest(`Invalid 'n': expected an integer from 1 to ${choicesMax}.`, { param: 'n' })
}

/** `stop` as a list. */
export function readStop(value: unknown): string[] {
  const list = Array.isArray(value) ? value : [value]
  return list.filter(stop => typeof stop === 'string')
}

function readTools(value: unknown): AskTool[] {
  return objectsOf(value).map(tool => {
    const takesText = tool.type === 'custom'
    const described = isJson(tool.function) ? tool.function : isJson(tool.custom) ? tool.custom : {}
    return { name: String(described.name ?? ''), schema: described.parameters, takesText }
  })
}

function readToolChoice(value: unknown): Ask['toolChoice'] {
  if (value === 'none' || value === 'required') return value
  if (!isJson(value)) return 'auto'
  if (value.type === 'allowed_tools' && isJson(value.allowed_tools))
    return value.allowed_tools.mode === 'required' ? 'required' : 'auto'
  const chosen = isJson(value.function) ? value.function : value.custom
  return isJson(chosen) ? { name: String(chosen.name) } : 'auto'
}

function readFormat(value: unknown): Ask['json'] {
  if (!isJson(value)) return undefined
  if (value.type === 'json_object') return {}
  return value.type === 'json_schema' && isJson(value.json_schema) ? { schema: value.json_schema.schema } : undefined
}

function checkMessages(body: Json): Json[] {
  const { messages } = body
  if (messages === undefined)
    throw new BadRequest("Missing required parameter: 'messages'.", {
      param: 'messages',
      code: 'missing_required_parameter',
    })
  if (!Array.isArray(messages) || messages.length === 0 || !messages.every(isJson))
    throw new BadRequest("Invalid 'messages': expected an array of objects with at least 1 element.", {
      param: 'messages',
    })
  const roles = new Set(['system', 'developer', 'user', 'assistant', 'tool', 'function'])
  messages.forEach((message, at) => {
    if (roles.has(String(message.role))) return
    const param = `messages[${at}].role`
    throw new BadRequest(`Invalid value: '${message.role}'. Supported values are: ${[...roles].join(', ')}.`, { param })
  })
  return messages
}

/** Reads a chat request; throws BadRequest. */
export function readChat(body: Json, model: string): Ask {
  const messages = checkMessages(body)
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
    key: JSON.stringify([messages, body.seed ?? null]),
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
    reasoningTokens: tokensOfEffort(body.reasoning_effort),
    paints: Array.isArray(body.modalities) && body.modalities.includes('image'),
  }
}

/** `usage` of chat and text completions. */
export function openaiUsage(usage: ReplyUsage): Json {
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

function finishReason(choice: ReplyChoice): string {
  return choice.finish.replace('-', '_')
}

function tokenLogprob(token: string, rank: number): Json {
  const said = rank === 0 ? token : tokensOf(`${token}${rank}`).at(-1)!
  const logprob = -((hash(token) % 1000) / 2000) - rank
  return { token: said, logprob, bytes: [...Buffer.from(said)] }
}

/** How likely a token was, made up: the same for the same token. */
export function logprobOf(token: string, topCount: number): Json {
  const top = Array.from({ length: Math.min(topCount, 20) }, (_, rank) => tokenLogprob(token, rank))
  return { ...tokenLogprob(token, 0), top_logprobs: top }
}

interface ChatShape {
  readonly topLogprobs: number | undefined
  readonly includeUsage: boolean
}

function shapeOf(body: Json): ChatShape {
  const asked = body.logprobs === true
  return {
    topLogprobs: asked ? Number(body.top_logprobs ?? 0) || 0 : undefined,
    includeUsage: isJson(body.stream_options) && body.stream_options.include_usage === true,
  }
}

function logprobs(shape: ChatShape, tokens: readonly string[]): Json | null {
  if (shape.topLogprobs === undefined) return null
  return { content: tokens.map(token => logprobOf(token, shape.topLogprobs!)), refusal: null }
}

function wholeCall(call: ReplyCall): Json {
  const id = `call_${call.id}`
  const said = call.pieces.join('')
  return call.takesText
    ? { id, type: 'custom', custom: { name: call.name, input: said } }
    : { id, type: 'function', function: { name: call.name, arguments: said } }
}

/** Pictures of an answer, as OpenRouter writes them: OpenAI itself has none in chat. */
function imageParts(choice: ReplyChoice): Json[] {
  return choice.images.map(({ data, mediaType }) => ({
    type: 'image_url',
    image_url: { url: `data:${mediaType};base64,${data}` },
  }))
}

function wholeChoice(choice: ReplyChoice, index: number, shape: ChatShape): Json {
  const text = choice.text.join('')
  const message: Json = {
    role: 'assistant',
    content: choice.calls.length > 0 && text === '' ? null : text,
    ...(choice.reasoning.length > 0 ? { reasoning_content: choice.reasoning.join('') } : {}),
    ...(choice.calls.length > 0 ? { tool_calls: choice.calls.map(wholeCall) } : {}),
    ...(choice.images.length > 0 ? { images: imageParts(choice) } : {}),
    refusal: null,
    annotations: [],
  }
  return { index, message, logprobs: logprobs(shape, choice.text), finish_reason: finishReason(choice) }
}

function deltasOf(choice: ReplyChoice, shape: ChatShape): Iterable<[Json, Json | null]> {
  return (function* (): Generator<[Json, Json | null]> {
    for (const piece of choice.reasoning) yield [{ reasoning_content: piece }, null]
    for (const piece of choice.text) yield [{ content: piece }, logprobs(shape, [piece])]
  })()
}

/** The deltas of one tool call: its name first, then a token of its arguments each. */
function* callDeltas(call: ReplyCall, index: number): Generator<[Json, 0 | 1]> {
  const id = `call_${call.id}`
  if (call.takesText) {
    yield [{ index, id, type: 'custom', custom: { name: call.name, input: '' } }, 0]
    for (const piece of call.pieces) yield [{ index, custom: { input: piece } }, 1]
    return
  }
  yield [{ index, id, type: 'function', function: { name: call.name, arguments: '' } }, 0]
  for (const piece of call.pieces) yield [{ index, function: { arguments: piece } }, 1]
}

type ChunkWriter = (choices: Json[], kind: StreamEvent['kind'], tokens?: number) => StreamEvent

function* choiceEvents(choice: ReplyChoice, index: number, context: { chunk: ChunkWriter; shape: ChatShape }) {
  const { chunk, shape } = context
  const one = (delta: Json, finish: string | null, probabilities: Json | null = null): Json[] => [
    { index, delta, logprobs: probabilities, finish_reason: finish },
  ]
  yield chunk(one({ role: 'assistant', content: '', refusal: null }, null), 'start')
  for (const [delta, probabilities] of deltasOf(choice, shape)) yield chunk(one(delta, null, probabilities), 'delta', 1)
  for (const [at, call] of choice.calls.entries())
    for (const [delta, tokens] of callDeltas(call, at)) yield chunk(one({ tool_calls: [delta] }, null), 'delta', tokens)
  if (choice.images.length > 0) yield chunk(one({ images: imageParts(choice) }, null), 'start')
  yield chunk(one({}, finishReason(choice)), 'finish')
}

/** The events of several choices in turn, as the vendor mixes them: one each, until all are at their end. */
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

function* chatEvents(reply: Reply, shape: ChatShape, usageOf: UsageOf<Json | undefined>): Generator<StreamEvent> {
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

/** The answer to a chat request, whole or as a stream, as its body asks. */
export function writeChat(reply: Reply, body: Json, usageOf: UsageOf<Json | undefined>): Answer {
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
    choices: reply.choices.map((choice, index) => wholeChoice(choice, index, shape)),
    ...(usage ? { usage } : {}),
    service_tier: 'default',
    system_fingerprint: fingerprint,
  }
  return { status: 200, headers: [], content: JSON.stringify(whole), billable }
}
