/** What answers of several vendors are checked for alike. */
import { GatewayError } from '../core/errors.ts'
import { isObject } from '../lib/json/json-values.ts'
import type { Json } from '../lib/json/json-values.ts'

const countMax = 1_000_000_000

/** What is no object reads as an empty one, so that members of foreign JSON can be asked for without a check. */
export const objectOf = (value: unknown): Json => (isObject(value) ? value : {})

/** A count that can be believed: an integer from 0 to 10^9. */
export const countOf = (value: unknown): number | undefined =>
  typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= countMax ? value : undefined

/** The error of an answer that cannot be read, to be thrown; `what` ends its message, and is seen by the client. */
export const broken = (what: string): GatewayError =>
  new GatewayError('upstream-broken', `the upstream's answer does not follow its protocol: ${what}`)

/** A numeric vector. Throws `upstream-broken` on anything else. */
export function vectorOf(values: unknown): Float32Array {
  if (!Array.isArray(values) || values.length === 0 || !values.every(value => typeof value === 'number'))
    throw broken('an embedding that is no vector')
  return Float32Array.from(values as number[])
}
