/** What describes a kind of personal data. */
import type { Span } from '../../lib/linear-regex/index.ts'

/** One kind of personal data, or of secrets. */
export interface Entity {
  readonly name: string
  /** Of candidates: see `lib/linear-regex`. */
  readonly pattern: string
  /** The span of a candidate that counts; undefined = it is something else. Absent = every candidate counts. */
  check?(text: string, span: Span): Span | undefined
}

/** undefined = the end of the text. */
export const isDigit = (letter: string | undefined): boolean => letter !== undefined && letter >= '0' && letter <= '9'

/** The digits of a span, and for each the offset behind it. */
export function digitsIn(text: string, { start, end }: Span): { digits: string; ends: number[] } {
  let digits = ''
  const ends: number[] = []
  for (let at = start; at < end; at++)
    if (isDigit(text[at])) {
      digits += text[at]
      ends.push(at + 1)
    }
  return { digits, ends }
}

/** Nothing that could belong to the same number or word stands around the span. */
export function standsAlone(text: string, { start, end }: Span): boolean {
  const isPart = (letter: string | undefined) => letter !== undefined && /[\p{L}\p{N}_]/u.test(letter)
  if (isPart(text[start - 1]) || isPart(text[end])) return false
  const goesOn = (sign: string | undefined, digit: string | undefined) => /^[.,/-]$/.test(sign ?? '') && isDigit(digit)
  return !goesOn(text[start - 1], text[start - 2]) && !goesOn(text[end], text[end + 1])
}

/** One of the words stands within the 60 units before the span. */
export function isSaid(text: string, { start }: Span, words: RegExp): boolean {
  return words.test(text.slice(Math.max(start - 60, 0), start))
}
