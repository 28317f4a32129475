/** How much may be unpacked while files are read: what is packed to burst is not read to its end. */
import { constants, gunzipSync, inflateRawSync, inflateSync } from 'node:zlib'

/** Real texts are packed to a third or a tenth; the most that deflate reaches is 1:1032. */
const ratioMax = 100
/** Small files may be packed better than that. */
const freeBytes = 256 * 1024

/** Compressed forms that can be read. */
export type PackedForm = 'zlib' | 'raw' | 'gzip' | 'zstd'

/** One for all files of a call. */
export class ReadingBudget {
  #bytes: number
  readonly #endMs: number
  readonly #nowMs: () => number

  /** `bytes` = unpacked, of all files together; `ms` = of the clock, after which nothing more is unpacked. */
  constructor({ bytes = 16 * 1024 * 1024, ms = 1000, nowMs = () => performance.now() } = {}) {
    this.#bytes = bytes
    this.#nowMs = nowMs
    this.#endMs = nowMs() + ms
  }

  /** Nothing more is to be read. */
  get isSpent(): boolean {
    return this.#bytes <= 0 || this.#nowMs() > this.#endMs
  }

  /** Counts what is read as it stands, perhaps again and again; false = it is not to be read. */
  take(bytes: number): boolean {
    this.#bytes -= bytes
    return !this.isSpent
  }

  /** undefined = damaged, or larger than what is left. A cut text is read as far as it goes. */
  unpacked(form: PackedForm, bytes: Uint8Array): Uint8Array | undefined {
    if (this.isSpent) return undefined
    const most = Math.min(this.#bytes, freeBytes + ratioMax * bytes.length)
    const read = tried(() => unpack(form, bytes, most))
    // What burst its bound has cost as much as if it had fitted.
    this.#bytes -= read?.length ?? most
    return read
  }
}

function unpack(form: PackedForm, bytes: Uint8Array, maxOutputLength: number): Uint8Array | undefined {
  const options = { maxOutputLength, finishFlush: constants.Z_SYNC_FLUSH }
  switch (form) {
    case 'zlib':
      return inflateSync(bytes, options)
    case 'raw':
      return inflateRawSync(bytes, options)
    case 'gzip':
      return gunzipSync(bytes, options)
    case 'zstd':
      return announcedSize(bytes) <= maxOutputLength ? Bun.zstdDecompressSync(bytes) : undefined
  }
}

/** What the header of the first frame says (RFC 8878, 3.1.1.1); Infinity = nothing, or there is more than one frame. */
function announcedSize(bytes: Uint8Array): number {
  const descriptor = bytes[4] ?? 0
  const isSingle = (descriptor & 32) !== 0
  const width = [isSingle ? 1 : 0, 2, 4, 8][descriptor >> 6]!
  if (width === 0) return Number.POSITIVE_INFINITY
  const at = 5 + (isSingle ? 0 : 1) + [0, 1, 2, 4][descriptor & 3]!
  let size = width === 2 ? 256 : 0
  for (let index = 0; index < width; index++) size += (bytes[at + index] ?? 0) * 256 ** index
  const isOne = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).indexOf(zstdMagic, 4) < 0
  return isOne ? size : Number.POSITIVE_INFINITY
}

const zstdMagic = Buffer.from([0x28, 0xb5, 0x2f, 0xfd])

function tried<T>(ask: () => T): T | undefined {
  try {
    return ask()
  } catch {
    return undefined
  }
}
