/** The head of an HTTP/1.1 request, read strictly: whatever two readers could understand differently is refused. */
import type { RequestHeaders } from '../../core/request.ts'
import {
  carriageReturn,
  colon,
  fieldValue,
  hasWord,
  isNamed,
  lineFeed,
  parseDigits,
  space,
  tab,
  tokenBytes,
} from '../syntax.ts'

/** Bytes of request line and headers together. */
export const headBytesMax = 64 * 1024
const headerLinesMax = 200
/** Offsets a header line: name from, name to, value from, value to. */
const offsetsPerLine = 4

/** Why a request was refused before anyone saw it. The connection cannot go on. */
export class RefusedRequest extends Error {
  override readonly name = 'RefusedRequest'
  readonly status: number

  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }
}

const refused = (why: string): RefusedRequest => new RefusedRequest(400, why)

/** Holds on to the bytes that it was read from: a header is looked up in them when somebody asks. */
export class RequestHead implements RequestHeaders {
  readonly method: string
  /** Path and query, as sent: it begins with a slash, without origin and fragment. */
  readonly target: string
  /** HTTP/1.0: no chunks, and the connection closes unless asked otherwise. */
  readonly isOld: boolean
  /** -1 = not given. */
  readonly contentLength: number
  readonly chunked: boolean
  readonly keepAlive: boolean
  /** The client waits for a word before it sends its body. */
  readonly expectsContinue: boolean
  readonly #bytes: Buffer
  readonly #lines: readonly number[]

  /** Reads the head that fills `bytes` from `start` to `end`, the offset after its blank line. Throws RefusedRequest. */
  constructor(bytes: Buffer, start: number, end: number) {
    this.#bytes = bytes
    const methodEnd = tokenEnd(bytes, start)
    if (methodEnd === start || bytes[methodEnd] !== space) throw refused('the request line has no method')
    this.method = methodText(bytes, start, methodEnd)
    const targetEnd = visibleEnd(bytes, methodEnd + 1)
    if (bytes[targetEnd] !== space) throw refused('the request target holds a character that must be percent-encoded')
    this.isOld = versionIsOld(bytes, targetEnd + 1)
    this.target = originForm(bytes.toString('latin1', methodEnd + 1, targetEnd), this.method)
    this.#lines = linesOf(bytes, targetEnd + 11, end - 2)
    this.#checkHost()
    const encoding = this.#only('transfer-encoding')
    const length = this.#only('content-length')
    this.chunked = encoding !== null
    if (encoding !== null && encoding.toLowerCase() !== 'chunked')
      throw new RefusedRequest(501, 'transfer-encoding must be chunked; send the body as it is')
    if (encoding !== null && (length !== null || this.isOld))
      throw refused('the length of the body is given in two ways')
    this.contentLength = length === null ? -1 : parseDigits(length)
    if (length !== null && this.contentLength < 0) throw refused('content-length is not a number')
    const connection = this.get('connection')?.toLowerCase() ?? ''
    this.keepAlive = (!this.isOld || hasWord(connection, 'keep-alive')) && !hasWord(connection, 'close')
    this.expectsContinue = this.#expects()
  }

