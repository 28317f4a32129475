/**
 * Thinking that a model writes into its text, split out of it. Only the beginning of an answer can be thinking: a
 * `<think>` later on is something the model talks about, and stays. A template may have opened the thinking, so that
 * its end is all there is of it: until that is clear, nothing of the text is anything.
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

/** An answer that waits longer than this many characters for the end of its thinking has none. */
const weighedMax = 1024 * 1024

/** What a text without an opener is: thinking, what its first tag says, or text. */
type Unopened = 'thinking' | 'weighed' | 'text'

/** `isOpen` = the text begins inside the thinking, because the model's template has opened it. */
export function splitThinking(request: ChatRequest, isOpen: boolean): Emulation {
  // Switched off, the template opens nothing; a model that thinks nevertheless says so.
  const unopened: Unopened = request.reasoning?.enabled === false ? 'text' : isOpen ? 'thinking' : 'weighed'
  return { filter: () => perChoice(() => new ThinkingSplitter(unopened), splitEvent) }
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
    case 'tool-call-start':
      // Nobody thinks on behind a call: what was said before it is said.
      return [...splitter.settle().map(said), event]
    default:
      return [event]
  }
}

interface Piece {
  readonly kind: 'text' | 'reasoning'
  readonly text: string
}

/**
 * `start`: an opener may come. `weighed`: none came, and a closer may still come. `thinking`: until the closer. `gap`:
 * white space after the closer is nobody's.
 */
type Phase = 'start' | 'weighed' | 'thinking' | 'gap' | 'text'

const weighedTags = /<(\/?)think(?:ing)?>/
const longestTag = '</thinking>'.length

/** Text of which it is not clear what it is, in the pieces it came in: joined anew for each, a long one takes forever. */
class WeighedText {
  #pieces: string[] = []
  #length = 0
  /** The end of what was searched: a tag may begin in it. */
  #tail = ''

  /** What the text turns out to be; undefined = not clear yet. A closer without its opener ends thinking. */
  add(text: string): 'thinking' | 'text' | undefined {
    this.#pieces.push(text)
    this.#length += text.length
    const seen = this.#tail + text
    const tag = weighedTags.exec(seen)
    this.#tail = seen.slice(1 - longestTag)
    if (tag) return tag[1] === '/' ? 'thinking' : 'text'
    return this.#length > weighedMax ? 'text' : undefined
  }

  take(): string {
    const text = this.#pieces.join('')
    this.#pieces = []
    return text
  }
}

class ThinkingSplitter {
  #phase: Phase = 'start'
  readonly #unopened: Unopened
  readonly #weighed = new WeighedText()
  /** What ends the thinking that is open. */
  #closers: readonly string[] = tags.map(tag => tag.closer)
  /** Undecided: white space and part of a tag. */
  #held = ''
  /** A line break after the opener belongs to the opener. */
  #thought = false

  constructor(unopened: Unopened) {
    this.#unopened = unopened
  }

  push(text: string): Piece[] {
    if (this.#is('text')) return [{ kind: 'text', text }]
    const pieces: Piece[] = []
    let rest = this.#held + text
    this.#held = ''
    if (this.#is('start')) rest = this.#begin(rest)
    if (this.#is('weighed')) rest = this.#weigh(rest)
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
    const kind =
      this.#phase === 'thinking' || (this.#phase === 'start' && this.#unopened === 'thinking') ? 'reasoning' : 'text'
    const text = this.#weighed.take() + this.#held
    this.#held = ''
    this.#phase = 'text'
    return text === '' ? [] : [{ kind, text }]
  }

  /** A text that is still weighed is text. */
  settle(): Piece[] {
    return this.#phase === 'weighed' ? this.stop() : []
  }

  #weigh(text: string): string {
    const found = this.#weighed.add(text)
    if (!found) return ''
    this.#phase = found
    return this.#weighed.take()
  }

  #begin(text: string): string {
    const begun = text.trimStart()
    const tag = tags.find(one => begun.startsWith(one.opener))
    if (tag && text.length - begun.length <= spaceMax) {
      this.#phase = 'thinking'
      if (this.#unopened !== 'thinking') this.#closers = [tag.closer]
      return begun.slice(tag.opener.length)
    }
    if (text.length - begun.length <= spaceMax && tags.some(one => one.opener.startsWith(begun))) {
      this.#held = text
      return ''
    }
    this.#phase = this.#unopened
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
