/** The body of a request while it arrives: buffered up to a limit until it is read, then at the pace of its reader. */
import { GatewayError } from '../../core/errors.ts'
import { bodyTooLarge } from '../../core/request.ts'
import type { BodyReader, RequestBody } from '../../core/request.ts'
import { inTickOfItsOwn } from '../../lib/end-of-tick.ts'
import type { BodyMemory } from './body-memory.ts'

/** The connection, as the body sees it: flow control. */
export interface BodySource {
  /** The body is being read from now on, or its next piece is waited for. */
  wanted(): void
  pause(): void
  resume(): void
}

/** What ends the body of a client that has gone. */
export const clientLeft = (): GatewayError =>
  new GatewayError('client-closed', 'the client left while sending its body')

/** What ends a body that its handler has not read to its end. */
export const answeredEarly = (): GatewayError =>
  new GatewayError('client-closed', 'the request is answered: the rest of its body is not read')

/** High-water mark of the buffer before the body is read, and for a slow reader. */
export const highWaterBytes = 256 * 1024
/** Reading a larger one takes so long that others are not read in the same tick: small requests would wait for all. */
const largeBytes = 256 * 1024
/** Up to here a body stays in the pieces that it came in. */
const piecesBytesMax = 1024 * 1024
/** A view costs about 100 bytes: of many pieces, those below `smallBytes` are copied into shared blocks. */
const piecesMax = 16
const smallBytes = 4096
const blockBytes = 16 * 1024

interface Waiter {
  resolve(piece: Uint8Array | undefined): void
  reject(error: GatewayError): void
}

/**
 * Read by `read` or by `next`, not both. Pieces that were handed out belong to the reader. From the first read on its
 * memory is counted: what is announced at once, else as it arrives; until the request and all that keep it are over.
 */
export class IncomingBody implements RequestBody {
  readonly announcedBytes: number | undefined
  /** The id of the key whose share of the memory it takes; empty = no key's. Set before it is read. */
  owner = ''
  readonly #source: BodySource
  readonly #memory: BodyMemory
  /** A read has begun: what arrives is counted. */
  #isRead = false
  #heldBytes = 0
  /** Of them, what was unpacked from the body or read from the store. */
  #storedBytes = 0
  /** The request, and each `keep`. */
  #holders = 1
  #pieces: Uint8Array[] = []
  /** The block of which the last piece is the filled part. */
  #block: Buffer | undefined
  #buffer: Buffer | undefined
  #bytes = 0
  #arrivedBytes = 0
  #ended = false
  #failure: GatewayError | undefined
  #reader: BodyReader | undefined
  #bytesMax = Infinity
  #waiter: Waiter | undefined
  #paused = false

  /** `length` in bytes; -1 = not known, the body is chunked. */
  constructor(source: BodySource, length: number, memory: BodyMemory) {
    this.#source = source
    this.#memory = memory
    this.announcedBytes = length < 0 ? undefined : length
    this.#ended = length === 0
  }

  /** All of it has arrived. */
  get ended(): boolean {
    return this.#ended
  }

  /** A reader waits for more of it. */
  get awaited(): boolean {
    return !this.#ended && (this.#reader !== undefined || this.#waiter !== undefined)
  }

