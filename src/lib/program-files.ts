/** Files of the program, in the source tree and in the bundle that `npm run package` makes. */

/** The bytes of a file that is plain, or gzip (RFC 1952, 2.3.1) as the bundle stores it. */
export function gunzipIfNeeded(bytes: Uint8Array<ArrayBuffer>): Uint8Array {
  const isGzip = bytes[0] === 0x1f && bytes[1] === 0x8b
  return isGzip ? Bun.gunzipSync(bytes) : bytes
}

/** The URL of a module in the same folder: `.ts` in the source tree, `.js` in the bundle, which has one folder. */
export function workerUrl(name: string, moduleUrl: string): URL {
  return new URL(`./${name}${moduleUrl.slice(moduleUrl.lastIndexOf('.'))}`, moduleUrl)
}
