/** Received bytes that cannot be used yet: a partial head, or pipelined requests behind one without an answer. */

/** An empty buffer, shared by all that have no bytes. */
export const noBytes = Buffer.alloc(0)
/** Spare capacity for the bytes to come. */
const spareBytesMax = 64 * 1024
const spareBytesMin = 512

/** Appending copies only what is appended. */
export class ReceiveBuffer {
  #bytes: Buffer = noBytes
  /** Allocated here. `#bytes` may lie in it; the space behind `#bytes` is free. */
  #block: Buffer = noBytes

  get length(): number {
    return this.#bytes.length
  }

  /** Takes out what is kept, with `chunk` behind it. */
  join(chunk: Buffer): Buffer {
    const bytes = this.#bytes
    this.#bytes = noBytes
    if (chunk.length === 0) return bytes
    const length = bytes.length + chunk.length
    let block = this.#block
    let from = bytes.byteOffset
    if (bytes.buffer !== block.buffer || from + length > block.length) {
      block = Buffer.allocUnsafeSlow(length + Math.max(spareBytesMin, Math.min(length, spareBytesMax)))
      from = 0
      block.set(bytes)
      this.#block = block
    }
    block.set(chunk, from + bytes.length)
    return block.subarray(from, from + length)
  }

  /** Keeps `bytes`: the end of what `join` returned, or of a chunk when nothing was kept. */
  keep(bytes: Buffer): void {
    this.#bytes = bytes
  }

  clear(): void {
    this.#bytes = noBytes
    this.#block = noBytes
  }
}
