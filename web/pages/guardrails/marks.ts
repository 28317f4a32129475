/** What a guardrail masked in a text: found by the placeholders that stand in its place. */

/** A piece of the text; `name` = what it was found as, null = it stayed. */
export interface Piece {
  readonly text: string
  readonly name: string | null
}

/** `[EMAIL_ADDRESS_1]`, or `[US_SSN]` where the value does not come back. */
const placeholder = /\[([A-Z][A-Za-z0-9_]*?)(?:_\d+)?\]/g
const isPlaceholder = /^\[[A-Z][A-Za-z0-9_]*\]$/

/** The pieces of `text`, of which `masked` is what would be sent. Whole, where the two do not fit together. */
export function marksOf(text: string, masked: string): Piece[] {
  const pieces: Piece[] = []
  let at = 0
  let names: string[] = []
  /** All until `end` is what the placeholders since the last text stand for. */
  const mark = (end: number) => {
    const found = text.slice(at, end)
    // A placeholder that stood in the text before is no find.
    if (found !== '') pieces.push({ text: found, name: isPlaceholder.test(found) ? null : names.join(', ') })
    at = end
    names = []
  }
  const parts = [...masked.matchAll(placeholder)]
  for (const [index, part] of [...parts, undefined].entries()) {
    const from = index === 0 ? 0 : parts[index - 1]!.index + parts[index - 1]![0].length
    const literal = masked.slice(from, part?.index)
    // The end of both texts is the same: a match before it would be a coincidence.
    const found = part ? text.indexOf(literal, at) : text.length - literal.length
    if (found < at || !text.startsWith(literal, found) || (found > at && names.length === 0))
      return [{ text, name: null }]
    if (literal !== '' || !part) {
      mark(found)
      if (literal !== '') pieces.push({ text: literal, name: null })
      at = found + literal.length
    }
    if (part) names.push(part[1]!)
  }
  return pieces
}
