/**
 * JSON whose numbers keep their digits and whose keys keep their order: `JSON.parse` reads numbers as doubles, and
 * puts keys that look like indexes (`"10"`) before all others. Texts that a double keeps as they are, which is nearly
 * all, are parsed and written by the platform alone.
 *
 * A number that a double would write in another way (`1.0`, `1234567890123456789`) becomes an `ExactNumber`, a key that
 * would move gets a mark in front. Both may be copied into other values; `exactText` writes them as they were.
 */
import { randomBytes } from 'node:crypto'
import { isObject } from './json-values.ts'
import type { Json } from './json-values.ts'
import type { LongStrings } from './json-strings.ts'
import { backslash, closeBrace, closeBracket, colon, openBrace, openBracket, quote } from './json-bytes.ts'

/** Unique to the process; begins with a character that `JSON.stringify` writes as it is. */
const mark = `\u007f${randomBytes(12).toString('base64url')}`
const numberMark = `${mark}#`
const keyMark = `${mark}@`
const marked = new RegExp(`"${mark}(?:#(-?\\d[\\d.eE+-]*)"|@)`, 'g')

/** How many numbers wrote themselves into the text that `exactText` is making; undefined = it is not at work. */
let written: number | undefined
/** Most processes never meet such a value, and few of them such a key: only these look for marks. */
let anythingIsKept = false
let keysAreMarked = false

/** A number with its digits. `JSON.stringify` writes the nearest double, `exactText` the digits. */
export class ExactNumber {
  /** As it stood in the text. */
  readonly #text: string

  constructor(text: string) {
    this.#text = text
  }

