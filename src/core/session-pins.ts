/** Which deployment serves the turns of a session, beside the one that its hash says: what replicas tell each other. */

/** The session at one model, as a number of 32 bits: what a session says of itself does not leave the process. */
export type SessionKey = number

/** A session was moved, or goes on where it was moved to. */
export interface SessionPin {
  readonly key: SessionKey
  readonly deploymentId: string
  /** How long ago it was written, in milliseconds. */
  readonly ageMs: number
}

/** The pins of other replicas. Nothing of it is waited for by a call. */
export interface SharedPins {
  /** Tells the other replicas; never throws. `ttlMs` = how long the pin is of use. */
  put(key: SessionKey, deploymentId: string, ttlMs: number): void
  /** `listener` is called with what they tell, this process's own pins included, from then on. */
  follow(listener: (pin: SessionPin) => void): void
}
