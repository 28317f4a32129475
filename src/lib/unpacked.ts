/** Files of the program that `npm run package` stores compressed. */

/** The bytes of a file that is gzip (RFC 1952, 2.3.1) or plain. */
export function unpacked(bytes: Uint8Array<ArrayBuffer>): Uint8Array {
  const isGzip = bytes[0] === 0x1f && bytes[1] === 0x8b
  return isGzip ? Bun.gunzipSync(bytes) : bytes
}
