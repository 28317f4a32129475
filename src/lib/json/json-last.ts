/** The last element of a list in JSON text, found from its end: what stands before it is never read. */

const quote = 0x22
const backslash = 0x5c
const isOpening = (byte: number): boolean => byte === 0x5b || byte === 0x7b
const isClosing = (byte: number): boolean => byte === 0x5d || byte === 0x7d

/**
 * The bytes of the object or list that `list` ends with. `list` must be valid JSON without white space around it.
 * undefined = it is no list, is empty, or ends with a text, a number or a word.
 */
export function lastStructure(list: Uint8Array): Uint8Array | undefined {
  if (list.at(-1) !== 0x5d) return undefined
  const end = skipSpaceBack(list, list.length - 2)
  if (end < 0 || !isClosing(list[end]!)) return undefined
  let depth = 0
  for (let at = end; at >= 0; at--) {
    const byte = list[at]!
    if (byte === quote) at = stringStart(list, at)
    else if (isClosing(byte)) depth++
    else if (isOpening(byte) && --depth === 0) return list.subarray(at, end + 1)
  }
  return undefined
}

/** Of the string that the quote at `end` closes. Backslashes stand in strings alone, so that pairs can be counted. */
function stringStart(bytes: Uint8Array, end: number): number {
  let start = end
  for (;;) {
    start = bytes.lastIndexOf(quote, start - 1)
    let slashes = 0
    while (bytes[start - 1 - slashes] === backslash) slashes++
    if (slashes % 2 === 0 || start <= 0) return start
  }
}

function skipSpaceBack(bytes: Uint8Array, from: number): number {
  let at = from
  while (at >= 0 && bytes[at]! <= 0x20) at--
  return at
}
