/** Checks that the readers of several vendors share. */
import { GatewayError } from '../core/errors.ts'

/** The error `upstream-broken` for an unreadable answer. `what` ends its message, which clients see. */
export const broken = (what: string): GatewayError =>
  new GatewayError('upstream-broken', `the upstream's answer does not follow its protocol: ${what}`)

/** A numeric vector. Throws `upstream-broken` on anything else. */
export function vectorOf(values: unknown): Float32Array {
  if (!Array.isArray(values) || values.length === 0 || !values.every(value => typeof value === 'number'))
    throw broken('an embedding that is no vector')
  return Float32Array.from(values as number[])
}
