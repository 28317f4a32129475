/** Who calls the gateway. */

/** A virtual key as the path of a call needs it. Immutable; a change makes a new one. */
export interface VirtualKey {
  /** Public id; safe to log. */
  readonly id: string
  readonly alias: string | null
  readonly userId: string | null
  readonly teamId: string | null
  /** Names and patterns it may call; empty = all. `*` at the end is a wildcard. */
  readonly models: readonly string[]
  /** Milliseconds since 1970; null = never. */
  readonly expiresAtMs: number | null
  readonly blocked: boolean
  readonly requestsPerMinute: number | null
  readonly tokensPerMinute: number | null
  readonly parallelRequests: number | null
  readonly metadata: Readonly<Record<string, unknown>>
}

/** Who calls: the operator with the master key, or a virtual key. */
export interface Caller {
  readonly role: 'admin' | 'key'
  readonly key: VirtualKey
}
