/** One session of a browser. */

/** `sso` = by an identity provider, `device` = approved for a program on another device. */
export type SignInMethod = 'sso' | 'password' | 'master-key' | 'device'

/** One session of a browser. Immutable. Moments are milliseconds since 1970. */
export interface Session {
  /** Public id; safe to show and to log. */
  readonly id: string
  /** HMAC-SHA256 of the cookie's secret under the installation's pepper, lower-case hex. */
  readonly hash: string
  /** null = the operator, who signed in with the master key or with the name and password of the environment. */
  readonly userId: string | null
  readonly method: SignInMethod
  /** Names what the operator signed in with: another one ends the session. null = it is a user's. */
  readonly credential: string | null
  readonly createdAtMs: number
  /** Written once a minute at most. */
  readonly lastUsedAtMs: number
  /** It ends then unless it is used before. */
  readonly idleEndMs: number
  /** It ends then in any case. */
  readonly endMs: number
  /** As the browser sent it, at most 300 characters. */
  readonly userAgent: string
  readonly clientAddress: string
}
