/** Where an error stands among the events of an answer. */
import type { ChatEvent } from '../../core/hub/chat.ts'

/** Moves an error behind the usage, which is billed, and drops the other events after it: an error ends an answer. */
export function errorLast(events: ChatEvent[]): ChatEvent[] {
  const at = events.findIndex(event => event.type === 'error')
  if (at < 0) return events
  return [...events.slice(0, at), ...events.slice(at + 1).filter(event => event.type === 'usage'), events[at]!]
}
