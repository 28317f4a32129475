/**
 * The offset of a fault in JSON or UTF-8. Slower than the platform's parsers, which do not report it: for errors only.
 */
import { backslash, closeBrace, closeBracket, colon, comma, openBrace, openBracket, quote } from './json-bytes.ts'

const letterU = 117

const isSpace = (byte: number | undefined): boolean => byte === 32 || byte === 10 || byte === 13 || byte === 9
const isHex = (byte: number): boolean =>
  (byte >= 48 && byte <= 57) || (byte >= 65 && byte <= 70) || (byte >= 97 && byte <= 102)
/** Behind a backslash, but for `u`. */
const escapes: ReadonlySet<number> = new Set(Buffer.from('"\\/bfnrt'))
const wordOrNumber = /^(?:true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?)/
/** No number that means anything is longer. */
const wordBytesMax = 1024

/** Offset of the first byte that is not valid there; undefined when the bytes are one JSON value (RFC 8259). */
export function jsonFaultAt(bytes: Uint8Array): number | undefined {
  const reader = new Reader(bytes)
  return reader.text() ? undefined : reader.at
}

/** Offset of the first byte that is no part of a character in UTF-8; undefined when all are. */
export function utf8FaultAt(bytes: Uint8Array): number | undefined {
  // What cannot be read comes back as a sign of replacement, and so not as it was.
  const again = new TextEncoder().encode(new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes))
  let at = 0
  while (at < bytes.length && bytes[at] === again[at]) at++
  return at === again.length ? undefined : at
}

/** Every method reads one thing, and is false when it is not there; `at` then stands at the fault. */
class Reader {
  at = 0
  readonly #bytes: Uint8Array

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes
  }

  /** The open objects and arrays are a list, not calls in calls: their depth is the client's choice. */
  text(): boolean {
    const open: number[] = []
    for (;;) {
      if (!this.#begin(open)) return false
      if (!this.#close(open)) return false
      this.#space()
      if (open.length === 0) return this.at === this.#bytes.length
      if (!this.#byte(comma)) return false
      if (open.at(-1) === closeBrace && !this.#name()) return false
    }
  }

  /** Up to a value that holds no other: opens what it stands in. */
  #begin(open: number[]): boolean {
    for (;;) {
      this.#space()
      const byte = this.#bytes[this.at]
      if (byte !== openBrace && byte !== openBracket) return byte === quote ? this.#string() : this.#wordOrNumber()
      this.at++
      open.push(byte === openBrace ? closeBrace : closeBracket)
      this.#space()
      if (this.#bytes[this.at] === open.at(-1)) return true
      if (byte === openBrace && !this.#name()) return false
    }
  }

  /** All that ends here. */
  #close(open: number[]): boolean {
    for (;;) {
      this.#space()
      if (open.length === 0 || this.#bytes[this.at] !== open.at(-1)) return true
      open.pop()
      this.at++
    }
  }

  #name(): boolean {
    this.#space()
    if (this.#bytes[this.at] !== quote || !this.#string()) return false
    this.#space()
    return this.#byte(colon)
  }

  #string(): boolean {
    for (this.at++; this.at < this.#bytes.length; this.at++) {
      const byte = this.#bytes[this.at]!
      if (byte < 32) return false
      if (byte === quote) return this.#byte(quote)
      if (byte === backslash && !this.#escape()) return false
    }
    return false
  }

  /** Ends at its last byte; a fault is shown at its first. */
  #escape(): boolean {
    const next = this.#bytes[this.at + 1]
    const digits = this.#bytes.subarray(this.at + 2, this.at + 6)
    const isUnicode = next === letterU && digits.length === 4 && digits.every(isHex)
    if (!isUnicode && (next === undefined || !escapes.has(next))) return false
    this.at += isUnicode ? 5 : 1
    return true
  }

  #wordOrNumber(): boolean {
    const [found] =
      wordOrNumber.exec(Buffer.from(this.#bytes.subarray(this.at, this.at + wordBytesMax)).toString('latin1')) ?? []
    if (found === undefined) return false
    this.at += found.length
    // A longer number goes on; whether it is one, its first digits have said.
    if (found.length === wordBytesMax)
      while (/[\d.eE+-]/.test(String.fromCharCode(this.#bytes[this.at] ?? 0))) this.at++
    return true
  }

  #byte(expected: number): boolean {
    if (this.#bytes[this.at] !== expected) return false
    this.at++
    return true
  }

  #space(): void {
    while (isSpace(this.#bytes[this.at])) this.at++
  }
}
