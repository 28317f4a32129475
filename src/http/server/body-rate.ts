/**
 * The time limits of a request body. Only time in which the gateway waits for the body counts, so backpressure never
 * makes a client too slow; of the rate only the average since the start counts, so a fast client may pause. The rate is
 * that of Kestrel's MinRequestBodyDataRate
 * (https://learn.microsoft.com/aspnet/core/fundamentals/servers/kestrel/options#minimum-request-body-data-rate), the
 * whole time that of Node's `server.requestTimeout` (https://nodejs.org/api/http.html#serverrequesttimeout).
 */

/** On average since the start. */
export const bytesPerSecondMin = 240
/** Waited in addition to what the rate allows: for `100 Continue`, and for packets that are sent again. */
export const graceMs = 5000
/** The longest wait for the next piece, however fast the body was before. */
export const gapMs = 60_000
/** All waits for one body together. */
export const bodyTimeoutMs = 300_000

/** One per connection, reset for each body. All times are `Clock.monotonicMs`; `waited` follows a `waitStarted`. */
export class BodyRate {
  /** How long the body may still be waited for, if nothing more of it arrives. */
  #creditMs = graceMs
  /** How long it may still be waited for, however fast it is. */
  #leftMs = bodyTimeoutMs
  #sinceMs = 0

  /** Since when it is waited for without a new byte. */
  get sinceMs(): number {
    return this.#sinceMs
  }

  /** For the next body. */
  reset(): void {
    this.#creditMs = graceMs
    this.#leftMs = bodyTimeoutMs
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
    const waitedMs = nowMs - this.#sinceMs
    this.#creditMs -= waitedMs
    this.#leftMs -= waitedMs
    this.#sinceMs = nowMs
  }

  /** When the body is too slow, if it is waited for and nothing more arrives. */
  get deadlineMs(): number {
    return this.#sinceMs + Math.min(this.#creditMs, this.#leftMs, gapMs)
  }

  /** The message for the client behind the deadline. */
  get problem(): string {
    if (this.#leftMs < Math.min(this.#creditMs, gapMs))
      return `the body did not end within ${bodyTimeoutMs / 1000} s; send less at once, or over a faster line`
    if (this.#creditMs > gapMs)
      return `nothing of the body came for ${gapMs / 1000} s; send the request again, its body without a pause`
    return (
      `the body came too slowly: less than ${bytesPerSecondMin} bytes a second on average, ` +
      `beyond ${graceMs / 1000} s of grace; send the request again, its body at once`
    )
  }
}
