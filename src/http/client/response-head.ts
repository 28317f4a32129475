/** The head of an HTTP/1.1 response, read strictly: what RFC 9112 lets a client repair is refused. */
import { codingsOf } from '../content-codings.ts'
import { HeaderFields } from '../header-fields.ts'
import { carriageReturn, hasToken, isFieldByte, lineFeed, parseDigits, space } from '../syntax.ts'

/** Why a response was refused: a few words, fit for the client; no bytes of the upstream in it. */
export class MalformedResponseError extends Error {
  override readonly name = 'MalformedResponseError'
}

const malformed = (why: string): MalformedResponseError => new MalformedResponseError(why)

/** The head of a final or interim response that passed every check. Keeps a reference to the bytes it was read from. */
export class ResponseHead extends HeaderFields {
  /** 100..599. */
  readonly status: number
  /** Bytes; -1 = not given. */
  readonly contentLength: number
  readonly chunked: boolean
  /** The peer keeps the connection open after this response. */
  readonly keepAlive: boolean
  /** From `Keep-Alive: timeout=N`; Infinity = not given. */
  readonly keepAliveMs: number
  /** The content codings in the order in which they were applied; empty = the body is as it is. */
  readonly codings: readonly string[]

  /**
   * Reads the head that fills `bytes` from `start` to `end`, the offset after its blank line. Throws
   * MalformedResponseError.
   */
  constructor(bytes: Buffer, start: number, end: number) {
    const status = parseStatus(bytes, start)
    super(bytes, skipReason(bytes, start + 12, end), end - 2, malformed)
    const isHttp10 = bytes[start + 7] === 48
    this.status = status
    this.contentLength = this.digits('content-length')
    // Several equal lengths are one (RFC 9112, 6.3).
    if (Number.isNaN(this.contentLength)) throw malformed(lengthProblem(this.count('content-length')))
    this.chunked = this.#isChunked()
    if (this.chunked) {
      if (this.contentLength >= 0) throw malformed('content-length beside transfer-encoding')
      if (isHttp10) throw malformed('transfer-encoding in HTTP/1.0')
    }
    const connection = this.is('connection', 'keep-alive')
      ? 'keep-alive'
      : (this.get('connection')?.toLowerCase() ?? '')
    this.keepAlive = isHttp10 ? hasToken(connection, 'keep-alive') : !connection || !hasToken(connection, 'close')
    const keepAlive = this.get('keep-alive')
    this.keepAliveMs = keepAlive === null ? Infinity : keepAliveMsOf(keepAlive.toLowerCase())
    this.codings = codingsOf(this.get('content-encoding'))
  }

  #isChunked(): boolean {
    const encoding = this.get('transfer-encoding')
    if (encoding === null) return false
    if (this.count('transfer-encoding') > 1) throw malformed('transfer-encoding is given twice')
    if (encoding.toLowerCase() !== 'chunked') throw malformed('transfer-encoding is not exactly chunked')
    return true
  }
}

function lengthProblem(lines: number): string {
  return lines > 1 ? 'two unequal content-length headers' : 'content-length is not a number'
}

const statusLineStart = 'HTTP/1.'

/** Whether the bytes from `start` to `end` can be, or still become, a status line. */
export function startsLikeHttp(bytes: Uint8Array, start: number, end: number): boolean {
  const known = Math.min(end - start, statusLineStart.length)
  for (let i = 0; i < known; i++) if (bytes[start + i] !== statusLineStart.charCodeAt(i)) return false
  return true
}

function parseStatus(bytes: Buffer, start: number): number {
  const minor = bytes[start + 7]
  if ((minor !== 48 && minor !== 49) || bytes[start + 8] !== space) throw malformed('the status line is not HTTP/1.1')
  const status = digit(bytes[start + 9]) * 100 + digit(bytes[start + 10]) * 10 + digit(bytes[start + 11])
  const after = bytes[start + 12]
  if (!(status >= 100 && status <= 599) || (after !== space && after !== carriageReturn))
    throw malformed('the status is not between 100 and 599')
  return status
}

function digit(byte: number | undefined): number {
  return byte !== undefined && byte >= 48 && byte <= 57 ? byte - 48 : NaN
}

/** Offset of the line after the status line. */
function skipReason(bytes: Buffer, from: number, end: number): number {
  let at = from
  while (at < end && isFieldByte(bytes[at]!)) at++
  return afterLineEnd(bytes, at)
}

function afterLineEnd(bytes: Buffer, at: number): number {
  if (bytes[at] !== carriageReturn || bytes[at + 1] !== lineFeed)
    throw malformed('a control character in a header line')
  return at + 2
}

function keepAliveMsOf(value: string): number {
  for (const part of value.split(',')) {
    const [name, number] = part.trim().split('=')
    if (name?.trim() !== 'timeout' || number === undefined) continue
    const seconds = parseDigits(number.trim())
    if (seconds >= 0) return seconds * 1000
  }
  return Infinity
}
