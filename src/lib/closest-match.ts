/** Edits beyond which two words are not taken for one another. */
const editsMax = 6

/**
 * The candidate that `word` probably stands for, for "did you mean": the one with the smallest edit distance, or else
 * the only one that is the word with a part before or behind it, or the reverse (`user` and `user_id`, `a-model` and
 * `vendor/a-model`). undefined = none is close.
 */
export function closestMatch(word: string, candidates: Iterable<string>): string | undefined {
  const meant = word.toLowerCase()
  const sharing: string[] = []
  let best: string | undefined
  let bestDistance = Math.min(Math.max(2, Math.floor(word.length / 3)), editsMax) + 1
  for (const candidate of candidates) {
    const name = candidate.toLowerCase()
    if (meant !== '' && name !== '' && (isPartOf(meant, name) || isPartOf(name, meant))) sharing.push(candidate)
    const distance = editDistance(meant, name, bestDistance)
    if (distance < bestDistance) {
      best = candidate
      bestDistance = distance
    }
  }
  return best ?? (sharing.length === 1 ? sharing[0] : undefined)
}

/** Edits that a slip of the fingers makes. */
const slipEditsMax = 2

/** Whether `word` is one of the candidates with a slip or two in it; `timeout_ms` is none of `timeout`. */
export function isMisspelt(word: string, candidates: Iterable<string>): boolean {
  const editsAllowed = Math.min(slipEditsMax, Math.floor(word.length / 3))
  for (const candidate of candidates)
    if (editDistance(word.toLowerCase(), candidate.toLowerCase(), editsAllowed + 1) <= editsAllowed) return true
  return false
}

/** Whole words at the beginning or the end, which `_`, `-` or `/` separates from the rest. */
function isPartOf(part: string, whole: string): boolean {
  if (part.length >= whole.length) return false
  return (
    (whole.startsWith(part) && separators.has(whole[part.length]!)) ||
    (whole.endsWith(part) && separators.has(whole[whole.length - part.length - 1]!))
  )
}

const separators: ReadonlySet<string> = new Set(['_', '-', '/'])

/**
 * Optimal string alignment distance (insert, delete, substitute, swap two neighbours), in letters. Any distance of
 * `limit` or more is returned as some number not below `limit`: only the band of cells within `limit` is computed.
 */
function editDistance(a: string, b: string, limit: number): number {
  if (Math.abs(a.length - b.length) >= limit) return limit
  let beforeLast = new Int32Array(b.length + 2)
  let last = new Int32Array(b.length + 2)
  for (let j = 1; j <= b.length; j++) last[j] = j
  let row = new Int32Array(b.length + 2)
  let lastLeast = 0
  for (let i = 1; i <= a.length; i++) {
    const from = Math.max(1, i - limit + 1)
    const to = Math.min(b.length, i + limit - 1)
    row[from - 1] = from === 1 ? i : limit
    let rowLeast = row[from - 1]!
    const letter = a.charCodeAt(i - 1)
    for (let j = from; j <= to; j++) {
      const change = letter === b.charCodeAt(j - 1) ? 0 : 1
      let least = Math.min(last[j]! + 1, row[j - 1]! + 1, last[j - 1]! + change)
      if (i > 1 && j > 1 && letter === b.charCodeAt(j - 2) && a.charCodeAt(i - 2) === b.charCodeAt(j - 1))
        least = Math.min(least, beforeLast[j - 2]! + 1)
      row[j] = least
      if (least < rowLeast) rowLeast = least
    }
    row[to + 1] = limit
    // A swap takes its value from two rows before, plus one.
    if (rowLeast >= limit && lastLeast + 1 >= limit) return limit
    lastLeast = rowLeast
    const free = beforeLast
    beforeLast = last
    last = row
    row = free
  }
  return last[b.length]!
}
