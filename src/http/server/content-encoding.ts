/** Compressed bodies of requests (RFC 9110, 8.4): unpacked while they are read, within the limits of plain ones. */
import { pipeline, Readable } from 'node:stream'
import { GatewayError, toGatewayError } from '../../core/errors.ts'
import { bodyTooLarge } from '../../core/request.ts'
import type { BodyReader, RequestBody } from '../../core/request.ts'
import { codingNames, codingOf, decoderOf } from '../content-codings.ts'
import type { IncomingBody } from './incoming-body.ts'

/**
 * The body as its reader sees it. `encoding` = the header `content-encoding`; null = not sent. One that is not known
 * fails as `unsupported-media` when it is read.
 */
export function decodedBody(incoming: IncomingBody, encoding: string | null): RequestBody {
  const coding = codingOf(encoding)
  return coding === '' ? incoming : new EncodedBody(incoming, coding)
}

/** Nothing is unpacked before it is read: a request that is refused by its head costs nothing. */
class EncodedBody implements RequestBody {
  /** The length of what is packed says nothing of what is in it. */
  readonly announcedBytes = undefined
  readonly #incoming: IncomingBody
  readonly #coding: string
  #pieces: AsyncIterator<Buffer> | undefined

  constructor(incoming: IncomingBody, coding: string) {
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
      return done === true ? undefined : (value as Buffer)
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
    const packed = packedPieces(this.#incoming)
    const first = await packed.next()
    if (first.done === true) throw new Error('it is empty')
    const unpacked = decoder(first.value)
    // The error comes out of the iterator.
    pipeline(Readable.from(joined(first.value, packed), { objectMode: true, highWaterMark: 1 }), unpacked, () => {})
    yield* unpacked as AsyncIterable<Buffer>
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

async function* packedPieces(incoming: IncomingBody): AsyncGenerator<Uint8Array> {
  for (let piece = await incoming.next(); piece; piece = await incoming.next()) if (piece.length > 0) yield piece
}

async function* joined(first: Uint8Array, rest: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  yield first
  yield* rest
}
