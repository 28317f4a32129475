/** Deterministic pseudo-random numbers: the same seed gives the same values on every machine. */

/** A 53-bit hash of `text`; different seeds give unrelated values. */
export function hash(text: string, seed = 0): number {
  return Number(BigInt.asUintN(53, BigInt(Bun.hash(text, seed))))
}

/** A generator of numbers in [0, 1) seeded with `state` (mulberry32). */
export function seededRandom(state: number): () => number {
  let value = (state ^ Math.floor(state / 2 ** 32)) >>> 0
  return () => {
    value = (value + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(value ^ (value >>> 15), value | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789'

/** An identifier of `length` letters and digits. */
export function randomId(random: () => number, length: number): string {
  let id = ''
  while (id.length < length) id += letters[Math.floor(random() * letters.length)]
  return id
}
