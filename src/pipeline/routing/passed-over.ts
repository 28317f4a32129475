/** Thrown in place of an attempt that was not made: other deployments of the name may serve the call. */
import type { GatewayError } from '../../core/errors.ts'

/** A deployment cannot take the request: in place of its refusal. */
export class Unsuitable {
  readonly error: GatewayError

  constructor(error: GatewayError) {
    this.error = error
  }
}

/** A deployment has no room for the call within its limits. */
export class LimitReached {}
