/** Brings one file from a web server. */

const downloadMsMax = 10_000

/**
 * The body of a 200 response. Redirects are not followed, and the answer is not decompressed: what is pinned by a hash
 * is what is at the address. `own` = further headers. Throws an error that names the address.
 */
export async function download(
  address: string,
  bytesMax: number,
  own?: Readonly<Record<string, string>>,
): Promise<Buffer> {
  return (await downloadDated(address, bytesMax, own)).bytes
}

/** A file that was brought. */
interface Downloaded {
  readonly bytes: Buffer
  /** As the server says it (`Last-Modified`), in milliseconds since 1970. */
  readonly modifiedMs: number | undefined
}

/** The same with the day of the file. */
export async function downloadDated(
  address: string,
  bytesMax: number,
  own: Readonly<Record<string, string>> = {},
): Promise<Downloaded> {
  // Imported here to save memory in gateways that download nothing.
  const { get } = address.startsWith('https:') ? await import('node:https') : await import('node:http')
  const { promise, resolve, reject } = Promise.withResolvers<Downloaded>()
  const headers = { accept: '*/*', 'user-agent': 'modelgate', ...own }
  const request = get(address, { agent: false, headers }, response => {
    if (response.statusCode !== 200) return stop(`it answered with status ${response.statusCode}`)
    const pieces: Buffer[] = []
    let bytes = 0
    response.on('data', (piece: Buffer) => {
      bytes += piece.length
      if (bytes > bytesMax) return stop(`it has more than ${bytesMax} bytes`)
      pieces.push(piece)
    })
    response.on('error', (error: Error) => stop(error.message))
    response.on('end', () => resolve({ bytes: Buffer.concat(pieces), modifiedMs: timeOf(response.headers) }))
  })
  const stop = (reason: string): void => {
    reject(new Error(`${address} could not be read: ${reason}`))
    request.destroy()
  }
  const timer = setTimeout(() => stop(`it took longer than ${downloadMsMax / 1000} seconds`), downloadMsMax)
  request.on('error', (error: Error) => stop(error.message))
  return promise.finally(() => clearTimeout(timer))
}

function timeOf({ 'last-modified': modified }: { readonly 'last-modified'?: string | undefined }): number | undefined {
  const ms = modified === undefined ? Number.NaN : Date.parse(modified)
  return Number.isNaN(ms) ? undefined : ms
}
