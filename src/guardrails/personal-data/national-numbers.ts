/**
 * Numbers that states give to persons. Those without a check digit, or whose digits alone say little, count where a
 * word before them says what they are. Sources: the pages of the authorities that issue them, and the OECD's "Tax
 * Identification Numbers" by country.
 */
import type { Span } from '../../lib/linear-regex/index.ts'
import { brazilian, isDay, luhn, mod11and10, remainder, verhoeff, weighted } from './checksums.ts'
import { isSaid, standsAlone } from './entity.ts'
import type { Entity } from './entity.ts'

/** A number whose letters and digits are checked as a whole. */
function numbered(
  name: string,
  pattern: string,
  isRight: (value: string) => boolean,
  /** Without one of these words before it the number is not believed. */
  words?: RegExp,
): Entity {
  return {
    name,
    pattern,
    check(text: string, span: Span) {
      const value = text.slice(span.start, span.end).replace(/[^0-9a-z]/gi, '')
      if (!standsAlone(text, span) || !isRight(value.toUpperCase())) return undefined
      return words && !isSaid(text, span, words) ? undefined : span
    },
  }
}

const isDate = (digits: string): boolean => isDay(Number(digits.slice(4, 6)), Number(digits.slice(2, 4)))
const isReversedDate = (digits: string): boolean => isDay(Number(digits.slice(0, 2)), Number(digits.slice(2, 4)))
const isUniform = (digits: string): boolean => /^(\d)\1*$/.test(digits)

const nifLetters = 'TRWAGMYFPDXBNJZSQVHLCKE'
const hetuLetters = '0123456789ABCDEFHJKLMNPRSTUVWXY'

function fiscalCode(value: string): boolean {
  const odd = [1, 0, 5, 7, 9, 13, 15, 17, 19, 21, 2, 4, 18, 20, 11, 3, 6, 8, 12, 14, 16, 10, 22, 25, 24, 23]
  const sum = [...value.slice(0, 15)].reduce((total, letter, at) => {
    const code = /\d/.test(letter) ? Number(letter) : letter.charCodeAt(0) - 65
    return total + (at % 2 === 0 ? odd[code]! : code)
  }, 0)
  return String.fromCharCode(65 + (sum % 26)) === value[15]
}

/** Of the first ten digits one stands two or three times, not three times in a row, and all others once at most. */
function germanTax(digits: string): boolean {
  const counts = new Map<string, number>()
  for (const digit of digits.slice(0, 10)) counts.set(digit, (counts.get(digit) ?? 0) + 1)
  const [repeated, ...more] = [...counts.values()].filter(count => count > 1)
  const isForm = repeated !== undefined && repeated <= 3 && more.length === 0 && !/(\d)\1\1/.test(digits.slice(0, 10))
  return isForm && digits[0] !== '0' && mod11and10(digits)
}

/** D-numbers of foreigners have 40 added to the day, help numbers of hospitals 40 to the month. */
function norwegian(digits: string): boolean {
  const day = Number(digits.slice(0, 2))
  const month = Number(digits.slice(2, 4))
  const first = (11 - (weighted(digits, [3, 7, 6, 1, 8, 9, 4, 5, 2]) % 11)) % 11
  const second = (11 - (weighted(digits, [5, 4, 3, 2, 7, 6, 5, 4, 3, 2]) % 11)) % 11
  const isBirth = isDay(day > 40 ? day - 40 : day, month > 40 ? month - 40 : month)
  return isBirth && first === Number(digits[9]) && second === Number(digits[10])
}

/** Coordination numbers of foreigners have 60 added to the day. */
function swedish(value: string): boolean {
  const digits = value.slice(-10)
  const day = Number(digits.slice(4, 6))
  return isDay(day > 60 ? day - 60 : day, Number(digits.slice(2, 4))) && luhn(digits)
}

/** BIS numbers of foreigners have 20 added to the month, 40 where the sex was known. A month may be unknown: 0. */
function belgian(digits: string): boolean {
  const key = Number(digits.slice(9))
  const isOf = (prefix: string) => 97 - remainder(prefix + digits.slice(0, 9), 97) === key
  const month = Number(digits.slice(2, 4))
  return month <= 52 && month % 20 <= 12 && (isOf('') || isOf('2'))
}

