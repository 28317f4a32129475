/**
 * Bodies that are not wanted are read at a bounded rate, those of all clients together. They are only read so that
 * their clients get to the answer; each read is a new buffer of up to 512 KiB, and what the collector has not freed yet
 * would grow to as much as the bodies that are wanted, with pauses that every call feels.
 */
import { TimerEntry } from '../../lib/timer-wheel.ts'
import type { TimerWheel } from '../../lib/timer-wheel.ts'

/** A connection that discards. */
export interface DiscardingConnection {
  pause(): void
  /** Reads once more; false = it does not discard any more. */
  discardMore(): boolean
}

/** A step of the wheel is 50 ms: at most 20 MiB a second. */
const readsPerStep = 2

/** One per server. Each connection reads once, then the others have their turn. */
export class DiscardPace extends TimerEntry {
  readonly #wheel: TimerWheel
  readonly #waiting = new Set<DiscardingConnection>()

  constructor(wheel: TimerWheel) {
    super()
    this.#wheel = wheel
  }

  /** The connection has read: it is paused until its next turn. */
  wait(connection: DiscardingConnection): void {
    connection.pause()
    if (this.#waiting.size === 0) this.#wheel.touch(this, this.#wheel.nowMs())
    this.#waiting.add(connection)
  }

  override expired(nowMs: number): void {
    let reads = 0
    for (const connection of this.#waiting) {
      this.#waiting.delete(connection)
      if (connection.discardMore() && ++reads === readsPerStep) break
    }
    if (this.#waiting.size > 0) this.#wheel.touch(this, nowMs)
  }
}
