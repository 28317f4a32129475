/**
 * Ollama's own API, requests and responses: https://github.com/ollama/ollama/blob/main/docs/api.md. Streams are
 * newline-delimited JSON.
 */
import { ApiError, jsonResponse } from '../response.ts'
import { isJsonObject, objectsOf } from '../../lib/json.ts'
import type { SimulatedResponse, StreamEvent } from '../response.ts'
import type { GenerationRequest, Generation, GeneratedChoice, TokenUsage } from '../../generation/types.ts'
import type { JsonObject } from '../../lib/json.ts'
import { lineEvent } from '../stream-events.ts'
import { textOf } from '../openai/chat.ts'
import type { ErrorDetails } from '../openai/error.ts'
import { modelNames, vectorOf } from '../openai/embeddings.ts'
import type { EndpointHandler } from '../endpoint.ts'
import { countTokens } from '../../generation/tokens.ts'

const thinkingTokens = 16
const dimensionsDefault = 768
const createdAt = '2025-01-01T00:00:00Z'
const roles: ReadonlySet<unknown> = new Set(['system', 'user', 'assistant', 'tool'])

function messagesOf(body: JsonObject): JsonObject[] {
  const messages = objectsOf(body.messages)
  for (const message of messages) {
    if (!roles.has(message.role)) throw new ApiError(`invalid role: ${String(message.role)}`)
    if (message.content !== undefined && typeof message.content !== 'string')
      throw new ApiError(
        'json: cannot unmarshal array into Go struct field ChatRequest.messages.content of type string',
      )
    for (const call of objectsOf(message.tool_calls))
      if (isJsonObject(call.function) && typeof call.function.arguments === 'string')
        throw new ApiError(
          'json: cannot unmarshal string into Go struct field ChatRequest.messages.tool_calls.function.arguments of ' +
            'type map',
        )
  }
  return messages
}

/** `-1` means no limit. */
function limitOf({ num_predict: limit }: JsonObject): number | undefined {
  return typeof limit === 'number' && limit > 0 ? limit : undefined
}

function readChat(body: JsonObject, model: string): GenerationRequest {
  const messages = messagesOf(body)
  const options = isJsonObject(body.options) ? body.options : {}
  const results: string[] = []
  for (const message of messages) {
    if (message.role === 'tool') results.push(textOf(message.content))
    else results.length = 0
  }
  const tools = objectsOf(body.tools).map(tool => (isJsonObject(tool.function) ? tool.function : {}))
  const stops = Array.isArray(options.stop) ? options.stop : [options.stop]
  return {
    model,
    userText: textOf(messages.findLast(message => message.role === 'user')?.content),
    conversationKey: JSON.stringify([messages, options.seed ?? null]),
    inputTokens: countTokens(messages.map(message => textOf(message.content)).join('')),
    images: messages.reduce((sum, { images }) => sum + (Array.isArray(images) ? images.length : 0), 0),
    ...(results.length > 0 && { toolResult: results.join(' ') }),
    tools: tools.map(tool => ({ name: String(tool.name ?? ''), schema: tool.parameters, takesText: false })),
    // Ollama has no way to force a tool call.
    toolChoice: 'auto',
    parallelTools: true,
    json: body.format === 'json' ? {} : isJsonObject(body.format) ? { schema: body.format } : undefined,
    maxTokens: limitOf(options),
    stop: stops.filter(stop => typeof stop === 'string'),
    choices: 1,
    reasoningTokens: body.think === undefined || body.think === false ? 0 : thinkingTokens,
  }
}

/** Counts of zero are left out. */
function ollamaUsage({ inputTokens, outputTokens }: TokenUsage): JsonObject {
  return {
    ...(inputTokens > 0 && { prompt_eval_count: inputTokens }),
    ...(outputTokens > 0 && { eval_count: outputTokens }),
  }
}

function callsOf(choice: GeneratedChoice): JsonObject {
  if (choice.calls.length === 0) return {}
  const calls = choice.calls.map((call, index) => {
    let args: unknown = {}
    try {
      args = JSON.parse(call.pieces.join(''))
    } catch {
      // Arguments cut by a token limit are not valid JSON: Ollama then has an empty object.
    }
    return { id: `call_${call.id.slice(0, 8)}`, function: { index, name: call.name, arguments: args } }
  })
  return { tool_calls: calls }
}

