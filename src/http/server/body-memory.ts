/** Limits the memory that the bodies of all requests hold together, however slowly they come or are worked on. */
import { GatewayError } from '../../core/errors.ts'

/** Memory is freed as requests end. */
const retryAfterMs = 1000

/** One per server. */
export class BodyMemory {
  readonly #bytesMax: () => number
  #heldBytes = 0

  /** `bytesMax` is asked each time: a reload of the configuration may change it. */
  constructor(bytesMax: () => number) {
    this.#bytesMax = bytesMax
  }

  get heldBytes(): number {
    return this.#heldBytes
  }

  /**
   * Takes `bytes` more for a body that holds `ownBytes`; returns `overloaded` when they are not free. A body that is
   * larger than all there is passes when no other body holds anything.
   */
  take(bytes: number, ownBytes: number): GatewayError | undefined {
    const heldBytes = this.#heldBytes + bytes
    if (heldBytes > this.#bytesMax() && this.#heldBytes > ownBytes) return noMemory(this.#bytesMax())
    this.#heldBytes = heldBytes
    return undefined
  }

  give(bytes: number): void {
    this.#heldBytes -= bytes
  }
}

function noMemory(bytesMax: number): GatewayError {
  return new GatewayError(
    'overloaded',
    `the bodies of the requests under way take all of the ${bytesMax} bytes that this gateway holds for them; ` +
      'try again in a second',
    { retryAfterMs },
  )
}
