/**
 * Reads HTTP/1.1 responses from bytes that may be split anywhere. The caller pulls events, so nothing is
 * called back and a caller may drop the parser between any two events. Memory: one head, never a body.
 */
import { ChunkedReader } from '../chunked-reader.ts'
import { pieceOf } from '../pieces.ts'
import { carriageReturn, lineFeed } from '../syntax.ts'
import { headBytesMax } from '../header-fields.ts'
import { MalformedResponseError, ResponseHead, startsLikeHttp } from './response-head.ts'

/** What `next` found. `more` = all bytes are used up; `body` = see `piece`. */
type ParserEvent = 'more' | 'head' | 'body' | 'end'

type State = 'head' | 'length' | 'chunks' | 'until-close' | 'done'

const blankLine = Buffer.from('\r\n\r\n')
/** 1xx responses before the real one: a handful is legal, an endless row of them is an attack. */
const interimResponsesMax = 16
/** A connection that lives on keeps no more than this of its buffer for split heads. */
const partialBytesKept = 4096
/** A head is copied when more than this came with it. */
const bytesKeptWithHead = 16 * 1024
const noBytes = Buffer.alloc(0)

/**
 * One per connection: `feed` and `next` until `end`, then `reset`. 1xx responses are skipped (RFC 9110, 15.2). Nothing
 * is copied but the parts of a head that was cut.
 */
export class ResponseParser {
  /** Valid from the event `head` on. */
  head: ResponseHead | undefined
  /** The bytes of the event `body`: a view of what was fed. */
  piece: Uint8Array = noBytes
  #state: State = 'head'
  #chunk: Buffer = noBytes
  #at = 0
  /** Body bytes still to come in the present piece of framing. */
  #left = 0
  readonly #chunks = new ChunkedReader(why => new MalformedResponseError(why))
  #interim = 0
  /** The beginning of a head that came in parts. */
  #partial: Buffer = noBytes
  #partialLength = 0

