/**
 * Splits thinking that a model writes into its text (`<think>...</think>`) into reasoning events. Only the beginning of
 * an answer can be thinking: a `<think>` later on is content and stays text. The prompt template may already contain
 * the opening tag, so that the answer holds the closing tag alone; text is buffered until that is decided.
 */
import type { ChatEvent, ChatRequest } from '../core/hub/chat.ts'
import { perChoice } from './decorate.ts'
import type { Emulation } from './decorate.ts'

const tags = [
  { opener: '<think>', closer: '</think>' },
  { opener: '<thinking>', closer: '</thinking>' },
] as const

/** Characters of white space before an opening tag; with more, the answer is treated as having no opening tag. */
const leadingSpaceMax = 1024

/** Characters that are buffered in the hope of a closing tag; a longer answer without one is text. */
const undecidedCharactersMax = 1024 * 1024

/** How a text without an opening tag is read: as thinking, as its first tag decides, or as text. */
type WithoutOpener = 'thinking' | 'undecided' | 'text'

/** `isOpen` = the text begins inside the thinking, because the model's prompt template ends with the opening tag. */
export function splitThinking(request: ChatRequest, isOpen: boolean): Emulation {
  // With reasoning switched off the template opens nothing; a model that thinks nevertheless writes both tags.
  const withoutOpener: WithoutOpener = request.reasoning?.enabled === false ? 'text' : isOpen ? 'thinking' : 'undecided'
  return { filter: () => perChoice(() => new ThinkingSplitter(withoutOpener), splitEvent) }
}

function splitEvent(splitter: ThinkingSplitter, event: Extract<ChatEvent, { choice: number }>): readonly ChatEvent[] {
  const { choice } = event
  const eventOf = ({ kind, text }: Piece): ChatEvent => ({ type: kind, choice, text })
  switch (event.type) {
    case 'text':
      return splitter.push(event.text).map(eventOf)
    case 'reasoning':
      // The host separates reasoning itself: no further splitting.
      return [...splitter.flush().map(eventOf), event]
    case 'finish':
      return [...splitter.flush().map(eventOf), event]
    case 'tool-call-start':
      // Thinking does not continue after a tool call, so buffered text without a tag is text.
      return [...splitter.flushUndecided().map(eventOf), event]
    default:
      return [event]
  }
}

interface Piece {
  readonly kind: 'text' | 'reasoning'
  readonly text: string
}

/**
 * `start`: an opening tag may follow. `undecided`: none came, and a closing tag still may. `thinking`: until the
 * closing tag. `gap`: white space after the closing tag, which is dropped. `text`: the rest of the answer.
 */
type Phase = 'start' | 'undecided' | 'thinking' | 'gap' | 'text'

const anyTag = /<(\/?)think(?:ing)?>/
const longestTag = '</thinking>'.length

/** Buffered text, kept in the pieces it arrived in: joining at each piece would take quadratic time. */
class UndecidedText {
  #pieces: string[] = []
  #length = 0
  /** The last characters already searched: a tag may begin in them. */
  #tail = ''

  /** What the buffered text is; undefined = not decided yet. A closing tag without an opening tag ends thinking. */
  add(text: string): 'thinking' | 'text' | undefined {
    this.#pieces.push(text)
    this.#length += text.length
    const seen = this.#tail + text
    const tag = anyTag.exec(seen)
    this.#tail = seen.slice(1 - longestTag)
    if (tag) return tag[1] === '/' ? 'thinking' : 'text'
    return this.#length > undecidedCharactersMax ? 'text' : undefined
  }

  take(): string {
    const text = this.#pieces.join('')
    this.#pieces = []
    return text
  }
}

class ThinkingSplitter {
  #phase: Phase = 'start'
  readonly #withoutOpener: WithoutOpener
  readonly #undecided = new UndecidedText()
  /** The tags that end the open thinking. */
  #closers: readonly string[] = tags.map(tag => tag.closer)
  /** Undecided: white space and part of a tag. */
  #held = ''
  /** Some thinking was emitted; until then line breaks are dropped as part of the opening tag. */
  #hasThinking = false

  constructor(withoutOpener: WithoutOpener) {
    this.#withoutOpener = withoutOpener
  }

  push(text: string): Piece[] {
    if (this.#is('text')) return [{ kind: 'text', text }]
    const pieces: Piece[] = []
    let rest = this.#held + text
    this.#held = ''
    if (this.#is('start')) rest = this.#readStart(rest)
    if (this.#is('undecided')) rest = this.#decide(rest)
    if (this.#is('thinking')) rest = this.#readThinking(rest, pieces)
    if (this.#is('gap')) rest = this.#skipGap(rest)
    if (this.#is('text') && rest !== '') pieces.push({ kind: 'text', text: rest })
    return pieces
  }

  /** A method, not a comparison: TypeScript would keep a narrowed phase across the steps that change it. */
  #is(phase: Phase): boolean {
    return this.#phase === phase
  }

  /** The answer ended or needs no splitting: emits what is buffered, as what it is by the current phase. */
  flush(): Piece[] {
    const kind =
      this.#phase === 'thinking' || (this.#phase === 'start' && this.#withoutOpener === 'thinking')
        ? 'reasoning'
        : 'text'
    const text = this.#undecided.take() + this.#held
    this.#held = ''
    this.#phase = 'text'
    return text === '' ? [] : [{ kind, text }]
  }

  /** Emits undecided text as text; does nothing in other phases. */
  flushUndecided(): Piece[] {
    return this.#phase === 'undecided' ? this.flush() : []
  }

  #decide(text: string): string {
    const found = this.#undecided.add(text)
    if (!found) return ''
    this.#phase = found
    return this.#undecided.take()
  }

  #readStart(text: string): string {
    const begun = text.trimStart()
    const tag = tags.find(one => begun.startsWith(one.opener))
    if (tag && text.length - begun.length <= leadingSpaceMax) {
      this.#phase = 'thinking'
      if (this.#withoutOpener !== 'thinking') this.#closers = [tag.closer]
      return begun.slice(tag.opener.length)
    }
    if (text.length - begun.length <= leadingSpaceMax && tags.some(one => one.opener.startsWith(begun))) {
      this.#held = text
      return ''
    }
    this.#phase = this.#withoutOpener
    return text
  }

  #readThinking(text: string, pieces: Piece[]): string {
    const thinking = this.#hasThinking ? text : text.replace(/^[\r\n]+/, '')
    const ends = this.#closers.map(closer => ({ at: thinking.indexOf(closer), closer })).filter(end => end.at >= 0)
    const end = ends.sort((a, b) => a.at - b.at)[0]
    const until = end ? end.at : thinking.length - this.#partOfCloser(thinking)
    if (until > 0) {
      this.#hasThinking = true
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
