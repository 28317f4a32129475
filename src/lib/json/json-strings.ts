/** Checks and shortens the long strings of JSON text, so that a large body is validated without being copied. */
import { isUtf8 } from 'node:buffer'

/** Longer strings, in bytes, are checked where they are, and are shortened to this. */
export const longStringBytes = 4096

/**
 * How many characters of a long string the shortened text keeps: what is judged by its beginning (a scheme, the media
 * type of a data URL) needs no more, and a loop over all 4,096 costs ten times as much.
 */
const headCharactersMax = 128

/** Start and end of long strings, one after the other: offsets of their quotes. */
export type LongStrings = readonly number[]

const backslash = 0x5c
const firstPlain = 0x20
const spaces = 0x20202020
/** Signed, so that it stays an integer of 32 bits. */
const signs = 0x80808080 | 0
const escapes = new Set(Buffer.from('"\\/bfnrt'))
const unicodeEscape = 0x75
const hexDigits = /^[0-9a-f]{4}$/i

/**
 * The text with its long strings shortened, which is JSON exactly when the whole text is; undefined = it is not,
 * because of bytes that are no UTF-8, or of a long string.
 */
export function shortened(bytes: Buffer, strings: LongStrings): string | undefined {
  let text = ''
  let at = 0
  for (let next = 0; next < strings.length; next += 2) {
    const [start, end] = [strings[next]! + 1, strings[next + 1]!]
    const before = bytes.subarray(at, start)
    if (!isUtf8(before) || !isString(bytes, start, end)) return undefined
    text += before.toString('utf8') + head(bytes, start)
    at = end
  }
  const rest = bytes.subarray(at)
  return isUtf8(rest) ? text + rest.toString('utf8') : undefined
}

/** Of the same length for every limit up to `longStringBytes`; plain characters only. */
function head(bytes: Buffer, start: number): string {
  let end = start
  while (end - start < headCharactersMax && bytes[end] !== backslash && bytes[end]! < 0x7f) end++
  return bytes.toString('latin1', start, end).padEnd(longStringBytes, '.')
}

/** What stands between two quotes: UTF-8, no control characters, and no escapes but those of JSON (RFC 8259, 7). */
function isString(bytes: Buffer, start: number, end: number): boolean {
  const other = plainEnd(bytes, start, end)
  if (other < end && !(isUtf8(bytes.subarray(other, end)) && hasNoControl(bytes, other, end))) return false
  // Most long strings (images, documents) have no escape: the platform's search is a tenth of the loop's time.
  const first = bytes.subarray(start, end).indexOf(backslash)
  return first < 0 || hasGoodEscapes(bytes, start + first, end)
}

/** The first byte that is not ASCII, or a control character; `end` = there is none. */
function plainEnd(bytes: Buffer, start: number, end: number): number {
  const words = wordsOf(bytes)
  const aligned = firstAligned(bytes, start, end)
  for (let at = start; at < aligned; at++) if (!isPlain(bytes[at]!)) return at
  const to = (bytes.byteOffset + end) >> 2
  let word = (bytes.byteOffset + aligned) >> 2
  // A word `w` of four such bytes has no sign bit in it, nor in `w - 0x20202020`. Eight at once: 85 us for a MiB.
  for (; word + 8 <= to; word += 8) {
    const a = words[word]!
    const b = words[word + 1]!
    const c = words[word + 2]!
    const d = words[word + 3]!
    const e = words[word + 4]!
    const f = words[word + 5]!
    const g = words[word + 6]!
    const h = words[word + 7]!
    const whole = a | b | c | d | e | f | g | h
    const less =
      (a - spaces) |
      (b - spaces) |
      (c - spaces) |
      (d - spaces) |
      (e - spaces) |
      (f - spaces) |
      (g - spaces) |
      (h - spaces)
    if (((whole | less) & signs) !== 0) break
  }
  let at = Math.max(aligned, word * 4 - bytes.byteOffset)
  while (at < end && isPlain(bytes[at]!)) at++
  return at
}

const isPlain = (byte: number): boolean => byte >= firstPlain && byte < 0x80

/** For texts with other characters. A byte below 0x20 is a sign bit of `found` (Warren, "Hacker's Delight", 6-1). */
function hasNoControl(bytes: Buffer, start: number, end: number): boolean {
  const words = wordsOf(bytes)
  const aligned = firstAligned(bytes, start, end)
  for (let at = start; at < aligned; at++) if (bytes[at]! < firstPlain) return false
  const to = (bytes.byteOffset + end) >> 2
  let word = (bytes.byteOffset + aligned) >> 2
  for (; word + 4 <= to; word += 4) {
    const a = words[word]!
    const b = words[word + 1]!
    const c = words[word + 2]!
    const d = words[word + 3]!
    const found = ((a - spaces) & ~a) | ((b - spaces) & ~b) | ((c - spaces) & ~c) | ((d - spaces) & ~d)
    if ((found & signs) !== 0) return false
  }
  for (let at = Math.max(aligned, word * 4 - bytes.byteOffset); at < end; at++)
    if (bytes[at]! < firstPlain) return false
  return true
}

/** `start` = the first backslash. */
function hasGoodEscapes(bytes: Buffer, start: number, end: number): boolean {
  const words = wordsOf(bytes)
  for (let at = start; at < end; ) {
    const address = bytes.byteOffset + at
    if ((address & 3) === 0) {
      const word = address >> 2
      at += (wordWithBackslash(words, word, (bytes.byteOffset + end) >> 2) - word) * 4
      if (at >= end) return true
    }
    const length = bytes[at] === backslash ? escapeLength(bytes, at, end) : 1
    if (length === 0) return false
    at += length
  }
  return true
}

/** The first byte from `start` on that begins one of the words of `wordsOf`; `end` = it would be behind it. */
function firstAligned({ byteOffset }: Buffer, start: number, end: number): number {
  return Math.min(end, start + (-(byteOffset + start) & 3))
}

/** Four bytes each, from the beginning of the memory that the bytes are in. */
function wordsOf({ buffer }: Buffer): Int32Array {
  return new Int32Array(buffer, 0, buffer.byteLength >> 2)
}

/** The first from `from` on, or `to`. */
function wordWithBackslash(words: Int32Array, from: number, to: number): number {
  for (let at = from; at < to; at++) {
    const others = words[at]! ^ 0x5c5c5c5c
    if (((others - 0x01010101) & ~others & signs) !== 0) return at
  }
  return to
}

/** 0 = it is none. */
function escapeLength(bytes: Buffer, at: number, end: number): number {
  const letter = bytes[at + 1]!
  if (letter !== unicodeEscape) return escapes.has(letter) ? 2 : 0
  return at + 6 <= end && hexDigits.test(bytes.toString('latin1', at + 2, at + 6)) ? 6 : 0
}
