/** The text of a filter: terms with spaces between, `name:value` or a plain word; a value with spaces in quotes. */

/** One part of a filter. */
export interface Term {
  /** What stands before the colon; null = a plain word. */
  readonly name: string | null
  readonly value: string
  /** `-name:value`: those that do not fit. */
  readonly isNegated: boolean
}

/** The terms as they were typed. A quote that is never closed ends with the text. */
export function splitTerms(text: string): string[] {
  return text.match(/(?:[^\s"]+|"[^"]*"?)+/g) ?? []
}

/** false = a name and a colon alone. */
export const isWholeTerm = (text: string): boolean => !/^-?\w+:$/.test(text)

export function parseFilter(text: string): Term[] {
  return splitTerms(text).map(term => {
    const isNegated = term.startsWith('-')
    const rest = isNegated ? term.slice(1) : term
    const colon = rest.indexOf(':')
    const value = (colon < 0 ? rest : rest.slice(colon + 1)).replaceAll('"', '')
    return { name: colon < 0 ? null : rest.slice(0, colon), value, isNegated }
  })
}
