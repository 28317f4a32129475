/**
 * The body of an upstream that packs its answers though identity was asked for: unpacked while it arrives. Readers
 * bound what they take as they do with plain bodies, so a bomb fills no memory.
 */
import type { Duplex } from 'node:stream'
import type { GatewayError } from '../../core/errors.ts'
import type { BodySink, UpstreamBody } from '../../core/transport.ts'
import { codingNames, decoderOf } from '../content-codings.ts'
import { tooLarge, undecodable } from './errors.ts'

/** A body that can cancel the exchange which it belongs to. */
export interface PackedBody extends UpstreamBody {
  cancel(): void
}

/** The body as it was before `codings` were applied to it in their order, which are not none. */
export function decodedBody(packed: PackedBody, codings: readonly string[]): PackedBody {
  return codings.reduceRight<PackedBody>((body, coding) => new DecodedBody(body, coding), packed)
}

/** A body in a coding that is not known fails when it is read: the status of the answer is told all the same. */
class DecodedBody implements PackedBody, BodySink {
  readonly #packed: PackedBody
  readonly #coding: string
  #decoder: Duplex | undefined
  #sink: BodySink | undefined
  #isPaused = false
  /** The sink has heard of the end, or the body was cancelled. */
  #isOver = false

  constructor(packed: PackedBody, coding: string) {
    this.#packed = packed
    this.#coding = coding
  }

  bytes(bytesMax: number): Promise<Uint8Array> {
    return new Promise((resolve, reject) => {
      const pieces: Uint8Array[] = []
      let length = 0
      this.pipe({
        data: piece => {
          pieces.push(piece)
          length += piece.length
          if (length <= bytesMax) return
          this.cancel()
          reject(tooLarge(bytesMax))
        },
        end: () => resolve(Buffer.concat(pieces, length)),
        fail: reject,
      })
    })
  }

  pipe(sink: BodySink): void {
    this.#sink = sink
    this.#packed.pipe(this)
  }

  pause(): void {
    this.#isPaused = true
    this.#decoder?.pause()
    this.#packed.pause()
  }

  resume(): void {
    this.#isPaused = false
    this.#decoder?.resume()
    if (!this.#decoder?.writableNeedDrain) this.#packed.resume()
  }

  cancel(): void {
    this.#close()
    this.#packed.cancel()
  }

  // ---- what the packed body calls

  data(bytes: Uint8Array): void {
    if (this.#isOver || bytes.length === 0) return
    this.#decoder ??= this.#opened(bytes)
    if (this.#decoder && !this.#decoder.write(bytes)) this.#packed.pause()
  }

  end(): void {
    if (this.#decoder) this.#decoder.end()
    else this.#end()
  }

  fail(error: GatewayError): void {
    if (this.#isOver) return
    const sink = this.#sink
    this.#close()
    sink?.fail(error)
  }

  // ---- inside

  #opened(first: Uint8Array): Duplex | undefined {
    const decoder = decoderOf(this.#coding)?.(first)
    if (!decoder) {
      this.#failed(`its content-encoding is none of ${codingNames}`)
      return undefined
    }
    decoder.on('data', (piece: Buffer) => {
      if (!this.#isOver) this.#sink?.data(piece)
    })
    decoder.on('drain', () => {
      if (!this.#isPaused && !this.#isOver) this.#packed.resume()
    })
    decoder.on('end', () => this.#end())
    decoder.on('error', cause => this.#failed(`content-encoding '${this.#coding}': ${cause.message}`))
    if (this.#isPaused) decoder.pause()
    return decoder
  }

  #end(): void {
    if (this.#isOver) return
    const sink = this.#sink
    this.#close()
    sink?.end()
  }

  #failed(why: string): void {
    if (this.#isOver) return
    this.#packed.cancel()
    this.fail(undecodable(why))
  }

  #close(): void {
    this.#isOver = true
    this.#sink = undefined
    this.#decoder?.destroy()
  }
}
