/**
 * A sliding window over the texts of an answer, for filters that look for something that may be split between events:
 * the last characters of each text are held back until what follows is known.
 */
import type { ChatEvent } from './chat.ts'
import type { AnswerFilter } from './policy.ts'

type Piece = Extract<ChatEvent, { type: 'text' | 'reasoning' | 'refusal' | 'tool-call-arguments' | 'audio' }>

/** Changes a text of which nothing before it is missing. Must leave its own result as it is: part of it comes again. */
type ChangeText = (text: string) => string

/** What is held back of one text; `like` is an event of it, to make those that go out. */
interface Held {
  readonly text: string
  readonly like: Piece
}

/**
 * A filter that applies `change` to every text of the answer: content, reasoning, refusals, transcripts, citations and
 * the JSON text of tool arguments, each choice and each tool call by itself. It finds all that is at most
 * `windowCharacters` long, wherever the upstream split it; that many characters less one are held back until their text
 * ends. Log-probabilities are left out: they repeat the text token by token.
 */
export function windowedFilter(windowCharacters: number, change: ChangeText): AnswerFilter {
  return new WindowedFilter(windowCharacters - 1, change)
}

class WindowedFilter implements AnswerFilter {
  readonly #overlap: number
  readonly #change: ChangeText
  readonly #held = new Map<string, Held>()

  constructor(overlap: number, change: ChangeText) {
    this.#overlap = overlap
    this.#change = change
  }

  event(event: ChatEvent): readonly ChatEvent[] {
    switch (event.type) {
      case 'start':
      case 'usage':
      case 'error':
        return [event]
      case 'logprobs':
        return []
      case 'citation':
        return [{ ...event, citation: this.#changedFields(event.citation) }]
      case 'tool-call-end':
        return [...this.#flush(like => isArgumentsOf(like, event)), event]
      case 'audio':
        return this.#audio(event)
      case 'reasoning':
        // What closes a block of thinking comes behind all of its text.
        if (event.signature !== undefined || event.redacted !== undefined) return this.#closing(event)
        return this.#piece(event)
      case 'text':
      case 'refusal':
      case 'tool-call-arguments':
        return this.#piece(event)
      default:
        return [...this.#flush(like => like.choice === event.choice), event]
    }
  }

  end(): readonly ChatEvent[] {
    return this.#flush(() => true)
  }

  /** Another kind of text in the same choice ends the one before it; arguments of several calls may alternate. */
  #piece(event: Piece): ChatEvent[] {
    // An empty text ends none: upstreams send empty fields beside those that go on.
    if (textOf(event) === '') return this.#held.size === 0 ? [event] : []
    const name = nameOf(event)
    const ended = this.#flush(
      like => like.choice === event.choice && like.type !== 'tool-call-arguments' && nameOf(like) !== name,
    )
    const text = this.#change((this.#held.get(name)?.text ?? '') + textOf(event))
    const cut = characterBoundary(text, Math.max(text.length - this.#overlap, 0))
    this.#held.set(name, { text: text.slice(cut), like: event })
    return cut > 0 ? [...ended, withText(event, text.slice(0, cut))] : ended
  }

  #closing(event: Extract<ChatEvent, { type: 'reasoning' }>): ChatEvent[] {
    const name = nameOf(event)
    const before = this.#held.get(name)?.text ?? ''
    this.#held.delete(name)
    const text = before + (event.text ?? '')
    return [
      ...this.#flush(like => like.choice === event.choice),
      text === '' ? event : withText(event, this.#change(text)),
    ]
  }

  /** The sound passes at once. */
  #audio(event: Extract<ChatEvent, { type: 'audio' }>): ChatEvent[] {
    const { transcript, ...sound } = event
    if (transcript === undefined) return [event]
    const pieces = this.#piece({ type: 'audio', choice: event.choice, transcript })
    const isText = event.id === undefined && event.data === undefined && event.expiresAtS === undefined
    return isText ? pieces : [sound, ...pieces]
  }

  #changedFields(fields: Record<string, unknown>): Record<string, unknown> {
    return JSON.parse(JSON.stringify(fields), (_, value: unknown) =>
      typeof value === 'string' ? this.#change(value) : value,
    )
  }

  #flush(ends: (like: Piece) => boolean): ChatEvent[] {
    const out: ChatEvent[] = []
    for (const [name, { text, like }] of this.#held) {
      if (!ends(like)) continue
      this.#held.delete(name)
      if (text !== '') out.push(withText(like, text))
    }
    return out
  }
}

function isArgumentsOf(like: Piece, call: { choice: number; index: number }): boolean {
  return like.type === 'tool-call-arguments' && like.choice === call.choice && like.index === call.index
}

function nameOf(event: Piece): string {
  return `${event.choice} ${event.type} ${event.type === 'tool-call-arguments' ? event.index : ''}`
}

function textOf(event: Piece): string {
  if (event.type === 'tool-call-arguments') return event.fragment
  return (event.type === 'audio' ? event.transcript : event.text) ?? ''
}

function withText(event: Piece, text: string): Piece {
  if (event.type === 'tool-call-arguments') return { ...event, fragment: text }
  return event.type === 'audio' ? { ...event, transcript: text } : { ...event, text }
}

/** `at`, or one less where it would cut a character that takes two units of UTF-16. */
function characterBoundary(text: string, at: number): number {
  const code = text.charCodeAt(at)
  return at > 0 && code >= 0xdc00 && code <= 0xdfff ? at - 1 : at
}
