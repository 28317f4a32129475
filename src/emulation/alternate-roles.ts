/** For models whose chat template accepts at most one system message and then user and assistant alternately. */
import type { Message } from '../core/hub/chat.ts'
import type { Emulation } from './decorate.ts'
import { appendParts, isSystem } from './messages.ts'

/** Inserted before a leading assistant message, which such templates refuse. */
const opening: Message = { role: 'user', parts: [{ type: 'text', text: '(The assistant speaks first.)' }] }

/** true = such a template accepts the conversation unchanged. */
export function rolesAlternate(messages: readonly Pick<Message, 'role'>[]): boolean {
  const turns = messages.length > 0 && isSystem(messages[0]!) ? messages.slice(1) : messages
  return turns.every((message, at) => message.role === (at % 2 === 0 ? 'user' : 'assistant'))
}

/** Merges messages until the roles alternate. The answer is not changed. */
export const alternateTurns: Emulation = {
  request: request => ({ ...request, messages: mergeTurns(request.messages) }),
}

/** Adjacent messages of one role become one; a system message after the beginning becomes a user message. */
function mergeTurns(messages: readonly Message[]): Message[] {
  const result: Message[] = []
  let isInHead = true
  for (const message of messages) {
    const last = result.at(-1)
    const isHead: boolean = isSystem(message) && isInHead
    isInHead = isHead
    const role = message.role === 'assistant' ? 'assistant' : isHead ? message.role : 'user'
    const same = last !== undefined && (last.role === role || (isHead && isSystem(last)))
    // A merged message has no `name`: the merged ones may have had different names.
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
