/** Messages as Anthropic's clients write and read them (platform.claude.com/docs/en/api/messages). */
import { withNumber } from '../common/maximum.ts'
import type { ChatFormat } from '../../core/format.ts'
import { encodeMessage } from './answer.ts'
import { decodeMessagesBody } from './decode.ts'
import { anthropicErrorBody, anthropicErrorEvent } from './error.ts'
import { fallbackModels } from './fallbacks.ts'
import { messagesTable } from './fields.ts'
import { messagesForward } from './forward.ts'
import { inspectMessages } from './inspect.ts'
import { strictMessageSchema } from './structured-output.ts'
import { MessagesWriter } from './writer.ts'
import { readOverrides } from '../common/overrides.ts'

export { anthropicCountTokens } from './count-tokens.ts'
export { anthropicErrorBody } from './error.ts'

/** `/v1/messages`. */
export const anthropicMessages: ChatFormat = {
  dialect: 'anthropic-messages',
  operation: 'chat',
  streaming: { contentType: 'text/event-stream; charset=utf-8', heartbeat: 'event: ping\ndata: {"type": "ping"}\n\n' },
  fieldNames: messagesTable.names,
  inspect: inspectMessages,
  overrides: body => readOverrides(body, messagesTable.gatewayFields),
  otherModels: fallbackModels,
  strictSchema: strictMessageSchema,
  decode: decodeMessagesBody,
  encode: encodeMessage,
  withMaximum: (body, tokens) => withNumber(body, 'max_tokens', tokens),
  writer: (model, request) => new MessagesWriter(model, request),
  errorBody: anthropicErrorBody,
  errorEvent: anthropicErrorEvent,
  forward: messagesForward,
}
