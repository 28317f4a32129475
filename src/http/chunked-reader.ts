/** Reads a chunked body (RFC 9112, 7.1) from bytes that may be split anywhere. Memory: none of the body. */
import { pieceOf } from './pieces.ts'
import { carriageReturn, hexDigit, lineFeed } from './syntax.ts'

type State =
  | 'size'
  | 'extension'
  | 'size-lf'
  | 'data'
  | 'data-cr'
  | 'data-lf'
  | 'trailer-start'
  | 'trailer-line'
  | 'trailer-lf'
  | 'final-lf'
  | 'done'

const semicolon = 59
const sizeDigitsMax = 16
const chunkBytesMax = 2 ** 40
const extensionBytesMax = 1024
const trailerBytesMax = 16 * 1024
const noBytes = Buffer.alloc(0)
/** Up to this size the bytes of a chunk are copied behind those of the chunk before: a view of each costs more. */
const smallBytesMax = 128
/** The least that follows the bytes of a chunk if another one is there: two line ends, a size, a byte. */
const nextChunkBytes = 6
/** Shared by all readers: its bytes never outlive one `read`. */
const scratch = Buffer.allocUnsafeSlow(16 * 1024)

/** `more` = all bytes are used up; `body` = see `piece`. */
type ChunkEvent = 'more' | 'body' | 'end'

/** One body at a time. Extensions and trailers are checked, and thrown away. Nothing may be read after an error. */
export class ChunkedReader {
  /** The bytes of the event `body`: a view of what was read, or a copy of the bytes of several small chunks. */
  piece: Uint8Array = noBytes
  /** Offset of the first byte that was not used. */
  at = 0
  readonly #malformed: (why: string) => Error
  #state: State = 'size'
  /** Bytes still to come of the present chunk. */
  #left = 0
  /** Digits of a chunk size, then bytes of its extension, then bytes of the trailers. */
  #count = 0

  /** `malformed` makes the error that `read` throws of a few words. */
  constructor(malformed: (why: string) => Error) {
    this.#malformed = malformed
  }

  /** For the next body on the same connection. */
  reset(): void {
    this.piece = noBytes
    this.#state = 'size'
    this.#count = 0
  }

  /** The next event of the bytes from `at` on; after `end`, always `end`. */
  read(bytes: Buffer, at: number): ChunkEvent {
    this.at = at
    if (this.#state === 'done') return 'end'
    let joined = 0
    try {
      while (this.at < bytes.length) {
        if (this.#state !== 'data') {
          // The last byte of the body is read again once the bytes before it are out.
          if (joined > 0 && this.#state === 'final-lf') break
          this.#byte(bytes[this.at]!)
          this.at++
          if ((this.#state as State) === 'done') return 'end'
          continue
        }
        const take = Math.min(bytes.length - this.at, this.#left)
        const isSmall = take <= smallBytesMax && (joined > 0 || this.at + take + nextChunkBytes <= bytes.length)
        if (!isSmall || joined + take > scratch.length) return joined > 0 ? this.#join(joined) : this.#view(bytes, take)
        for (const end = this.at + take; this.at < end; this.at++) scratch[joined++] = bytes[this.at]!
        this.#taken(take)
      }
    } catch (malformed) {
      // So is a byte that is malformed.
      if (joined === 0) throw malformed
    }
    return joined > 0 ? this.#join(joined) : 'more'
  }

  #taken(bytes: number): void {
    this.#left -= bytes
    if (this.#left === 0) this.#state = 'data-cr'
  }

  #view(bytes: Buffer, take: number): ChunkEvent {
    this.piece = pieceOf(bytes, this.at, this.at + take)
    this.at += take
    this.#taken(take)
    return 'body'
  }

  #join(length: number): ChunkEvent {
    const joined = Buffer.allocUnsafeSlow(length)
    scratch.copy(joined, 0, 0, length)
    this.piece = joined
    return 'body'
  }

  #byte(byte: number): void {
    switch (this.#state) {
      case 'size':
        return this.#sizeByte(byte)
      case 'extension':
        return this.#extensionByte(byte)
      case 'size-lf':
        this.#expect(byte, lineFeed)
        this.#count = 0
        this.#state = this.#left === 0 ? 'trailer-start' : 'data'
        return
      case 'data-cr':
        this.#expect(byte, carriageReturn)
        this.#state = 'data-lf'
        return
      case 'data-lf':
        this.#expect(byte, lineFeed)
        this.#state = 'size'
        return
      default:
        return this.#trailerByte(byte)
    }
  }

  #sizeByte(byte: number): void {
    const digit = hexDigit(byte)
    if (digit >= 0) {
      this.#left = this.#count === 0 ? digit : this.#left * 16 + digit
      if (++this.#count > sizeDigitsMax || this.#left > chunkBytesMax)
        throw this.#malformed('a chunk size is out of range')
      return
    }
    if (this.#count === 0) throw this.#malformed('a chunk without a size')
    if (byte === carriageReturn) this.#state = 'size-lf'
    else if (byte === semicolon) {
      this.#state = 'extension'
      this.#count = 0
    } else throw this.#malformed('a chunk size is not hexadecimal')
  }

  #extensionByte(byte: number): void {
    if (byte === carriageReturn) this.#state = 'size-lf'
    else this.#refuseControl(byte)
    if (++this.#count > extensionBytesMax) throw this.#malformed('a chunk extension is too long')
  }

  #trailerByte(byte: number): void {
    if (++this.#count > trailerBytesMax) throw this.#malformed('the trailers are too long')
    switch (this.#state) {
      case 'trailer-start':
        if (byte === carriageReturn) this.#state = 'final-lf'
        else {
          if (byte === 32 || byte === 9 || byte === 58) throw this.#malformed('a folded trailer line')
          this.#refuseControl(byte)
          this.#state = 'trailer-line'
        }
        return
      case 'trailer-line':
        if (byte === carriageReturn) this.#state = 'trailer-lf'
        else this.#refuseControl(byte)
        return
      case 'trailer-lf':
        this.#expect(byte, lineFeed)
        this.#state = 'trailer-start'
        return
      default:
        this.#expect(byte, lineFeed)
        this.#state = 'done'
    }
  }

  #expect(byte: number, expected: number): void {
    if (byte !== expected) throw this.#malformed('the chunked framing is broken')
  }

  #refuseControl(byte: number): void {
    if ((byte < 32 && byte !== 9) || byte === 127) throw this.#malformed('a control character in the chunked framing')
  }
}
