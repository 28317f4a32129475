/** Compressed bodies of requests (RFC 9110, 8.4): unpacked while they are read, within the limits of plain ones. */
import { pipeline, Readable } from 'node:stream'
import { GatewayError, toGatewayError } from '../../core/errors.ts'
import { bodyTooLarge } from '../../core/request.ts'
import type { BodyReader, RequestBody } from '../../core/request.ts'
import { codingNames, codingsOf, decoderOf } from '../content-codings.ts'
import type { IncomingBody } from './incoming-body.ts'

/**
 * The body as its reader sees it. `encoding` = the header `content-encoding`, which may list several; null = not sent.
 * One that is not known fails as `unsupported-media` when it is read.
 */
export function decodedBody(incoming: IncomingBody, encoding: string | null): RequestBody {
  if (encoding === null) return incoming
  const codings = codingsOf(encoding)
  let body: RequestBody = incoming
  for (let at = codings.length - 1; at >= 0; at--) body = new EncodedBody(body, codings[at]!)
  return body
}

/**
 * What was unpacked by the coding behind may be so much larger than what this one makes of it. Packed bytes are fewer
 * than what is in them, but for a decoder's window: more of them are there to keep the gateway at work.
 */
const packedAheadBytesMax = 32 * 1024 * 1024

/** Nothing is unpacked before it is read: a request that is refused by its head costs nothing. */
class EncodedBody implements RequestBody {
  /** The length of what is packed says nothing of what is in it. */
  readonly announcedBytes = undefined
  readonly #incoming: RequestBody
  readonly #coding: string
  #pieces: AsyncIterator<Buffer> | undefined
  #packedBytes = 0
  #unpackedBytes = 0

  constructor(incoming: RequestBody, coding: string) {
    this.#incoming = incoming
    this.#coding = coding
  }

  get ended(): boolean {
    return this.#incoming.ended
  }

  read(bytesMax: number, reader: BodyReader): void {
    this.#whole(bytesMax).then(
      bytes => reader.whole(bytes),
      thrown => reader.failed(toGatewayError(thrown)),
    )
  }

  async next(): Promise<Uint8Array | undefined> {
    this.#pieces ??= this.#open()
    try {
      const { value, done } = await this.#pieces.next()
      if (done === true) return undefined
      this.#unpackedBytes += (value as Buffer).length
      return value as Buffer
    } catch (cause) {
      throw cause instanceof GatewayError ? cause : this.#damaged(cause)
    }
  }

  keep(): () => void {
    return this.#incoming.keep()
  }

  hold(bytes: number): void {
    this.#incoming.hold(bytes)
  }

  /** What is unpacked is counted like bytes that arrived. */
  async #whole(bytesMax: number): Promise<Uint8Array> {
    let buffer = Buffer.alloc(0)
    let filled = 0
    for (let piece = await this.next(); piece; piece = await this.next()) {
      const bytes = filled + piece.length
      if (bytes > bytesMax) {
        void this.#pieces?.return?.()
        throw bodyTooLarge(bytesMax)
      }
      if (bytes > buffer.length) {
        const grown = Math.min(Math.max(bytes, buffer.length * 2), bytesMax)
        this.#incoming.hold(grown - buffer.length)
        buffer = Buffer.concat([buffer.subarray(0, filled)], grown)
      }
      buffer.set(piece, filled)
      filled = bytes
    }
    return buffer.subarray(0, filled)
  }

  async *#open(): AsyncGenerator<Buffer> {
    const decoder = decoderOf(this.#coding)
    if (!decoder)
      throw new GatewayError(
        'unsupported-media',
        `content-encoding '${this.#coding}' is not accepted; send ${codingNames}, or the body as it is`,
      )
    const packed = this.#packedPieces()
    const first = await packed.next()
    if (first.done === true) throw new Error('it is empty')
    const unpacked = decoder(first.value)
    // The error comes out of the iterator.
    pipeline(Readable.from(joined(first.value, packed), { objectMode: true, highWaterMark: 1 }), unpacked, () => {})
    yield* unpacked as AsyncIterable<Buffer>
  }

  async *#packedPieces(): AsyncGenerator<Uint8Array> {
    for (let piece = await this.#incoming.next(); piece; piece = await this.#incoming.next()) {
      this.#packedBytes += piece.length
      if (this.#packedBytes > this.#unpackedBytes + packedAheadBytesMax && this.#incoming instanceof EncodedBody)
        throw new Error('it packs more bytes than come out of it')
      if (piece.length > 0) yield piece
    }
  }

  #damaged(cause: unknown): GatewayError {
    const why = cause instanceof Error ? cause.message : String(cause)
    return new GatewayError(
      'invalid-request',
      `the body is not what content-encoding '${this.#coding}' says (${why}); send all of it, ` +
        'packed that way, or as it is',
      { cause },
    )
  }
}

async function* joined(first: Uint8Array, rest: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  yield first
  yield* rest
}
