/** For tests: the same conversation in every dialect, and a reader of the responses. */
import { crc32 } from 'node:zlib'
import type { Simulator } from '../index.ts'

/** A response, non-streamed or collected from a stream. */
export interface ReceivedAnswer {
  text: string
  reasoning: string
  calls: { name: string; arguments: unknown }[]
  images: string[]
  /** The vendor's finish reason; empty = none was sent. */
  finish: string
  inputTokens: number | undefined
  outputTokens: number | undefined
}

/**
 * What a test asks for. `tool`: the tool `get_weather` is declared, and called if `prompt` asks for it; `reasons`:
 * reasoning is requested.
 */
export interface TestRequest {
  readonly prompt: string
  readonly stream: boolean
  readonly tool?: boolean
  readonly reasons?: boolean
}

/** A client of one dialect. */
export interface DialectClient {
  /** With the placeholder `{model}`. */
  path(stream: boolean): string
  body(request: TestRequest): object
  /** Splits the bytes of a stream into events; throws if the stream is incomplete. */
  events(bytes: Buffer): any[]
  /** Adds one event, or a non-streamed response, to `received`. */
  collect(value: any, received: ReceivedAnswer): void
}

/** The initial value for `DialectClient.collect`. */
export const emptyAnswer = (): ReceivedAnswer => ({
  text: '',
  reasoning: '',
  calls: [],
  images: [],
  finish: '',
  inputTokens: undefined,
  outputTokens: undefined,
})

const parameters = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }
const openaiTool = { type: 'function', function: { name: 'get_weather', parameters } }
const user = (prompt: string) => [{ role: 'user', content: prompt }]

/** The `data:` of server-sent events; throws if the last one is incomplete. */
function sse(bytes: Buffer): any[] {
  const text = bytes.toString('utf8')
  if (text !== '' && !text.endsWith('\n\n')) throw new Error(`an event is cut: ${text.slice(-80)}`)
  return text
    .split('\n\n')
    .filter(Boolean)
    .map(event => event.slice(event.indexOf('data: ') + 6))
    .filter(data => data !== '[DONE]')
    .map(data => JSON.parse(data))
}

const lines = (bytes: Buffer): any[] =>
  bytes
    .toString('utf8')
    .split('\n')
    .filter(Boolean)
    .map(line => JSON.parse(line))

/** Decoder of AWS's binary event stream that verifies both checksums. */
export function awsMessages(bytes: Buffer): { name: string; kind: string; value: any }[] {
  const messages = []
  for (let at = 0; at < bytes.length; ) {
    const [total, headerBytes] = [bytes.readUInt32BE(at), bytes.readUInt32BE(at + 4)]
    const message = bytes.subarray(at, at + total)
    if (message.length < total) throw new Error('a message is cut')
    if (crc32(message.subarray(0, 8)) !== message.readUInt32BE(8)) throw new Error('wrong prelude checksum')
    if (crc32(message.subarray(0, total - 4)) !== message.readUInt32BE(total - 4))
      throw new Error('wrong message checksum')
    const headers = new Map<string, string>()
    for (let place = 12; place < 12 + headerBytes; ) {
      const nameEnd = place + 1 + message[place]!
      const valueBytes = message.readUInt16BE(nameEnd + 1)
      headers.set(
        message.toString('utf8', place + 1, nameEnd),
        message.toString('utf8', nameEnd + 3, nameEnd + 3 + valueBytes),
      )
      place = nameEnd + 3 + valueBytes
    }
    const kind = headers.get(':message-type')!
    messages.push({
      kind,
      name: headers.get(`:${kind}-type`)!,
      value: JSON.parse(message.toString('utf8', 12 + headerBytes, total - 4)),
    })
    at += total
  }
  return messages
}

