/** Changes to conversations that several emulations share. */
import type { Message, Part } from '../core/hub/chat.ts'

/** `developer` is OpenAI's newer name of the role `system`. */
export const isSystem = (message: Pick<Message, 'role'>): boolean =>
  message.role === 'system' || message.role === 'developer'

/** The conversation with `text` appended to its leading system message, or with a new one before the rest. */
export function withInstruction(messages: readonly Message[], text: string): Message[] {
  const [first, ...rest] = messages
  if (!first || !isSystem(first)) return [{ role: 'system', parts: [{ type: 'text', text }] }, ...messages]
  return [{ ...first, parts: joinParts(first.parts, [{ type: 'text', text }]) }, ...rest]
}

/** Both lists of parts, with an empty line where two texts meet: most hosts concatenate the texts of a message. */
function joinParts(first: readonly Part[], second: readonly Part[]): Part[] {
  const joined = [...first]
  appendParts(joined, second)
  return joined
}

/** Appends in place: copying for each of thousands of merged messages would take quadratic time. */
export function appendParts(parts: Part[], more: readonly Part[]): void {
  for (const [at, part] of more.entries()) {
    const follows = at === 0 && part.type === 'text' && parts.at(-1)?.type === 'text'
    // The first text is not changed: a prompt cache entry of the provider may end with it.
    parts.push(follows ? { ...part, text: `\n\n${part.text}` } : part)
  }
}
