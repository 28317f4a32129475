/** Reads patterns in JavaScript's syntax, as far as they can be matched in linear time. */
import {
  asciiWord,
  charSet,
  contains,
  digits,
  inverse,
  lineEnds,
  spaces,
  unicodeProperty,
  union,
  unit,
} from './char-set.ts'
import { withBothCases } from './char-set.ts'
import type { CharSet } from './char-set.ts'

/** What holds between two units; `line-start` and `line-end` hold at the ends of the text, too. */
export type Assertion = 'start' | 'end' | 'line-start' | 'line-end' | 'word' | 'not-word'

/** A part of a pattern. */
export type Node =
  | { readonly type: 'set'; readonly set: CharSet }
  | { readonly type: 'sequence'; readonly parts: readonly Node[] }
  | { readonly type: 'choice'; readonly options: readonly Node[] }
  /** `most` may be Infinity. */
  | { readonly type: 'repeat'; readonly part: Node; readonly least: number; readonly most: number }
  | { readonly type: 'assertion'; readonly assertion: Assertion }

/** A pattern that cannot be used; the message says where, why, and what to write instead. */
export class PatternError extends Error {
  override readonly name = 'PatternError'
}

/** How a pattern is read. */
export interface PatternFlags {
  readonly ignoreCase: boolean
  /** `^` and `$` hold at line ends. */
  readonly multiline: boolean
  /** `.` takes line ends. */
  readonly dotAll: boolean
  /** `.` and `[^a]` take a character of two units whole, as with JavaScript's flag `u`. */
  readonly wholeCharacters: boolean
}

const repeatsMax = 1000
const lengthMax = 10_000

/** Reads a pattern; flags may stand at its beginning as `(?ims)`. Throws PatternError. */
export function parsePattern(pattern: string, flags: Partial<PatternFlags> = {}): Node {
  if (pattern.length > lengthMax) throw new PatternError(`is longer than ${lengthMax} characters; split it`)
  const leading = /^\(\?([ims]+)\)/.exec(pattern)
  const letters = leading?.[1] ?? ''
  const reader = new Reader(pattern, leading?.[0].length ?? 0, {
    ignoreCase: flags.ignoreCase === true || letters.includes('i'),
    multiline: flags.multiline === true || letters.includes('m'),
    dotAll: flags.dotAll === true || letters.includes('s'),
    wholeCharacters: flags.wholeCharacters === true,
  })
  return reader.whole()
}

const escapes: Readonly<Record<string, CharSet>> = {
  d: digits,
  D: inverse(digits),
  w: asciiWord,
  W: inverse(asciiWord),
  s: spaces,
  S: inverse(spaces),
}
const controls: Readonly<Record<string, number>> = { t: 9, n: 10, v: 11, f: 12, r: 13 }

/** Of characters beyond U+FFFF. */
const firstUnits = charSet([[0xd800, 0xdbff]])
const secondUnits = charSet([[0xdc00, 0xdfff]])

class Reader {
  readonly #text: string
  readonly #flags: PatternFlags
  #at: number

  constructor(text: string, at: number, flags: PatternFlags) {
    this.#text = text
    this.#at = at
    this.#flags = flags
  }

  whole(): Node {
    const node = this.#choice()
    if (this.#at < this.#text.length) throw this.#error("has a ')' without its '('")
    return node
  }

  #error(what: string): PatternError {
    return new PatternError(`${what} (at character ${this.#at + 1} of '${this.#text.slice(0, 80)}')`)
  }

