/** Settings of sign-in. */
export interface SignInSettings {
  /** The gateway's own address for browsers, without a slash at the end (`PROXY_BASE_URL`); null = not given. */
  readonly baseUrl: string | null
  /** A session ends when it is not used for as long. */
  readonly sessionIdleMs: number
  /** A session ends after this in any case. */
  readonly sessionLifetimeMs: number
}
