/**
 * The hashes of keys that were used a moment ago, by their texts. An HMAC of a text is half a microsecond, and an
 * object that the collector has to destroy, of every call.
 */
import type { Clock } from '../../lib/clock.ts'

/** A text is kept for one to two of these after its last use. */
const keptMs = 60_000
/** So many texts are renewed at once, too. */
const keptMax = 5000

/** Holds texts of keys as they are: for those alone that the caller has found valid, and for two minutes at most. */
export class RecentHashes {
  readonly #clock: Clock
  /** Used since `#renewedMs`. */
  #recent = new Map<string, string>()
  /** Used in the interval before. */
  #earlier = new Map<string, string>()
  #renewedMs: number

  constructor(clock: Clock) {
    this.#clock = clock
    this.#renewedMs = clock.monotonicMs()
  }

  /** undefined = not used lately. */
  get(keyText: string): string | undefined {
    return this.#recent.get(keyText) ?? this.#renewed(keyText)
  }

  set(keyText: string, hash: string): void {
    if (this.#recent.size >= keptMax) this.#renew()
    this.#recent.set(keyText, hash)
  }

  /** To be called again and again, at least once in `keptMs`. */
  forgetOld(): void {
    const nowMs = this.#clock.monotonicMs()
    if (nowMs - this.#renewedMs < keptMs) return
    this.#renewedMs = nowMs
    this.#renew()
  }

  #renewed(keyText: string): string | undefined {
    const hash = this.#earlier.get(keyText)
    if (hash !== undefined) this.set(keyText, hash)
    return hash
  }

  #renew(): void {
    this.#earlier = this.#recent
    this.#recent = new Map()
  }
}
