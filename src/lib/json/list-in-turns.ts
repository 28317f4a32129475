/** Parses long lists with other work of this thread in between. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { parseExact } from './exact-json.ts'
import type { ExactNames } from './exact-json.ts'

/** Characters of one turn, about: a millisecond or two. */
const turnLength = 256 * 1024
/** The elements of a JSON array, which is one, as `parseExact` yields them. */
export async function parseListInTurns(json: string, names: ExactNames): Promise<unknown[]> {
  if (json.length <= turnLength) return parseExact(json, names) as unknown[]
  const all: unknown[] = []
  let paused = 0
  // Whole elements, as many as fit into a turn.
  for (let from = 1; from < json.length - 1; ) {
    let end = from
    do end = elementEnd(json, end) + 1
    while (end < json.length - 1 && end - from < turnLength)
    all.push(...(parseExact(`[${json.slice(from, end - 1)}]`, names) as unknown[]))
    from = end
    if (end - paused < turnLength) continue
    paused = end
    await nextTurn()
  }
  return all
}

/** Where the element that begins there ends: the place of the comma or bracket behind it. */
function elementEnd(json: string, from: number): number {
  let depth = 0
  for (let at = from; at < json.length; at++)
    switch (json.charCodeAt(at)) {
      case 0x22:
        at = stringEnd(json, at)
        break
      case 0x5b:
      case 0x7b:
        depth++
        break
      case 0x5d:
      case 0x7d:
        if (depth-- === 0) return at
        break
      case 0x2c:
        if (depth === 0) return at
    }
  throw new SyntaxError('a JSON array without an end')
}

/** The quotation mark that ends the string. */
function stringEnd(json: string, from: number): number {
  for (let at = json.indexOf('"', from + 1); at >= 0; at = json.indexOf('"', at + 1)) {
    let escapes = 0
    while (json.charCodeAt(at - 1 - escapes) === 0x5c) escapes++
    if (escapes % 2 === 0) return at
  }
  throw new SyntaxError('a JSON string without an end')
}
