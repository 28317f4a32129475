/** Check digits of cards, accounts and national numbers. All take digits alone, unless they say otherwise. */

const digitsOf = (text: string): number[] => [...text].map(Number)

/** The sum of the digits, each times its weight. */
export function weighted(digits: string, weights: readonly number[]): number {
  return weights.reduce((sum, weight, at) => sum + weight * Number(digits[at]), 0)
}

/** ISO/IEC 7812-1, annex B: cards, and numbers of several countries. */
export function luhn(digits: string): boolean {
  let sum = 0
  for (let at = digits.length - 1, isSecond = false; at >= 0; at--, isSecond = !isSecond) {
    const digit = Number(digits[at]) * (isSecond ? 2 : 1)
    sum += digit > 9 ? digit - 9 : digit
  }
  return sum % 10 === 0
}

/** The remainder of a long number, as text of digits. */
export function remainder(digits: string, divisor: number): number {
  let rest = 0
  for (const digit of digitsOf(digits)) rest = (rest * 10 + digit) % divisor
  return rest
}

/** ISO 7064 MOD 11,10: the tax number of Germany. */
export function mod11and10(digits: string): boolean {
  let product = 10
  for (const digit of digitsOf(digits.slice(0, -1))) {
    const sum = (digit + product) % 10 || 10
    product = (sum * 2) % 11
  }
  return (11 - product) % 10 === Number(digits.at(-1))
}

const dihedral = [
  [0, 1, 2, 3, 4, 5, 6, 7, 8, 9],
  [1, 2, 3, 4, 0, 6, 7, 8, 9, 5],
  [2, 3, 4, 0, 1, 7, 8, 9, 5, 6],
  [3, 4, 0, 1, 2, 8, 9, 5, 6, 7],
  [4, 0, 1, 2, 3, 9, 5, 6, 7, 8],
  [5, 9, 8, 7, 6, 0, 4, 3, 2, 1],
  [6, 5, 9, 8, 7, 1, 0, 4, 3, 2],
  [7, 6, 5, 9, 8, 2, 1, 0, 4, 3],
  [8, 7, 6, 5, 9, 3, 2, 1, 0, 4],
  [9, 8, 7, 6, 5, 4, 3, 2, 1, 0],
] as const
const permutation = [1, 5, 7, 6, 2, 8, 3, 0, 9, 4] as const

/** Verhoeff's code, as in India's Aadhaar (UIDAI). */
export function verhoeff(digits: string): boolean {
  let check = 0
  for (const [at, first] of digitsOf(digits).reverse().entries()) {
    let digit: number = first
    for (let times = 0; times < at % 8; times++) digit = permutation[digit]!
    check = dihedral[check]![digit]!
  }
  return check === 0
}

/**
 * The last two digits of Brazil's CPF (11 digits) and CNPJ (14; before them also capital letters, since July 2026:
 * Instrução Normativa RFB 2.229). A letter counts as its code less that of 0.
 */
export function brazilian(value: string): boolean {
  if (/^(\d)\1*$/.test(value)) return false
  const isCompany = value.length === 14
  for (const length of [value.length - 2, value.length - 1]) {
    let sum = 0
    for (let at = 0; at < length; at++) {
      const weight = length - at + 1
      sum += (value.charCodeAt(at) - 48) * (isCompany ? ((weight - 2) % 8) + 2 : weight)
    }
    if (((sum * 10) % 11) % 10 !== Number(value[length])) return false
  }
  return true
}

/** A day that the calendar has, of any century. */
export function isDay(day: number, month: number): boolean {
  return month >= 1 && month <= 12 && day >= 1 && day <= [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][month - 1]!
}
