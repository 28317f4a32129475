/**
 * A sliding window over the texts of an answer, for filters that look for something that may be split between events:
 * the last characters of each text are held back until what follows is known.
 */
import type { ChatEvent } from './chat.ts'
import type { AnswerFilter } from '../policy.ts'

/** Changes a text. Must be idempotent: a part of its result is passed to it again. */
type ChangeText = (text: string) => string

/** One text of the answer; `like` is an event of it, to make those that go out. */
interface Text {
  /** The end of what went out when another kind of text came between; a word may go on behind it. */
  readonly before: string
  /** What is held back. */
  readonly held: string
  /** The beginning of an escape in JSON text, whose end is not there yet. */
  readonly unread: string
  readonly like: TextPiece
}

/**
 * A filter that applies `change` to every text of the answer: content, reasoning, refusals, transcripts, citations and
 * the JSON text of tool arguments, each choice and each tool call by itself. It finds all that is at most
 * `windowCharacters` long, wherever the upstream split it; that many characters less one are held back until their text
 * ends or another kind of text follows in the same choice. A text that goes on after that is changed together with the
 * last characters before it, which the client has by then. Escapes of printable characters in JSON text become these
 * characters first. Log-probabilities are left out: they repeat the text token by token.
 */
export function windowedFilter(windowCharacters: number, change: ChangeText): AnswerFilter {
  return new WindowedFilter(windowCharacters - 1, change)
}

class WindowedFilter implements AnswerFilter {
  readonly #overlap: number
  readonly #change: ChangeText
  readonly #texts = new Map<string, Text>()
  /** By choice, the names of texts of which something is held: only these have to be looked at where others end. */
  readonly #held = new Map<number, { readonly texts: Set<string>; readonly calls: Set<string> }>()

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
        return [...this.#flush(event.choice, [nameOfCall(event)]), event]
      case 'audio':
        return this.#audio(event)
      case 'reasoning':
        // The signature of a thinking block must follow all of its text.
        if (event.signature !== undefined || event.redacted !== undefined) return this.#closing(event)
        return this.#piece(event)
      case 'text':
      case 'refusal':
      case 'tool-call-arguments':
        return this.#piece(event)
      default:
        return [...this.#flushChoice(event.choice), event]
    }
  }

  end(): readonly ChatEvent[] {
    return [...this.#held.keys()].flatMap(choice => this.#flushChoice(choice))
  }

  /** Another kind of text in the same choice interrupts the one before it; arguments of several calls may alternate. */
  #piece(event: TextPiece): ChatEvent[] {
    const name = nameOf(event)
    const others = this.#held.get(event.choice)?.texts
    const interrupted = others
      ? this.#flush(
          event.choice,
          [...others].filter(one => one !== name),
        )
      : []
    const [text, unread] = this.#read(name, event)
    const { before, rest } = this.#changed(name, text)
    const cut = characterBoundary(rest, Math.max(rest.length - this.#overlap, 0))
    this.#set(name, { before: cut > 0 ? '' : before, held: rest.slice(cut), unread, like: event })
    return cut > 0 ? [...interrupted, withPieceText(event, rest.slice(0, cut))] : interrupted
  }

  #closing(event: Extract<ChatEvent, { type: 'reasoning' }>): ChatEvent[] {
    const name = nameOf(event)
    const { rest } = this.#changed(name, event.text ?? '')
    this.#texts.delete(name)
    this.#held.get(event.choice)?.texts.delete(name)
    return [...this.#flushChoice(event.choice), rest === '' ? event : withPieceText(event, rest)]
  }

  /** The text of the event with what was not readable before it, and what of it is not readable yet. */
  #read(name: string, event: TextPiece): [text: string, unread: string] {
    const text = textOfPiece(event)
    if (event.type !== 'tool-call-arguments') return [text, '']
    const json = (this.#texts.get(name)?.unread ?? '') + text
    if (!json.includes('\\')) return [json, '']
    const unread = /(?<!\\)(?:\\\\)*(\\(?:u[0-9a-f]{0,3})?)$/i.exec(json)?.[1] ?? ''
    return [unescaped(json.slice(0, json.length - unread.length)), unread]
  }

  /** What has to follow on what the client has: the held text and `more`, changed. */
  #changed(name: string, more: string): { before: string; rest: string } {
    const { before, held } = this.#texts.get(name) ?? { before: '', held: '' }
    const whole = this.#change(before + held + more)
    return { before, rest: whole.slice(commonLength(before, whole)) }
  }

  /** Audio is passed on at once. */
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

  #set(name: string, text: Text): void {
    const { choice, type } = text.like
    let held = this.#held.get(choice)
    if (!held) this.#held.set(choice, (held = { texts: new Set(), calls: new Set() }))
    this.#texts.set(name, text)
    held[type === 'tool-call-arguments' ? 'calls' : 'texts'].add(name)
  }

  /** All that is held of a choice: of texts, then of calls. */
  #flushChoice(choice: number): ChatEvent[] {
    const held = this.#held.get(choice)
    return held ? this.#flush(choice, [...held.texts, ...held.calls]) : []
  }

  #flush(choice: number, names: readonly string[]): ChatEvent[] {
    const out: ChatEvent[] = []
    for (const name of names) {
      const known = this.#texts.get(name)
      if (!known) continue
      const { before, held, unread, like } = known
      this.#held.get(choice)?.[like.type === 'tool-call-arguments' ? 'calls' : 'texts'].delete(name)
      const text = held + unread
      const sent = this.#overlap > 0 ? (before + text).slice(-this.#overlap) : ''
      this.#texts.set(name, { before: sent, held: '', unread: '', like })
      if (text !== '') out.push(withPieceText(like, text))
    }
    return out
  }
}

/** Escapes of printable characters as these characters; quotes, backslashes and halves of a character stay. */
function unescaped(json: string): string {
  return json.replace(/\\(?:u([0-9a-f]{4})|[^u])/gi, (written, code?: string) => {
    const value = code === undefined ? 0 : parseInt(code, 16)
    const isPlain = value >= 0x20 && value !== 0x22 && value !== 0x5c && (value < 0xd800 || value > 0xdfff)
    return isPlain ? String.fromCharCode(value) : written
  })
}

/** Characters that both begin with. */
function commonLength(one: string, other: string): number {
  let at = 0
  while (at < one.length && one.charCodeAt(at) === other.charCodeAt(at)) at++
  return at
}

function nameOf(event: TextPiece): string {
  return event.type === 'tool-call-arguments' ? nameOfCall(event) : `${event.choice} ${event.type}`
}

function nameOfCall({ choice, index }: { choice: number; index: number }): string {
  return `${choice} tool-call-arguments ${index}`
}

/** `at`, or one less where it would cut a character that takes two units of UTF-16. */
function characterBoundary(text: string, at: number): number {
  const code = text.charCodeAt(at)
  return at > 0 && code >= 0xdc00 && code <= 0xdfff ? at - 1 : at
}

/** An event with a piece of a text. */
export type TextPiece = Extract<ChatEvent, { type: 'text' | 'reasoning' | 'refusal' | 'tool-call-arguments' | 'audio' }>

/** Empty where the event has none, as the signature of a thinking block. */
export function textOfPiece(event: TextPiece): string {
  if (event.type === 'tool-call-arguments') return event.fragment
  return (event.type === 'audio' ? event.transcript : event.text) ?? ''
}

/** The same event with another text. */
export function withPieceText(event: TextPiece, text: string): TextPiece {
  if (event.type === 'tool-call-arguments') return { ...event, fragment: text }
  return event.type === 'audio' ? { ...event, transcript: text } : { ...event, text }
}
