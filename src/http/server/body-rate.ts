/**
 * The minimum data rate of a request body. Only time in which the gateway waits for the body counts, so backpressure
 * never makes a client too slow; and only the average since the start counts, so a fast client may pause. The numbers
 * are those of Kestrel's MinRequestBodyDataRate
 * (https://learn.microsoft.com/aspnet/core/fundamentals/servers/kestrel/options#minimum-request-body-data-rate).
 */

const bytesPerSecondMin = 240
/** Waited in addition to what the rate allows: for `100 Continue`, and for packets that are sent again. */
const graceMs = 5000
/** The longest wait for the next piece, however fast the body was before. */
const gapMs = 60_000

/** One per connection, reset for each body. All times are `Clock.monotonicMs`; `waited` follows a `waitStarted`. */
export class BodyRate {
  /** How long the body may still be waited for, if nothing more of it arrives. */
  #creditMs = graceMs
  /** Since when it is waited for. */
  #sinceMs = 0

  /** For the next body. */
  reset(): void {
    this.#creditMs = graceMs
  }

  /** From now on more of it is waited for. */
  waitStarted(nowMs: number): void {
    this.#sinceMs = nowMs
  }

  /** Bytes arrived, waited for or not. */
  received(bytes: number): void {
    this.#creditMs += (bytes / bytesPerSecondMin) * 1000
  }

  /** It was waited for until now. */
  waited(nowMs: number): void {
    this.#creditMs -= nowMs - this.#sinceMs
    this.#sinceMs = nowMs
  }

  /** When the body is too slow, if it is waited for and nothing more arrives. */
  get deadlineMs(): number {
    return this.#sinceMs + Math.min(this.#creditMs, gapMs)
  }

  /** The message for the client behind the deadline. */
  get problem(): string {
    if (this.#creditMs > gapMs)
      return `nothing of the body came for ${gapMs / 1000} s; send the request again, its body without a pause`
    return (
      `the body came too slowly: less than ${bytesPerSecondMin} bytes a second on average, ` +
      `beyond ${graceMs / 1000} s of grace; send the request again, its body at once`
    )
  }
}