function turkish(digits: string): boolean {
  const at = (index: number) => Number(digits[index])
  const odd = at(0) + at(2) + at(4) + at(6) + at(8)
  const even = at(1) + at(3) + at(5) + at(7)
  const sum = odd + even + at(9)
  return digits[0] !== '0' && (odd * 7 + 100 - even) % 10 === at(9) && sum % 10 === at(10)
}

/** By the series: what is added to the sum, and the letters by its remainder. M: foreigners since 2022. */
const singaporeSeries: Readonly<Record<string, readonly [number, string]>> = {
  S: [0, 'JZIHGFEDCBA'],
  T: [4, 'JZIHGFEDCBA'],
  F: [0, 'XWUTRQPNMLK'],
  G: [4, 'XWUTRQPNMLK'],
  M: [3, 'XWUTRQPNJLK'],
}

function singaporean(value: string): boolean {
  const [added, letters] = singaporeSeries[value[0]!]!
  return letters[(weighted(value.slice(1, 8), [2, 7, 6, 5, 4, 3, 2]) + added) % 11] === value[8]
}

function polish(digits: string): boolean {
  const month = Number(digits.slice(2, 4)) % 20
  const check = (10 - (weighted(digits, [1, 3, 7, 9, 1, 3, 7, 9, 1, 3]) % 10)) % 10
  return isDay(Number(digits.slice(4, 6)), month) && check === Number(digits[10])
}

function swiss(digits: string): boolean {
  const sum = weighted(digits, [1, 3, 1, 3, 1, 3, 1, 3, 1, 3, 1, 3])
  return (10 - (sum % 10)) % 10 === Number(digits[12])
}

const isSsn = (digits: string): boolean =>
  !/^(?:000|666|9)/.test(digits) && digits.slice(3, 5) !== '00' && digits.slice(5) !== '0000'

const nhs = (digits: string): boolean =>
  !isUniform(digits) && (11 - (weighted(digits, [10, 9, 8, 7, 6, 5, 4, 3, 2]) % 11)) % 11 === Number(digits[9])

const chinese = (value: string): boolean =>
  isDay(Number(value.slice(12, 14)), Number(value.slice(10, 12))) &&
  '10X98765432'[weighted(value, [7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2]) % 11] === value[17]

const korean = (digits: string): boolean =>
  isDate(digits) && (11 - (weighted(digits, [2, 3, 4, 5, 6, 7, 8, 9, 2, 3, 4, 5]) % 11)) % 10 === Number(digits[12])

const french = (value: string): boolean => {
  const digits = value.replace('2A', '19').replace('2B', '18')
  return 97 - remainder(digits.slice(0, 13), 97) === Number(digits.slice(13))
}

