/** More letters than these are no slip of the hand. */
const slipsMax = 6

/** The candidate that `word` was most likely meant to be; undefined when none is near. */
export function nearest(word: string, candidates: Iterable<string>): string | undefined {
  const meant = word.toLowerCase()
  let best: string | undefined
  let bestDistance = Math.min(Math.max(2, Math.floor(word.length / 3)), slipsMax) + 1
  for (const candidate of candidates) {
    const distance = editDistance(meant, candidate.toLowerCase(), bestDistance)
    if (distance < bestDistance) {
      best = candidate
      bestDistance = distance
    }
  }
  return best
}

/** Letters inserted, left out, changed or swapped with their neighbour. What is not below `limit` is some number that is not, either. */
function editDistance(a: string, b: string, limit: number): number {
  if (Math.abs(a.length - b.length) >= limit) return limit
  let beforeLast: number[] = []
  let last = Array.from({ length: b.length + 1 }, (_, at) => at)
  let lastLeast = 0
  for (let i = 1; i <= a.length; i++) {
    const row = [i]
    let rowLeast = i
    for (let j = 1; j <= b.length; j++) {
      const change = a[i - 1] === b[j - 1] ? 0 : 1
      let least = Math.min(last[j]! + 1, row[j - 1]! + 1, last[j - 1]! + change)
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) least = Math.min(least, beforeLast[j - 2]! + 1)
      row.push(least)
      if (least < rowLeast) rowLeast = least
    }
    // A swap reaches back two rows, and adds one.
    if (rowLeast >= limit && lastLeast + 1 >= limit) return limit
    lastLeast = rowLeast
    beforeLast = last
    last = row
  }
  return last[b.length]!
}
