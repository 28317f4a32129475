/**
 * Cursor with a custom base URL sends a Responses body to the chat path and reads chat chunks.
 * No upstream has this mixture: it is always translated.
 */
import { GatewayError } from '../../core/errors.ts'
import type { ChatFormat } from '../../core/format.ts'
import { isObject } from '../common/field-checks.ts'
import { strictChatSchema } from './chat/structured-output.ts'
import { openaiChat } from './chat/index.ts'
import { openaiResponses } from './responses/index.ts'
import { strictResponseSchema } from './responses/structured-output.ts'

function neverForwarded(): never {
  throw new GatewayError('internal', 'a Responses body with a chat answer is never forwarded')
}

/** `/cursor/chat/completions`, for bodies with `input`. A custom tool becomes a function with one text, `input`. */
export const cursorChat: ChatFormat = {
  ...openaiChat,
  dialect: 'cursor-chat',
  inspect: openaiResponses.inspect,
  strictSchema: { ...strictResponseSchema, texts: strictChatSchema.texts },
  decode(body) {
    const options = body.get('stream_options')
    const request = openaiResponses.decode(body)
    return { ...request, includeUsage: isObject(options) && options.include_usage === true }
  },
  forward: { edits: neverForwarded, answer: neverForwarded, relay: neverForwarded },
}
