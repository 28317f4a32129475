/** Random choices that are the same in every run. */
export interface Random {
  below(limit: number): number
  of<T>(list: readonly T[]): T
  text(alphabet: string, lengthMax: number): string
  bytes(lengthMax: number): Buffer
}

/** A linear congruential generator (Numerical Recipes, section 7.1). */
export function randomOf(seed: number): Random {
  let state = seed
  const below = (limit: number): number => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return Math.floor((state / 2 ** 32) * limit)
  }
  return {
    below,
    of: list => list[below(list.length)]!,
    text: (alphabet, lengthMax) => {
      const letters = [...alphabet]
      return Array.from({ length: below(lengthMax + 1) }, () => letters[below(letters.length)]!).join('')
    },
    bytes: lengthMax => Buffer.from(Array.from({ length: below(lengthMax + 1) }, () => below(256))),
  }
}

/** The bytes in random pieces. */
export function cut(bytes: Buffer, random: Random): Buffer[] {
  const pieces: Buffer[] = []
  for (let at = 0; at < bytes.length; ) {
    const end = Math.min(bytes.length, at + 1 + random.below(40))
    pieces.push(bytes.subarray(at, end))
    at = end
  }
  return pieces
}
