/**
 * Gives the memory of large bytes back now: the collector would see a few small objects and wait, while hundreds of
 * megabytes hang on them. Nobody may read them afterwards. Bytes that share their memory with others stay.
 */
export function freeBytes({ buffer, byteLength }: Uint8Array): void {
  if (byteLength >= freedBytesMin && byteLength === buffer.byteLength && buffer instanceof ArrayBuffer)
    buffer.transfer(0)
}

/** Smaller ones are not worth the call, and may lie in a pool. */
const freedBytesMin = 16 * 1024
