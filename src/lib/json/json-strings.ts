/** Checks and shortens the long strings of JSON text, so that a large body is validated without being copied. */
import { isUtf8 } from 'node:buffer'

/** Longer strings, in bytes, are checked where they are, and are shortened to this. */
export const longStringBytes = 4096

/** Start and end of long strings, one after the other: offsets of their quotes. */
export type LongStrings = readonly number[]

const backslash = 0x5c
const firstPlain = 0x20
const escapes = new Set(Buffer.from('"\\/bfnrt'))
const unicodeEscape = 0x75
const hexDigits = /^[0-9a-f]{4}$/i

/**
 * The text with its long strings shortened, which is JSON exactly when the whole text is; undefined = it is not,
 * because of bytes that are no UTF-8, or of a long string.
 */
export function shortened(bytes: Buffer, strings: LongStrings): string | undefined {
  if (!isUtf8(bytes)) return undefined
  let text = ''
  let at = 0
  for (let next = 0; next < strings.length; next += 2) {
    const [start, end] = [strings[next]! + 1, strings[next + 1]!]
    if (!isString(bytes, start, end)) return undefined
    text += bytes.toString('utf8', at, start) + head(bytes, start)
    at = end
  }
  return text + bytes.toString('utf8', at)
}

/** Of the same length for every limit up to `longStringBytes`; plain characters only. */
function head(bytes: Buffer, start: number): string {
  let end = start
  while (end - start < longStringBytes && bytes[end] !== backslash && bytes[end]! < 0x7f) end++
  return bytes.toString('latin1', start, end).padEnd(longStringBytes, '.')
}

/** What stands between two quotes: no control characters, and no escapes but those of JSON (RFC 8259, 7). */
function isString(bytes: Buffer, start: number, end: number): boolean {
  const words = wordsOf(bytes)
  for (let at = start; at < end; ) {
    const address = bytes.byteOffset + at
    if ((address & 3) === 0) {
      const word = address >> 2
      const plain = plainWords(words, word, (bytes.byteOffset + end) >> 2)
      at += (plain - word) * 4
      if (at >= end) return true
    }
    const byte = bytes[at]!
    if (byte < firstPlain) return false
    const length = byte === backslash ? escapeLength(bytes, at, end) : 1
    if (length === 0) return false
    at += length
  }
  return true
}

/** Four bytes each, from the beginning of the memory that the bytes are in. */
function wordsOf({ buffer }: Buffer): Uint32Array {
  return new Uint32Array(buffer, 0, buffer.byteLength >> 2)
}

/** The first word from `at` on with a control character or a backslash, or `end` (Warren, "Hacker's Delight", 6-1). */
function plainWords(words: Uint32Array, at: number, end: number): number {
  for (; at < end; at++) {
    const word = words[at]! | 0
    const slashes = word ^ 0x5c5c5c5c
    const found = ((word - 0x20202020) & ~word) | ((slashes - 0x01010101) & ~slashes)
    if ((found & 0x80808080) !== 0) return at
  }
  return end
}

/** 0 = it is none. */
function escapeLength(bytes: Buffer, at: number, end: number): number {
  const letter = bytes[at + 1]!
  if (letter !== unicodeEscape) return escapes.has(letter) ? 2 : 0
  return at + 6 <= end && hexDigits.test(bytes.toString('latin1', at + 2, at + 6)) ? 6 : 0
}