/** Numbers that states give to persons, by country. */
export const nationalNumbers: readonly Entity[] = [
  numbered('US_SSN', '\\d{3}([ -])\\d{2}[ -]\\d{4}', isSsn),
  numbered('US_SSN_DIGITS', '\\d{9}', isSsn, /\b(?:ssn|social security)\b/i),
  numbered('US_ITIN', '9\\d{2}[ -][5-9]\\d[ -]\\d{4}', () => true),
  numbered(
    'US_DRIVER_LICENSE',
    '(?i)[A-Z]{0,2}\\d{6,14}|\\d{4}-\\d{2}-\\d{4}|[A-Z]\\d{3}-\\d{4}-\\d{4}',
    () => true,
    /\bdriv(?:er'?s?|ing) licen[cs]e\b/i,
  ),
  numbered('US_PASSPORT', '(?i)[A-Z]?\\d{8,9}', () => true, /\bpassport\b/i),
  numbered('US_BANK_NUMBER', '\\d{8,17}', () => true, /\b(?:bank|checking|savings) account|\baccount (?:no|number|#)/i),
  numbered('UK_NHS', '\\d{3}[ -]?\\d{3}[ -]?\\d{4}', nhs, /\b(?:nhs|national health|health service)\b/i),
  numbered('UK_NINO', '(?i)[A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z] ?\\d{2} ?\\d{2} ?\\d{2} ?[A-D]', () => true),
  numbered('ES_NIF', '(?i)\\d{8}[ -]?[A-Z]', one => nifLetters[Number(one.slice(0, 8)) % 23] === one[8]),
  numbered('ES_NIE', '(?i)[XYZ][ -]?\\d{7}[ -]?[A-Z]', one => {
    const digits = `${'XYZ'.indexOf(one[0]!)}${one.slice(1, 8)}`
    return nifLetters[Number(digits) % 23] === one[8]
  }),
  numbered('IT_FISCAL_CODE', '(?i)[A-Z]{6}[0-9L-V]{2}[A-EHLMPRST][0-9L-V]{2}[A-Z][0-9L-V]{3}[A-Z]', fiscalCode),
  numbered('FR_NIR', '[12] ?\\d{2} ?(?:0[1-9]|1[0-2]) ?(?:\\d{2}|2[AB]) ?\\d{3} ?\\d{3} ?\\d{2}', french),
  numbered('DE_TAX_ID', '\\d{2} ?\\d{3} ?\\d{3} ?\\d{3}', germanTax),
  numbered(
    'NL_BSN',
    '\\d{9}|\\d{4}\\.\\d{2}\\.\\d{3}',
    digits => (weighted(digits, [9, 8, 7, 6, 5, 4, 3, 2]) - Number(digits[8])) % 11 === 0 && !isUniform(digits),
    /\b(?:bsn|burgerservicenummer|sofi)\b/i,
  ),
  numbered('BE_NATIONAL_NUMBER', '\\d{2}\\.?\\d{2}\\.?\\d{2}-?\\d{3}\\.?\\d{2}', belgian),
  numbered('PL_PESEL', '\\d{11}', polish),
  numbered(
    'PT_NIF',
    '[1235689]\\d{8}|[1235689]\\d{2} \\d{3} \\d{3}',
    digits => {
      const rest = weighted(digits, [9, 8, 7, 6, 5, 4, 3, 2]) % 11
      return (rest < 2 ? 0 : 11 - rest) === Number(digits[8])
    },
    /\b(?:nif|contribuinte)\b/i,
  ),
  numbered('SE_PERSONNUMMER', '(?:\\d{2})?\\d{6}[-+]\\d{4}', swedish),
  numbered('FI_HETU', '(?i)\\d{6}[-+A-FU-Y]\\d{3}[0-9A-FHJ-NPR-Y]', one => {
    const digits = one.slice(0, 6) + one.slice(-4, -1)
    return isReversedDate(one) && hetuLetters[Number(digits) % 31] === one.at(-1)
  }),
  numbered('NO_FODSELSNUMMER', '\\d{6} ?\\d{5}', norwegian),
  numbered('CH_AHV', '756\\.?\\d{4}\\.?\\d{4}\\.?\\d{2}', swiss),
  numbered('TR_TCKN', '\\d{11}', turkish),
  numbered('BR_CPF', '\\d{3}\\.?\\d{3}\\.?\\d{3}-?\\d{2}', brazilian),
  numbered(
    'BR_CNPJ',
    '\\d{2}\\.?\\d{3}\\.?\\d{3}/?\\d{4}-?\\d{2}|[0-9A-Z]{12}\\d{2}|' +
      '[0-9A-Za-z]{2}\\.[0-9A-Za-z]{3}\\.[0-9A-Za-z]{3}/[0-9A-Za-z]{4}-\\d{2}',
    brazilian,
  ),
  numbered('CA_SIN', '\\d{3}[ -]\\d{3}[ -]\\d{3}', digits => !digits.startsWith('0') && luhn(digits)),
  numbered('IN_AADHAAR', '[2-9]\\d{3}[ -]?\\d{4}[ -]?\\d{4}', verhoeff),
  numbered('IN_PAN', '(?i)[A-Z]{3}[ABCFGHLJPT][A-Z]\\d{4}[A-Z]', () => true),
  numbered(
    'AU_TFN',
    '\\d{3} ?\\d{3} ?\\d{3}',
    digits => weighted(digits, [1, 4, 3, 7, 5, 8, 6, 9, 10]) % 11 === 0,
    /\b(?:tfn|tax file)\b/i,
  ),
  numbered('SG_NRIC', '(?i)[STFGM]\\d{7}[A-Z]', singaporean),
  numbered('CN_RESIDENT_ID', '(?i)[1-8]\\d{5}(?:19|20)\\d{2}\\d{4}\\d{3}[0-9X]', chinese),
  numbered('KR_RRN', '\\d{6}-[1-8]\\d{6}', korean),
  numbered('ZA_ID', '\\d{6} ?\\d{4} ?[01]\\d{2}', one => isDate(one) && luhn(one)),
]
