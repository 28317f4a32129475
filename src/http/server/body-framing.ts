/** Where the body of a request ends: after so many bytes, or with its last chunk. */
import { ChunkedReader } from '../chunked-reader.ts'
import { noBytes } from './receive-buffer.ts'
import { RefusedRequest } from './request-head.ts'
import type { RequestHead } from './request-head.ts'

/**
 * Hears of the pieces of a body in their order, and of its end once. A body that is known to be empty is never told of.
 */
export interface BodyTaker {
  /** The bytes are the taker's from now on. */
  push(piece: Uint8Array): void
  end(): void
}

/** One per connection, begun anew for each request. */
export class BodyFraming {
  /** Bytes still to come; -1 = the body has chunks. */
  #left = 0
  #chunks: ChunkedReader | undefined

  /** The body of another request. Its length in bytes; -1 = its chunks say it. */
  begin({ chunked, contentLength }: RequestHead): number {
    this.#left = chunked ? -1 : Math.max(contentLength, 0)
    if (chunked) (this.#chunks ??= new ChunkedReader(why => new RefusedRequest(400, why))).reset()
    return this.#left
  }

  /** Gives `taker` what belongs to the body; returns what comes after it. Throws RefusedRequest. */
  take(bytes: Buffer, taker: BodyTaker): Buffer {
    if (this.#left < 0) return this.#takeChunks(bytes, this.#chunks!, taker)
    const isAll = bytes.length <= this.#left
    const length = isAll ? bytes.length : this.#left
    this.#left -= length
    const rest = isAll ? noBytes : bytes.subarray(length)
    taker.push(isAll ? bytes : bytes.subarray(0, length))
    if (this.#left === 0) taker.end()
    return rest
  }

  #takeChunks(bytes: Buffer, chunks: ChunkedReader, taker: BodyTaker): Buffer {
    const { length } = bytes
    for (let at = 0; at < length; at = chunks.at) {
      const event = chunks.read(bytes, at)
      if (event === 'body') taker.push(chunks.piece)
      else {
        if (event === 'end') taker.end()
        return chunks.at === length ? noBytes : bytes.subarray(chunks.at)
      }
    }
    return noBytes
  }
}