  toJSON(): string | number {
    if (written === undefined) return Number(this.#text)
    written++
    return numberMark + this.#text
  }

  valueOf(): number {
    return Number(this.#text)
  }

  toString(): string {
    return this.#text
  }
}

/** `JSON.stringify` of a value that may hold what `parseExact` keeps. */
export function exactText(value: unknown): string {
  const before = written
  written = 0
  try {
    const text = JSON.stringify(value)
    return written > 0 || (keysAreMarked && text?.includes(keyMark)) ? unmarked(text) : text
  } finally {
    written = before
  }
}

const unmarked = (text: string): string => text.replace(marked, (_, digits?: string) => digits ?? '"')

/** The value as `JSON.parse` yields it: for readers that calculate with numbers, or look up names. */
export function plainValue<Value>(value: Value): Value {
  if (!anythingIsKept) return value
  const before = written
  written = 0
  try {
    const text = JSON.stringify(value)
    const isExact = written > 0 || (keysAreMarked && text?.includes(keyMark))
    return isExact ? (JSON.parse(unmarked(text)) as Value) : value
  } finally {
    written = before
  }
}

/** The entries as an object whose keys `exactText` writes in this order; the keys may have marks. */
export function objectInOrder(entries: readonly (readonly [key: string, value: unknown])[]): Json {
  if (!movesIndexes(entries.map(([key]) => key))) return Object.fromEntries(entries)
  keysAreMarked = anythingIsKept = true
  return Object.fromEntries(entries.map(([key, one]) => [isIndex(key, 0, key.length) ? keyMark + key : key, one]))
}

/** An object would put one of the keys before another that stands in front of it. */
function movesIndexes(keys: readonly string[]): boolean {
  let last = -1
  return keys.some(key => {
    const isAfter = isIndex(key, 0, key.length) && Number(key) < last
    last = isIndex(key, 0, key.length) ? Number(key) : Infinity
    return isAfter
  })
}

/** The key as it stood in the text. */
export const plainKey = (key: string): string => (key.startsWith(keyMark) ? key.slice(keyMark.length) : key)

/** A parsed value has a number, or a key that looks like an index: only then something of its text may be lost. */
function mayLose(value: unknown): boolean {
  if (typeof value === 'number') return true
  if (typeof value !== 'object' || value === null) return false
  if (Array.isArray(value)) return value.some(mayLose)
  let isFirst = true
  for (const key in value) {
    // Those keys come first.
    if (isFirst && isDigit(key.charCodeAt(0)) && isIndex(key, 0, key.length)) return true
    isFirst = false
    if (mayLose((value as Json)[key])) return true
  }
  return false
}

/** Names as they stand in JSON, in quotes: made by `exactNames`. */
export type ExactNames = readonly `"${string}"`[]

/** The names inside of whose values digits and the order of keys are kept; letters of ASCII, digits and `_`. */
export const exactNames = (...names: readonly string[]): ExactNames => names.map(name => `"${name}"` as const)

/**
 * `JSON.parse` that keeps digits and the order of keys: in all of the text, or only inside of the objects and lists
 * that are values of one of the `names`. Throws SyntaxError as `JSON.parse` does.
 */
export function parseExact(text: string, names?: ExactNames): unknown {
  const value: unknown = JSON.parse(text)
  if (!names && !mayLose(value)) return value
  const cuts = cutsIn(text, names)
  return cuts.length === 0 ? value : parseMarked(withMarks(text, cuts))
}

/** The object of a JSON text, as `parseExact` yields it; undefined = it is no JSON, or the value is no object. */
export function exactObject(text: string, names?: ExactNames): Json | undefined {
  try {
    const value = parseExact(text, names)
    return isObject(value) && !(value instanceof ExactNumber) ? value : undefined
  } catch {
    return undefined
  }
}

/** Where the bytes of a value lie, and its long strings, in which nothing is looked for. */
interface BytesOfValue {
  readonly bytes: Buffer
  readonly from: number
  readonly to: number
  readonly longStrings: LongStrings
}

/** The value in valid JSON, as `parseExact` yields it; undefined = `JSON.parse` keeps all of it. */
export function exactValueIn(place: BytesOfValue, names: ExactNames): unknown {
  const { text, skipped } = textWithoutLongStrings(place)
  const cuts = cutsIn(text, names)
  if (cuts.length === 0) return undefined
  let next = 0
  let shift = 0
  const shifted = cuts.map(({ from, to }) => {
    while (next < skipped.length && skipped[next]!.at < from) shift += skipped[next++]!.bytes
    return { from: from + shift, to: to + shift }
  })
  const whole = withMarks(place.bytes.toString('latin1', place.from, place.to), shifted)
  return parseMarked(Buffer.from(whole, 'latin1').toString('utf8'))
}

interface SkippedBytes {
  /** In the text that is left. */
  readonly at: number
  readonly bytes: number
}

/** Each byte as a character (Latin-1): what is looked for is ASCII. */
function textWithoutLongStrings(place: BytesOfValue): { text: string; skipped: readonly SkippedBytes[] } {
  const { bytes, from, to, longStrings } = place
  const skipped: SkippedBytes[] = []
  let text = ''
  let begin = from
  for (let next = 0; next < longStrings.length; next += 2) {
    const start = longStrings[next]! + 1
    const end = longStrings[next + 1]!
    if (start <= from || end >= to) continue
    text += bytes.toString('latin1', begin, start)
    skipped.push({ at: text.length, bytes: end - start })
    begin = end
  }
  return { text: text + bytes.toString('latin1', begin, to), skipped }
}

/** A number, or, where both are the same, the place in front of which a key is marked. */
interface Cut {
  readonly from: number
  readonly to: number
}

/**
 * What every text has of which something would get lost: a number that is negative, long, or no plain integer, or a
 * string that begins with a digit. Of a character each it costs a quarter of a nanosecond.
 */
const suspicious = /[:,[\s](?:-\d|\d+(?:[.eE]|\d{15}))|"\d/
/** In longer texts it is cheaper to look only at the values of the names. */
const suspectedCharactersMax = 16 * 1024

const nothing: Cut[] = []

function cutsIn(text: string, keys: readonly string[] | undefined): Cut[] {
  if (!keys) {
    const cuts: Cut[] = []
    findCuts(text, skipSpace(text, 0), cuts)
    return cuts
  }
  let cuts = nothing
  for (let which = 0; which < keys.length; which++) {
    const key = keys[which]!
    let at = text.indexOf(key)
    if (at < 0) continue
    if (cuts === nothing) {
      if (text.length <= suspectedCharactersMax && !suspicious.test(text)) return nothing
      cuts = []
    }
    // Inside of a string the second quote of the key would have a backslash in front.
    for (; at >= 0; at = text.indexOf(key, at)) {
      at = skipSpace(text, at + key.length)
      if (text.charCodeAt(at) !== colon) continue
      at = skipSpace(text, at + 1)
      const first = text.charCodeAt(at)
      if (first === openBrace || first === openBracket) at = findCuts(text, at, cuts)
    }
  }
  if (keys.length < 2 || cuts.length < 2) return cuts
  // One name may stand inside of another's value.
  cuts.sort((a, b) => a.from - b.from)
  return cuts.filter((cut, at) => cut.from !== cuts[at - 1]?.from)
}

/** `at` = where a value of valid JSON begins; yields the place of its last character. */
function findCuts(text: string, start: number, cuts: Cut[]): number {
  const before = cuts.length
  let movesKeys = false
  let depth = 0
  let at = start
  for (; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === quote) {
      const end = stringEnd(text, at)
      if (isDigit(text.charCodeAt(at + 1)) && isIndex(text, at + 1, end) && isKey(text, end)) movesKeys = true
      at = end
    } else if (code === openBrace || code === openBracket) depth++
    else if (code === closeBrace || code === closeBracket) depth--
    else if (code === minus || isDigit(code)) {
      const end = numberEnd(text, at)
      if (!isKept(text, at, end)) cuts.push({ from: at, to: end })
      at = end - 1
    }
    if (depth === 0 && !isSpace(code)) break
  }
  if (movesKeys) {
    addKeys(text, start, cuts)
    const found = cuts.splice(before).sort((a, b) => a.from - b.from)
    for (const cut of found) cuts.push(cut)
  }
  return at
}

/** The keys of one object that look like indexes. */
interface IndexKeys {
  readonly places: number[]
  /** -1 = none yet. */
  last: number
  /** One stands behind another key or a larger index: `JSON.parse` would move it. */
  move: boolean
  others: boolean
}

/** Of each object with a key that would move, all keys that look like indexes. */
function addKeys(text: string, start: number, cuts: Cut[]): void {
  const open: (IndexKeys | undefined)[] = []
  for (let at = start; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === quote) {
      const end = stringEnd(text, at)
      const keys = open.at(-1)
      if (keys && isKey(text, end)) addKey(keys, text, { from: at + 1, to: end })
      at = end
    } else if (code === openBrace) open.push({ places: [], last: -1, move: false, others: false })
    else if (code === openBracket) open.push(undefined)
    else if (code === closeBrace || code === closeBracket) {
      const keys = open.pop()
      if (keys?.move) for (const place of keys.places) cuts.push({ from: place, to: place })
      if (open.length === 0) return
    }
  }
}

function addKey(keys: IndexKeys, text: string, { from, to }: Cut): void {
  if (!isIndex(text, from, to)) {
    keys.others = true
    return
  }
  const index = Number(text.slice(from, to))
  keys.places.push(from)
  if (keys.others || index < keys.last) keys.move = true
  keys.last = index
}

function withMarks(text: string, cuts: readonly Cut[]): string {
  anythingIsKept = true
  let out = ''
  let at = 0
  for (const { from, to } of cuts) {
    const isNumber = to > from
    if (!isNumber) keysAreMarked = true
    out += text.slice(at, from) + (isNumber ? `"${numberMark}${text.slice(from, to)}"` : keyMark)
    at = to
  }
  return out + text.slice(at)
}

function parseMarked(text: string): unknown {
  return JSON.parse(text, (_key, value: unknown) =>
    typeof value === 'string' && value.startsWith(numberMark) ? new ExactNumber(value.slice(numberMark.length)) : value,
  )
}

const shortStringCharacters = 48
const minus = 0x2d
const plus = 0x2b
const dot = 0x2e
const zero = 0x30
const capitalE = 0x45
const smallE = 0x65
/** Every integer with fewer digits is a double. */
const digitsMax = 16
/** Longer keys of digits are no indexes (ECMA-262, "array index": below 2^32 - 1). */
const indexDigitsMax = 10

const isDigit = (code: number): boolean => code >= zero && code <= 0x39
const isSpace = (code: number): boolean => code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09

function skipSpace(text: string, from: number): number {
  let at = from
  while (isSpace(text.charCodeAt(at))) at++
  return at
}

/** `at` = the opening quote; yields the closing one. */
function stringEnd(text: string, at: number): number {
  let end = at + 1
  // Most strings are short: a call into the platform's search costs more than looking at a few characters.
  for (const near = Math.min(end + shortStringCharacters, text.length); end < near; end++) {
    const code = text.charCodeAt(end)
    if (code === quote) return end
    if (code === backslash) end++
  }
  for (end = text.indexOf('"', end); end >= 0; end = text.indexOf('"', end + 1)) {
    let slashes = 0
    while (text.charCodeAt(end - 1 - slashes) === backslash) slashes++
    if (slashes % 2 === 0) return end
  }
  return text.length
}

function isKey(text: string, end: number): boolean {
  return text.charCodeAt(skipSpace(text, end + 1)) === colon
}

/** A decimal without a leading zero that `JSON.parse` sorts. */
function isIndex(text: string, from: number, to: number): boolean {
  const length = to - from
  if (length === 0 || length > indexDigitsMax || (length > 1 && text.charCodeAt(from) === zero)) return false
  for (let at = from; at < to; at++) if (!isDigit(text.charCodeAt(at))) return false
  return true
}

function numberEnd(text: string, from: number): number {
  let at = from + 1
  for (; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (isDigit(code) || code === dot || code === smallE || code === capitalE || code === plus || code === minus)
      continue
    break
  }
  return at
}

/** A double writes the number with the same characters. */
function isKept(text: string, from: number, to: number): boolean {
  if (to - from < digitsMax && isPlainInteger(text, from, to)) return true
  const digits = text.slice(from, to)
  return String(Number(digits)) === digits
}

function isPlainInteger(text: string, from: number, to: number): boolean {
  if (text.charCodeAt(from) === minus) return false
  for (let at = from; at < to; at++) if (!isDigit(text.charCodeAt(at))) return false
  return true
}
