/** Answers in the memory of this process, bounded by their bytes. */
import { LRUCache } from 'lru-cache'
import type { Clock } from '../lib/clock.ts'
import type { CachedAnswer } from './entry.ts'

/** What every entry takes beside its content. */
const entryOverheadBytes = 512

/** The answers that were used longest ago make room for new ones. */
export class MemoryAnswers {
  readonly #clock: Clock
  #answers: LRUCache<string, CachedAnswer> | undefined
  #bytesMax = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** undefined = there is none, or its time is over. */
  get(key: string): CachedAnswer | undefined {
    const found = this.#answers?.get(key)
    if (found && found.endMs <= this.#clock.epochMs()) {
      this.#answers?.delete(key)
      return undefined
    }
    return found
  }

  /** `bytesMax` = of all answers together; another one than before empties the cache. */
  set(key: string, answer: CachedAnswer, bytesMax: number): void {
    if (!this.#answers || this.#bytesMax !== bytesMax) {
      this.#bytesMax = bytesMax
      this.#answers = new LRUCache({
        maxSize: bytesMax,
        sizeCalculation: ({ bytes }) => bytes + entryOverheadBytes,
      })
    }
    this.#answers.set(key, answer)
  }

  delete(keys: readonly string[]): void {
    for (const key of keys) this.#answers?.delete(key)
  }

  clear(): void {
    this.#answers?.clear()
  }

  /** How many there are, and their bytes. */
  get totals(): { readonly answers: number; readonly bytes: number } {
    return { answers: this.#answers?.size ?? 0, bytes: this.#answers?.calculatedSize ?? 0 }
  }
}
