/** For tests: one conversation in the words of every dialect, and what its answers say. */
import { crc32 } from 'node:zlib'
import type { Simulator } from '../index.ts'

/** An answer, whole or put together from a stream. */
export interface Heard {
  text: string
  reasoning: string
  calls: { name: string; arguments: unknown }[]
  images: string[]
  /** The vendor's own word; empty = none came. */
  finish: string
  inputTokens: number | undefined
  outputTokens: number | undefined
}

/**
 * What a test asks for. `tool`: the tool `get_weather` is declared, and called when `said` wants it; `thinks`:
 * reasoning is asked for.
 */
export interface Wish {
  readonly said: string
  readonly stream: boolean
  readonly tool?: boolean
  readonly thinks?: boolean
}

/** How a test speaks to the simulator in a vendor's words. */
export interface SpokenDialect {
  /** `{model}` and, in a stream, another action. */
  path(stream: boolean): string
  body(wish: Wish): object
  /** The bytes of a stream as its events; throws on what is not whole. */
  events(bytes: Buffer): any[]
  /** One event, or a whole answer, which is read like an event. */
  hear(value: any, heard: Heard): void
}

/** To be filled by `SpokenDialect.hear`, event by event. */
export const nothing = (): Heard => ({
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
const user = (said: string) => [{ role: 'user', content: said }]

/** The `data:` of server-sent events; the last has to be whole. */
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

/** AWS's messages, both checksums checked: a reader of the tests' own. */
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

/** Pieces of arguments by the number of their call; text until all of it is there. */
function callPiece(heard: Heard, index: number, name: string | undefined, piece: unknown): void {
  const call = (heard.calls[index] ??= { name: name ?? '', arguments: '' })
  call.arguments = typeof piece === 'string' ? `${String(call.arguments)}${piece}` : (piece ?? call.arguments)
}

const openaiChat: SpokenDialect = {
  path: () => '/v1/chat/completions',
  body: ({ said, stream, tool, thinks }) => ({
    model: '{model}',
    messages: user(said),
    stream,
    ...(stream && { stream_options: { include_usage: true } }),
    ...(tool && { tools: [openaiTool] }),
    ...(thinks && { reasoning_effort: 'low' }),
  }),
  events: sse,
  hear(value, heard) {
    for (const choice of value.choices ?? []) {
      const said = choice.delta ?? choice.message
      if (typeof said.content === 'string') heard.text += said.content
      for (const part of Array.isArray(said.content) ? said.content : [])
        if (part.type === 'thinking') heard.reasoning += part.thinking.map((one: any) => one.text).join('')
        else heard.text += part.text
      heard.reasoning += said.reasoning_content ?? ''
      for (const image of said.images ?? []) heard.images.push(image.image_url.url.split(',')[1])
      for (const [at, call] of (said.tool_calls ?? []).entries())
        callPiece(heard, call.index ?? at, call.function?.name, call.function?.arguments)
      heard.finish = choice.finish_reason ?? heard.finish
    }
    heard.inputTokens = value.usage?.prompt_tokens ?? heard.inputTokens
    heard.outputTokens = value.usage?.completion_tokens ?? heard.outputTokens
  },
}

const geminiWith = (streamed: string, events: SpokenDialect['events']): SpokenDialect => ({
  path: stream => `/v1beta/models/{model}:${stream ? streamed : 'generateContent'}`,
  body: ({ said, tool, thinks }) => ({
    contents: [{ role: 'user', parts: [{ text: said }] }],
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
    ...(thinks && { generationConfig: { thinkingConfig: { includeThoughts: true, thinkingBudget: 8 } } }),
  }),
  events,
  hear(value, heard) {
    for (const candidate of value.candidates ?? []) {
      for (const part of candidate.content.parts) {
        if (part.functionCall) heard.calls.push({ name: part.functionCall.name, arguments: part.functionCall.args })
        else if (part.inlineData) heard.images.push(part.inlineData.data)
        else if (part.thought) heard.reasoning += part.text
        else heard.text += part.text
      }
      heard.finish = candidate.finishReason ?? heard.finish
    }
    const usage = value.usageMetadata
    heard.inputTokens = usage?.promptTokenCount ?? heard.inputTokens
    if (usage) heard.outputTokens = usage.candidatesTokenCount + (usage.thoughtsTokenCount ?? 0)
  },
})

const cohere: SpokenDialect = {
  path: () => '/v2/chat',
  body: ({ said, stream, tool, thinks }) => ({
    model: '{model}',
    messages: user(said),
    stream,
    ...(tool && { tools: [openaiTool] }),
    ...(thinks && { thinking: { type: 'enabled', token_budget: 8 } }),
  }),
  events: sse,
  hear(value, heard) {
    const message = value.message ?? value.delta?.message ?? {}
    for (const part of [message.content ?? []].flat()) {
      heard.text += part.text ?? ''
      heard.reasoning += part.thinking ?? ''
    }
    heard.reasoning += message.tool_plan ?? ''
    for (const [at, call] of [message.tool_calls ?? []].flat().entries())
      callPiece(heard, value.index ?? at, call.function?.name, call.function?.arguments)
    heard.finish = value.finish_reason ?? value.delta?.finish_reason ?? heard.finish
    const usage = value.usage ?? value.delta?.usage
    heard.inputTokens = usage?.billed_units.input_tokens ?? heard.inputTokens
    heard.outputTokens = usage?.billed_units.output_tokens ?? heard.outputTokens
  },
}

const ollama: SpokenDialect = {
  path: () => '/api/chat',
  body: ({ said, stream, tool, thinks }) => ({
    model: '{model}',
    messages: user(said),
    stream,
    ...(tool && { tools: [openaiTool] }),
    ...(thinks && { think: true }),
  }),
  events: lines,
  hear(value, heard) {
    heard.text += value.message?.content ?? ''
    heard.reasoning += value.message?.thinking ?? ''
    for (const call of value.message?.tool_calls ?? [])
      heard.calls.push({ name: call.function.name, arguments: call.function.arguments })
    heard.finish = value.done_reason ?? heard.finish
    heard.inputTokens = value.prompt_eval_count ?? heard.inputTokens
    heard.outputTokens = value.eval_count ?? heard.outputTokens
  },
}

const bedrock: SpokenDialect = {
  path: stream => `/model/{model}/${stream ? 'converse-stream' : 'converse'}`,
  body: ({ said, tool, thinks }) => ({
    messages: [{ role: 'user', content: [{ text: said }] }],
    ...(tool && {
      toolConfig: { tools: [{ toolSpec: { name: 'get_weather', inputSchema: { json: parameters } } }] },
    }),
    ...(thinks && { additionalModelRequestFields: { reasoning_effort: 'low' } }),
  }),
  events: bytes =>
    awsMessages(bytes).map(({ kind, value }) => (kind === 'exception' ? { error: value.message } : value)),
  hear(value, heard) {
    const started = value.start?.toolUse
    if (started) heard.calls.push({ name: started.name, arguments: '' })
    for (const block of value.output?.message.content ?? (value.delta ? [value.delta] : [])) {
      heard.text += block.text ?? ''
      heard.reasoning += block.reasoningContent?.text ?? block.reasoningContent?.reasoningText?.text ?? ''
      if (block.image?.source) heard.images.push(block.image.source.bytes)
      if (block.toolUse?.name) heard.calls.push({ name: block.toolUse.name, arguments: block.toolUse.input })
      else if (block.toolUse) callPiece(heard, heard.calls.length - 1, undefined, block.toolUse.input)
    }
    heard.finish = value.stopReason ?? heard.finish
    heard.inputTokens = value.usage?.inputTokens ?? heard.inputTokens
    heard.outputTokens = value.usage?.outputTokens ?? heard.outputTokens
  },
}

const anthropic: SpokenDialect = {
  path: () => '/v1/messages',
  body: ({ said, stream, tool, thinks }) => ({
    model: '{model}',
    messages: user(said),
    stream,
    max_tokens: 4000,
    ...(tool && { tools: [{ name: 'get_weather', input_schema: parameters }] }),
    ...(thinks && { thinking: { type: 'adaptive' } }),
  }),
  events: sse,
  hear(value, heard) {
    for (const block of value.content ?? [value.content_block ?? {}]) {
      if (block.type === 'tool_use') heard.calls.push({ name: block.name, arguments: value.content ? block.input : '' })
      heard.text += block.text ?? ''
      heard.reasoning += block.thinking ?? ''
    }
    heard.text += value.delta?.text ?? ''
    heard.reasoning += value.delta?.thinking ?? ''
    if (value.delta?.partial_json) callPiece(heard, heard.calls.length - 1, undefined, value.delta.partial_json)
    heard.finish = value.stop_reason ?? value.delta?.stop_reason ?? heard.finish
    const usage = value.usage ?? value.message?.usage
    heard.inputTokens = usage?.input_tokens ?? heard.inputTokens
    heard.outputTokens = usage?.output_tokens ?? heard.outputTokens
  },
}

const responses: SpokenDialect = {
  path: () => '/v1/responses',
  body: ({ said, stream, tool, thinks }) => ({
    model: '{model}',
    input: said,
    stream,
    ...(tool && { tools: [{ type: 'function', name: 'get_weather', parameters }] }),
    ...(thinks && { reasoning: { effort: 'low' } }),
  }),
  events: sse,
  hear(value, heard) {
    if (value.type === 'response.output_text.delta') heard.text += value.delta
    if (value.type === 'response.reasoning_summary_text.delta') heard.reasoning += value.delta
    if (value.type === 'response.function_call_arguments.delta')
      callPiece(heard, heard.calls.length - 1, undefined, value.delta)
    if (value.type === 'response.output_item.added' && value.item.type === 'function_call')
      heard.calls.push({ name: value.item.name, arguments: '' })
    if (value.type === 'response.output_item.done' && value.item.type === 'image_generation_call')
      heard.images.push(value.item.result)
    const done =
      value.object === 'response'
        ? value
        : /^response\.(?:completed|incomplete)$/.test(value.type)
          ? value.response
          : undefined
    if (!done) return
    heard.finish = done.status ?? ''
    heard.inputTokens = done.usage?.input_tokens
    heard.outputTokens = done.usage?.output_tokens
    for (const item of value.object === 'response' ? done.output : []) {
      if (item.type === 'message') heard.text += item.content.map((part: any) => part.text).join('')
      if (item.type === 'reasoning') heard.reasoning += item.summary.map((part: any) => part.text).join('')
      if (item.type === 'function_call') heard.calls.push({ name: item.name, arguments: item.arguments })
      if (item.type === 'image_generation_call') heard.images.push(item.result)
    }
  },
}

const mistral: SpokenDialect = {
  ...openaiChat,
  path: () => '/mistral/v1/chat/completions',
  body: ({ said, stream, tool, thinks }) => ({
    model: '{model}',
    messages: user(said),
    stream,
    ...(tool && { tools: [openaiTool] }),
    ...(thinks && { reasoning_effort: 'high' }),
  }),
}

/** By the names of the tests. */
export const spoken: Readonly<Record<string, SpokenDialect>> = {
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

/** Asks in a dialect; the model may carry a fault. */
export async function askIn(
  simulator: Simulator,
  dialect: SpokenDialect,
  wish: Wish,
  model = 'sim',
): Promise<Response> {
  const body = JSON.stringify(dialect.body(wish)).replaceAll('"{model}"', JSON.stringify(model))
  const url = `${simulator.url}${dialect.path(wish.stream).replace('{model}', encodeURIComponent(model))}`
  return fetch(url, {
    method: 'POST',
    body,
    headers: { authorization: 'Bearer k', 'content-type': 'application/json' },
  })
}

/** The whole of an answer in a dialect; arguments that came as text are parsed. */
export async function hearIn(simulator: Simulator, dialect: SpokenDialect, wish: Wish, model = 'sim'): Promise<Heard> {
  const bytes = Buffer.from(await (await askIn(simulator, dialect, wish, model)).arrayBuffer())
  const heard = nothing()
  for (const value of wish.stream ? dialect.events(bytes) : [JSON.parse(bytes.toString('utf8'))])
    dialect.hear(value, heard)
  for (const call of heard.calls) if (typeof call.arguments === 'string') call.arguments = JSON.parse(call.arguments)
  return heard
}
