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

/** Latin-1, without the white space around it. OWS is spaces and tabs only; `trim()` would also take U+00A0. */
export function fieldValue(bytes: Buffer, from: number, to: number): string {
  let start = from
  let end = to
  while (start < end && (bytes[start] === space || bytes[start] === tab)) start++
  while (end > start && (bytes[end - 1] === space || bytes[end - 1] === tab)) end--
  return bytes.toString('latin1', start, end)
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
