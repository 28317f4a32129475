/** Texts of UTF-8 that were read as Latin-1, each byte as a character, so that the way back is exact. */

/**
 * Characters (UTF-16 units) of the bytes from `from` to `to`. An escape of JSON (`\u00a0`) reads like a byte: it counts
 * as one that continues a character, but a text that has any bytes has at least one character.
 */
export function utf16Length(latin1: string, from = 0, to = latin1.length): number {
  let continuing = 0
  let pairs = 0
  for (let at = from; at < to; at++) {
    const code = latin1.charCodeAt(at)
    if (code < 0x80 || code > 0xf7) continue
    if (code < 0xc0) continuing++
    else if (code >= 0xf0) pairs++
  }
  const bytes = to - from
  return bytes === 0 ? 0 : Math.max(1, bytes - continuing + pairs)
}
