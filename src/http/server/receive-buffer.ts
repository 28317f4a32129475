/** Bytes that wait for more of their kind: a head that comes in parts, requests behind one that is not answered. */

/** Nothing, as bytes. */
export const noBytes = Buffer.alloc(0)
/** What is taken beyond the need, at most: more parts find room there. */
const spareBytesMax = 64 * 1024
const spareBytesMin = 512

/** Appending costs what is appended, however small the parts are. */
export class Backlog {
  #bytes: Buffer = noBytes
  /** Of its own making; `#bytes` may lie in it, and nothing after `#bytes` is in use. */
  #room: Buffer = noBytes

  get length(): number {
    return this.#bytes.length
  }

  /** What waits and then `chunk`. Nothing waits any more. */
  join(chunk: Buffer): Buffer {
    const bytes = this.#bytes
    this.#bytes = noBytes
    if (chunk.length === 0) return bytes
    const length = bytes.length + chunk.length
    let room = this.#room
    let from = bytes.byteOffset
    if (bytes.buffer !== room.buffer || from + length > room.length) {
      room = Buffer.allocUnsafeSlow(length + Math.max(spareBytesMin, Math.min(length, spareBytesMax)))
      from = 0
      room.set(bytes)
      this.#room = room
    }
    room.set(chunk, from + bytes.length)
    return room.subarray(from, from + length)
  }

  /** `bytes`: the end of what `join` gave, or of a chunk when nothing waited. */
  keep(bytes: Buffer): void {
    this.#bytes = bytes
  }

  clear(): void {
    this.#bytes = noBytes
    this.#room = noBytes
  }
}