  read(bytesMax: number, reader: BodyReader): void {
    if (this.#failure) return reader.failed(this.#failure)
    if ((this.announcedBytes ?? 0) > bytesMax || this.#bytes > bytesMax) return reader.failed(bodyTooLarge(bytesMax))
    if (this.#lacksMemory(this.announcedBytes ?? this.#arrivedBytes)) return reader.failed(this.#failure!)
    if (this.#ended) return reader.whole(this.#take())
    this.#reader = reader
    this.#bytesMax = bytesMax
    this.#source.wanted()
    this.#flow()
  }

  next(): Promise<Uint8Array | undefined> {
    if (!this.#failure) this.#lacksMemory(this.announcedBytes ?? this.#arrivedBytes)
    const piece = this.#pieces.shift()
    if (piece) {
      this.#bytes -= piece.length
      if (this.#bytes <= highWaterBytes) this.#flow()
      return Promise.resolve(piece)
    }
    if (this.#failure) return Promise.reject(this.#failure)
    if (this.#ended) return Promise.resolve(undefined)
    this.#source.wanted()
    this.#flow()
    return new Promise((resolve, reject) => (this.#waiter = { resolve, reject }))
  }

  keep(): () => void {
    this.#holders++
    let isKept = true
    return () => {
      if (isKept) this.release()
      isKept = false
    }
  }

  hold(bytes: number): void {
    if (this.#holders === 0) return
    const error = this.#memory.take(bytes, this.#heldBytes, this.owner)
    if (error) {
      this.fail(error)
      throw error
    }
    this.#heldBytes += bytes
    this.#storedBytes += bytes
  }

  // ---- what the request and the connection call

  /** The request is over: unless something else keeps the body, its memory is free. */
  release(): void {
    if (--this.#holders === 0) this.#giveBack()
  }

  push(piece: Uint8Array): void {
    if (this.#failure) return
    this.#arrivedBytes += piece.length
    if (this.#isRead && this.#lacksMemory(this.#arrivedBytes)) return
    const waiter = this.#waiter
    if (waiter) {
      this.#waiter = undefined
      return waiter.resolve(piece)
    }
    this.#bytes += piece.length
    if (this.#reader) {
      if (this.#bytes > this.#bytesMax) return this.fail(bodyTooLarge(this.#bytesMax))
      return this.#collect(piece)
    }
    this.#store(piece)
    if (this.#bytes > highWaterBytes && !this.#paused) {
      this.#paused = true
      this.#source.pause()
    }
  }

  end(): void {
    this.#ended = true
    if (this.#reader && this.#bytes > largeBytes) inTickOfItsOwn(() => this.#handOver())
    else this.#handOver()
    this.#waiter?.resolve(undefined)
    this.#waiter = undefined
  }

  fail(error: GatewayError): void {
    this.#failure = error
    this.#forget()
    this.#giveBack()
    const reader = this.#reader
    this.#reader = undefined
    const waiter = this.#waiter
    this.#waiter = undefined
    reader?.failed(error)
    waiter?.reject(error)
  }

  // ---- inside

  /** The client may have left before. */
  #handOver(): void {
    const reader = this.#reader
    this.#reader = undefined
    reader?.whole(this.#take())
  }

  /** Takes memory for `bytes` of this body; true = there is not so much, and the body has failed. */
  #lacksMemory(bytes: number): boolean {
    this.#isRead = true
    const held = this.#heldBytes
    const wanted = bytes + this.#storedBytes
    if (wanted <= held) return false
    const error = this.#memory.take(wanted - held, held, this.owner)
    if (!error) this.#heldBytes = wanted
    else this.fail(error)
    return error !== undefined
  }

  #giveBack(): void {
    this.#memory.give(this.#heldBytes, this.owner)
    this.#heldBytes = 0
    this.#storedBytes = 0
  }

  #flow(): void {
    if (!this.#paused) return
    this.#paused = false
    this.#source.resume()
  }

  #forget(): void {
    this.#pieces = []
    this.#block = undefined
    this.#buffer = undefined
  }

  #store(piece: Uint8Array): void {
    const pieces = this.#pieces
    if (pieces.length < piecesMax || piece.length >= smallBytes) {
      this.#block = undefined
      pieces.push(piece)
      return
    }
    let block = this.#block
    const last = pieces.length - 1
    const used = block ? pieces[last]!.length : 0
    if (block && used + piece.length <= blockBytes) {
      block.set(piece, used)
      pieces[last] = block.subarray(0, used + piece.length)
      return
    }
    block = Buffer.allocUnsafeSlow(blockBytes)
    block.set(piece)
    this.#block = block
    pieces.push(block.subarray(0, piece.length))
  }

  /** A large body is collected in one buffer, so that its pieces are not in memory with it. */
  #collect(piece: Uint8Array): void {
    if (!this.#buffer && this.#bytes <= piecesBytesMax) return this.#store(piece)
    const filled = this.#bytes - piece.length
    const buffer = this.#buffer && this.#buffer.length >= this.#bytes ? this.#buffer : this.#grown(filled)
    if (!buffer) return
    buffer.set(piece, filled)
    this.#buffer = buffer
  }

  /**
   * The announced length is only allocated once `piecesBytesMax` of it have arrived. Undefined = there is no memory for
   * it.
   */
  #grown(filled: number): Buffer | undefined {
    const wanted = Math.max(this.announcedBytes ?? Math.min(this.#bytes * 2, this.#bytesMax), this.#bytes)
    if (this.#lacksMemory(wanted)) return undefined
    const grown = Buffer.allocUnsafeSlow(wanted)
    let at = 0
    for (const piece of this.#buffer ? [this.#buffer] : this.#pieces) {
      const used = Math.min(piece.length, filled - at)
      grown.set(used === piece.length ? piece : piece.subarray(0, used), at)
      at += used
    }
    this.#forget()
    return grown
  }

  #take(): Uint8Array {
    const pieces = this.#pieces
    const buffer = this.#buffer
    this.#forget()
    if (buffer) return buffer.subarray(0, this.#bytes)
    if (pieces.length === 1) return pieces[0]!
    return Buffer.concat(pieces)
  }
}
