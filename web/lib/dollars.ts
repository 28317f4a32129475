/** Amounts of money that are added up without the errors of binary fractions: whole billionths of a dollar. */

const decimals = 9

/** An amount as the gateway writes it, in billionths of a dollar. */
export const nanoOf = (usd: number): bigint => BigInt(usd.toFixed(decimals).replace('.', ''))

/** All digits that count, with a point, for programs: `0.3`. */
export function nanoText(nano: bigint): string {
  const digits = String(nano < 0n ? -nano : nano).padStart(decimals + 1, '0')
  const fraction = digits.slice(-decimals).replace(/0+$/, '')
  return `${nano < 0n ? '-' : ''}${digits.slice(0, -decimals)}${fraction === '' ? '' : `.${fraction}`}`
}
