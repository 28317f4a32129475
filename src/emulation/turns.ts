/** Conversations for models whose template wants one system message at most, and then user and assistant in turn. */
import type { Message } from '../core/chat.ts'
import type { Emulation } from './decorate.ts'
import { appendParts, isSystem } from './messages.ts'

/** Templates refuse a conversation that the assistant begins. */
const opening: Message = { role: 'user', parts: [{ type: 'text', text: '(The assistant speaks first.)' }] }

/** true = the model's template would take the conversation as it is. */
export function takesTurns(messages: readonly Pick<Message, 'role'>[]): boolean {
  const spoken = messages.length > 0 && isSystem(messages[0]!) ? messages.slice(1) : messages
  return spoken.every((message, at) => message.role === (at % 2 === 0 ? 'user' : 'assistant'))
}

/** Changes the request alone; the conversation that the client sent stays as it is. */
export const alternateTurns: Emulation = {
  request: request => ({ ...request, messages: inTurns(request.messages) }),
}

/** Neighbours of one role become one message; a system message after the beginning is said by the user. */
function inTurns(messages: readonly Message[]): Message[] {
  const result: Message[] = []
  let headGoesOn = true
  for (const message of messages) {
    const last = result.at(-1)
    const isHead: boolean = isSystem(message) && headGoesOn
    headGoesOn = isHead
    const role = message.role === 'assistant' ? 'assistant' : isHead ? message.role : 'user'
    const same = last !== undefined && (last.role === role || (isHead && isSystem(last)))
    // The name of one speaker does not stand for several.
    if (same) {
      delete last.name
      appendParts(last.parts, message.parts)
      continue
    }
    if (role === 'assistant' && (!last || isSystem(last))) result.push(opening)
    result.push({ ...message, role, parts: [...message.parts] })
  }
  return result
}
