/** The body of the call that makes an answer: the branch of the conversation that leads to it. */
import type { Conversation, ConversationMessage } from '../core/conversations.ts'
import type { Services } from '../core/endpoint.ts'
import { GatewayError } from '../core/errors.ts'
import type { Json } from '../lib/json/json-values.ts'
import { branchTo } from './branch.ts'

/** A chat request, streamed. Throws `too-large` beyond the limit of a body. */
export async function promptOf(
  services: Services,
  conversation: Conversation,
  answer: ConversationMessage,
): Promise<Json> {
  const { settings } = conversation
  const all = await services.conversations.messages(conversation)
  const messages: Json[] = branchTo(all, answer.parentId)
    .filter(isSaid)
    .map(({ role, content }) => ({ role, content: content.text }))
  if (settings.system_prompt) messages.unshift({ role: 'system', content: settings.system_prompt })
  const { temperature, top_p, max_tokens, reasoning_effort, thinking_mode } = settings
  const body: Json = {
    model: answer.content.model,
    messages,
    stream: true,
    stream_options: { include_usage: true },
    ...(temperature !== undefined && { temperature }),
    ...(top_p !== undefined && { top_p }),
    ...(max_tokens !== undefined && { max_tokens }),
    ...(reasoning_effort !== undefined && { reasoning_effort }),
    ...(thinking_mode !== undefined && { chat_template_kwargs: { thinking_mode } }),
  }
  const { bodyBytesMax } = services.current.settings
  if (JSON.stringify(body).length > bodyBytesMax)
    throw new GatewayError('too-large', `the conversation has more than ${bodyBytesMax} bytes; begin a new one`)
  return body
}

/** An answer that failed before its first word has nothing to say to the model. */
const isSaid = ({ role, content }: ConversationMessage): boolean => role === 'user' || content.text !== ''
