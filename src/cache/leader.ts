/** The call whose answer is kept and shared, from the reply of its upstream to its end. */
import type { Reply } from '../core/answer.ts'
import type { ReplyWatch } from '../core/cache/cache-settings.ts'
import type { Call, Settlement } from '../core/call.ts'
import { StreamReader, wholeEvents } from '../core/dialects/answer-reader.ts'
import type { AnswerDialect } from '../core/dialects/answer-reader.ts'
import type { CachedContent } from './entry.ts'
import type { Flight } from './flight.ts'
import { TappedStream } from './tapped-stream.ts'
import type { StreamTap } from './tapped-stream.ts'
import { utf8Bytes } from '../lib/text.ts'

interface LeaderParts {
  readonly call: Call
  /** Of those who follow. */
  readonly flight: Flight
  /** How a chat's answer is read; undefined = the call's answer is kept as bytes. */
  readonly dialect: AnswerDialect | undefined
  readonly bytesMax: number
  /** What the client and those who follow get in place of the upstream's reply; absent = that reply. */
  reshape?(reply: Reply): Reply
  /** Called once: with a complete answer, or with undefined. */
  done(content: CachedContent | undefined, settlement: Settlement | undefined): void
}

/** Sees the bytes that go to the client, after all filters: what is kept has passed the guardrails. */
export class Leader implements ReplyWatch, StreamTap {
  readonly #parts: LeaderParts
  #settlement: Settlement | undefined
  #reader: StreamReader | undefined
  #pieces: Uint8Array[] | undefined
  #bytes = 0
  #contentType = ''
  #isDone = false

  constructor(parts: LeaderParts) {
    this.#parts = parts
  }

  /** The end of the call: before the last bytes of a stream, and before a whole answer is seen here. */
  settled(settlement: Settlement): void {
    this.#settlement = settlement
    if (settlement.outcome !== 'success' || settlement.call.progress.attempts === 0) this.#finish(undefined)
  }

  replied(given: Reply): Reply {
    const { dialect, flight } = this.#parts
    if (given.status !== 200) {
      this.#finish(undefined)
      return given
    }
    const reply = this.#parts.reshape?.(given) ?? given
    const { body, contentType } = reply
    this.#contentType = contentType
    if (typeof body === 'string' || body instanceof Uint8Array) {
      this.#finish(this.#wholeContent(body, contentType))
      return reply
    }
    if (dialect) {
      this.#reader = new StreamReader(dialect, contentType)
      flight.begin()
    } else this.#pieces = []
    return { ...reply, body: new TappedStream(body, this) }
  }

  outlives(end: () => void): boolean {
    const { flight } = this.#parts
    if (this.#isDone || !flight.followed) return false
    flight.onDeserted = end
    return true
  }

  // ---- what the stream calls

  get isFollowed(): boolean {
    return this.#parts.flight.followed
  }

  piece(piece: Uint8Array | string): void {
    if (this.#reader) this.#parts.flight.add(this.#reader.push(piece))
    else if (this.#pieces) this.#gather(piece)
  }

  ended(how: 'complete' | 'cut'): void {
    if (how === 'cut' || this.#settlement?.outcome !== 'success') return this.#finish(undefined)
    if (this.#reader) {
      this.#parts.flight.add(this.#reader.end())
      const { events } = this.#parts.flight
      return this.#finish(events && !this.#reader.failed ? { kind: 'chat', events: [...events] } : undefined)
    }
    this.#finish(this.#pieces && this.#bytesContent(Buffer.concat(this.#pieces)))
  }

  // ---- inside

  #wholeContent(body: Uint8Array | string, contentType: string): CachedContent | undefined {
    const { dialect } = this.#parts
    this.#contentType = contentType
    if (!dialect) return this.#bytesContent(utf8Bytes(body))
    const events = wholeEvents(dialect, body)
    return events && { kind: 'chat', events }
  }

  #bytesContent(body: Uint8Array): CachedContent {
    return { kind: 'bytes', dialect: this.#parts.call.format!.dialect, contentType: this.#contentType, body }
  }

  #gather(piece: Uint8Array | string): void {
    const bytes = utf8Bytes(piece)
    this.#bytes += bytes.length
    // Pieces belong to the connection of the upstream, which uses their memory again.
    if (this.#bytes <= this.#parts.bytesMax) this.#pieces?.push(Uint8Array.from(bytes))
    else this.#pieces = undefined
  }

  #finish(content: CachedContent | undefined): void {
    if (this.#isDone) return
    this.#isDone = true
    this.#parts.done(content, this.#settlement)
  }
}
