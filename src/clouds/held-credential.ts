/** One credential of a cloud: fetched when a call needs it, renewed beside the calls before it expires. */
import type { CloudCredential } from '../core/cloud-identity.ts'
import type { Clock } from '../lib/clock.ts'

/** A credential is not used in its last minute, so that none expires in transit. */
const marginMs = 60_000
/** It is renewed this long before it expires, or when a quarter of its life is left. */
const renewalMs = 300_000
const betweenRenewalsMs = 30_000

/** A credential and how long it is valid. */
export interface FetchedCredential {
  readonly credential: CloudCredential
  /** Milliseconds since 1970. */
  readonly expiresMs: number
}

/** By both clocks: one may be set back, one stands still while the machine sleeps. */
interface Moment {
  readonly epochMs: number
  readonly monotonicMs: number
}

interface Held {
  readonly credential: CloudCredential
  readonly usableUntil: Moment
  readonly renewFrom: Moment
}

/** Parts of a credential. */
interface CredentialParts {
  readonly clock: Clock
  obtain(): Promise<FetchedCredential>
  /** Hears why a renewal failed while the credential is still valid. */
  renewalFailed(error: unknown): void
}

/** Keeps one credential. Calls wait only while there is none that is valid, and wait together. */
export class HeldCredential {
  readonly #parts: CredentialParts
  #held: Held | undefined
  #pending: Promise<CloudCredential> | undefined
  #renewAgainMs = 0

  constructor(parts: CredentialParts) {
    this.#parts = parts
  }

  /** Rejects with what `obtain` rejects with. */
  get(): CloudCredential | Promise<CloudCredential> {
    const held = this.#held
    if (!held || this.#isPast(held.usableUntil)) return this.#fetched()
    const nowMs = this.#parts.clock.monotonicMs()
    if (!this.#pending && nowMs >= this.#renewAgainMs && this.#isPast(held.renewFrom)) {
      this.#renewAgainMs = nowMs + betweenRenewalsMs
      this.#fetched().catch(error => this.#parts.renewalFailed(error))
    }
    return held.credential
  }

  #fetched(): Promise<CloudCredential> {
    this.#pending ??= this.#parts.obtain().then(
      fetched => {
        this.#pending = undefined
        return this.#hold(fetched)
      },
      error => {
        this.#pending = undefined
        throw error
      },
    )
    return this.#pending
  }

  #hold({ credential, expiresMs }: FetchedCredential): CloudCredential {
    const lifetimeMs = expiresMs - this.#parts.clock.epochMs()
    const beforeEnd = (ms: number): Moment => ({
      epochMs: expiresMs - ms,
      monotonicMs: this.#parts.clock.monotonicMs() + lifetimeMs - ms,
    })
    const renewFrom = beforeEnd(Math.min(renewalMs, lifetimeMs / 4))
    this.#held = { credential, usableUntil: beforeEnd(marginMs), renewFrom }
    return credential
  }

  #isPast({ epochMs, monotonicMs }: Moment): boolean {
    const { clock } = this.#parts
    return clock.epochMs() >= epochMs || clock.monotonicMs() >= monotonicMs
  }
}
