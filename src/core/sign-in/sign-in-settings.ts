import type { Secret } from '../../lib/secret.ts'

/** Settings of sign-in. */
export interface SignInSettings {
  /** The gateway's own address for browsers, without a slash at the end (`PROXY_BASE_URL`); null = not given. */
  readonly baseUrl: string | null
  /** The path prefix of all addresses (`--root-path`), which `baseUrl` ends with; empty = there is none. */
  readonly rootPath: string
  /** A session ends when it is not used for as long. */
  readonly sessionIdleMs: number
  /** A session ends after this in any case. */
  readonly sessionLifetimeMs: number
  /** The peer is a proxy of the operator's, whose `X-Forwarded-For` counts. */
  isTrustedProxy(address: string): boolean
  /** A name and password of the operator's choice, beside the master key (UI_USERNAME, UI_PASSWORD); null = none. */
  readonly operator: { readonly name: string; readonly password: Secret } | null
  /** The name under which the master key is a password. */
  readonly operatorName: string
}
