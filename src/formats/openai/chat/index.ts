/** Chat completions as OpenAI's clients write and read them (API reference, "Chat Completions"). */
import { withNumber } from '../../common/maximum.ts'
import type { ChatFormat } from '../../../core/format.ts'
import { decodeChat } from './decode.ts'
import { encodeChat } from './encode.ts'
import { chatTable } from './fields.ts'
import { inspectChat } from './inspect.ts'
import { plainChat } from './plain.ts'
import { strictChatSchema } from './structured-output.ts'
import { readOverrides } from '../../common/overrides.ts'
import { ChatWriter } from './writer.ts'
import { openaiErrorBody, openaiErrorEvent } from '../error.ts'
import { openaiChatForward } from '../forward.ts'

/** `/v1/chat/completions`. */
export const openaiChat: ChatFormat = {
  dialect: 'openai-chat',
  operation: 'chat',
  fieldNames: chatTable.names,
  inspect: inspectChat,
  overrides: readOverrides,
  strictSchema: strictChatSchema,
  decode: decodeChat,
  plain: plainChat,
  withMaximum: (body, tokens, field) => withNumber(body, field, tokens, ['max_tokens', 'max_completion_tokens']),
  encode: encodeChat,
  writer: (model, request) => new ChatWriter(model, request),
  errorBody: openaiErrorBody,
  errorEvent: openaiErrorEvent,
  forward: openaiChatForward,
}