/** Adds a piece of arguments to the call with this index; arguments are text until complete. */
function callPiece(received: ReceivedAnswer, index: number, name: string | undefined, piece: unknown): void {
  const call = (received.calls[index] ??= { name: name ?? '', arguments: '' })
  call.arguments = typeof piece === 'string' ? `${String(call.arguments)}${piece}` : (piece ?? call.arguments)
}

const openaiChat: DialectClient = {
  path: () => '/v1/chat/completions',
  body: ({ prompt, stream, tool, reasons }) => ({
    model: '{model}',
    messages: user(prompt),
    stream,
    ...(stream && { stream_options: { include_usage: true } }),
    ...(tool && { tools: [openaiTool] }),
    ...(reasons && { reasoning_effort: 'low' }),
  }),
  events: sse,
  collect(value, received) {
    for (const choice of value.choices ?? []) {
      const message = choice.delta ?? choice.message
      if (typeof message.content === 'string') received.text += message.content
      for (const part of Array.isArray(message.content) ? message.content : [])
        if (part.type === 'thinking') received.reasoning += part.thinking.map((one: any) => one.text).join('')
        else received.text += part.text
      received.reasoning += message.reasoning_content ?? ''
      for (const image of message.images ?? []) received.images.push(image.image_url.url.split(',')[1])
      for (const [at, call] of (message.tool_calls ?? []).entries())
        callPiece(received, call.index ?? at, call.function?.name, call.function?.arguments)
      received.finish = choice.finish_reason ?? received.finish
    }
    received.inputTokens = value.usage?.prompt_tokens ?? received.inputTokens
    received.outputTokens = value.usage?.completion_tokens ?? received.outputTokens
  },
}

const geminiWith = (streamed: string, events: DialectClient['events']): DialectClient => ({
  path: stream => `/v1beta/models/{model}:${stream ? streamed : 'generateContent'}`,
  body: ({ prompt, tool, reasons }) => ({
    contents: [{ role: 'user', parts: [{ text: prompt }] }],
    ...(tool && {
      tools: [
        {
          functionDeclarations: [
            {
              name: 'get_weather',
              parameters: { type: 'OBJECT', properties: { city: { type: 'STRING' } }, required: ['city'] },
            },
          ],
        },
      ],
    }),
    ...(reasons && { generationConfig: { thinkingConfig: { includeThoughts: true, thinkingBudget: 8 } } }),
  }),
  events,
  collect(value, received) {
    for (const candidate of value.candidates ?? []) {
      for (const part of candidate.content.parts) {
        if (part.functionCall) received.calls.push({ name: part.functionCall.name, arguments: part.functionCall.args })
        else if (part.inlineData) received.images.push(part.inlineData.data)
        else if (part.thought) received.reasoning += part.text
        else received.text += part.text
      }
      received.finish = candidate.finishReason ?? received.finish
    }
    const usage = value.usageMetadata
    received.inputTokens = usage?.promptTokenCount ?? received.inputTokens
    if (usage) received.outputTokens = usage.candidatesTokenCount + (usage.thoughtsTokenCount ?? 0)
  },
})

const cohere: DialectClient = {
  path: () => '/v2/chat',
  body: ({ prompt, stream, tool, reasons }) => ({
    model: '{model}',
    messages: user(prompt),
    stream,
    ...(tool && { tools: [openaiTool] }),
    ...(reasons && { thinking: { type: 'enabled', token_budget: 8 } }),
  }),
  events: sse,
  collect(value, received) {
    const message = value.message ?? value.delta?.message ?? {}
    for (const part of [message.content ?? []].flat()) {
      received.text += part.text ?? ''
      received.reasoning += part.thinking ?? ''
    }
    received.reasoning += message.tool_plan ?? ''
    for (const [at, call] of [message.tool_calls ?? []].flat().entries())
      callPiece(received, value.index ?? at, call.function?.name, call.function?.arguments)
    received.finish = value.finish_reason ?? value.delta?.finish_reason ?? received.finish
    const usage = value.usage ?? value.delta?.usage
    received.inputTokens = usage?.billed_units.input_tokens ?? received.inputTokens
    received.outputTokens = usage?.billed_units.output_tokens ?? received.outputTokens
  },
}

