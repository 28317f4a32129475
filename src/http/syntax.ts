/** Lexical elements of HTTP/1.1 (RFC 9110, 9112), for server and client. */

/** CR: valid only in front of LF. */
export const carriageReturn = 13
/** LF: ends a line, behind CR only. */
export const lineFeed = 10
/** SP, as in a request line; with TAB the white space around values. */
export const space = 32
/** TAB: white space, and allowed inside of values. */
export const tab = 9
/** Ends a header's name, without white space before it. */
export const colon = 58

const lengthDigitsMax = 15

/** 1 for each byte of RFC 9110's `token`. */
export const tokenBytes = new Uint8Array(256)
for (const char of "!#$%&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")
  tokenBytes[char.charCodeAt(0)] = 1

/** Whether `text` may be a header's name. */
export function isToken(text: string): boolean {
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    if (code > 255 || tokenBytes[code] === 0) return false
  }
  return text.length > 0
}

/** Everything but control characters; TAB is no control character here. */
export function isFieldByte(byte: number): boolean {
  return (byte >= space && byte !== 127) || byte === tab
}

/** Whether the bytes are `name` (lower case), compared without regard to ASCII case. */
export function equalsName(bytes: Uint8Array, from: number, to: number, name: string): boolean {
  const { length } = name
  if (to - from !== length) return false
  for (let i = 0; i < length; i++) {
    const byte = bytes[from + i]!
    const code = name.charCodeAt(i)
    if (byte !== code && (byte < 65 || byte > 90 || byte + 32 !== code)) return false
  }
  return true
}

/** Offset behind the white space in front of a value. OWS is spaces and tabs only (RFC 9110, 5.6.3). */
export function valueStart(bytes: Uint8Array, from: number, to: number): number {
  let start = from
  while (start < to && (bytes[start] === space || bytes[start] === tab)) start++
  return start
}

/** Offset of the white space behind a value. */
export function valueEnd(bytes: Uint8Array, from: number, to: number): number {
  let end = to
  while (end > from && (bytes[end - 1] === space || bytes[end - 1] === tab)) end--
  return end
}

/** A value of digits only, white space around it aside; NaN when it is none. */
export function digitsIn(bytes: Uint8Array, from: number, to: number): number {
  const start = valueStart(bytes, from, to)
  const end = valueEnd(bytes, start, to)
  if (start === end || end - start > lengthDigitsMax) return NaN
  let value = 0
  for (let at = start; at < end; at++) {
    const digit = bytes[at]! - 48
    if (digit < 0 || digit > 9) return NaN
    value = value * 10 + digit
  }
  return value
}

/** A number written in digits only; -1 when it is not. */
export function parseDigits(text: string): number {
  if (text.length === 0 || text.length > lengthDigitsMax) return -1
  let value = 0
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i) - 48
    if (code < 0 || code > 9) return -1
    value = value * 10 + code
  }
  return value
}

/** Whether a comma-separated list in lower case holds `word`. */
export function hasToken(list: string, word: string): boolean {
  return list === word || (list.includes(word) && list.split(',').map(trimmed).includes(word))
}

const trimmed = (part: string): string => part.trim()

/** -1 = no hexadecimal digit. */
export function hexDigit(byte: number): number {
  if (byte >= 48 && byte <= 57) return byte - 48
  const lower = byte | 32
  return lower >= 97 && lower <= 102 ? lower - 87 : -1
}
