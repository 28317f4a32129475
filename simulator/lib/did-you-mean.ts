/** Suggests the name that a misspelt word was most likely meant to be, for error messages. */

/**
 * The nearest of `known` by edit distance, at most a third of the letters (at least two); undefined when none is near.
 */
function nearest(word: string, known: readonly string[]): string | undefined {
  const distanceMax = Math.max(2, Math.floor(word.length / 3))
  const [best] = known
    // Words of very different length need not be compared letter by letter.
    .filter(one => Math.abs(one.length - word.length) <= distanceMax)
    .map(one => ({ one, distance: distanceOf(word.toLowerCase(), one.toLowerCase()) }))
    .filter(({ distance }) => distance <= distanceMax)
    .sort((a, b) => a.distance - b.distance)
  return best?.one
}

/** `, did you mean "x"?`, or nothing. */
export function suggestion(word: string, known: readonly string[]): string {
  const near = nearest(word, known)
  return near === undefined ? '' : `, did you mean "${near}"?`
}

/** Damerau-Levenshtein distance (optimal string alignment): insertions, deletions, changes, swaps of neighbours. */
function distanceOf(one: string, other: string): number {
  let beforeLast: number[] = []
  let last = Array.from({ length: other.length + 1 }, (_, at) => at)
  for (let i = 1; i <= one.length; i++) {
    const row = [i]
    for (let j = 1; j <= other.length; j++) {
      const change = last[j - 1]! + (one[i - 1] === other[j - 1] ? 0 : 1)
      row.push(Math.min(change, last[j]! + 1, row[j - 1]! + 1))
      const isSwap = i > 1 && j > 1 && one[i - 1] === other[j - 2] && one[i - 2] === other[j - 1]
      if (isSwap) row[j] = Math.min(row[j]!, beforeLast[j - 2]! + 1)
    }
    beforeLast = last
    last = row
  }
  return last[other.length]!
}
