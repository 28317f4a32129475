/** A socket that takes as many bytes as a test lets it. */

/** Takes `room()` bytes a call and remembers them. */
export class Taker {
  readonly #pieces: Buffer[] = []
  calls = 0
  largest = 0
  room: (length: number) => number
  constructor(room: (length: number) => number = length => length) {
    this.room = room
  }
  write(bytes: Uint8Array, offset: number, length: number): number {
    this.calls++
    this.largest = Math.max(this.largest, length)
    if (offset < 0 || length < 1 || offset + length > bytes.length) throw new Error('outside of the bytes')
    const taken = Math.min(length, this.room(length))
    if (taken > 0) this.#pieces.push(Buffer.from(bytes.subarray(offset, offset + taken)))
    return taken
  }
  get taken(): Buffer {
    return Buffer.concat(this.#pieces)
  }
}
