/** Compressed bodies of requests (RFC 9110, 8.4): unpacked while they are read, within the limits of plain ones. */
import { pipeline, Readable } from 'node:stream'
import { createGunzip, createInflate } from 'node:zlib'
import type { Gunzip, Inflate } from 'node:zlib'
import { GatewayError, toGatewayError } from '../../core/errors.ts'
import { bodyTooLarge } from '../../core/request.ts'
import type { BodyReader, RequestBody } from '../../core/request.ts'
import type { IncomingBody } from './incoming-body.ts'

/** Unpacked at a time: so much of a bomb is in memory before its limit is checked. */
const chunkSize = 64 * 1024

const decoders: Readonly<Record<string, () => Gunzip | Inflate>> = {
  gzip: () => createGunzip({ chunkSize }),
  'x-gzip': () => createGunzip({ chunkSize }),
  deflate: () => createInflate({ chunkSize }),
}

/**
 * The body as its reader sees it. `encoding` = the header `content-encoding`; null = not sent. One that is not known
 * fails as `unsupported-media` when it is read.
 */
export function decodedBody(incoming: IncomingBody, encoding: string | null): RequestBody {
  if (encoding === null) return incoming
  const name = encoding.trim().toLowerCase()
  if (name === '' || name === 'identity') return incoming
  const decoder = Object.hasOwn(decoders, name) ? decoders[name]! : undefined
  return new EncodedBody(incoming, name, decoder)
}

/** Nothing is unpacked before it is read: a request that is refused by its head costs nothing. */
class EncodedBody implements RequestBody {
  /** The length of what is packed says nothing of what is in it. */
  readonly announcedBytes = undefined
  readonly #incoming: IncomingBody
  readonly #name: string
  readonly #decoder: (() => Gunzip | Inflate) | undefined
  #pieces: AsyncIterator<Buffer> | undefined

  constructor(incoming: IncomingBody, name: string, decoder: (() => Gunzip | Inflate) | undefined) {
    this.#incoming = incoming
    this.#name = name
    this.#decoder = decoder
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

  #open(): AsyncIterator<Buffer> {
    if (!this.#decoder)
      throw new GatewayError(
        'unsupported-media',
        `content-encoding '${this.#name}' is not accepted; send gzip, deflate, or the body as it is`,
      )
    const unpacked = this.#decoder()
    // The error comes out of the iterator.
    pipeline(Readable.from(packed(this.#incoming), { objectMode: true, highWaterMark: 1 }), unpacked, () => {})
    return unpacked[Symbol.asyncIterator]() as AsyncIterator<Buffer>
  }

  #damaged(cause: unknown): GatewayError {
    const why = cause instanceof Error ? cause.message : String(cause)
    return new GatewayError(
      'invalid-request',
      `the body is not what content-encoding '${this.#name}' says (${why}); send all of it, ` +
        'packed that way, or as it is',
      { cause },
    )
  }
}

async function* packed(incoming: IncomingBody): AsyncGenerator<Uint8Array> {
  for (let piece = await incoming.next(); piece; piece = await incoming.next()) yield piece
}
