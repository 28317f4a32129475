/** A branch of the tree that the messages of a conversation are. */
import type { ConversationMessage } from '../core/objects/conversations.ts'

/** From the first message to the one of this id; empty = there is no such message. */
export function branchTo(all: readonly ConversationMessage[], id: string | null): ConversationMessage[] {
  const byId = new Map(all.map(message => [message.id, message]))
  const branch: ConversationMessage[] = []
  for (let at = byId.get(id ?? ''); at; at = byId.get(at.parentId ?? '')) branch.push(at)
  return branch.reverse()
}
