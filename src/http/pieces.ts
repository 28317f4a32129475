/** Parts of the bytes that a socket gave. */

/** So many bytes of an array lie beside it in the heap of JavaScript; more have memory of their own. */
const copiedBytesMax = 1000

/**
 * The bytes from `start` to `end`, for readers alone: a copy where they are few. For a view of them the runtime moves
 * all bytes into a buffer that can be shared: 0.35 us for the 500 bytes of a request, 0.13 the copy.
 */
export function pieceOf(bytes: Buffer, start: number, end: number): Buffer {
  const length = end - start
  if (length === bytes.length) return bytes
  if (length > copiedBytesMax) return bytes.subarray(start, end)
  const piece = Buffer.allocUnsafeSlow(length)
  bytes.copy(piece, 0, start, end)
  return piece
}
