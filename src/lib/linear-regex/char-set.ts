/**
 * Sets of UTF-16 code units. U+0000 is in none of them: callers put it where no match may reach over, and before and
 * behind it counts as an end of the text.
 */

import { lazy } from '../lazy.ts'

/** Pairs of first and last unit, in order, without overlaps. */
export type CharSet = readonly number[]

type Range = readonly [first: number, end: number]

const last = 0xffff

/** The set of these ranges, in any order. */
export function charSet(ranges: readonly Range[]): CharSet {
  const sorted = ranges
    .map(([from, to]) => [Math.max(from, 1), to] as const)
    .filter(([from, to]) => from <= to)
    .sort((a, b) => a[0] - b[0])
  const out: number[] = []
  for (const [from, to] of sorted) {
    const end = out.at(-1)
    if (end !== undefined && from <= end + 1) out[out.length - 1] = Math.max(end, to)
    else out.push(from, to)
  }
  return out
}

const rangesOf = (set: CharSet): Range[] => {
  const ranges: Range[] = []
  for (let at = 0; at < set.length; at += 2) ranges.push([set[at]!, set[at + 1]!])
  return ranges
}

/** All units of the sets. */
export function union(...sets: readonly CharSet[]): CharSet {
  return charSet(sets.flatMap(rangesOf))
}

/** All units but those of the set, and but U+0000. */
export function inverse(set: CharSet): CharSet {
  const out: [number, number][] = []
  let from = 1
  for (const [first, end] of rangesOf(set)) {
    if (first > from) out.push([from, first - 1])
    from = end + 1
  }
  if (from <= last) out.push([from, last])
  return charSet(out)
}

/** Of so many units each is asked for its other case; of more, those that have one are looked up. */
const unitsAskedMax = 1024

/** The set with the other case of each of its letters. */
export function withBothCases(set: CharSet): CharSet {
  const ranges = rangesOf(set)
  const units = ranges.reduce((sum, [first, end]) => sum + end - first + 1, 0)
  const pairs = units <= unitsAskedMax ? pairsOf(ranges) : allPairs().filter(([unit]) => contains(set, unit))
  return pairs.length === 0 ? set : union(set, charSet(pairs.map(([, other]) => [other, other])))
}

type CasePair = readonly [unit: number, other: number]

/** Each unit of the ranges that has another case, with it, in order. */
function pairsOf(ranges: readonly Range[]): CasePair[] {
  const pairs: CasePair[] = []
  for (const [first, end] of ranges)
    for (let code = first; code <= end; code++) {
      const letter = String.fromCharCode(code)
      for (const other of [letter.toLowerCase(), letter.toUpperCase()])
        if (other.length === 1 && other !== letter) pairs.push([code, other.charCodeAt(0)])
    }
  return pairs
}

/** 2,800 of 65,535 units: to find them takes 10 ms, once. */
const allPairs = lazy(() => pairsOf([[1, last]]))

/** Whether the unit is in the set. */
export function contains(set: CharSet, unit: number): boolean {
  let [low, high] = [0, set.length / 2 - 1]
  while (low <= high) {
    const middle = (low + high) >> 1
    if (unit < set[2 * middle]!) high = middle - 1
    else if (unit > set[2 * middle + 1]!) low = middle + 1
    else return true
  }
  return false
}

/** One unit. */
export const unit = (code: number): CharSet => charSet([[code, code]])
const ofText = (text: string): CharSet => charSet([...text].map(one => [one.charCodeAt(0), one.charCodeAt(0)]))

/** `\d`. */
export const digits = charSet([[0x30, 0x39]])
/** `\w`. */
export const asciiWord = union(digits, ofText('_'), charSet([[0x41, 0x5a]]), charSet([[0x61, 0x7a]]))
/** `\s`. */
export const spaces = union(
  ofText('\t\n\v\f\r \u00a0\u1680\u2028\u2029\u202f\u205f\u3000\ufeff'),
  charSet([[0x2000, 0x200a]]),
)
/** What `.` does not take. */
export const lineEnds = ofText('\n\r\u2028\u2029')

const properties = new Map<string, CharSet>()

/** `\p{L}` by the text between its braces; undefined = there is no such property. Of characters of one unit. */
export function unicodeProperty(name: string): CharSet | undefined {
  const known = properties.get(name)
  if (known) return known
  let pattern: RegExp
  try {
    pattern = new RegExp(`\\p{${name}}`, 'u')
  } catch {
    return undefined
  }
  const ranges: [number, number][] = []
  for (let code = 1; code <= last; code++) {
    if (!pattern.test(String.fromCharCode(code))) continue
    const before = ranges.at(-1)
    if (before && before[1] === code - 1) before[1] = code
    else ranges.push([code, code])
  }
  const set = charSet(ranges)
  properties.set(name, set)
  return set
}

/** Letters, marks and digits of every script, and the underscore: what `\b` takes for a part of a word. */
export function wordUnits(): CharSet {
  return (words ??= union(unicodeProperty('L')!, unicodeProperty('M')!, unicodeProperty('N')!, ofText('_')))
}

let words: CharSet | undefined
