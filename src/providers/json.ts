/** Checks that the readers of several vendors share. */
import { GatewayError } from '../core/errors.ts'

/** The error `upstream-broken` for an unreadable answer. `what` ends its message, which clients see. */
export const broken = (what: string): GatewayError =>
  new GatewayError('upstream-broken', `the upstream's answer does not follow its protocol: ${what}`)
