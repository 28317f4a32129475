/**
 * How fast the body of a request has to come. Only time in which somebody waits for it counts, so a client that the
 * gateway holds back is never too slow; and only the average since the start counts, so a pause is forgiven to whoever
 * was fast before. The numbers are those of Kestrel's MinRequestBodyDataRate
 * (https://learn.microsoft.com/aspnet/core/fundamentals/servers/kestrel/options#minimum-request-body-data-rate).
 */

const bytesPerSecondMin = 240
/** Waited in addition to what the rate allows: for clients that are asked to send, and for a line that stumbles. */
const graceMs = 5000
/** Between two pieces, however much came before. */
const gapMs = 60_000

/**
 * One per connection, begun anew for each body. All moments are `Clock.monotonicMs`; `waited` belongs to a `wanted`
 * before it.
 */
export class BodyPace {
  /** How long may still be waited for this body, if nothing more of it came. */
  #creditMs = graceMs
  /** `Clock.monotonicMs` since which it is waited for. */
  #sinceMs = 0

  /** Another body. */
  begin(): void {
    this.#creditMs = graceMs
  }

  /** Somebody begins to wait for more of it. */
  wanted(nowMs: number): void {
    this.#sinceMs = nowMs
  }

  /** These bytes came, whether somebody waited for them or not. */
  came(bytes: number): void {
    this.#creditMs += (bytes / bytesPerSecondMin) * 1000
  }

  /** It was waited for until now. */
  waited(nowMs: number): void {
    this.#creditMs -= nowMs - this.#sinceMs
    this.#sinceMs = nowMs
  }

  /** When it is too slow, if nothing more comes and somebody waits. */
  get dueMs(): number {
    return this.#sinceMs + Math.min(this.#creditMs, gapMs)
  }

  /** What to tell the client once that is so. */
  get problem(): string {
    if (this.#creditMs > gapMs)
      return `nothing of the body came for ${gapMs / 1000} s; send the request again, its body without a pause`
    return `the body came too slowly: less than ${bytesPerSecondMin} bytes a second on average, beyond ${graceMs / 1000} s of grace; send the request again, its body at once`
  }
}
