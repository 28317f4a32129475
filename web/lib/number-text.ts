/** Numbers as people type them into fields, in the language of the pages. */

/** Which numbers a field takes. */
export interface NumberRange {
  readonly min: number
  readonly max: number
  /** How many digits may stand behind the decimal sign; 0 = whole numbers alone. */
  readonly decimals: number
}

/** Dollars, as the gateway keeps them: in billionths. */
export const amounts: NumberRange = { min: 0, max: 1_000_000_000, decimals: 9 }

/** Limits of requests, tokens and calls. */
export const counts: NumberRange = { min: 0, max: 1_000_000_000, decimals: 0 }

/** What a model is asked with: OpenAI's range of temperature, the share of `top_p`, tokens of an answer. */
export const temperatures: NumberRange = { min: 0, max: 2, decimals: 4 }
export const shares: NumberRange = { min: 0, max: 1, decimals: 4 }
export const answerTokens: NumberRange = { min: 1, max: 1_000_000, decimals: 0 }

/** Why a text is no number of a field: it is none at all, has too many digits, or is outside of the range. */
export type NumberProblem = 'unreadable' | 'decimals' | 'digits' | 'range'

/** `value` null = the text is empty. */
export type ReadNumber = { readonly value: number | null } | { readonly problem: NumberProblem }

/** So many digits come back from a double as they were typed. */
const exactDigits = 15

const digits = '0123456789'

/**
 * The one number that a text stands for in a language. Signs between groups of digits are taken where they stand as
 * the language has them, and nowhere else: `1,5` is no English number.
 */
export function readNumber(text: string, language: string, range: NumberRange): ReadNumber {
  const trimmed = text.trim()
  if (trimmed === '') return { value: null }
  const { group, decimal } = signsOf(language)
  const [whole = '', fraction, ...more] = trimmed.replace(/^[-\u2212]/, '').split(decimal)
  const parts = whole.split(group)
  const isGrouped = parts.length === 1 || isGroups(parts)
  const all = parts.join('') + (fraction ?? '')
  const isNumber = all !== '' && fraction !== '' && [...all].every(one => digits.includes(one))
  if (!isNumber || !isGrouped || more.length > 0) return { problem: 'unreadable' }
  if ((fraction ?? '').replace(/0+$/, '').length > range.decimals) return { problem: 'decimals' }
  if (all.replace(/^0+|0+$/g, '').length > exactDigits) return { problem: 'digits' }
  const size = Number(`${parts.join('') || '0'}.${fraction ?? '0'}`)
  const value = /^[-\u2212]/.test(trimmed) && size !== 0 ? -size : size
  return value < range.min || value > range.max ? { problem: 'range' } : { value }
}

/** Groups of three digits behind a first one that does not begin with zero. */
const isGroups = ([first = '', ...others]: readonly string[]): boolean =>
  first.length >= 1 && first.length <= 3 && first[0] !== '0' && others.every(one => one.length === 3)

/** The number as a field shows it, to be read again as the same one. */
export const writeNumber = (value: number | null, language: string): string =>
  value === null ? '' : new Intl.NumberFormat(language, { maximumFractionDigits: amounts.decimals }).format(value)

interface Signs {
  readonly group: string
  readonly decimal: string
}

const known = new Map<string, Signs>()

function signsOf(language: string): Signs {
  let signs = known.get(language)
  if (!signs) {
    const parts = new Intl.NumberFormat(language).formatToParts(1_234_567.5)
    const sign = (type: string) => parts.find(part => part.type === type)!.value
    signs = { group: sign('group'), decimal: sign('decimal') }
    known.set(language, signs)
  }
  return signs
}
