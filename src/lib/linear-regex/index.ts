/**
 * Patterns that cannot hang: the time is linear in the text, for every pattern and every text. No look-around and no
 * references back; in return the longest match counts, and a text may come in pieces.
 */
import { Automaton } from './automaton.ts'
import { lengthsOf, parsePattern, PatternError } from './parse.ts'
import type { Node, PatternFlags } from './parse.ts'

export { PatternError } from './parse.ts'

/** A part of a text, in units of UTF-16; `end` is the first one behind it. */
export interface Span {
  readonly start: number
  readonly end: number
}

/** What was found; from `open` on it depends on what follows. */
export interface SearchResult {
  readonly spans: readonly Span[]
  /** The length of the text where nothing depends on what follows. */
  readonly open: number
}

/** Where a text is searched. */
export interface Search {
  /** What stands before is context: for word boundaries and for `check`. */
  readonly from: number
  /** Nothing follows the text. */
  readonly isComplete: boolean
  /** Looks at each candidate: the span that counts, or undefined. Of what it refuses the later parts are tried. */
  check?(text: string, span: Span): Span | undefined
}

/** The longest match of patterns that set no bound themselves. */
const unboundedMax = 1024
/** Units that are read on top of the text's length to make matches longer, as a multiple of it. */
const extraReads = 64

/** A compiled pattern. */
export class LinearPattern {
  readonly node: Node
  /** No match is longer, in units of UTF-16. */
  readonly lengthMax: number
  readonly #search: Automaton
  readonly #anchored: Automaton
  #reversed: Automaton | undefined

  /** Throws PatternError for what cannot be matched in linear time, and for patterns that match the empty text. */
  constructor(node: Node) {
    const { least, most } = lengthsOf(node)
    if (least === 0) throw new PatternError('matches the empty text; let it match at least one character')
    this.node = node
    this.lengthMax = Math.min(most, unboundedMax)
    this.#search = new Automaton(node, { isSearch: true })
    this.#anchored = new Automaton(node, { isSearch: false })
  }

  /** Whether `find` may find anything, or must wait for more of the text. */
  touches(text: string, { from, isComplete }: Pick<Search, 'from' | 'isComplete'>): boolean {
    return this.#search.touches(text, from, isComplete)
  }

  /** All matches that do not overlap, from the left, the longest of each place. */
  find(text: string, search: Search): SearchResult {
    const { from, isComplete, check } = search
    if (!this.touches(text, search)) return nothing(text)
    const marks = isComplete ? this.#marks(text) : undefined
    const spans: Span[] = []
    let extra = (text.length - from) * extraReads
    for (let at = from; at < text.length; at++) {
      if (marks && marks[at] === 0) continue
      const isShortest = extra <= 0
      const match = this.#anchored.matchFrom(text, at, { lengthMax: this.lengthMax, isComplete, isShortest })
      extra -= match.read
      if (match.isOpen && !isShortest) return { spans, open: at }
      if (match.end < 0) continue
      const span = { start: at, end: match.end }
      const counted = check ? check(text, span) : span
      if (!counted) continue
      spans.push(counted)
      at = Math.max(counted.end - 1, at)
    }
    return { spans, open: text.length }
  }

  #marks(text: string): Uint8Array {
    this.#reversed ??= new Automaton(this.node, { isSearch: true, isReversed: true })
    const marks = new Uint8Array(text.length + 1)
    this.#reversed.markStarts(text, marks)
    return marks
  }
}

const nothing = (text: string): SearchResult => ({ spans: [], open: text.length })

/** Compiles a pattern of JavaScript's syntax. Throws PatternError. */
export function linearPattern(pattern: string, flags: Partial<PatternFlags> = {}): LinearPattern {
  return new LinearPattern(parsePattern(pattern, flags))
}

/**
 * Whether a part of a text matches, as `new RegExp(pattern, 'u').test` says; undefined = it takes too much work. A
 * pattern may match the empty text. Throws PatternError.
 */
export function linearTest(pattern: string): (text: string) => boolean | undefined {
  const automaton = new Automaton(parsePattern(pattern, { wholeCharacters: true }), { isSearch: true })
  return text => automaton.test(text)
}

/** A pattern for any of several: to see at once that none of them is in a text. */
export function anyOf(patterns: readonly LinearPattern[]): LinearPattern {
  return new LinearPattern({ type: 'choice', options: patterns.map(one => one.node) })
}

/** Matches any of the texts; with `wholeWords` where no letter or digit of a word touches its ends. */
export function literalPattern(
  texts: readonly string[],
  { ignoreCase, wholeWords }: { readonly ignoreCase: boolean; readonly wholeWords: boolean },
): LinearPattern {
  const root = new Map() as Branches
  for (const text of texts) {
    let branches = root
    for (const letter of ignoreCase ? text.toLowerCase() : text) {
      let below = branches.get(letter)
      if (!below) branches.set(letter, (below = new Map() as Branches))
      branches = below
    }
    branches.set('', new Map() as Branches)
  }
  const node = nodeOf(root, { ignoreCase, wholeWords, before: undefined })
  return new LinearPattern(node)
}

/** By the next character; '' = a text ends here. */
interface Branches extends Map<string, Branches> {}

interface Spelling {
  readonly ignoreCase: boolean
  readonly wholeWords: boolean
  /** The character before; undefined = none. */
  readonly before: string | undefined
}

function nodeOf(branches: Branches, spelling: Spelling): Node {
  const options = [...branches].map(([letter, below]): Node => {
    if (letter === '') return boundary(spelling, spelling.before!)
    const first = spelling.before === undefined ? [boundary(spelling, letter)] : []
    const own = parsePattern(letter.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&'), { ignoreCase: spelling.ignoreCase })
    return { type: 'sequence', parts: [...first, own, nodeOf(below, { ...spelling, before: letter })] }
  })
  return options.length === 1 ? options[0]! : { type: 'choice', options }
}

/** Scripts without spaces between words have no boundaries to look for. */
const unspaced = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}]/u

function boundary({ wholeWords }: Spelling, letter: string): Node {
  const isWord = /[\p{L}\p{M}\p{N}_]/u.test(letter) && !unspaced.test(letter)
  return wholeWords && isWord ? { type: 'assertion', assertion: 'word' } : { type: 'sequence', parts: [] }
}
