/** How answers are read that this gateway itself has written: clients' dialects are those of vendors. */
import type { ChatRequest } from '../../core/hub/chat.ts'
import type { ChatAdapter, Dialect, Target } from '../../core/provider.ts'
import { anthropic } from '../anthropic/index.ts'
import { catalog } from '../catalog.ts'
import { gemini } from '../gemini/index.ts'
import { openaiCompatible } from '../openai-compatible/index.ts'

const openai = openaiCompatible('openai', catalog.openai)

/** Nothing is asked there; only signatures of thinking depend on the account. */
const nowhere: Target = { provider: openai, model: '', baseUrl: '', apiKey: undefined, headers: {}, options: {} }

/** By the dialect of a chat. */
export const answerAdapters: Readonly<
  Partial<Record<Dialect, Pick<ChatAdapter, 'argumentNames' | 'result' | 'reader'>>>
> = {
  'openai-chat': openai.chat!,
  'cursor-chat': openai.chat!,
  'openai-responses': openai.chatByResponses!(nowhere),
  'anthropic-messages': anthropic.chat!,
  'gemini-generate': gemini.chat!,
}

/** A request of the hub as a chat in OpenAI's dialect. Throws GatewayError for what that has no words for. */
export function chatBodyOf(request: ChatRequest): unknown {
  return openai.chat!.request(request, { ...nowhere, model: request.model }).body
}
