/** Texts in base64 inside of others, from any of its digits on: a run of them may begin with other things. */

/** A text in base64, and where it is written. */
export interface EncodedText {
  readonly text: string
  /** It ends with the text around it, and may go on. */
  readonly isOpen: boolean
  /** It is long enough as it is. */
  readonly isCertain: boolean
  /** The part of the text around it in which units of `text` are written. */
  sourceRange(start: number, end: number): { readonly start: number; readonly end: number }
}

/** Shorter runs of digits hide nothing that is worth it. */
const runLeast = 24
/** Shorter texts are chance in digits that encode something else. */
const textLeast = 12
/** Of a text that is still open and does not begin its run. */
const openLeast = 3
const digitCodes = new Set([...'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/_-'].map(codeOf))
/** By unit of UTF-16; those above are none. */
const digitUnits = Uint8Array.from({ length: 128 }, (_, unit) => Number(digitCodes.has(unit)))

/** All of them; `isComplete` = nothing follows the text around them. */
export function* encodedTexts(text: string, isComplete: boolean): Generator<EncodedText> {
  const openFrom = isComplete ? text.length : runBefore(text, text.length)
  for (const { start, end } of longRuns(text, openFrom)) yield* textsOf(text, { start, end, isOpen: false })
  if (openFrom < text.length) yield* textsOf(text, { start: openFrom, end: text.length, isOpen: true })
}

function codeOf(sign: string): number {
  return sign.charCodeAt(0)
}

/** Where the digits begin that end there. */
function runBefore(text: string, end: number): number {
  let start = end
  while (start > 0 && digitUnits[text.charCodeAt(start - 1)] === 1) start--
  return start
}

/**
 * Runs of at least `runLeast` digits before `before`. Each step looks from the last unit that such a run would have
 * backwards, so that in other texts most units are not looked at.
 */
function* longRuns(text: string, before: number): Generator<{ readonly start: number; readonly end: number }> {
  for (let start = 0; start + runLeast <= before; ) {
    let at = start + runLeast - 1
    while (at >= start && digitUnits[text.charCodeAt(at)] === 1) at--
    if (at >= start) {
      start = at + 1
      continue
    }
    let end = start + runLeast
    while (end < before && digitUnits[text.charCodeAt(end)] === 1) end++
    yield { start, end }
    start = end + 1
  }
}

/** A run of digits of base64 in a text; `isOpen` = what follows may continue it. */
interface DigitRun {
  readonly start: number
  readonly end: number
  readonly isOpen: boolean
}

function* textsOf(text: string, { start, end, isOpen }: DigitRun): Generator<EncodedText> {
  const run = text.slice(start, end)
  for (let skipped = 0; skipped < 4; skipped++) yield* textsIn(run.slice(skipped), start + skipped, isOpen, skipped)
}

function* textsIn(digits: string, offset: number, isRunOpen: boolean, skipped: number): Generator<EncodedText> {
  const bytes = Buffer.from(digits, 'base64')
  for (const { begin, end, isOpen } of lettersIn(bytes, isRunOpen)) {
    if (isOpen ? end - begin < openLeast && begin + skipped > 0 : end - begin < textLeast) continue
    const text = bytes.toString('utf8', begin, end)
    const byteOf = (unit: number): number => begin + Buffer.byteLength(text.slice(0, unit))
    yield {
      text,
      isOpen,
      isCertain: end - begin >= textLeast && digits.length + skipped >= runLeast,
      sourceRange: (from, to) => ({
        start: offset + Math.floor((byteOf(from) * 4) / 3),
        end: offset + Math.min(Math.ceil((byteOf(to) * 4) / 3), digits.length),
      }),
    }
  }
}

interface Letters {
  readonly begin: number
  readonly end: number
  readonly isOpen: boolean
}

/** Kinds of bytes: of no letter, a letter of ASCII, the rest of a longer one, its beginning. */
const kinds = Uint8Array.from({ length: 256 }, (_, byte) => {
  if (byte < 0x80) return (byte >= 0x20 && byte < 0x7f) || byte === 9 || byte === 10 || byte === 13 ? 1 : 0
  return byte < 0xc0 ? 2 : byte >= 0xc2 && byte <= 0xf4 ? 3 : 0
})
/** By the kind of a byte, times four, and that of the next one: whether they may stand beside each other. */
const mayFollow = [0, 0, 0, 0, 0, 1, 0, 1, 0, 1, 1, 1, 0, 0, 1, 0]

/** Where the bytes are letters, digits, signs and white space in UTF-8, for a while or up to an open end. */
function lettersIn(bytes: Uint8Array, isRunOpen: boolean): Letters[] {
  const all: Letters[] = []
  for (let at = 0; at <= bytes.length; at++) {
    // Skips bytes that are no text in steps: looks at the last byte of a step first, and back from there.
    for (let last = at + textLeast - 1, pair = last; last < bytes.length && pair > at; ) {
      pair = last
      while (pair > at && mayFollow[kinds[bytes[pair - 1]!]! * 4 + kinds[bytes[pair]!]!] === 1) pair--
      if (pair > at) at = pair
      last = at + textLeast - 1
    }
    const begin = at
    let length = 0
    while ((length = letterLength(bytes, at)) > 0) at += length
    const isOpen = isRunOpen && length < 0
    if (isOpen || at - begin >= textLeast) all.push({ begin, end: at, isOpen })
  }
  return all
}

/** How many bytes the letter, digit, sign or white space has in UTF-8; 0 = it is none, -1 = it is not all there. */
function letterLength(bytes: Uint8Array, at: number): number {
  const first = bytes[at]
  if (first === undefined) return -1
  const kind = kinds[first]!
  if (kind !== 3) return kind === 1 ? 1 : 0
  const length = first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4
  for (let next = 1; next < length; next++) {
    const byte = bytes[at + next]
    if (byte === undefined) return -1
    if (kinds[byte] !== 2) return 0
  }
  return length
}
