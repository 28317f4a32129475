/** Chats in every dialect of the gateway: how each is asked, and what a client has read at the end. */

type Json = Record<string, any>

/** What a client has put together from an answer. */
export interface Read {
  text: string
  reasoning: string
  refusal: string
  /** JSON text of the arguments of each tool call. */
  args: string[]
  /** Input and output tokens; undefined = not told. */
  usage?: [number, number] | undefined
  /** Of an error, whole or inside a stream. */
  error?: string
}

/** One dialect of chats. */
export interface ClientDialect {
  path(model: string, stream: boolean): string
  body(model: string, stream: boolean, text: string): Json
  /** Takes one JSON document of the answer: the whole body, or the data of one event. */
  take(into: Read, data: Json): void
}

const parameters = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }
const chatTools = [{ type: 'function', function: { name: 'look_up', description: 'd', parameters } }]

const chat: ClientDialect = {
  path: () => '/v1/chat/completions',
  body: (model, stream, text) => ({
    model,
    messages: [{ role: 'user', content: text }],
    tools: chatTools,
    reasoning_effort: 'low',
    ...(stream && { stream, stream_options: { include_usage: true } }),
  }),
  take(into, { choices = [], usage, error }) {
    if (error) into.error = error.message
    if (usage) into.usage = [usage.prompt_tokens, usage.completion_tokens]
    for (const { delta, message } of choices as Json[]) {
      const said = (delta ?? message) as Json
      into.text += said.content ?? ''
      into.reasoning += said.reasoning_content ?? ''
      into.refusal += said.refusal ?? ''
      for (const [at, call] of ((said.tool_calls ?? []) as Json[]).entries()) {
        const index = (call.index as number | undefined) ?? at
        into.args[index] = (into.args[index] ?? '') + ((call.function?.arguments as string | undefined) ?? '')
      }
    }
  },
}

const completions: ClientDialect = {
  path: () => '/v1/completions',
  body: (model, stream, text) => ({
    model,
    prompt: text,
    ...(stream && { stream, stream_options: { include_usage: true } }),
  }),
  take(into, { choices = [], usage, error }) {
    if (error) into.error = error.message
    if (usage) into.usage = [usage.prompt_tokens, usage.completion_tokens]
    for (const { text } of choices as Json[]) into.text += text
  },
}

function takeOutput(into: Read, item: Json): void {
  for (const part of (item.summary ?? []) as Json[]) into.reasoning += part.text
  for (const part of (item.type === 'reasoning' ? (item.content ?? []) : []) as Json[]) into.reasoning += part.text
  if (item.type === 'message')
    for (const part of item.content as Json[]) {
      into.text += part.text ?? ''
      into.refusal += part.refusal ?? ''
    }
  if (item.type === 'function_call') into.args.push(item.arguments)
}

const responses: ClientDialect = {
  path: () => '/v1/responses',
  body: (model, stream, text) => ({
    model,
    input: text,
    tools: [{ type: 'function', name: 'look_up', parameters }],
    reasoning: { effort: 'low', summary: 'auto' },
    store: false,
    ...(stream && { stream }),
  }),
  take(into, data) {
    if (data.error && data.object !== 'response') into.error = data.error.message
    if (data.type === 'error') into.error = data.message
    const response = (data.response ?? data) as Json
    if (data.type === 'response.failed') into.error = response.error.message
    if (response.usage) into.usage = [response.usage.input_tokens, response.usage.output_tokens]
    if (data.object === 'response') for (const item of data.output as Json[]) takeOutput(into, item)
    const { delta, type } = data
    if (type === 'response.output_text.delta') into.text += delta
    if (type === 'response.refusal.delta') into.refusal += delta
    if (/^response\.reasoning\w*\.delta$/.test(type ?? '')) into.reasoning += delta
    if (type === 'response.function_call_arguments.delta') into.args[0] = (into.args[0] ?? '') + delta
  },
}

const messages: ClientDialect = {
  path: () => '/v1/messages',
  body: (model, stream, text) => ({
    model,
    max_tokens: 2000,
    messages: [{ role: 'user', content: text }],
    tools: [{ name: 'look_up', description: 'd', input_schema: parameters }],
    thinking: { type: 'enabled', budget_tokens: 1024 },
    ...(stream && { stream }),
  }),
  take(into, data) {
    if (data.type === 'error') into.error = data.error.message
    if (data.usage) into.usage = [data.usage.input_tokens ?? into.usage?.[0], data.usage.output_tokens]
    for (const block of (data.content ?? []) as Json[]) {
      into.text += block.text ?? ''
      into.reasoning += block.thinking ?? ''
      if (block.input) into.args.push(JSON.stringify(block.input))
    }
    const delta = (data.delta ?? {}) as Json
    into.text += delta.text ?? ''
    into.reasoning += delta.thinking ?? ''
    if (delta.partial_json !== undefined) into.args[0] = (into.args[0] ?? '') + delta.partial_json
  },
}

function takeGemini(into: Read, data: Json): void {
  if (data.error) into.error = data.error.message
  const { promptTokenCount, candidatesTokenCount } = (data.usageMetadata ?? {}) as Json
  if (candidatesTokenCount !== undefined) into.usage = [promptTokenCount, candidatesTokenCount]
  for (const { content } of (data.candidates ?? []) as Json[])
    for (const part of (content?.parts ?? []) as Json[]) {
      if (part.thought) into.reasoning += part.text ?? ''
      else into.text += part.text ?? ''
      if (part.functionCall) into.args.push(JSON.stringify(part.functionCall.args))
    }
}

const geminiBody = (text: string): Json => ({
  contents: [{ role: 'user', parts: [{ text }] }],
  tools: [{ functionDeclarations: [{ name: 'look_up', description: 'd', parameters }] }],
  generationConfig: { thinkingConfig: { includeThoughts: true } },
})

const gemini = (alt: string): ClientDialect => ({
  path: (model, stream) => `/v1beta/models/${model}:${stream ? `streamGenerateContent${alt}` : 'generateContent'}`,
  body: (_, __, text) => geminiBody(text),
  take: takeGemini,
})

/** By name. */
export const clientDialects: Readonly<Record<string, ClientDialect>> = {
  chat,
  cursor: {
    ...chat,
    path: () => '/cursor/chat/completions',
    body: (model, stream, text) => ({ ...responses.body(model, stream, text), store: undefined }),
  },
  completions,
  responses,
  messages,
  'gemini events': gemini('?alt=sse'),
  'gemini array': gemini(''),
}

/** Reads a whole answer or a stream, of server-sent events or as one JSON array. */
export async function readAnswer({ take }: ClientDialect, response: Response): Promise<Read> {
  const read: Read = { text: '', reasoning: '', refusal: '', args: [] }
  const text = await response.text()
  if (!(response.headers.get('content-type') ?? '').startsWith('text/event-stream')) {
    for (const one of [JSON.parse(text)].flat() as Json[]) take(read, one)
    return read
  }
  for (const line of text.split('\n'))
    if (line.startsWith('data: ') && line !== 'data: [DONE]')
      take(read, JSON.parse(line.slice('data: '.length)) as Json)
  return read
}
