/** The bytes that an upstream sends after its terminal event. */
import type { UpstreamExchange } from '../../core/transport.ts'
import { TimerEntry } from '../../lib/timer-wheel.ts'
import type { TimerWheel } from '../../lib/timer-wheel.ts'

/** The end of the bytes usually comes with the last frame, or soon after it. */
const waitMs = 1000
const bytesMax = 64 * 1024

/**
 * Reads them, so that the connection can be used again; closes it when that takes too long or there are too many. The
 * client does not wait for this.
 */
export class UpstreamDrain extends TimerEntry {
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

  /** The bytes have ended, complete or not. */
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
