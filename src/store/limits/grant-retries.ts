/** Calls that wait for what other replicas hold: Redis is asked for them again, with pauses that grow. */
import type { WaitingCall } from './grant-batch.ts'

const pauseMinMs = 10
/** The longest pause between two questions of a call that waits for other replicas, in milliseconds. */
export const retryPauseMaxMs = 100

/** Gives its calls to `retry`, all together, after a pause by the one that has been asked for the fewest times. */
export class GrantRetries {
  readonly #retry: (calls: readonly WaitingCall[]) => void
  #calls: WaitingCall[] = []
  #timer: ReturnType<typeof setTimeout> | undefined

  constructor(retry: (calls: readonly WaitingCall[]) => void) {
    this.#retry = retry
  }

  /** In the order in which they came. */
  get calls(): readonly WaitingCall[] {
    return this.#calls
  }

  /** It waits from the next `schedule` on. */
  add(call: WaitingCall): void {
    this.#calls.push(call)
  }

  /** After the calls of one answer of Redis were added. */
  schedule(): void {
    if (this.#calls.length === 0 || this.#timer !== undefined) return
    const attempts = Math.min(...this.#calls.map(call => call.attempts))
    this.#timer = setTimeout(
      () => {
        this.#timer = undefined
        this.#retry(this.take())
      },
      Math.min(pauseMinMs * 2 ** attempts, retryPauseMaxMs),
    )
  }

  /** They wait here no more. */
  take(): WaitingCall[] {
    const calls = this.#calls
    this.#calls = []
    return calls
  }

  close(): void {
    clearTimeout(this.#timer)
  }
}
