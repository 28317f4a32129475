/** The body of the call that makes an answer: the branch of the conversation that leads to it. */
import type { Conversation, ConversationMessage } from '../core/conversations.ts'
import type { Services } from '../core/endpoint.ts'
import { GatewayError } from '../core/errors.ts'
import type { Json } from '../lib/json/json-values.ts'

/** A chat request, streamed. Throws `too-large` beyond the limit of a body. */
export async function promptOf(
  services: Services,
  conversation: Conversation,
  answer: ConversationMessage,
): Promise<Json> {
  const { settings } = conversation
  const all = await services.conversations.messages(conversation)
  const messages = branchTo(all, answer.parentId).flatMap(chatMessages)
  if (settings.system_prompt) messages.unshift({ role: 'system', content: settings.system_prompt })
  const { temperature, top_p, max_tokens, reasoning_effort, thinking_mode, tools } = settings
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
    ...(tools !== undefined && tools.length > 0 && { tools }),
  }
  const { bodyBytesMax } = services.current.settings
  if (JSON.stringify(body).length > bodyBytesMax)
    throw new GatewayError('too-large', `the conversation has more than ${bodyBytesMax} bytes; begin a new one`)
  return body
}

/** From the first message to the one of this id. */
function branchTo(all: readonly ConversationMessage[], id: string | null): ConversationMessage[] {
  const byId = new Map(all.map(message => [message.id, message]))
  const branch: ConversationMessage[] = []
  for (
    let at = id === null ? undefined : byId.get(id);
    at;
    at = at.parentId === null ? undefined : byId.get(at.parentId)
  )
    branch.push(at)
  return branch.reverse()
}

function chatMessages({ role, content }: ConversationMessage): Json[] {
  if (role === 'tool')
    return (content.tool_outputs ?? []).map(({ tool_call_id, output }) => ({
      role,
      tool_call_id,
      content: output,
    }))
  const calls = content.tool_calls ?? []
  if (role === 'assistant' && content.text === '' && calls.length === 0) return []
  const tool_calls = calls.map(({ id, name, arguments: given }) => ({
    id,
    type: 'function',
    function: { name, arguments: given },
  }))
  return [{ role, content: content.text, ...(calls.length > 0 && { tool_calls }) }]
}