  /** For the next response on the same connection. */
  reset(): void {
    this.head = undefined
    this.piece = noBytes
    this.#state = 'head'
    this.#chunk = noBytes
    this.#at = 0
    this.#chunks.reset()
    this.#interim = 0
    this.#partialLength = 0
    if (this.#partial.length > partialBytesKept) this.#partial = noBytes
  }

  /** Hands over bytes; all events of the bytes before must have been pulled. */
  feed(chunk: Buffer): void {
    this.#chunk = chunk
    this.#at = 0
  }

  /** Bytes fed but not part of the response. */
  get leftover(): number {
    return this.#chunk.length - this.#at
  }

  /** The next event; after `end`, always `end`. Throws MalformedResponseError. */
  next(): ParserEvent {
    switch (this.#state) {
      case 'head':
        return this.#readHead()
      case 'length':
      case 'until-close':
        return this.#readPlain()
      case 'done':
        return 'end'
      default:
        return this.#readChunked()
    }
  }

  /** The peer closed its side in order. True when the response is thereby complete. */
  finish(): boolean {
    if (this.#state !== 'until-close' && this.#state !== 'done') return false
    this.#state = 'done'
    return true
  }

  #readHead(): ParserEvent {
    for (;;) {
      const head = this.#takeHead()
      if (!head) return 'more'
      if (head.status >= 200) {
        this.head = head
        this.#state = framingOf(head)
        this.#left = head.contentLength
        return 'head'
      }
      if (head.status === 101) throw new MalformedResponseError('it switched protocols without being asked')
      if (++this.#interim > interimResponsesMax) throw new MalformedResponseError('too many interim responses')
    }
  }

  #takeHead(): ResponseHead | undefined {
    if (this.#partialLength > 0) return this.#continueHead()
    const chunk = this.#chunk
    const start = this.#at
    if (start === chunk.length) return undefined
    const found = chunk.indexOf(blankLine, start)
    if (found < 0) {
      this.#append()
      this.#checkPartial(0)
      return undefined
    }
    const end = found + 4
    if (end - start > headBytesMax) throw new MalformedResponseError('the headers are larger than 64 KiB')
    if (!startsLikeHttp(chunk, start, end)) throw new MalformedResponseError('the answer is not HTTP/1.1')
    this.#at = end
    // The head keeps the bytes that it was read from: not those of a large body behind it.
    if (chunk.length - (end - start) <= bytesKeptWithHead) return new ResponseHead(chunk, start, end)
    return new ResponseHead(Buffer.from(chunk.subarray(start, end)), 0, end - start)
  }

  /** A head that began in an earlier chunk: the new bytes are appended, only they are searched. */
  #continueHead(): ResponseHead | undefined {
    const before = this.#partialLength
    this.#append()
    const searchFrom = Math.max(0, before - 3)
    const found = this.#partial.subarray(0, this.#partialLength).indexOf(blankLine, searchFrom)
    if (found < 0) {
      this.#checkPartial(before)
      return undefined
    }
    const end = found + 4
    // What was taken too much goes back to the chunk.
    this.#at -= this.#partialLength - end
    this.#partialLength = 0
    if (!startsLikeHttp(this.#partial, 0, end)) throw new MalformedResponseError('the answer is not HTTP/1.1')
    return new ResponseHead(Buffer.from(this.#partial.subarray(0, end)), 0, end)
  }

  /** Copies the rest of the chunk behind the partial head, at most as many bytes as a head may have. */
  #append(): void {
    const before = this.#partialLength
    const take = Math.min(this.#chunk.length - this.#at, headBytesMax - before)
    const length = before + take
    if (this.#partial.length < length) {
      const grown = Buffer.allocUnsafeSlow(Math.min(headBytesMax, Math.max(1024, length * 2)))
      this.#partial.copy(grown, 0, 0, before)
      this.#partial = grown
    }
    this.#chunk.copy(this.#partial, before, this.#at, this.#at + take)
    this.#partialLength = length
    this.#at += take
  }

  /** Refuses at once what can never become a head, instead of waiting for bytes that may not come. */
  #checkPartial(checked: number): void {
    const length = this.#partialLength
    if (!startsLikeHttp(this.#partial, 0, length)) throw new MalformedResponseError('the answer is not HTTP/1.1')
    refuseBareLineFeed(this.#partial, checked, length)
    if (length >= headBytesMax) throw new MalformedResponseError('the headers are larger than 64 KiB')
  }

  #readPlain(): ParserEvent {
    if (this.#state === 'length' && this.#left === 0) {
      this.#state = 'done'
      return 'end'
    }
    const available = this.#chunk.length - this.#at
    if (available === 0) return 'more'
    if (this.#state === 'until-close') this.#emit(available)
    else {
      const take = Math.min(available, this.#left)
      this.#left -= take
      this.#emit(take)
    }
    return 'body'
  }

  #emit(length: number): void {
    this.piece = pieceOf(this.#chunk, this.#at, this.#at + length)
    this.#at += length
  }

  #readChunked(): ParserEvent {
    const chunks = this.#chunks
    const event = chunks.read(this.#chunk, this.#at)
    this.#at = chunks.at
    if (event === 'body') this.piece = chunks.piece
    else if (event === 'end') this.#state = 'done'
    return event
  }
}

function framingOf(head: ResponseHead): State {
  if (head.status === 204 || head.status === 304) return 'done'
  if (head.chunked) return 'chunks'
  return head.contentLength >= 0 ? 'length' : 'until-close'
}

function refuseBareLineFeed(bytes: Buffer, from: number, to: number): void {
  for (let at = bytes.indexOf(lineFeed, from); at >= 0 && at < to; at = bytes.indexOf(lineFeed, at + 1))
    if (at === 0 || bytes[at - 1] !== carriageReturn)
      throw new MalformedResponseError('a bare line feed in the headers')
}
