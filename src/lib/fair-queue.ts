/** A line in which several owners wait: its places are shared fairly, and each owner is served in turn. */
import { FairShare } from './fair-share.ts'

/** Of one owner first come, first served. */
export class FairQueue<Item> {
  /** By owner, in the order of their turns. */
  readonly #waiting = new Map<string, Item[]>()
  readonly #places: FairShare

  /** `waitingMax` = places of all owners together. */
  constructor(waitingMax: number) {
    this.#places = new FairShare(waitingMax)
  }

  /** false = the owner has as many places as its share. */
  add(owner: string, item: Item): boolean {
    if (!this.#places.take(owner)) return false
    const own = this.#waiting.get(owner)
    if (own) own.push(item)
    else this.#waiting.set(owner, [item])
    return true
  }

  /** The next of the owner whose turn it is, which then goes behind the others; undefined = none waits. */
  take(): Item | undefined {
    for (const [owner, [first, ...more]] of this.#waiting) {
      this.#waiting.delete(owner)
      if (more.length > 0) this.#waiting.set(owner, more)
      this.#places.release(owner)
      return first
    }
    return undefined
  }
}