  #choice(): Node {
    const options = [this.#sequence()]
    while (this.#takes('|')) options.push(this.#sequence())
    return options.length === 1 ? options[0]! : { type: 'choice', options }
  }

  #sequence(): Node {
    const parts: Node[] = []
    while (this.#at < this.#text.length && this.#text[this.#at] !== '|' && this.#text[this.#at] !== ')')
      parts.push(...this.#repeated())
    return parts.length === 1 ? parts[0]! : { type: 'sequence', parts }
  }

  #takes(text: string): boolean {
    if (!this.#text.startsWith(text, this.#at)) return false
    this.#at += text.length
    return true
  }

  /** One part with its quantifier; of a character of two units the quantifier belongs to both. */
  #repeated(): Node[] {
    const part = this.#atom()
    const found = /^(?:([*+?])|\{(\d+)(?:(,)(\d*))?\})/.exec(this.#text.slice(this.#at, this.#at + 20))
    if (!found) return [part]
    if (part.type === 'assertion') throw this.#error('repeats an assertion; take the quantifier out')
    this.#at += found[0].length
    // Lazy and greedy are the same here: the longest match counts.
    this.#takes('?')
    if (/^[*+?{]/.test(this.#text.slice(this.#at)))
      throw this.#error('has two quantifiers in a row; put one in (?:...)')
    const [, sign, from, comma, to] = found
    const least = sign === '+' ? 1 : Number(from ?? 0)
    const most = sign === '?' ? 1 : sign !== undefined || (comma && to === '') ? Infinity : Number(comma ? to : from)
    if (least > most) throw this.#error('has a quantifier whose first number is larger than its second')
    if (least > repeatsMax || (most !== Infinity && most > repeatsMax))
      throw this.#error(`repeats a part more than ${repeatsMax} times; use a smaller number`)
    return [{ type: 'repeat', part, least, most }]
  }

  #atom(): Node {
    const letter = this.#text[this.#at]!
    switch (letter) {
      case '(':
        return this.#group()
      case '[':
        return this.#oneOf(this.#cased(this.#class()))
      case '.':
        this.#at++
        return this.#oneOf(this.#flags.dotAll ? inverse([]) : inverse(lineEnds))
      case '^':
        this.#at++
        return { type: 'assertion', assertion: this.#flags.multiline ? 'line-start' : 'start' }
      case '$':
        this.#at++
        return { type: 'assertion', assertion: this.#flags.multiline ? 'line-end' : 'end' }
      case '\\':
        return this.#escape()
      case '*':
      case '+':
      case '?':
        throw this.#error(`has a '${letter}' with nothing before it; write \\${letter} for the character`)
    }
    const code = this.#text.codePointAt(this.#at)!
    this.#at += code > 0xffff ? 2 : 1
    return this.#character(code)
  }

  #oneOf(set: CharSet): Node {
    if (!this.#flags.wholeCharacters || !contains(set, firstUnits[0]!) || !contains(set, secondUnits[0]!))
      return { type: 'set', set }
    const single: Node = { type: 'set', set: inverse(union(inverse(set), firstUnits, secondUnits)) }
    const pair: Node = {
      type: 'sequence',
      parts: [
        { type: 'set', set: firstUnits },
        { type: 'set', set: secondUnits },
      ],
    }
    return { type: 'choice', options: [single, pair] }
  }

  #character(code: number): Node {
    const units = [...Array(code > 0xffff ? 2 : 1).keys()].map(at => String.fromCodePoint(code).charCodeAt(at))
    const parts = units.map((one): Node => ({ type: 'set', set: this.#cased(unit(one)) }))
    return parts.length === 1 ? parts[0]! : { type: 'sequence', parts }
  }

  #cased(set: CharSet): CharSet {
    return this.#flags.ignoreCase ? withBothCases(set) : set
  }

  #group(): Node {
    this.#at++
    if (this.#text[this.#at] === '?') {
      if (/^\?<?[=!]/.test(this.#text.slice(this.#at, this.#at + 3)))
        throw this.#error('looks ahead or behind, which has no linear bound; write what stands there into the pattern')
      const name = /^\?(?::|<[A-Za-z_]\w*>)/.exec(this.#text.slice(this.#at))
      if (!name) throw this.#error('has a group that begins with (? and is not known; use (?:...)')
      this.#at += name[0].length
    }
    const inner = this.#choice()
    if (!this.#takes(')')) throw this.#error("has a '(' without its ')'")
    return inner
  }

  #escape(): Node {
    const letter = this.#text[this.#at + 1]
    if (letter === 'b' || letter === 'B') {
      this.#at += 2
      return { type: 'assertion', assertion: letter === 'b' ? 'word' : 'not-word' }
    }
    if (letter !== undefined && /[1-9k]/.test(letter))
      throw this.#error('refers back to a group, which has no linear bound; write what the group takes')
    const read = this.#escaped()
    return typeof read === 'number' ? this.#character(read) : this.#oneOf(this.#cased(read))
  }

  /** A class, or the code of a character. */
  #escaped(): CharSet | number {
    const rest = this.#text.slice(this.#at, this.#at + 64)
    const property = /^\\([pP])\{([^}]+)\}/.exec(rest)
    if (property) {
      const set = unicodeProperty(property[2]!)
      if (!set) throw this.#error(`has an unknown property '${property[2]}'; \\p{L} is one that is known`)
      this.#at += property[0].length
      return property[1] === 'P' ? inverse(set) : set
    }
    const coded = /^\\(?:x([0-9a-f]{2})|u([0-9a-f]{4})|u\{([0-9a-f]{1,6})\})/i.exec(rest)
    if (coded) {
      this.#at += coded[0].length
      const code = parseInt(coded[1] ?? coded[2] ?? coded[3]!, 16)
      if (code > 0x10ffff) throw this.#error('names a character beyond Unicode')
      return code
    }
    const letter = rest[1]
    if (letter === undefined) throw this.#error('ends with a backslash; write \\\\ for the character')
    this.#at += 2
    if (Object.hasOwn(escapes, letter)) return escapes[letter]!
    if (Object.hasOwn(controls, letter)) return controls[letter]!
    if (/[A-Za-z0-9]/.test(letter)) throw this.#error(`has an escape that is not known, \\${letter}`)
    return letter.codePointAt(0)!
  }

  #class(): CharSet {
    this.#at++
    const isInverse = this.#takes('^')
    const sets: CharSet[] = []
    while (!this.#takes(']')) {
      if (this.#at >= this.#text.length) throw this.#error("has a '[' without its ']'")
      const first = this.#member()
      const isRange = this.#text[this.#at] === '-' && this.#text[this.#at + 1] !== ']'
      if (!isRange || typeof first !== 'number') {
        sets.push(typeof first === 'number' ? unit(first) : first)
        continue
      }
      this.#at++
      const end = this.#member()
      if (typeof end !== 'number' || end < first) throw this.#error('has a range in [...] that does not go up')
      sets.push(charSet([[first, end]]))
    }
    const set = this.#cased(union(...sets))
    return isInverse ? inverse(set) : set
  }

  #member(): CharSet | number {
    if (this.#text[this.#at] === '\\') {
      if (this.#text[this.#at + 1] === 'b') {
        this.#at += 2
        return 8
      }
      const read = this.#escaped()
      if (typeof read === 'number' && read > 0xffff) throw this.#tooLarge()
      return read
    }
    const code = this.#text.codePointAt(this.#at)!
    if (code > 0xffff) throw this.#tooLarge()
    this.#at++
    return code
  }

  #tooLarge(): PatternError {
    return this.#error('has a character beyond U+FFFF in [...]; write it as an alternative, (?:...|...)')
  }
}

/** How long a match of the node is, in units of UTF-16. */
export function lengthsOf(node: Node): { readonly least: number; readonly most: number } {
  switch (node.type) {
    case 'set':
      return { least: 1, most: 1 }
    case 'assertion':
      return { least: 0, most: 0 }
    case 'sequence': {
      const parts = node.parts.map(lengthsOf)
      return { least: sum(parts.map(one => one.least)), most: sum(parts.map(one => one.most)) }
    }
    case 'choice': {
      const options = node.options.map(lengthsOf)
      return { least: Math.min(...options.map(one => one.least)), most: Math.max(...options.map(one => one.most)) }
    }
    case 'repeat': {
      const { least, most } = lengthsOf(node.part)
      return { least: least * node.least, most: most === 0 ? 0 : most * node.most }
    }
  }
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, one) => total + one, 0)
