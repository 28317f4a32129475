/**
 * Limits the memory that the bodies of all requests hold together, however slowly they come or are worked on. Keys
 * share it as they share the places of a `FairShare`: the bodies of a key may hold as much as is free.
 */
import { GatewayError } from '../../core/errors.ts'

/** Memory is freed as requests end. */

/** Counts the bytes of all bodies under way; one for each server. */
export class BodyMemory {
  readonly #bytesMax: () => number
  #heldBytes = 0
  readonly #heldByOwner = new Map<string, number>()

  /** `bytesMax` is asked each time: a reload of the configuration may change it. */
  constructor(bytesMax: () => number) {
    this.#bytesMax = bytesMax
  }

  get heldBytes(): number {
    return this.#heldBytes
  }

  /**
   * Takes `bytes` more for a body that holds `ownBytes`, of the key `owner` (empty = none); returns `overloaded` when
   * they are not free, or are more than the key's share. A body that is larger than all there is passes when no other
   * body holds anything, and the first body of a key needs no share.
   */
  take(bytes: number, ownBytes: number, owner: string): GatewayError | undefined {
    const bytesMax = this.#bytesMax()
    const free = bytesMax - this.#heldBytes
    if (bytes > free && this.#heldBytes > ownBytes) return noMemory(bytesMax, '')
    if (owner !== '') {
      const held = this.#heldByOwner.get(owner) ?? 0
      if (held > ownBytes && held + bytes > free) return noMemory(bytesMax, 'of this key ')
      this.#heldByOwner.set(owner, held + bytes)
    }
    this.#heldBytes += bytes
    return undefined
  }

  /** Gives back what was taken for `owner`. */
  give(bytes: number, owner: string): void {
    this.#heldBytes -= bytes
    if (owner === '' || bytes === 0) return
    const held = this.#heldByOwner.get(owner)! - bytes
    if (held > 0) this.#heldByOwner.set(owner, held)
    else this.#heldByOwner.delete(owner)
  }
}

function noMemory(bytesMax: number, whose: string): GatewayError {
  return new GatewayError(
    'overloaded',
    `the bodies of the requests under way ${whose}take ${whose === '' ? 'all' : 'its share'} of the ${bytesMax} ` +
      'bytes that this gateway holds for them; try again in a second',
  )
}
