/**
 * The text with A to Z in lower case, and all else as it is. Names that decide who a person is must not meet: the
 * Kelvin sign (U+212A) becomes a plain k by `toLowerCase`.
 */
export function asciiLower(text: string): string {
  return text.replace(/[A-Z]+/g, letters => letters.toLowerCase())
}