/** Durations in nanoseconds. */
const timings = {
  total_duration: 5_000_000,
  load_duration: 1_000_000,
  prompt_eval_duration: 1_000_000,
  eval_duration: 3_000_000,
}

const doneOf = (choice: GeneratedChoice, usage: JsonObject | undefined): JsonObject => ({
  done: true,
  done_reason: choice.finish === 'length' ? 'length' : 'stop',
  ...timings,
  ...usage,
})

function* chatLines(reply: Generation, usage: JsonObject | undefined): Generator<StreamEvent> {
  const choice = reply.choices[0]!
  const line = (
    message: JsonObject,
    kind: StreamEvent['kind'],
    tokens: number,
    more: JsonObject = { done: false },
  ): StreamEvent =>
    lineEvent(
      {
        model: reply.model,
        created_at: createdAt,
        message: { role: 'assistant', content: '', ...message },
        ...more,
      },
      kind,
      tokens,
    )
  for (const thinking of choice.reasoning) yield line({ thinking }, 'delta', 1)
  for (const content of choice.text) yield line({ content }, 'delta', 1)
  if (choice.calls.length > 0)
    yield line(
      callsOf(choice),
      'delta',
      choice.calls.reduce((sum, call) => sum + call.pieces.length, 0),
    )
  yield line({}, 'finish', 0, doneOf(choice, usage))
}

function failure(): StreamEvent {
  return lineEvent({ error: 'an error was encountered while running the model: unexpected EOF' }, 'error')
}

/** `/api/chat`. Streams unless `stream` is false. Throws ApiError. */
export const ollamaChat: EndpointHandler = ({ body, model, generate, usageOf }): SimulatedResponse => {
  const reply = generate(readChat(body, model))
  const usage = usageOf(ollamaUsage)(reply.usage)
  const billable = { inputTokens: reply.usage.inputTokens, outputTokens: reply.usage.outputTokens }
  if (body.stream !== false)
    return {
      status: 200,
      headers: [['content-type', 'application/x-ndjson']],
      content: chatLines(reply, usage),
      billable,
      failure,
    }
  const choice = reply.choices[0]!
  const thinking = choice.reasoning.length > 0 ? { thinking: choice.reasoning.join('') } : {}
  const message = { role: 'assistant', content: choice.text.join(''), ...thinking, ...callsOf(choice) }
  return jsonResponse({ model, created_at: createdAt, message, ...doneOf(choice, usage) }, billable)
}

/** `/api/embed`: one text or a list; at most 768 dimensions. Throws ApiError. */
export const ollamaEmbed: EndpointHandler = ({ body, model, seed }) => {
  const inputs = typeof body.input === 'string' ? [body.input] : body.input
  if (!Array.isArray(inputs) || !inputs.every(one => typeof one === 'string')) throw new ApiError('invalid input type')
  const dimensions =
    typeof body.dimensions === 'number' ? Math.min(body.dimensions, dimensionsDefault) : dimensionsDefault
  const inputTokens = inputs.reduce((sum, text) => sum + countTokens(text), 0)
  const embeddings = inputs.map(text => [...vectorOf(text, dimensions, `${seed}\n${model}`)])
  return jsonResponse(
    { model, embeddings, total_duration: 5_000_000, prompt_eval_count: inputTokens },
    { inputTokens, outputTokens: 0 },
  )
}

/** `/api/tags`: the same models as `/v1/models`. */
export function ollamaModels(): SimulatedResponse {
  const entry = (name: string) => ({
    name,
    model: name,
    modified_at: createdAt,
    size: 1_000_000,
    digest: 'sim',
    details: { format: 'gguf', family: 'sim' },
  })
  return jsonResponse({ models: modelNames.map(entry) })
}

const messages: Record<number, string> = {
  400: 'invalid request',
  401: 'unauthorized',
  404: "model 'sim' not found",
  429: 'too many concurrent requests',
  500: 'an error was encountered while running the model',
  503: 'server busy, please try again. maximum pending requests exceeded',
}

const kinds: Record<string, string> = {
  quota: "you've reached your hourly usage limit, please upgrade to continue",
  'context-length': 'the input length exceeds the context length',
  'content-filter': 'refused by the content policy',
}

/** Ollama's errors are a text only; the status is the only machine-readable part. */
export function ollamaError(details: ErrorDetails): JsonObject {
  return {
    error:
      details.message ??
      kinds[details.kind ?? ''] ??
      messages[details.status] ??
      messages[details.status >= 500 ? 500 : 400]!,
  }
}
