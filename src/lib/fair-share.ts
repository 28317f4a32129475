/**
 * Slots that several owners share: an owner may hold as many as are free (dynamic thresholds, Choudhury and Hahne,
 * "Dynamic queue length thresholds for shared-memory packet switches", 1998). A single one takes half of them, n of
 * them 1/(n + 1) each, and there is always a slot for an owner that holds none.
 */
export class FairShare {
  readonly #max: number
  readonly #held = new Map<string, number>()
  #taken = 0

  constructor(max: number) {
    this.#max = max
  }

  /** Slots that are taken by all owners together. */
  get taken(): number {
    return this.#taken
  }

  heldBy(owner: string): number {
    return this.#held.get(owner) ?? 0
  }

  /** false = the owner holds as many as its share, or none is free. */
  take(owner: string): boolean {
    const held = this.heldBy(owner)
    if (held >= this.#max - this.#taken) return false
    this.#held.set(owner, held + 1)
    this.#taken++
    return true
  }

  /** Once for each slot taken. */
  release(owner: string): void {
    const held = this.heldBy(owner)
    if (held > 1) this.#held.set(owner, held - 1)
    else this.#held.delete(owner)
    this.#taken--
  }
}
