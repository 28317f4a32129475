/** Framing of a request body: by content-length or by chunks (RFC 9112, 6). */
import { ChunkedReader } from '../chunked-reader.ts'
import { noBytes } from './receive-buffer.ts'
import { RefusedRequest } from './request-head.ts'
import type { RequestHead } from './request-head.ts'

/** Receives the pieces of a body in order, then its end once. Neither is called for a body of length 0. */
export interface BodyReceiver {
  /** The receiver owns the bytes from now on. */
  push(piece: Uint8Array): void
  end(): void
}

/** One per connection; `begin` resets it for each request. */
export class BodyFraming {
  /** Bytes still to come; -1 = the body has chunks. */
  #left = 0
  #chunks: ChunkedReader | undefined

  /** For the next request. Returns the length of its body in bytes; -1 = chunked. */
  begin({ chunked, contentLength }: RequestHead): number {
    this.#left = chunked ? -1 : Math.max(contentLength, 0)
    if (chunked) (this.#chunks ??= new ChunkedReader(why => new RefusedRequest(400, why))).reset()
    return this.#left
  }

  /** No more than `bytes` of the body are still to come, as its length says. */
  endsWithin(bytes: number): boolean {
    return this.#left >= 0 && this.#left <= bytes
  }

  /** Gives `receiver` the bytes of the body; returns those behind it. Throws RefusedRequest. */
  take(bytes: Buffer, receiver: BodyReceiver): Buffer {
    if (this.#left < 0) return this.#takeChunks(bytes, this.#chunks!, receiver)
    const isAll = bytes.length <= this.#left
    const length = isAll ? bytes.length : this.#left
    this.#left -= length
    const rest = isAll ? noBytes : bytes.subarray(length)
    receiver.push(isAll ? bytes : bytes.subarray(0, length))
    if (this.#left === 0) receiver.end()
    return rest
  }

  #takeChunks(bytes: Buffer, chunks: ChunkedReader, receiver: BodyReceiver): Buffer {
    const { length } = bytes
    for (let at = 0; at < length; at = chunks.at) {
      const event = chunks.read(bytes, at)
      if (event === 'body') receiver.push(chunks.piece)
      else {
        if (event === 'end') receiver.end()
        return chunks.at === length ? noBytes : bytes.subarray(chunks.at)
      }
    }
    return noBytes
  }
}
