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
