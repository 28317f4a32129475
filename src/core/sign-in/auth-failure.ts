/** Refusals of those who cannot say who they are. */

/** Why a request is refused for its key, or a sign-in. Unknown, blocked and expired keys get the same error. */
export type AuthFailureReason =
  | 'missing'
  | 'malformed'
  | 'contradictory'
  | 'unknown'
  | 'blocked'
  | 'expired'
  | 'overdue'
  | 'wrong-password'
  | 'too-many'

/** A request or a sign-in that was refused, for the operator. */
export interface AuthFailure {
  readonly reason: AuthFailureReason
  readonly clientAddress: string
  /** The id of a key that exists, or `user:` and the id of a user. */
  readonly keyId: string | undefined
}
