/**
 * Ids of tool calls for hosts that take few characters in them, and each id once in a conversation (Anthropic:
 * "`tool_use` ids must be unique"). Clients and models number their calls anew in each turn.
 */
import type { Message, Part } from '../../core/hub/chat.ts'

/** The messages with ids in the host's `form`, no two calls with the same one, and results that follow their calls. */
export function withDistinctCallIds(messages: readonly Message[], form: (id: string) => string): readonly Message[] {
  // Most conversations have none.
  if (!messages.some(hasCalls)) return messages
  const ids = new CallIds(form)
  return messages.map(message =>
    hasCalls(message) ? { ...message, parts: message.parts.map(part => ids.renamed(part, message)) } : message,
  )
}

const hasCalls = ({ parts }: Message): boolean =>
  parts.some(part => part.type === 'tool-call' || part.type === 'tool-result')

class CallIds {
  readonly #form: (id: string) => string
  readonly #taken = new Set<string>()
  /** The client's id -> the ids of its calls in the last message that has it, and how many are answered. */
  readonly #latest = new Map<string, { readonly message: Message; readonly names: string[]; answered: number }>()
  /** The client's id -> how many calls had it. */
  readonly #counts = new Map<string, number>()

  constructor(form: (id: string) => string) {
    this.#form = form
  }

  renamed(part: Part, message: Message): Part {
    if (part.type === 'tool-call') return { ...part, id: this.#call(part.id, message) }
    return part.type === 'tool-result' ? { ...part, callId: this.#result(part.callId) } : part
  }

  #call(id: string, message: Message): string {
    let count = this.#counts.get(id) ?? 0
    let name: string
    do name = this.#form(++count === 1 ? id : `${id}_${count}`)
    while (this.#taken.has(name))
    this.#counts.set(id, count)
    this.#taken.add(name)
    const latest = this.#latest.get(id)
    if (latest?.message === message) latest.names.push(name)
    else this.#latest.set(id, { message, names: [name], answered: 0 })
    return name
  }

  /** In the order of the calls; a further one is the last call's too, and one without a call keeps its own id. */
  #result(id: string): string {
    const latest = this.#latest.get(id)
    if (!latest) return this.#form(id)
    return latest.names[Math.min(latest.answered++, latest.names.length - 1)]!
  }
}
