/** Streams on the forward lane that are read event by event: their state, and the end of their bytes. */
import type { GatewayError } from '../../core/errors.ts'
import type { StreamRelay } from '../../core/format.ts'
import { unfinishedStream } from '../../core/dialects/stream-end.ts'
import type { Usage } from '../../core/usage/usage.ts'
import type { Frame } from '../../lib/frame.ts'
import { SseSplitter } from '../../lib/sse.ts'

/** The parts of a relay of server-sent events that do not depend on the dialect, which says what an event means. */
export abstract class EventRelay implements StreamRelay {
  started = false
  received = false
  steps = 0
  terminated = false
  failure: GatewayError | undefined
  contentEvents = 0
  contentCharacters = 0
  readonly #splitter: SseSplitter

  /** `eventBytesMax` left out = 8 MiB. */
  constructor(eventBytesMax?: number) {
    this.#splitter = new SseSplitter(eventBytesMax)
  }

  abstract readonly complete: boolean
  abstract readonly usage: Usage | undefined
  abstract errorEvent(error: GatewayError): string

  /** What goes to the client for one event. */
  protected abstract read(frame: Frame): string

  /** The failure of a stream whose event cannot be read: `cause` was thrown by `read`, or is damage of the framing. */
  protected abstract unreadable(cause: unknown): GatewayError

  /** The last bytes for the client where the stream is complete and its terminal event is missing. */
  protected abstract terminalEvent(): string

  push(bytes: Uint8Array): string {
    return this.failure ? '' : this.#read(bytes)
  }

  /** `bytes` absent = they have ended. */
  #read(bytes?: Uint8Array): string {
    let out = ''
    try {
      for (const frame of bytes ? this.#splitter.push(bytes) : this.#splitter.end()) {
        out += this.read(frame)
        if (this.failure) break
      }
    } catch (cause) {
      this.failure = this.unreadable(cause)
    }
    return out
  }

  end(): string {
    const out = this.failure ? '' : this.#read()
    if (this.failure || this.terminated) return out
    if (!this.complete) {
      this.failure = unfinishedStream()
      return out
    }
    this.terminated = true
    return out + this.terminalEvent()
  }
}