  get(name: string): string | null {
    const lines = this.#lines
    let found: string | null = null
    for (let at = 0; at < lines.length; at += offsetsPerLine) {
      if (!this.#isNamed(at, name)) continue
      const value = fieldValue(this.#bytes, lines[at + 2]!, lines[at + 3]!)
      found = found === null ? value : `${found}, ${value}`
    }
    return found
  }

  has(name: string): boolean {
    for (let at = 0; at < this.#lines.length; at += offsetsPerLine) if (this.#isNamed(at, name)) return true
    return false
  }

  #isNamed(at: number, name: string): boolean {
    return isNamed(this.#bytes, this.#lines[at]!, this.#lines[at + 1]!, name)
  }

  /** A header of which two would be a contradiction. */
  #only(name: string): string | null {
    let found: string | null = null
    for (let at = 0; at < this.#lines.length; at += offsetsPerLine) {
      if (!this.#isNamed(at, name)) continue
      if (found !== null) throw refused(`${name} is given twice`)
      found = fieldValue(this.#bytes, this.#lines[at + 2]!, this.#lines[at + 3]!)
    }
    return found
  }

  #checkHost(): void {
    const host = this.#only('host')
    if (host === null && !this.isOld) throw refused('the Host header is missing')
    if (host !== null && !/^[\w.\-:[\]%]*$/.test(host)) throw refused('the Host header is not valid')
  }

  #expects(): boolean {
    const expected = this.get('expect')
    if (expected === null || this.isOld) return false
    if (expected.toLowerCase() !== '100-continue') throw new RefusedRequest(417, 'expect may only be 100-continue')
    return true
  }
}

/**
 * Looks at a head that is not complete, from `from` on. Throws RefusedRequest for what can never become one (TLS,
 * bare line feeds): its end would be waited for in vain.
 */
export function refuseHopeless(bytes: Buffer, from: number): void {
  const [first] = bytes
  if (tokenBytes[first!] !== 1 && (first !== carriageReturn || bytes.length > 1))
    throw refused('the request line has no method')
  for (let at = bytes.indexOf(lineFeed, from); at >= 0; at = bytes.indexOf(lineFeed, at + 1))
    if (bytes[at - 1] !== carriageReturn) throw refused('a line of the head does not end in CR LF')
}

function tokenEnd(bytes: Buffer, from: number): number {
  let at = from
  while (tokenBytes[bytes[at]!] === 1) at++
  return at
}

function visibleEnd(bytes: Buffer, from: number): number {
  let at = from
  for (let byte = bytes[at]!; byte > space && byte < 127; byte = bytes[at]!) at++
  return at
}

/** The usual ones are constants: no string is made for them. */
function methodText(bytes: Buffer, start: number, end: number): string {
  const first = bytes[start]
  const length = end - start
  if (length === 4 && first === 80 && bytes[start + 1] === 79 && bytes[start + 2] === 83 && bytes[start + 3] === 84)
    return 'POST'
  if (length === 3 && first === 71 && bytes[start + 1] === 69 && bytes[start + 2] === 84) return 'GET'
  return bytes.toString('latin1', start, end)
}

/** RFC 9112, 3.2: also a whole address, as proxies are asked, and the asterisk of OPTIONS. */
function originForm(target: string, method: string): string {
  if (target.charCodeAt(0) === 47) {
    const fragment = target.indexOf('#')
    return fragment < 0 ? target : target.slice(0, fragment)
  }
  if (target === '*' && method === 'OPTIONS') return '/'
  const path = /^https?:\/\/[^/?#]+([^#]*)/i.exec(target)?.[1]
  if (path === undefined) throw refused('the request target must begin with a slash')
  return path.startsWith('/') ? path : `/${path}`
}

const versionStart = Buffer.from('HTTP/1.')

function versionIsOld(bytes: Buffer, at: number): boolean {
  for (let i = 0; i < versionStart.length; i++)
    if (bytes[at + i] !== versionStart[i]) throw new RefusedRequest(505, 'only HTTP/1.1 is spoken here')
  const minor = bytes[at + 7]
  if (minor !== 48 && minor !== 49) throw new RefusedRequest(505, 'only HTTP/1.1 is spoken here')
  if (bytes[at + 8] !== carriageReturn || bytes[at + 9] !== lineFeed)
    throw refused('the request line does not end in CR LF')
  return minor === 48
}

function linesOf(bytes: Buffer, start: number, end: number): number[] {
  const lines: number[] = []
  for (let at = start; at < end; ) {
    if (lines.length === headerLinesMax * offsetsPerLine)
      throw new RefusedRequest(431, `more than ${headerLinesMax} header lines`)
    const nameEnd = tokenEnd(bytes, at)
    // This refuses empty names, a space before the colon, folded lines and lines without a colon.
    if (nameEnd === at || bytes[nameEnd] !== colon) throw refused('a header line without a proper name')
    let valueEnd = nameEnd + 1
    for (let byte = bytes[valueEnd]!; (byte >= space && byte !== 127) || byte === tab; byte = bytes[valueEnd]!)
      valueEnd++
    if (bytes[valueEnd] !== carriageReturn || bytes[valueEnd + 1] !== lineFeed)
      throw refused('a control character in a header line')
    lines.push(at, nameEnd, nameEnd + 1, valueEnd)
    at = valueEnd + 2
  }
  return lines
}