const ollama: DialectClient = {
  path: () => '/api/chat',
  body: ({ prompt, stream, tool, reasons }) => ({
    model: '{model}',
    messages: user(prompt),
    stream,
    ...(tool && { tools: [openaiTool] }),
    ...(reasons && { think: true }),
  }),
  events: lines,
  collect(value, received) {
    received.text += value.message?.content ?? ''
    received.reasoning += value.message?.thinking ?? ''
    for (const call of value.message?.tool_calls ?? [])
      received.calls.push({ name: call.function.name, arguments: call.function.arguments })
    received.finish = value.done_reason ?? received.finish
    received.inputTokens = value.prompt_eval_count ?? received.inputTokens
    received.outputTokens = value.eval_count ?? received.outputTokens
  },
}

const bedrock: DialectClient = {
  path: stream => `/model/{model}/${stream ? 'converse-stream' : 'converse'}`,
  body: ({ prompt, tool, reasons }) => ({
    messages: [{ role: 'user', content: [{ text: prompt }] }],
    ...(tool && {
      toolConfig: { tools: [{ toolSpec: { name: 'get_weather', inputSchema: { json: parameters } } }] },
    }),
    ...(reasons && { additionalModelRequestFields: { reasoning_effort: 'low' } }),
  }),
  events: bytes =>
    awsMessages(bytes).map(({ kind, value }) => (kind === 'exception' ? { error: value.message } : value)),
  collect(value, received) {
    const started = value.start?.toolUse
    if (started) received.calls.push({ name: started.name, arguments: '' })
    for (const block of value.output?.message.content ?? (value.delta ? [value.delta] : [])) {
      received.text += block.text ?? ''
      received.reasoning += block.reasoningContent?.text ?? block.reasoningContent?.reasoningText?.text ?? ''
      if (block.image?.source) received.images.push(block.image.source.bytes)
      if (block.toolUse?.name) received.calls.push({ name: block.toolUse.name, arguments: block.toolUse.input })
      else if (block.toolUse) callPiece(received, received.calls.length - 1, undefined, block.toolUse.input)
    }
    received.finish = value.stopReason ?? received.finish
    received.inputTokens = value.usage?.inputTokens ?? received.inputTokens
    received.outputTokens = value.usage?.outputTokens ?? received.outputTokens
  },
}

const anthropic: DialectClient = {
  path: () => '/v1/messages',
  body: ({ prompt, stream, tool, reasons }) => ({
    model: '{model}',
    messages: user(prompt),
    stream,
    max_tokens: 4000,
    ...(tool && { tools: [{ name: 'get_weather', input_schema: parameters }] }),
    ...(reasons && { thinking: { type: 'adaptive' } }),
  }),
  events: sse,
  collect(value, received) {
    for (const block of value.content ?? [value.content_block ?? {}]) {
      if (block.type === 'tool_use')
        received.calls.push({ name: block.name, arguments: value.content ? block.input : '' })
      received.text += block.text ?? ''
      received.reasoning += block.thinking ?? ''
    }
    received.text += value.delta?.text ?? ''
    received.reasoning += value.delta?.thinking ?? ''
    if (value.delta?.partial_json) callPiece(received, received.calls.length - 1, undefined, value.delta.partial_json)
    received.finish = value.stop_reason ?? value.delta?.stop_reason ?? received.finish
    const usage = value.usage ?? value.message?.usage
    received.inputTokens = usage?.input_tokens ?? received.inputTokens
    received.outputTokens = usage?.output_tokens ?? received.outputTokens
  },
}

