/** The header lines of one message (RFC 9112, 5): checked and indexed by name in one pass, for both ends of HTTP. */
import { carriageReturn, colon, fieldValue, equalsName, lineFeed, space, tab, tokenBytes } from './syntax.ts'

/** Bytes of a message's first line and its headers together. */
export const headBytesMax = 64 * 1024
const headerLinesMax = 200
/** Numbers per line: offset of the name, of its end, of the value's end; then the next line of the same bucket. */
const numbersPerLine = 4
/** A power of two: `bucketOf` masks with it. */
const bucketCount = 16

/** Makes the error of a malformed head. `status` is what RFC 9110 and 6585 have a server answer: 400 or 431. */
type HeadErrorFactory = (why: string, status: number) => Error

/**
 * Looks up headers by lower-case name in constant time; values become strings only when asked for. Keeps a reference
 * to the bytes it was read from, which must not change.
 */
export class HeaderFields {
  readonly #bytes: Buffer
  readonly #lines: number[] = []
  /** By bucket: 1 + the index in `#lines` of its last line; 0 = none. A literal costs less than `new Array(16)`. */
  readonly #buckets = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]

  /**
   * Reads the lines that fill `bytes` from `start` to `end`, the offset of the blank line. Throws what `malformed`
   * makes for a line that two readers could understand differently: an empty name, white space before the colon, a
   * folded line, a control character, an end other than CR LF.
   */
  constructor(bytes: Buffer, start: number, end: number, malformed: HeadErrorFactory) {
    this.#bytes = bytes
    const lines = this.#lines
    const buckets = this.#buckets
    for (let at = start; at < end; ) {
      if (lines.length === headerLinesMax * numbersPerLine)
        throw malformed(`more than ${headerLinesMax} header lines`, 431)
      let nameEnd = at
      while (tokenBytes[bytes[nameEnd]!] === 1) nameEnd++
      if (nameEnd === at || bytes[nameEnd] !== colon) throw malformed('a header line without a proper name', 400)
      let valueEnd = nameEnd + 1
      for (let byte = bytes[valueEnd]!; (byte >= space && byte !== 127) || byte === tab; byte = bytes[valueEnd]!)
        valueEnd++
      if (bytes[valueEnd] !== carriageReturn || bytes[valueEnd + 1] !== lineFeed)
        throw malformed('a control character in a header line', 400)
      const bucket = bucketOf(bytes[at]!, bytes[nameEnd - 1]!, nameEnd - at)
      const line = lines.length
      lines.push(at, nameEnd, valueEnd, buckets[bucket]!)
      buckets[bucket] = line + 1
      at = valueEnd + 2
    }
  }

  /** Several lines of one name are joined by a comma (RFC 9110, 5.3). null = not there. */
  get(name: string): string | null {
    const lines = this.#lines
    let found: string | null = null
    // The lines of a bucket come last first.
    for (let at = this.#bucket(name); at > 0; at = lines[at + 2]!) {
      if (!equalsName(this.#bytes, lines[at - 1]!, lines[at]!, name)) continue
      const value = fieldValue(this.#bytes, lines[at]! + 1, lines[at + 1]!)
      found = found === null ? value : `${value}, ${found}`
    }
    return found
  }

  has(name: string): boolean {
    return this.count(name) > 0
  }

  /** How many lines have this name. */
  count(name: string): number {
    const lines = this.#lines
    let count = 0
    for (let at = this.#bucket(name); at > 0; at = lines[at + 2]!)
      if (equalsName(this.#bytes, lines[at - 1]!, lines[at]!, name)) count++
    return count
  }

  /** The value of each line of this name, in their order. */
  all(name: string): string[] {
    const lines = this.#lines
    const values: string[] = []
    for (let at = this.#bucket(name); at > 0; at = lines[at + 2]!)
      if (equalsName(this.#bytes, lines[at - 1]!, lines[at]!, name))
        values.unshift(fieldValue(this.#bytes, lines[at]! + 1, lines[at + 1]!))
    return values
  }

  /** The value of the first line of this name. null = not there. */
  first(name: string): string | null {
    const lines = this.#lines
    let first = 0
    for (let at = this.#bucket(name); at > 0; at = lines[at + 2]!)
      if (equalsName(this.#bytes, lines[at - 1]!, lines[at]!, name)) first = at
    return first === 0 ? null : fieldValue(this.#bytes, lines[first]! + 1, lines[first + 1]!)
  }

  #bucket(name: string): number {
    const { length } = name
    return this.#buckets[bucketOf(name.charCodeAt(0), name.charCodeAt(length - 1), length)]!
  }
}

/** Of a name's first byte, its last byte (each in either case) and its length. */
function bucketOf(first: number, last: number, length: number): number {
  return (((first | 32) * 7) ^ ((last | 32) * 3) ^ length) & (bucketCount - 1)
}
