/** Texts, their characters and bytes, and numbers as texts. */

/**
 * The text with A to Z in lower case, and all else as it is. Names that decide who a person is must not meet: the
 * Kelvin sign (U+212A) becomes a plain k by `toLowerCase`.
 */
export function asciiLower(text: string): string {
  return text.replace(/[A-Z]+/g, letters => letters.toLowerCase())
}

/** A text in UTF-8; bytes as they are, without a copy. */
export const utf8Bytes = (piece: string | Uint8Array): Uint8Array =>
  typeof piece === 'string' ? Buffer.from(piece, 'utf8') : piece

/**
 * Characters (UTF-16 units) of a text of UTF-8 that was read as Latin-1, from byte `from` to byte `to`. An escape of
 * JSON (`\u00a0`) reads like a byte: it counts as one that continues a character, but a text that has any bytes has at
 * least one character.
 */
export function utf16Length(latin1: string, from = 0, to = latin1.length): number {
  let continuing = 0
  let pairs = 0
  for (let at = from; at < to; at++) {
    const code = latin1.charCodeAt(at)
    if (code < 0x80 || code > 0xf7) continue
    if (code < 0xc0) continuing++
    else if (code >= 0xf0) pairs++
  }
  const bytes = to - from
  return bytes === 0 ? 0 : Math.max(1, bytes - continuing + pairs)
}

/** As `value.toFixed(1)`, for 0 and more; of a half the larger one. */
export function oneDecimalText(value: number): string {
  const tenths = Math.round(value * 10)
  if (!(tenths >= 0 && tenths <= Number.MAX_SAFE_INTEGER)) return value.toFixed(1)
  const whole = Math.floor(tenths / 10)
  return `${whole}.${tenths - whole * 10}`
}

/** A whole number of thousandths as the shortest decimal text: 1500 -> `1.5`, 59_001 -> `59.001`. From 0 on. */
export function thousandthsText(thousandths: number): string {
  const whole = Math.floor(thousandths / 1000)
  const rest = thousandths - whole * 1000
  if (rest === 0) return String(whole)
  if (rest % 100 === 0) return `${whole}.${rest / 100}`
  // The leading 1 keeps the zeros in front of the digits.
  return `${whole}.${String(rest % 10 === 0 ? 100 + rest / 10 : 1000 + rest).slice(1)}`
}

/** As `String(value)`: a bigint that a number can hold is written in a tenth of the time. */
export function bigintText(value: bigint): string {
  const small = Number(value)
  return Number.isSafeInteger(small) ? String(small) : String(value)
}

/**
 * Multiplies a decimal text by ten to the power of `digits`, rounding half up, without float arithmetic.
 * `String(number)` gives the text as it was written.
 */
export function scaleDecimal(decimal: string, digits: number): bigint {
  const [mantissa, exponent = '0'] = decimal.toLowerCase().split('e')
  const [whole, fraction = ''] = mantissa!.split('.')
  const shift = Number(exponent) + digits - fraction.length
  const units = BigInt(`${whole}${fraction}`)
  if (shift >= 0) return units * 10n ** BigInt(shift)
  const divisor = 10n ** BigInt(-shift)
  return (units + divisor / 2n) / divisor
}
