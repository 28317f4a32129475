/** Finds the head of the next request in the bytes of a connection. */
import { headBytesMax } from '../header-fields.ts'
import { pieceOf } from '../pieces.ts'
import { carriageReturn, lineFeed } from '../syntax.ts'
import { noBytes } from './receive-buffer.ts'
import { checkPartialHead, RefusedRequest, RequestHead } from './request-head.ts'

const blankLine = Buffer.from('\r\n\r\n')

/** Longer targets are not kept for the next request. */
const targetKeptMax = 200

/** One per connection. Bytes are searched once, however small the pieces are in which a head arrives. */
export class HeadReader {
  #rest: Buffer = noBytes
  /** Of the request before; empty = none that is worth keeping. */
  #lastTarget = ''
  /** Bytes of a partial head in which no head ends. */
  #searched = 0

  /** Some bytes of a head are there, but not all. */
  get hasPartialHead(): boolean {
    return this.#searched > 0
  }

  /**
   * Once after each `read`: the bytes behind a complete head, or those of a partial one, which the next `read` has to
   * begin with. They are not kept here.
   */
  takeRest(): Buffer {
    const rest = this.#rest
    this.#rest = noBytes
    return rest
  }

  /** Undefined = the head is not complete. Throws RefusedRequest, also for what can never become a head. */
  read(bytes: Buffer): RequestHead | undefined {
    let start = 0
    // RFC 9112, 2.2: empty lines in front of a request are ignored.
    while (bytes[start] === carriageReturn && bytes[start + 1] === lineFeed) start += 2
    const found = bytes.indexOf(blankLine, Math.max(start, this.#searched - 3))
    const length = (found < 0 ? bytes.length : found + 4) - start
    if (length > headBytesMax) throw new RefusedRequest(431, 'the headers are larger than 64 KiB')
    if (found >= 0) {
      const end = found + 4
      this.#searched = 0
      this.#rest = end === bytes.length ? noBytes : pieceOf(bytes, end, bytes.length)
      return this.#head(bytes, start, end)
    }
    this.#rest = start === 0 ? bytes : bytes.subarray(start)
    if (length > 0) {
      checkPartialHead(this.#rest, this.#searched)
      this.#searched = length
    }
    return undefined
  }

  #head(bytes: Buffer, start: number, end: number): RequestHead {
    const head = new RequestHead(bytes, start, end, this.#lastTarget)
    const { target } = head
    // A query may hold a key.
    if (target !== this.#lastTarget)
      this.#lastTarget = target.length > targetKeptMax || target.includes('?') ? '' : target
    return head
  }
}
