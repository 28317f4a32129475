/** Incremental parser of HTTP/1.1 requests (RFC 9112). Strict: what a correct client never sends is an error. */

/** A complete request. Chunks are joined; no other decoding is done. */
export interface HttpRequest {
  readonly method: string
  /** Path and query as sent. */
  readonly target: string
  /** By lower-case name; repeated headers joined by a comma and a space. */
  readonly headers: ReadonlyMap<string, string>
  readonly body: Buffer
  /** The client keeps the connection open after this request (RFC 9112, 9.3). */
  readonly keepAlive: boolean
}

/** A request that cannot be answered except with `status`; the connection closes after it. */
export class RequestError extends Error {
  readonly status: number
  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }
}

const headBytesMax = 128 * 1024
const bodyBytesMax = 256 * 1024 * 1024
const chunkLineBytesMax = 1024
const tokenPattern = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/

interface Head {
  method: string
  target: string
  headers: Map<string, string>
  keepAlive: boolean
  /** Bytes of the body; -1 = chunked. */
  length: number
}

function readHeaders(lines: string[]): Map<string, string> {
  const headers = new Map<string, string>()
  for (const line of lines) {
    const colon = line.indexOf(':')
    const name = line.slice(0, colon)
    if (colon < 1 || !tokenPattern.test(name)) throw new RequestError(400, `not a header: ${line.slice(0, 80)}`)
    const value = line.slice(colon + 1).trim()
    if (/[\0\r\n]/.test(value)) throw new RequestError(400, `a control character in header ${name}`)
    const key = name.toLowerCase()
    const before = headers.get(key)
    if (before !== undefined && (key === 'host' || key === 'content-length'))
      throw new RequestError(400, `two ${key} headers`)
    headers.set(key, before === undefined ? value : `${before}, ${value}`)
  }
  return headers
}

function readHead(text: string): Head {
  const [requestLine, ...lines] = text.split('\r\n')
  const parts = /^([A-Z]+) ([^\s]+) HTTP\/1\.([01])$/.exec(requestLine!)
  if (!parts) throw new RequestError(400, `not a request line: ${requestLine!.slice(0, 80)}`)
  const headers = readHeaders(lines)
  if (parts[3] === '1' && !headers.has('host')) throw new RequestError(400, 'no host header')
  const encoding = headers.get('transfer-encoding')
  const lengthText = headers.get('content-length')
  if (encoding !== undefined && encoding.toLowerCase() !== 'chunked')
    throw new RequestError(501, `transfer-encoding ${encoding}`)
  if (encoding !== undefined && lengthText !== undefined)
    throw new RequestError(400, 'content-length beside transfer-encoding')
  if (lengthText !== undefined && !/^\d{1,15}$/.test(lengthText)) throw new RequestError(400, 'bad content-length')
  const length = encoding === undefined ? Number(lengthText ?? 0) : -1
  if (length > bodyBytesMax) throw new RequestError(413, 'the body is too large')
  const connection = (headers.get('connection') ?? '').toLowerCase()
  const keepAlive = parts[3] === '1' ? !connection.includes('close') : connection.includes('keep-alive')
  return { method: parts[1]!, target: parts[2]!, headers, keepAlive, length }
}

/**
 * One per connection. Limits: 128 KiB of head, 256 MiB of body. After a RequestError the parser must not be used again.
 */
export class RequestParser {
  #rest: Buffer = Buffer.alloc(0)
  /**
   * Bytes received while `#rest` is known to be incomplete. They are joined once enough have arrived, which keeps large
   * bodies linear.
   */
  #later: Buffer[] = []
  #laterBytes = 0
  /** With fewer bytes than this no progress is possible. */
  #neededBytes = 1
  #head: Head | undefined
  #chunks: Buffer[] = []
  #chunkBytes = 0
  #inTrailers = false
  readonly #onContinue: () => void

  /** `onContinue` is called when a client waits for `100 Continue` before it sends its body. */
  constructor(onContinue: () => void = () => {}) {
    this.#onContinue = onContinue
  }

