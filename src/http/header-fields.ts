/** The header lines of one message (RFC 9112, 5): checked and indexed by name in one pass, for both ends of HTTP. */
import {
  carriageReturn,
  colon,
  digitsIn,
  equalsName,
  lineFeed,
  space,
  tab,
  tokenBytes,
  valueEnd,
  valueStart,
} from './syntax.ts'

/** Bytes of a message's first line and its headers together. */
export const headBytesMax = 64 * 1024
const headerLinesMax = 200
/** Most heads have no more: their index is made once. */
const headerLinesUsual = 16
/** A power of two: `bucketOf` masks with it. */
const bucketCount = 32
/** Numbers per line: offset of the name, of its end, of the line's end; then the next line of the same bucket. */
const numbersPerLine = 4

/** Makes the error of a malformed head. `status` is what RFC 9110 and 6585 have a server answer: 400 or 431. */
type HeadErrorFactory = (why: string, status: number) => Error

/**
 * Looks up headers by lower-case name in constant time; values become strings only when read. Keeps a reference
 * to the bytes it was read from, which must not change.
 */
export class HeaderFields {
  readonly #bytes: Buffer
  /** For each bucket the index of its last line here, 0 = none; then the lines. One array costs less than two. */
  readonly #index: Int32Array

  /**
   * Reads the lines that fill `bytes` from `start` to `end`, the offset of the blank line. Throws what `malformed`
   * makes for a line that two readers could understand differently: an empty name, white space before the colon, a
   * folded line, a control character, an end other than CR LF.
   */
  constructor(bytes: Buffer, start: number, end: number, malformed: HeadErrorFactory) {
    this.#bytes = bytes
    let index = new Int32Array(bucketCount + headerLinesUsual * numbersPerLine)
    let line = bucketCount
    for (let at = start; at < end; line += numbersPerLine) {
      if (line === index.length) index = grown(index)
      if (line === bucketCount + headerLinesMax * numbersPerLine)
        throw malformed(`more than ${headerLinesMax} header lines`, 431)
      let nameEnd = at
      while (tokenBytes[bytes[nameEnd]!] === 1) nameEnd++
      if (nameEnd === at || bytes[nameEnd] !== colon) throw malformed('a header line without a proper name', 400)
      let lineEnd = nameEnd + 1
      for (let byte = bytes[lineEnd]!; (byte >= space && byte !== 127) || byte === tab; byte = bytes[lineEnd]!)
        lineEnd++
      if (bytes[lineEnd] !== carriageReturn || bytes[lineEnd + 1] !== lineFeed)
        throw malformed('a control character in a header line', 400)
      const bucket = bucketOf(bytes[at]!, bytes[nameEnd - 1]!, nameEnd - at)
      index[line] = at
      index[line + 1] = nameEnd
      index[line + 2] = lineEnd
      index[line + 3] = index[bucket]!
      index[bucket] = line
      at = lineEnd + 2
    }
    this.#index = index
  }

  /** Several lines of one name are joined by a comma (RFC 9110, 5.3). null = not there. */
  get(name: string): string | null {
    let found: string | null = null
    // The lines of a bucket come last first.
    for (let line = this.#last(name); line > 0; line = this.#before(line, name)) {
      const value = this.#value(line)
      found = found === null ? value : `${value}, ${found}`
    }
    return found
  }

  has(name: string): boolean {
    return this.#last(name) > 0
  }

  /** How many lines have this name. */
  count(name: string): number {
    let count = 0
    for (let line = this.#last(name); line > 0; line = this.#before(line, name)) count++
    return count
  }

  /** The value of each line of this name, in their order. */
  all(name: string): string[] {
    const values: string[] = []
    for (let line = this.#last(name); line > 0; line = this.#before(line, name)) values.unshift(this.#value(line))
    return values
  }

  /** The value of the first line of this name. null = not there. */
  first(name: string): string | null {
    let first = 0
    for (let line = this.#last(name); line > 0; line = this.#before(line, name)) first = line
    return first === 0 ? null : this.#value(first)
  }

  /** A number in digits, read without making a string: -1 = not there; NaN = something else, or two different ones. */
  digits(name: string): number {
    let value = -1
    for (let line = this.#last(name); line > 0; line = this.#before(line, name)) {
      const one = digitsIn(this.#bytes, this.#index[line + 1]! + 1, this.#index[line + 2]!)
      value = value === -1 || value === one ? one : NaN
    }
    return value
  }

  /** Whether there is one line of this name, and its value is `word` (lower case) in any case; makes no string. */
  is(name: string, word: string): boolean {
    const line = this.#last(name)
    if (line === 0 || this.#before(line, name) > 0) return false
    const start = valueStart(this.#bytes, this.#index[line + 1]! + 1, this.#index[line + 2]!)
    return equalsName(this.#bytes, start, valueEnd(this.#bytes, start, this.#index[line + 2]!), word)
  }

  /** Whether all values of this name consist of bytes that are 1 in `allowed`; makes no string. */
  consistsOf(name: string, allowed: Uint8Array): boolean {
    const bytes = this.#bytes
    for (let line = this.#last(name); line > 0; line = this.#before(line, name)) {
      const start = valueStart(bytes, this.#index[line + 1]! + 1, this.#index[line + 2]!)
      const end = valueEnd(bytes, start, this.#index[line + 2]!)
      for (let at = start; at < end; at++) if (allowed[bytes[at]!] !== 1) return false
    }
    return true
  }

  /** The last line of this name; 0 = there is none. */
  #last(name: string): number {
    const { length } = name
    const line = this.#index[bucketOf(name.charCodeAt(0), name.charCodeAt(length - 1), length)]!
    // Most names that are looked for are not there, and their buckets empty.
    return line === 0 ? 0 : this.#from(line, name)
  }

  #before(line: number, name: string): number {
    const before = this.#index[line + 3]!
    return before === 0 ? 0 : this.#from(before, name)
  }

  #from(line: number, name: string): number {
    const index = this.#index
    let at = line
    while (at > 0 && !equalsName(this.#bytes, index[at]!, index[at + 1]!, name)) at = index[at + 3]!
    return at
  }

  #value(line: number): string {
    const start = valueStart(this.#bytes, this.#index[line + 1]! + 1, this.#index[line + 2]!)
    return this.#bytes.toString('latin1', start, valueEnd(this.#bytes, start, this.#index[line + 2]!))
  }
}

/** With as much room again. */
function grown(index: Int32Array): Int32Array<ArrayBuffer> {
  const larger = new Int32Array(index.length * 2)
  larger.set(index)
  return larger
}

/** Of a name's first byte, its last byte (each in either case) and its length. */
function bucketOf(first: number, last: number, length: number): number {
  return (((first | 32) * 7) ^ ((last | 32) * 3) ^ length) & (bucketCount - 1)
}
