/** Values that look real, the same everywhere. */

/** From 0 up to 1. */
export type Random = () => number

/** Linear congruential, of Numerical Recipes. */
export function generator(seed: number): Random {
  let state = seed >>> 0
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return state / 2 ** 32
  }
}

/** So many digits. */
export const digitsOf = (random: Random, count: number): string =>
  Array.from({ length: count }, () => Math.floor(random() * 10)).join('')

/** One of a list. */
export const pick = <T>(random: Random, list: readonly T[]): T => list[Math.floor(random() * list.length)]!

/** `###-####` with digits; the first one is at least `least`. */
export function masked(random: Random, mask: string, least: number): string {
  let isFirst = true
  return mask.replace(/#/g, () => {
    const from = isFirst ? least : 0
    isFirst = false
    return String(from + Math.floor(random() * (10 - from)))
  })
}

/** With the digit that makes every second one doubled, from the right, a multiple of ten. */
export function withLuhn(body: string): string {
  const sum = [...body].reverse().reduce((total, one, at) => {
    const doubled = Number(one) * (at % 2 === 0 ? 2 : 1)
    return total + (doubled > 9 ? doubled - 9 : doubled)
  }, 0)
  return body + ((10 - (sum % 10)) % 10)
}