const responses: DialectClient = {
  path: () => '/v1/responses',
  body: ({ prompt, stream, tool, reasons }) => ({
    model: '{model}',
    input: prompt,
    stream,
    ...(tool && { tools: [{ type: 'function', name: 'get_weather', parameters }] }),
    ...(reasons && { reasoning: { effort: 'low' } }),
  }),
  events: sse,
  collect(value, received) {
    if (value.type === 'response.output_text.delta') received.text += value.delta
    if (value.type === 'response.reasoning_summary_text.delta') received.reasoning += value.delta
    if (value.type === 'response.function_call_arguments.delta')
      callPiece(received, received.calls.length - 1, undefined, value.delta)
    if (value.type === 'response.output_item.added' && value.item.type === 'function_call')
      received.calls.push({ name: value.item.name, arguments: '' })
    if (value.type === 'response.output_item.done' && value.item.type === 'image_generation_call')
      received.images.push(value.item.result)
    const done =
      value.object === 'response'
        ? value
        : /^response\.(?:completed|incomplete)$/.test(value.type)
          ? value.response
          : undefined
    if (!done) return
    received.finish = done.status ?? ''
    received.inputTokens = done.usage?.input_tokens
    received.outputTokens = done.usage?.output_tokens
    for (const item of value.object === 'response' ? done.output : []) {
      if (item.type === 'message') received.text += item.content.map((part: any) => part.text).join('')
      if (item.type === 'reasoning') received.reasoning += item.summary.map((part: any) => part.text).join('')
      if (item.type === 'function_call') received.calls.push({ name: item.name, arguments: item.arguments })
      if (item.type === 'image_generation_call') received.images.push(item.result)
    }
  },
}

const mistral: DialectClient = {
  ...openaiChat,
  path: () => '/mistral/v1/chat/completions',
  body: ({ prompt, stream, tool, reasons }) => ({
    model: '{model}',
    messages: user(prompt),
    stream,
    ...(tool && { tools: [openaiTool] }),
    ...(reasons && { reasoning_effort: 'high' }),
  }),
}

/** By test name. */
export const dialectClients: Readonly<Record<string, DialectClient>> = {
  'OpenAI chat': openaiChat,
  'OpenAI responses': responses,
  Azure: {
    ...openaiChat,
    path: () => '/openai/deployments/{model}/chat/completions?api-version=2024-10-21',
  },
  Mistral: mistral,
  Anthropic: anthropic,
  'Anthropic at Vertex AI': {
    ...anthropic,
    path: stream =>
      `/v1/projects/p/locations/l/publishers/anthropic/models/{model}:${stream ? 'streamRawPredict' : 'rawPredict'}`,
  },
  'Gemini, events': geminiWith('streamGenerateContent?alt=sse', sse),
  'Gemini, array': geminiWith('streamGenerateContent', bytes => JSON.parse(bytes.toString('utf8'))),
  Cohere: cohere,
  Ollama: ollama,
  Bedrock: bedrock,
}

/** Sends a request; `model` may carry a fault. */
export async function sendRequest(
  simulator: Simulator,
  dialect: DialectClient,
  request: TestRequest,
  model = 'sim',
): Promise<Response> {
  const body = JSON.stringify(dialect.body(request)).replaceAll('"{model}"', JSON.stringify(model))
  const url = `${simulator.url}${dialect.path(request.stream).replace('{model}', encodeURIComponent(model))}`
  return fetch(url, {
    method: 'POST',
    body,
    headers: { authorization: 'Bearer k', 'content-type': 'application/json' },
  })
}

/** The complete response; arguments that came as text are parsed. */
export async function requestAnswer(
  simulator: Simulator,
  dialect: DialectClient,
  request: TestRequest,
  model = 'sim',
): Promise<ReceivedAnswer> {
  const bytes = Buffer.from(await (await sendRequest(simulator, dialect, request, model)).arrayBuffer())
  const received = emptyAnswer()
  for (const value of request.stream ? dialect.events(bytes) : [JSON.parse(bytes.toString('utf8'))])
    dialect.collect(value, received)
  for (const call of received.calls) if (typeof call.arguments === 'string') call.arguments = JSON.parse(call.arguments)
  return received
}
