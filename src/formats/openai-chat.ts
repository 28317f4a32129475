/** Chat completions as OpenAI's clients write and read them (API reference, "Chat Completions"). */
import type { ChatFormat } from '../core/format.ts'
import { decodeChat } from './openai-chat/decode.ts'
import { encodeChat } from './openai-chat/encode.ts'
import { inspectChat } from './openai-chat/inspect.ts'
import { strictChatSchema } from './openai-chat/strict.ts'
import { readWishes } from './openai-chat/wishes.ts'
import { ChatWriter } from './openai-chat/writer.ts'
import { openaiErrorBody, openaiErrorEvent } from './openai-error.ts'
import { openaiChatForward } from './openai-forward.ts'

/** `/v1/chat/completions`. */
export const openaiChat: ChatFormat = {
  dialect: 'openai-chat',
  operation: 'chat',
  inspect: inspectChat,
  wishes: readWishes,
  strictSchema: strictChatSchema,
  decode: decodeChat,
  encode: encodeChat,
  writer: (model, request) => new ChatWriter(model, request),
  errorBody: openaiErrorBody,
  errorEvent: openaiErrorEvent,
  forward: openaiChatForward,
}
