/**
 * Thinking that a model writes into its text, split out of it. Only the beginning of an answer can be thinking: a
 * `<think>` later on is something the model talks about, and stays.
 */
import type { ChatEvent, ChatRequest } from '../core/chat.ts'
import { perChoice } from './decorate.ts'
import type { Emulation } from './decorate.ts'

const tags = [
  { opener: '<think>', closer: '</think>' },
  { opener: '<thinking>', closer: '</thinking>' },
] as const

/** More white space than a model puts before its thinking: nobody waits for what follows it. */
const spaceMax = 1024

/** `isOpen` = the text begins inside the thinking, because the model's template has opened it. */
export function splitThinking(request: ChatRequest, isOpen: boolean): Emulation {
  // Switched off, the template opens nothing; a model that thinks nevertheless says so.
  const open = isOpen && request.reasoning?.enabled !== false
  return { filter: () => perChoice(() => new ThinkingSplitter(open), splitEvent) }
}

function splitEvent(splitter: ThinkingSplitter, event: Extract<ChatEvent, { choice: number }>): readonly ChatEvent[] {
  const { choice } = event
  const said = ({ kind, text }: Piece): ChatEvent => ({ type: kind, choice, text })
  switch (event.type) {
    case 'text':
      return splitter.push(event.text).map(said)
    case 'reasoning':
      // The host splits by itself: from here on the text is text.
      return [...splitter.stop().map(said), event]
    case 'finish':
      return [...splitter.stop().map(said), event]
    default:
      return [event]
  }
}

interface Piece {
  readonly kind: 'text' | 'reasoning'
  readonly text: string
}

/** `start`: an opener may come. `thinking`: until the closer. `gap`: white space after the closer is nobody's. */
type Phase = 'start' | 'thinking' | 'gap' | 'text'

class ThinkingSplitter {
  #phase: Phase = 'start'
  readonly #isOpen: boolean
  /** What ends the thinking that is open. */
  #closers: readonly string[] = tags.map(tag => tag.closer)
  /** Undecided: white space and part of a tag. */
  #held = ''
  /** A line break after the opener belongs to the opener. */
  #thought = false

  constructor(isOpen: boolean) {
    this.#isOpen = isOpen
  }

  push(text: string): Piece[] {
    if (this.#is('text')) return [{ kind: 'text', text }]
    const pieces: Piece[] = []
    let rest = this.#held + text
    this.#held = ''
    if (this.#is('start')) rest = this.#begin(rest)
    if (this.#is('thinking')) rest = this.#think(rest, pieces)
    if (this.#is('gap')) rest = this.#skipGap(rest)
    if (this.#is('text') && rest !== '') pieces.push({ kind: 'text', text: rest })
    return pieces
  }

  /** Each step may lead to the next. */
  #is(phase: Phase): boolean {
    return this.#phase === phase
  }

  /** The answer ended, or turned out to need no splitting: what is held back is what it looks like. */
  stop(): Piece[] {
    const kind = this.#phase === 'thinking' || (this.#phase === 'start' && this.#isOpen) ? 'reasoning' : 'text'
    const text = this.#held
    this.#held = ''
    this.#phase = 'text'
    return text === '' ? [] : [{ kind, text }]
  }

  #begin(text: string): string {
    const begun = text.trimStart()
    const tag = tags.find(one => begun.startsWith(one.opener))
    if (tag && text.length - begun.length <= spaceMax) {
      this.#phase = 'thinking'
      if (!this.#isOpen) this.#closers = [tag.closer]
      return begun.slice(tag.opener.length)
    }
    if (text.length - begun.length <= spaceMax && tags.some(one => one.opener.startsWith(begun))) {
      this.#held = text
      return ''
    }
    this.#phase = this.#isOpen ? 'thinking' : 'text'
    return text
  }

  #think(text: string, pieces: Piece[]): string {
    const thinking = this.#thought ? text : text.replace(/^[\r\n]+/, '')
    const ends = this.#closers.map(closer => ({ at: thinking.indexOf(closer), closer })).filter(end => end.at >= 0)
    const end = ends.sort((a, b) => a.at - b.at)[0]
    const until = end ? end.at : thinking.length - this.#partOfCloser(thinking)
    if (until > 0) {
      this.#thought = true
      pieces.push({ kind: 'reasoning', text: thinking.slice(0, until) })
    }
    if (!end) {
      this.#held = thinking.slice(until)
      return ''
    }
    this.#phase = 'gap'
    return thinking.slice(end.at + end.closer.length)
  }

  /** Characters at the end of `text` that may be the beginning of a closer. */
  #partOfCloser(text: string): number {
    let longest = 0
    for (const closer of this.#closers)
      for (let length = Math.min(closer.length - 1, text.length); length > longest; length--)
        if (text.endsWith(closer.slice(0, length))) longest = length
    return longest
  }

  #skipGap(text: string): string {
    const rest = text.trimStart()
    if (rest !== '') this.#phase = 'text'
    return rest
  }
}
