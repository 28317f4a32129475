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

/** One per server. One connection reads in a step of the wheel, which is 50 ms: at most 10 MiB a second. */
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
    for (const connection of this.#waiting) {
      this.#waiting.delete(connection)
      if (connection.discardMore()) break
    }
    if (this.#waiting.size > 0) this.#wheel.touch(this, nowMs)
  }
}
