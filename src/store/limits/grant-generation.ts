/** The present generation of Redis, as one replica knows it, and what it has not told Redis in it. */
import type { Counter, Generation } from './grant-counter.ts'
import type { ExchangeAnswer } from './grant-script.ts'

/** See docs/decisions/0098-redis-has-generations.md. */
export class GenerationState {
  #present: Generation = { number: 0, settledMs: Infinity }
  #untold = new Set<Counter>()
  #reportedNumber = 0

  get present(): Generation {
    return this.#present
  }

  /** In which everything was reported; 0 = in none. */
  get reportedNumber(): number {
    return this.#reportedNumber
  }

  /** true = it is another one than before. `nowMs` is monotonic. */
  learn({ generation, isSettling }: ExchangeAnswer, nowMs: number): boolean {
    const isNew = generation !== this.#present.number
    if (isNew || (!isSettling && this.#present.settledMs === Infinity))
      this.#present = { number: generation, settledMs: isSettling ? Infinity : nowMs }
    return isNew
  }

  /** It is a new one, and Redis has to be told of all of these. */
  begin(counters: Iterable<Counter>): void {
    this.#untold = new Set(counters)
  }

  /** Reports of the counter that were written in generation `number` were answered. */
  told(counter: Counter, number: number): void {
    if (number === this.#present.number) this.#untold.delete(counter)
  }

  /** true, once a generation = everything was reported: Redis has to be told that. */
  isWhole(): boolean {
    if (this.#untold.size > 0 || this.#reportedNumber === this.#present.number) return false
    this.#reportedNumber = this.#present.number
    return true
  }
}
