/** The events of a stream, put together as they come: as few as a whole answer has, and bounded in size. */
import type { ChatEvent } from '../core/hub/chat.ts'

/** Puts the events of a stream together to one answer; one object for each answer. */
export class AssembledEvents {
  readonly #bytesMax: number
  #events: ChatEvent[] = []
  #bytes = 0
  #isCut = false

  /** `bytesMax` = of the content, about. */
  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax
  }

  get events(): readonly ChatEvent[] {
    return this.#events
  }

  /** Content behind the bound was left out; ends and usage never are. */
  get isCut(): boolean {
    return this.#isCut
  }

  /** About what it takes in memory. */
  get bytes(): number {
    return this.#bytes
  }

  add(events: readonly ChatEvent[]): void {
    for (const event of events) this.#add(event)
  }

  #add(event: ChatEvent): void {
    // A further attempt begins the answer again.
    if (event.type === 'start') this.#reset()
    if (event.type === 'error') return
    const bytes = contentLength(event)
    if (bytes > 0 && this.#bytes + bytes > this.#bytesMax) this.#isCut = true
    if (bytes > 0 && this.#isCut) return
    this.#bytes += bytes
    const last = this.#events.at(-1)
    const joined = last && joinedEvents(last, event)
    if (joined) this.#events[this.#events.length - 1] = joined
    else this.#events.push(event)
  }

  #reset(): void {
    this.#events = []
    this.#bytes = 0
    this.#isCut = false
  }
}

/** Also counts events without text, so that no stream of empty ones grows without end. */
function contentLength(event: ChatEvent): number {
  switch (event.type) {
    case 'text':
    case 'refusal':
      return event.text.length
    case 'reasoning':
      return (event.text?.length ?? 0) + (event.signature?.length ?? 0) + (event.redacted?.length ?? 0) + 1
    case 'tool-call-arguments':
      return event.fragment.length
    case 'start':
    case 'finish':
    case 'usage':
      return 0
    default:
      return JSON.stringify(event).length
  }
}

/** undefined = they stay two. */
function joinedEvents(last: ChatEvent, next: ChatEvent): ChatEvent | undefined {
  if ('choice' in last && 'choice' in next && last.choice !== next.choice) return undefined
  if (last.type === 'text' && next.type === 'text') return { ...last, text: last.text + next.text }
  if (last.type === 'refusal' && next.type === 'refusal') return { ...last, text: last.text + next.text }
  if (last.type === 'tool-call-arguments' && next.type === 'tool-call-arguments')
    return last.index === next.index ? { ...last, fragment: last.fragment + next.fragment } : undefined
  const isThought = last.type === 'reasoning' && next.type === 'reasoning'
  if (!isThought || isClosed(last) || isClosed(next)) return undefined
  return { ...last, text: (last.text ?? '') + (next.text ?? '') }
}

const isClosed = (event: Extract<ChatEvent, { type: 'reasoning' }>): boolean =>
  event.signature !== undefined || event.redacted !== undefined