  /** A request has begun to arrive and is not complete. */
  get isInside(): boolean {
    return this.#head !== undefined || this.#rest.length + this.#laterBytes > 0
  }

  /**
   * Adds received bytes (copied where they are kept) and returns the requests that became complete. Throws
   * RequestError.
   */
  push(bytes: Uint8Array): HttpRequest[] {
    this.#later.push(Buffer.from(bytes))
    this.#laterBytes += bytes.length
    if (this.#rest.length + this.#laterBytes < this.#neededBytes) return []
    this.#rest =
      this.#rest.length === 0 && this.#later.length === 1
        ? this.#later[0]!
        : Buffer.concat([this.#rest, ...this.#later])
    this.#later = []
    this.#laterBytes = 0
    this.#neededBytes = 1
    const requests: HttpRequest[] = []
    for (let request = this.#next(); request; request = this.#next()) requests.push(request)
    return requests
  }

  #next(): HttpRequest | undefined {
    if (!this.#head && !this.#takeHead()) return undefined
    const head = this.#head!
    const body = head.length < 0 ? this.#takeChunked() : this.#take(head.length)
    if (!body) return undefined
    this.#head = undefined
    return {
      method: head.method,
      target: head.target,
      headers: head.headers,
      body,
      keepAlive: head.keepAlive,
    }
  }

  #takeHead(): boolean {
    // RFC 9112, 2.2: ignore empty lines before the request line.
    while (this.#rest[0] === 13 && this.#rest[1] === 10) this.#rest = this.#rest.subarray(2)
    const end = this.#rest.indexOf('\r\n\r\n')
    if (end > headBytesMax || (end < 0 && this.#rest.length > headBytesMax))
      throw new RequestError(431, 'the head is too large')
    if (end < 0) return false
    this.#head = readHead(this.#rest.toString('latin1', 0, end))
    this.#rest = this.#rest.subarray(end + 4)
    const waits = this.#head.headers.get('expect')?.toLowerCase() === '100-continue'
    if (waits && this.#rest.length === 0) this.#onContinue()
    return true
  }

  #take(length: number): Buffer | undefined {
    if (this.#rest.length < length) {
      this.#neededBytes = length
      return undefined
    }
    const taken = this.#rest.subarray(0, length)
    this.#rest = this.#rest.subarray(length)
    return taken
  }

  #takeLine(): string | undefined {
    const end = this.#rest.indexOf('\r\n')
    if (end > chunkLineBytesMax || (end < 0 && this.#rest.length > chunkLineBytesMax))
      throw new RequestError(400, 'a chunk line is too long')
    if (end < 0) return undefined
    return this.#take(end + 2)!.toString('latin1', 0, end)
  }

  #takeChunked(): Buffer | undefined {
    for (;;) {
      if (this.#inTrailers) {
        const line = this.#takeLine()
        if (line === undefined) return undefined
        if (line !== '') continue
        const body = Buffer.concat(this.#chunks)
        this.#chunks = []
        this.#chunkBytes = 0
        this.#inTrailers = false
        return body
      }
      const end = this.#rest.indexOf('\r\n')
      if (end > chunkLineBytesMax || (end < 0 && this.#rest.length > chunkLineBytesMax))
        throw new RequestError(400, 'a chunk line is too long')
      if (end < 0) return undefined
      const line = this.#rest.toString('latin1', 0, end)
      const size = /^([0-9a-fA-F]{1,8})[ \t]*(?:;.*)?$/.exec(line)
      if (!size) throw new RequestError(400, `not a chunk size: ${line.slice(0, 40)}`)
      const length = Number.parseInt(size[1]!, 16)
      if (this.#chunkBytes + length > bodyBytesMax) throw new RequestError(413, 'the body is too large')
      if (length === 0) {
        this.#take(end + 2)
        this.#inTrailers = true
        continue
      }
      const whole = this.#take(end + 2 + length + 2)
      if (!whole) return undefined
      if (whole[whole.length - 2] !== 13 || whole[whole.length - 1] !== 10)
        throw new RequestError(400, 'a chunk is longer than its size')
      this.#chunks.push(whole.subarray(end + 2, -2))
      this.#chunkBytes += length
    }
  }
}
