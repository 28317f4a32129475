/** Texts of answers that are lists of parts, in every dialect with `{type, text}`. */
import { objectsOf } from '../../lib/json/json-values.ts'

/** The texts of a list of parts, joined; entries without a text are passed over. */
export function joinedTexts(parts: unknown): string {
  return objectsOf(parts)
    .map(part => (typeof part.text === 'string' ? part.text : ''))
    .join('')
}
