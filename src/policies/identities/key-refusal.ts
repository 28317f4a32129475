import { GatewayError } from '../../core/errors.ts'
import type { AuthFailureReason } from '../../core/sign-in/auth-failure.ts'

/** A key, a token or a session that is refused: what the client reads, and why. */
export class KeyRefusal extends GatewayError {
  readonly reason: AuthFailureReason
  /** Of a key that exists. */
  readonly keyId: string | undefined

  constructor(reason: AuthFailureReason, message: string, keyId?: string) {
    super('unauthenticated', message)
    this.reason = reason
    this.keyId = keyId
  }
}
