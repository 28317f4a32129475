/** The head of an HTTP/1.1 request, read strictly: what two readers could understand differently is refused. */
import type { RequestHeaders } from '../../core/request.ts'
import { HeaderFields } from '../header-fields.ts'
import { carriageReturn, hasToken, lineFeed, space, tokenBytes } from '../syntax.ts'

/** Why a request was refused before it was handled. The connection ends with the answer. */
export class RefusedRequest extends Error {
  override readonly name = 'RefusedRequest'
  readonly status: number

  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }
}

const refused = (why: string, status = 400): RefusedRequest => new RefusedRequest(status, why)

/** 1 for each byte of a host and port: letters, digits, and the signs of addresses (RFC 3986, 3.2.2). */
const hostBytes = new Uint8Array(256)
for (const char of '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_.-:[]%')
  hostBytes[char.charCodeAt(0)] = 1

/** Request line and headers of a request. Keeps a reference to the bytes it was read from. */
export class RequestHead extends HeaderFields implements RequestHeaders {
  readonly method: string
  /** Path and query, as sent: it begins with a slash, without origin and fragment. */
  readonly target: string
  /** HTTP/1.0: no chunks, and the connection closes unless asked otherwise. */
  readonly isHttp10: boolean
  /** Bytes; -1 = not given. */
  readonly contentLength: number
  readonly chunked: boolean
  readonly keepAlive: boolean
  /** The client waits for `100 Continue` before it sends its body. */
  readonly expectsContinue: boolean

  /**
   * Reads the head in `bytes` from `start` to `end`, the offset after its blank line. Throws RefusedRequest.
   * `lastTarget` = that of the request before on the connection: clients repeat themselves, and no string is made.
   */
  constructor(bytes: Buffer, start: number, end: number, lastTarget = '') {
    const methodEnd = tokenEnd(bytes, start)
    if (methodEnd === start || bytes[methodEnd] !== space) throw refused('the request line has no method')
    const targetEnd = visibleEnd(bytes, methodEnd + 1)
    if (bytes[targetEnd] !== space) throw refused('the request target holds a character that must be percent-encoded')
    const isHttp10 = versionIsOld(bytes, targetEnd + 1)
    const method = methodText(bytes, start, methodEnd)
    const target =
      lastTarget !== '' && equalsText(bytes, methodEnd + 1, targetEnd, lastTarget)
        ? lastTarget
        : originForm(bytes.toString('latin1', methodEnd + 1, targetEnd), method)
    super(bytes, targetEnd + 11, end - 2, refused)
    this.method = method
    this.target = target
    this.isHttp10 = isHttp10
    this.#checkHost()
    const encoding = this.#only('transfer-encoding')
    if (this.count('content-length') > 1) throw refused('content-length is given twice')
    const length = this.digits('content-length')
    this.chunked = encoding !== null
    if (encoding !== null && encoding.toLowerCase() !== 'chunked')
      throw new RefusedRequest(501, 'transfer-encoding must be chunked; send the body as it is')
    if (encoding !== null && (length !== -1 || this.isHttp10))
      throw refused('the length of the body is given in two ways')
    if (Number.isNaN(length)) throw refused('content-length is not a number')
    this.contentLength = length
    const connection = this.is('connection', 'keep-alive')
      ? 'keep-alive'
      : (this.get('connection')?.toLowerCase() ?? '')
    this.keepAlive = (!this.isHttp10 || hasToken(connection, 'keep-alive')) && !hasToken(connection, 'close')
    this.expectsContinue = this.#expects()
  }

  /** A header of which two would be a contradiction. */
  #only(name: string): string | null {
    const value = this.get(name)
    if (value !== null && this.count(name) > 1) throw refused(`${name} is given twice`)
    return value
  }

  #checkHost(): void {
    const count = this.count('host')
    if (count > 1) throw refused('host is given twice')
    if (count === 0 && !this.isHttp10) throw refused('the Host header is missing')
    if (!this.consistsOf('host', hostBytes)) throw refused('the Host header is not valid')
  }

  #expects(): boolean {
    const expected = this.get('expect')
    if (expected === null || this.isHttp10) return false
    if (expected.toLowerCase() !== '100-continue') throw new RefusedRequest(417, 'expect may only be 100-continue')
    return true
  }
}

/**
 * Checks a partial head from `from` on. Throws RefusedRequest for what can never become a head (TLS, bare line feeds)
 * instead of waiting for its end.
 */
export function checkPartialHead(bytes: Buffer, from: number): void {
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

/** POST and GET are constants: no string is allocated for them. */
function methodText(bytes: Buffer, start: number, end: number): string {
  const first = bytes[start]
  const length = end - start
  if (length === 4 && first === 80 && bytes[start + 1] === 79 && bytes[start + 2] === 83 && bytes[start + 3] === 84)
    return 'POST'
  if (length === 3 && first === 71 && bytes[start + 1] === 69 && bytes[start + 2] === 84) return 'GET'
  return bytes.toString('latin1', start, end)
}

/** RFC 9112, 3.2: also the absolute form, as proxies get it, and the asterisk form of OPTIONS. */
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

function equalsText(bytes: Buffer, from: number, to: number, text: string): boolean {
  if (to - from !== text.length) return false
  for (let at = from; at < to; at++) if (bytes[at] !== text.charCodeAt(at - from)) return false
  return true
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
