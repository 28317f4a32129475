/** Requests with an `Idempotency-Key`: each is done once, and its answer is given again for a day. */
import type { Secret } from '../../lib/secret.ts'

/** An answer as it is kept. */
export interface KeptResponse {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array
}

/** A request that asks to be done once. */
export interface IdempotentRequest {
  /** Of caller and `Idempotency-Key`; says nothing about either. */
  readonly id: string
  readonly keyId: string
  /** Of method, path and body; null = the body is not read yet (a form). */
  readonly fingerprint: string | null
  /**
   * Its answer is encrypted under it: made of the installation's secret, caller and `Idempotency-Key`. The last is not
   * stored, so that a copy of the database, which may hold the installation's secret, does not open the answers.
   */
  readonly sealingKey: Secret
  /** Any text that no other request uses, in no replica. */
  readonly owner: string
}

/** What is known of a request when it comes. `fingerprint` of the first one; null = not known yet. */
export type IdempotentClaim =
  /** It is the first: to be done now. The record is stored. */
  | { readonly state: 'first' }
  /** The first one is under way, in this process or another. */
  | { readonly state: 'running'; readonly fingerprint: string | null }
  | { readonly state: 'answered'; readonly fingerprint: string | null; readonly response: KeptResponse }
  /** The first one was begun, and its process died or its answer could not be kept: it may have been billed. */
  | { readonly state: 'lost'; readonly fingerprint: string | null }

/** Remembers requests for all replicas. Its methods throw `overloaded` when the database is unreachable. */
export interface IdempotentRequests {
  /** Throws `quota-exceeded` when the key may not store another object. */
  claim(request: IdempotentRequest): Promise<IdempotentClaim>
  /** The same without a claim; undefined = it is not known, or was forgotten. */
  look(
    request: Pick<IdempotentRequest, 'id' | 'sealingKey'>,
  ): Promise<Exclude<IdempotentClaim, { state: 'first' }> | undefined>
  /** The first one is done. An answer that the key has no room for is not kept: the request is then `lost`. */
  answered(request: IdempotentRequest, response: KeptResponse): Promise<void>
  /** The first one has ended without an answer that can be kept, and may have been billed. */
  lost(request: IdempotentRequest): Promise<void>
  /** The first one did nothing that is billed: the next one is done as if it were the first. */
  forget(request: IdempotentRequest): Promise<void>
  stop(): void
}
