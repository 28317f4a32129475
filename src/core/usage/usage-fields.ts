/** What the readers of all vendors' usage share: a count that cannot be believed takes no other with it. */
import { scaleDecimal } from '../../lib/text.ts'
import { isObject } from '../../lib/json/json-values.ts'
import type { Json } from '../../lib/json/json-values.ts'
import type { Served, Usage, UsageCounts } from './usage.ts'

const countMax = 1_000_000_000
/** Longer words name no tier; the ledger has a column for it. */
const wordCharactersMax = 40
const costUsdMax = 1_000_000

/** A plausible count: an integer from 0 to 10^9; undefined = another value. */
export const countOf = (value: unknown): number | undefined =>
  typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= countMax ? value : undefined

/** The object, or an empty one for other values, so that members of unchecked JSON can be read. */
export const membersOf = (value: unknown): Json => (isObject(value) ? value : noMembers)

const noMembers: Json = Object.freeze({})

/**
 * The first positive count: vendors repeat the same count under several names, and leave zeros in some of them. No rest
 * parameter: it would be an array for each of the many counts of every call.
 */
export function firstCount(first: unknown, second?: unknown, third?: unknown, fourth?: unknown): number {
  return countOf(first) || countOf(second) || countOf(third) || countOf(fourth) || 0
}

/** Sets a count that is part of a whole of `most`; 0 is not set. */
export function setCount(usage: UsageCounts, name: keyof UsageCounts, count: number, most = countMax): void {
  if (count > 0 && most > 0) usage[name] = Math.min(count, most)
}

/** Sets what served the call, from fields of the answer; values that are no short texts are left out. */
export function setServed(usage: Usage, reported: { readonly [name in keyof Served]?: unknown }): void {
  const { serviceTier, speed, region } = reported
  const said: { -readonly [name in keyof Served]: Served[name] } = {}
  if (isWord(serviceTier)) said.serviceTier = serviceTier.toLowerCase()
  if (isWord(speed)) said.speed = speed.toLowerCase()
  if (isWord(region)) said.region = region.toLowerCase()
  if (said.serviceTier !== undefined || said.speed !== undefined || said.region !== undefined) usage.served = said
}

const isWord = (value: unknown): value is string =>
  typeof value === 'string' && value.length > 0 && value.length <= wordCharactersMax

/** Dollars as nano-dollars; undefined = no plausible amount. */
export function nanoUsdOf(dollars: unknown): bigint | undefined {
  const isPlausible = typeof dollars === 'number' && Number.isFinite(dollars) && dollars >= 0 && dollars <= costUsdMax
  return isPlausible ? scaleDecimal(String(dollars), 9) : undefined
}
