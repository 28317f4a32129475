/** Small changes to conversations that several emulations need. */
import type { Message, Part } from '../core/chat.ts'

/** `developer` is OpenAI's newer word for `system`. */
export const isSystem = (message: Pick<Message, 'role'>): boolean =>
  message.role === 'system' || message.role === 'developer'

/** The conversation with `text` at the end of its first system message, or with a system message of its own. */
export function withInstruction(messages: readonly Message[], text: string): Message[] {
  const [first, ...rest] = messages
  if (!first || !isSystem(first)) return [{ role: 'system', parts: [{ type: 'text', text }] }, ...messages]
  return [{ ...first, parts: joinParts(first.parts, [{ type: 'text', text }]) }, ...rest]
}

/** Parts one after the other with an empty line between texts: most hosts join the texts of a message. */
function joinParts(first: readonly Part[], second: readonly Part[]): Part[] {
  const joined = [...first]
  appendParts(joined, second)
  return joined
}

/** The same in place: a conversation may have thousands of neighbours. */
export function appendParts(parts: Part[], more: readonly Part[]): void {
  for (const [at, part] of more.entries()) {
    const follows = at === 0 && part.type === 'text' && parts.at(-1)?.type === 'text'
    // The first text stays as it is: a cache of the provider may end with it.
    parts.push(follows ? { ...part, text: `\n\n${part.text}` } : part)
  }
}
