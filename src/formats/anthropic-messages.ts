/** Messages as Anthropic's clients write and read them (platform.claude.com/docs/en/api/messages). */
import type { ChatFormat } from '../core/format.ts'
import { encodeMessage } from './anthropic-messages/answer.ts'
import { decodeMessagesBody } from './anthropic-messages/decode.ts'
import { anthropicErrorBody, anthropicErrorEvent } from './anthropic-messages/error.ts'
import { messagesForward } from './anthropic-messages/forward.ts'
import { inspectMessages } from './anthropic-messages/inspect.ts'
import { strictMessageSchema } from './anthropic-messages/strict.ts'
import { MessagesWriter } from './anthropic-messages/writer.ts'
import { readWishes } from './openai-chat/wishes.ts'

export { anthropicCountTokens } from './anthropic-messages/count-tokens.ts'
export { anthropicErrorBody } from './anthropic-messages/error.ts'

/** `/v1/messages`. */
export const anthropicMessages: ChatFormat = {
  dialect: 'anthropic-messages',
  operation: 'chat',
  streaming: { contentType: 'text/event-stream; charset=utf-8', heartbeat: 'event: ping\ndata: {"type": "ping"}\n\n' },
  inspect: inspectMessages,
  wishes: readWishes,
  strictSchema: strictMessageSchema,
  decode: decodeMessagesBody,
  encode: encodeMessage,
  writer: (model, request) => new MessagesWriter(model, request),
  errorBody: anthropicErrorBody,
  errorEvent: anthropicErrorEvent,
  forward: messagesForward,
}
