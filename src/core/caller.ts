/** Who calls the gateway. */

/** A virtual key as calls need it. Immutable; a change makes a new object. */
export interface VirtualKey {
  /** Public id; safe to log. */
  readonly id: string
  readonly alias: string | null
  readonly userId: string | null
  readonly teamId: string | null
  /** Models it may call, names and patterns; empty = all. `*` at the end is a wildcard. */
  readonly models: readonly string[]
  /** Milliseconds since 1970; null = never. */
  readonly expiresAtMs: number | null
  readonly blocked: boolean
  readonly requestsPerMinute: number | null
  readonly tokensPerMinute: number | null
  readonly parallelRequests: number | null
  readonly metadata: Readonly<Record<string, unknown>>
}

/** The id of the key record that stands for the master key. */
export const masterKeyId = 'master'

/** Who calls: the operator with the master key, or a virtual key. */
export interface Caller {
  readonly role: 'admin' | 'key'
  readonly key: VirtualKey
}

/**
 * The id of the key whose stored objects (files, batches, assistants, ...) the caller sees; null = those of every key.
 */
export function ownerOf(caller: Caller): string | null {
  return caller.role === 'admin' ? null : caller.key.id
}
