/** The bytes queued for one client, joined into as few system calls as one tick of the event loop allows. */
import { ResponseHead } from './response-head.ts'

/** `write` takes what fits and returns how much; negative = closed. */
interface Writable {
  write(bytes: Uint8Array, offset: number, length: number): number
}

/** Shared by all connections: its bytes never outlive one synchronous call. */
const scratch = Buffer.allocUnsafeSlow(128 * 1024)
/** Pieces up to this size are copied behind one another; larger ones are sent from where they are. */
const joinedBytesMax = 32 * 1024

/** Text is sent as UTF-8. */
type Piece = Uint8Array | string | ResponseHead

/** One `flush` sends no more: copying a megabyte into a socket takes half a millisecond, for which all others wait. */
const flushBytesMax = 256 * 1024

/** `waiting` = the socket takes no more: flush again when it drains. `more` = flush again in the next tick. */
type FlushState = 'empty' | 'waiting' | 'more' | 'closed'

/**
 * One per connection; what goes in first goes out first. Bytes are kept, not copied: they must not change before they
 * are sent.
 */
export class SendQueue {
  #pieces: Piece[] = []
  /** Bytes of the first piece that are sent already; it is bytes then. */
  #offset = 0
  /** About this much waits: text counts one byte a character, a head the most it may have. */
  #size = 0
  #madeProgress = false

  get size(): number {
    return this.#size
  }

  /** The last `flush` sent at least a byte. */
  get madeProgress(): boolean {
    return this.#madeProgress
  }

  /** At the end of what waits; nothing is sent before `flush`. */
  add(piece: Piece): void {
    if (piece.length === 0) return
    this.#pieces.push(piece)
    this.#size += piece.length
  }

  clear(): void {
    this.#pieces = []
    this.#offset = 0
    this.#size = 0
  }

  /** Sends until all is out, the socket takes no more, or `flushBytesMax` are sent. */
  flush(socket: Writable): FlushState {
    this.#madeProgress = false
    let leftBytes = flushBytesMax
    while (this.#pieces.length > 0) {
      if (leftBytes <= 0) return this.#unsent('more')
      const filled = this.#fill()
      const length = filled > 0 ? filled : Math.min(this.#firstBytes(), leftBytes)
      const state = filled > 0 ? this.#sendScratch(socket, filled) : this.#sendFirst(socket, length)
      if (state !== 'empty') return state
      leftBytes -= length
    }
    this.#size = 0
    return 'empty'
  }

  /** Moves small pieces into the scratch buffer; 0 = the first one is too large for it. */
  #fill(): number {
    let filled = 0
    let taken = 0
    for (const piece of this.#pieces) {
      const room = scratch.length - filled
      // Three bytes a UTF-16 unit are the most that UTF-8 needs.
      if (piece.length > joinedBytesMax || (typeof piece === 'string' ? piece.length * 3 : piece.length) > room) break
      if (typeof piece === 'string') filled += scratch.write(piece, filled, 'utf8')
      else if (piece instanceof ResponseHead) filled = piece.write(scratch, filled)
      else {
        const rest = taken === 0 && this.#offset > 0 ? piece.subarray(this.#offset) : piece
        scratch.set(rest, filled)
        filled += rest.length
      }
      taken++
    }
    if (taken > 0) this.#dropFirst(taken)
    return filled
  }

  #sendScratch(socket: Writable, length: number): FlushState {
    const written = socket.write(scratch, 0, length)
    if (written < 0) return 'closed'
    if (written > 0) this.#madeProgress = true
    if (written === length) return 'empty'
    this.#pieces.unshift(Buffer.from(scratch.subarray(written, length)))
    return this.#unsent('waiting')
  }

  /** What is left of a large piece, which is bytes from now on. */
  #firstBytes(): number {
    const piece = bytesOf(this.#pieces[0]!)
    this.#pieces[0] = piece
    return piece.length - this.#offset
  }

  /** `length` bytes of a large piece, which stay where they are. */
  #sendFirst(socket: Writable, length: number): FlushState {
    const piece = this.#pieces[0] as Uint8Array
    const written = socket.write(piece, this.#offset, length)
    if (written < 0) return 'closed'
    if (written > 0) this.#madeProgress = true
    this.#offset += written
    if (written < length) return this.#unsent('waiting')
    if (this.#offset === piece.length) this.#dropFirst(1)
    return 'empty'
  }

  #dropFirst(count: number): void {
    if (count === this.#pieces.length) this.#pieces = []
    else this.#pieces.splice(0, count)
    this.#offset = 0
  }

  #unsent(state: FlushState): FlushState {
    this.#size = this.#pieces.reduce((sum, piece) => sum + piece.length, -this.#offset)
    return state
  }
}

function bytesOf(piece: Piece): Uint8Array {
  if (typeof piece === 'string') return Buffer.from(piece, 'utf8')
  if (!(piece instanceof ResponseHead)) return piece
  const bytes = Buffer.allocUnsafeSlow(piece.length)
  return bytes.subarray(0, piece.write(bytes, 0))
}
