/** What an upstream still sends, or does not, after it has said that it is done. */
import type { UpstreamExchange } from '../../core/transport.ts'
import { TimerEntry } from '../../lib/timer-wheel.ts'
import type { TimerWheel } from '../../lib/timer-wheel.ts'

/** The end of the bytes mostly comes with the last frame, or right behind it. */
const waitMs = 1000
const bytesMax = 64 * 1024
/** Where no event says that the stream is over: by then usage and sources that follow the finish reason are there. */
export const silenceMs = 10_000

/**
 * Nobody waits for this any more: it is read, so that the connection can be used again, and closed when it takes too
 * long or brings too much.
 */
export class Remainder extends TimerEntry {
  readonly #exchange: UpstreamExchange
  readonly #timers: TimerWheel
  #bytes = 0

  constructor(exchange: UpstreamExchange, timers: TimerWheel) {
    super()
    this.#exchange = exchange
    this.#timers = timers
    timers.touch(this, timers.nowMs() + waitMs)
  }

  data(bytes: Uint8Array): void {
    this.#bytes += bytes.length
    if (this.#bytes > bytesMax) this.cancel()
  }

  /** The bytes have ended, well or not. */
  over(): void {
    this.#timers.cancel(this)
  }

  cancel(): void {
    this.over()
    this.#exchange.cancel()
  }

  override expired(): void {
    this.#exchange.cancel()
  }
}
