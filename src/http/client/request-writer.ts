/** Writes one request to a socket: small ones in one write, large ones piece by piece without a copy. */
import type { BodyPiece, FilePiece, UpstreamRequest } from '../../core/transport.ts'
import type { PreparedHead } from './request-head.ts'

/** What the writer needs of a socket: `write` takes what fits and returns how much; -1 = closed. */
export interface Writable {
  write(bytes: Uint8Array, offset: number, length: number): number
}

/** Head and body up to this size go out joined, in one system call and one packet train. */
const joinedBytesMax = 64 * 1024
/** A large piece is offered in parts, so that TLS never encrypts megabytes ahead of the network. */
const sliceBytesMax = 256 * 1024
/** Shared by all connections: its bytes never outlive one synchronous call. */
const scratch = Buffer.allocUnsafeSlow(joinedBytesMax)
const none: readonly BodyPiece[] = []

/** `unreadable` = a file of the body ended before its length, or was closed. */
type WriteState = 'done' | 'waiting' | 'closed' | 'unreadable'

/**
 * One per connection, for one request after another. Beyond 64 KiB a request's body is held, not copied: its bytes must
 * not change until `done`.
 */
export class RequestWriter {
  #pieces: readonly BodyPiece[] = none
  #piece = 0
  #offset = 0

  /** Everything was handed to the system. */
  get done(): boolean {
    return this.#piece === this.#pieces.length
  }

  /** Begins a request. `waiting` = call `flush` when the socket drains. */
  start(socket: Writable, prepared: PreparedHead, request: UpstreamRequest): WriteState {
    const { body } = request
    const head = headOf(prepared, request.method)
    let bodyBytes = 0
    let hasFile = false
    for (const piece of body) {
      bodyBytes += piece.length
      if (!(piece instanceof Uint8Array)) hasFile = true
    }
    const tail = bodyBytes === 0 && request.method !== 'POST' ? '\r\n' : `content-length: ${bodyBytes}\r\n\r\n`
    const headBytes = head.length + tail.length
    this.#piece = 0
    this.#offset = 0
    if (hasFile || headBytes + bodyBytes > joinedBytesMax) {
      this.#pieces = [Buffer.concat([head, Buffer.from(tail, 'latin1')]), ...body]
      return this.flush(socket)
    }
    scratch.set(head, 0)
    scratch.write(tail, head.length, 'latin1')
    let end = headBytes
    for (const piece of body as readonly Uint8Array[]) {
      scratch.set(piece, end)
      end += piece.length
    }
    this.#pieces = none
    const written = socket.write(scratch, 0, end)
    if (written === end) return 'done'
    if (written < 0) return 'closed'
    this.#pieces = [Buffer.from(scratch.subarray(written, end))]
    return 'waiting'
  }

  /** Goes on where the socket stopped taking bytes. */
  flush(socket: Writable): WriteState {
    while (this.#piece < this.#pieces.length) {
      const piece = this.#pieces[this.#piece]!
      const isFile = !(piece instanceof Uint8Array)
      let length = Math.min(piece.length - this.#offset, sliceBytesMax)
      if (length > 0) {
        if (isFile && (length = readSlice(piece, this.#offset)) === 0) return 'unreadable'
        // What the socket does not take of a file's slice is read again: nothing of it is held meanwhile.
        const written = isFile ? socket.write(scratch, 0, length) : socket.write(piece, this.#offset, length)
        if (written < 0) return 'closed'
        this.#offset += written
        if (written < length) return 'waiting'
      }
      if (this.#offset === piece.length) {
        this.#piece++
        this.#offset = 0
      }
    }
    this.stop()
    return 'done'
  }

  /** Forgets what was not written. */
  stop(): void {
    this.#pieces = none
    this.#piece = 0
    this.#offset = 0
  }
}

function headOf(prepared: PreparedHead, method: UpstreamRequest['method']): Buffer {
  return method === 'POST' ? prepared.post : Buffer.from(`${method} ${prepared.target}`, 'latin1')
}

/** Synchronous: the file was written moments ago, so its pages are in memory. */
function readSlice(piece: FilePiece, offset: number): number {
  const length = Math.min(piece.length - offset, scratch.length)
  return piece.file.read(scratch.subarray(0, length), piece.offset + offset)
}
