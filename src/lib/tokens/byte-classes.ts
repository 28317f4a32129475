/** How many bytes of a text are of which kind: for bounds of tokens where no vocabulary is at hand. */

/**
 * What stands between white space is a `word` where it is ASCII, with letters in lower case but for the first, and
 * punctuation at its ends at most; all other ASCII is `dense` (code, figures, base64, hex, capitals, letters beside
 * those of other scripts, a space in front of anything but a letter of ASCII). A `space` is one in front of that; all
 * other white space and control characters are `gap`. The rest by the bytes of a character in UTF-8: `two`, `eastern`
 * (Chinese, Japanese, Korean), `three` (all else of three bytes), `four` (emoji).
 */
export type ByteClass = 'word' | 'dense' | 'space' | 'gap' | 'two' | 'eastern' | 'three' | 'four'

/** Of texts together. */
export type ByteCounts = Readonly<Record<ByteClass, number>>

/** Longer ones are no words. */
const wordBytesMax = 24

/** Nothing counted. */
export const noBytes = (): Record<ByteClass, number> => ({
  word: 0,
  dense: 0,
  space: 0,
  gap: 0,
  two: 0,
  eastern: 0,
  three: 0,
  four: 0,
})

/** Counts what each class has. */
export function countBytes(texts: readonly string[]): ByteCounts {
  const counts = noBytes()
  for (const text of texts) classifyBytes(Buffer.from(text), (kind, from, to) => (counts[kind] += to - from))
  return counts
}

/** Reports the runs of a text in UTF-8, in order and without a gap. */
export function classifyBytes(bytes: Uint8Array, report: (kind: ByteClass, from: number, to: number) => void): void {
  for (let at = 0; at < bytes.length; ) {
    const start = at
    if (isBlank(bytes[at]!)) {
      while (at < bytes.length && isBlank(bytes[at]!)) at++
      const isOne = at - start === 1 && bytes[start] === space && start > 0 && at < bytes.length
      report(isOne ? (isLetter(bytes[at]!) ? 'space' : 'dense') : 'gap', start, at)
      continue
    }
    while (at < bytes.length && !isBlank(bytes[at]!)) at++
    if (isWord(bytes, start, at)) report('word', start, at)
    else reportOthers(bytes, { from: start, to: at }, report)
  }
}

const space = 0x20
const isBlank = (byte: number): boolean => byte <= space || byte === 0x7f
const isLower = (byte: number): boolean => byte >= 0x61 && byte <= 0x7a
const isUpper = (byte: number): boolean => byte >= 0x41 && byte <= 0x5a
const isDigit = (byte: number): boolean => byte >= 0x30 && byte <= 0x39
const isLetter = (byte: number): boolean => isLower(byte) || isUpper(byte)
const isMark = (byte: number): boolean => byte < 0x80 && !isLower(byte) && !isUpper(byte) && !isDigit(byte)

/** At its end a word may have two marks (`...),` is none), in front one. */
function isWord(bytes: Uint8Array, start: number, end: number): boolean {
  if (end - start > wordBytesMax) return false
  let from = isMark(bytes[start]!) ? start + 1 : start
  let to = end
  while (to > from && end - to < 2 && isMark(bytes[to - 1]!)) to--
  if (from === to) return false
  if (isUpper(bytes[from]!)) from++
  for (; from < to; from++) if (!isLower(bytes[from]!)) return false
  return true
}

function reportOthers(
  bytes: Uint8Array,
  { from, to }: { readonly from: number; readonly to: number },
  report: (kind: ByteClass, from: number, to: number) => void,
): void {
  for (let at = from; at < to; ) {
    const start = at
    const first = bytes[at]!
    if (first < 0x80) {
      while (at < to && bytes[at]! < 0x80) at++
      report('dense', start, at)
      continue
    }
    at = Math.min(start + (first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4), to)
    report(kindOf(first), start, at)
  }
}

/** Of the first byte of a character outside of ASCII. */
function kindOf(first: number): ByteClass {
  if (first < 0xe0) return 'two'
  if (first >= 0xf0) return 'four'
  // U+3000 to U+DFFF, and the wide forms of ASCII at the end of the plane.
  return (first >= 0xe3 && first <= 0xed) || first === 0xef ? 'eastern' : 'three'
}
