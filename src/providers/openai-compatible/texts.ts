/** The texts of a message, for hosts that take a message as a string. */
import type { Json } from '../../lib/json/json-values.ts'

/** Inserts a line break between two texts without white space between them, so that words are not merged. */
export function joinTexts(texts: readonly string[]): string {
  let joined = ''
  for (const text of texts) {
    if (text === '') continue
    const isSeparate = joined === '' || /\s$/.test(joined) || /^\s/.test(text)
    joined += isSeparate ? text : `\n${text}`
  }
  return joined
}

/** A single text becomes a string; several stay parts: joining them could merge words. Empty texts are left out. */
export function textOrParts(parts: readonly Json[]): string | readonly Json[] {
  const filled = parts.filter(part => part.type !== 'text' || part.text !== '')
  if (filled.length === 0) return ''
  const [first] = filled
  return filled.length === 1 && typeof first!.text === 'string' && first!.type === 'text' ? first!.text : filled
}
