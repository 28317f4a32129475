/** Numbers as decimal text, for what every call writes: a third of the cost of `toFixed` and of fractions as text. */

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
