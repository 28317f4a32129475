/** The golden shapes in the words of every client: the same conversation as chat, Messages, Gemini's and Responses. */
import type { ChatRequest, Message } from '../../src/core/hub/chat.ts'
import { openaiChat } from '../../src/formats/index.ts'
import { JsonBody } from '../../src/lib/json/json-body.ts'
import { shapes } from '../golden/shapes.ts'
import type { Shape } from '../golden/shapes.ts'
import { anthropicBody, geminiBody, responsesBody } from '../property/encoders.ts'
import type { Json } from '../property/encoders.ts'

/** A dialect of clients. */
export const clientDialects = ['chat', 'messages', 'gemini', 'responses'] as const
export type ClientDialect = (typeof clientDialects)[number]

/** A call of a client. */
export interface ClientCall {
  readonly shape: string
  readonly dialect: ClientDialect
  readonly path: string
  readonly body: Json
  readonly stream: boolean
}

function hubRequest({ body }: Shape, model: string): ChatRequest {
  return openaiChat.decode(JsonBody.read(Buffer.from(JSON.stringify({ ...body, model }))))
}

/** Gemini's results name the function that was called; OpenAI's have its call's id alone. */
function withResultNames(messages: readonly Message[]): Message[] {
  const names = new Map<string, string>()
  return messages.map(message => ({
    ...message,
    parts: message.parts.map(part => {
      if (part.type === 'tool-call') names.set(part.id, part.name)
      return part.type === 'tool-result' ? { ...part, name: part.name ?? names.get(part.callId) ?? 'unknown' } : part
    }),
  }))
}

function bodyOf(shape: Shape, dialect: ClientDialect, model: string): Json {
  if (dialect === 'chat') return { ...shape.body, model }
  const request = hubRequest(shape, model)
  if (dialect === 'gemini') return geminiBody({ ...request, messages: withResultNames(request.messages) })
  if (dialect === 'responses') return responsesBody(request)
  // Messages has to name a limit, and a schema for each tool.
  const tools = request.tools?.map(tool => ({ ...tool, parameters: tool.parameters ?? { type: 'object' } }))
  return anthropicBody({ ...request, maxOutputTokens: request.maxOutputTokens ?? 4096, ...(tools && { tools }) })
}

function pathOf(dialect: ClientDialect, model: string, stream: boolean): string {
  const method = stream ? 'streamGenerateContent?alt=sse' : 'generateContent'
  return {
    chat: '/v1/chat/completions',
    messages: '/v1/messages',
    responses: '/v1/responses',
    gemini: `/v1beta/models/${model}:${method}`,
  }[dialect]
}

/** Every shape in one dialect, every second one as a stream. A shape that the dialect cannot say is left out. */
export function clientCalls(dialect: ClientDialect, model: string): ClientCall[] {
  return shapes.flatMap((shape, at) => {
    const stream = at % 2 === 1
    try {
      const body = bodyOf(shape, dialect, model)
      const streams = dialect === 'gemini' ? {} : { stream }
      return [
        { shape: shape.name, dialect, path: pathOf(dialect, model, stream), body: { ...body, ...streams }, stream },
      ]
    } catch (error) {
      if (dialect === 'chat') throw error
      return []
    }
  })
}
