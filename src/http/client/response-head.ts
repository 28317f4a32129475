/** The head of an HTTP/1.1 response, read strictly: what RFC 9112 lets a client repair is refused. */
import {
  carriageReturn,
  colon,
  fieldValue,
  hasWord,
  isFieldByte,
  isNamed,
  lineFeed,
  parseDigits,
  space,
  tab,
  tokenBytes,
} from '../syntax.ts'

/** Bytes of status line and headers together. */
export const headBytesMax = 64 * 1024
const headerLinesMax = 200

/** A final response's head that passed every check. Made by `parseHead`. */
export interface ResponseHead {
  /** 100..599. */
  readonly status: number
  /** -1 = not given. */
  readonly contentLength: number
  readonly chunked: boolean
  /** The peer keeps the connection open after this response. */
  readonly keepAlive: boolean
  /** From `Keep-Alive: timeout=N`; Infinity = not given. */
  readonly keepAliveMs: number
  /** What `content-encoding` says when that is not `identity`. */
  readonly encoding: string
  /** Latin-1, every line ends in CR LF, status line included, blank line not. */
  readonly text: string
}

/** Why a response was refused: a few words, fit for the client; no bytes of the upstream in it. */
export class MalformedResponseError extends Error {
  override readonly name = 'MalformedResponseError'
}

/** The first value of `name` (lower case) in a head's text. */
export function findHeader(text: string, name: string): string | undefined {
  const { length } = name
  for (let end = text.indexOf('\r\n'); end >= 0; ) {
    const start = end + 2
    end = text.indexOf('\r\n', start)
    if (end < 0) return undefined
    if (text.charCodeAt(start + length) !== colon) continue
    const valueStart = start + length + 1
    if (text.slice(start, valueStart - 1).toLowerCase() === name) return text.slice(valueStart, end).trim()
  }
  return undefined
}

/** What stands in the header lines, while they are read. */
class Fields {
  contentLength = -1
  transferEncoding = ''
  connection = ''
  keepAlive = ''
  encoding = ''

  add(name: string, value: string): void {
    if (name === 'content-length') this.#addLength(value)
    else if (name === 'transfer-encoding') {
      if (this.transferEncoding) throw new MalformedResponseError('transfer-encoding is given twice')
      this.transferEncoding = value.toLowerCase() || 'empty'
    } else if (name === 'connection') this.connection += `,${value.toLowerCase()}`
    else if (name === 'keep-alive') this.keepAlive = value.toLowerCase()
    else if (name === 'content-encoding') this.encoding += this.encoding ? `, ${value}` : value
  }

  #addLength(value: string): void {
    const bytes = parseDigits(value)
    if (bytes < 0) throw new MalformedResponseError('content-length is not a number')
    if (this.contentLength >= 0 && this.contentLength !== bytes)
      throw new MalformedResponseError('two unequal content-length headers')
    this.contentLength = bytes
  }
}

/** Lengths of the names that decide about framing: all other names are not even made into strings. */
const framingNames = ['content-length', 'transfer-encoding', 'connection', 'keep-alive', 'content-encoding']
const framingNameLengths = new Uint8Array(256)
for (const name of framingNames) framingNameLengths[name.length] = 1

/**
 * Reads the head that fills `bytes` from `start` to `end`, where `end` is the offset after its blank
 * line. Throws MalformedResponseError.
 */
export function parseHead(bytes: Buffer, start: number, end: number): ResponseHead {
  const status = parseStatus(bytes, start)
  const isOld = bytes[start + 7] === 48
  const fields = new Fields()
  let at = skipReason(bytes, start + 12, end)
  const last = end - 2
  for (let lines = 0; at < last; lines++) {
    if (lines === headerLinesMax) throw new MalformedResponseError(`more than ${headerLinesMax} header lines`)
    at = parseLine(bytes, at, fields)
  }
  const { transferEncoding, connection } = fields
  if (transferEncoding) {
    if (transferEncoding !== 'chunked') throw new MalformedResponseError('transfer-encoding is not exactly chunked')
    if (fields.contentLength >= 0) throw new MalformedResponseError('content-length beside transfer-encoding')
    if (isOld) throw new MalformedResponseError('transfer-encoding in HTTP/1.0')
  }
  return {
    status,
    contentLength: fields.contentLength,
    chunked: transferEncoding !== '',
    keepAlive: isOld ? hasWord(connection, 'keep-alive') : !connection || !hasWord(connection, 'close'),
    keepAliveMs: fields.keepAlive ? keepAliveMsOf(fields.keepAlive) : Infinity,
    encoding: fields.encoding.toLowerCase() === 'identity' ? '' : fields.encoding,
    text: bytes.toString('latin1', start, last),
  }
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
  if ((minor !== 48 && minor !== 49) || bytes[start + 8] !== space)
    throw new MalformedResponseError('the status line is not HTTP/1.1')
  const status = digit(bytes[start + 9]) * 100 + digit(bytes[start + 10]) * 10 + digit(bytes[start + 11])
  const after = bytes[start + 12]
  if (!(status >= 100 && status <= 599) || (after !== space && after !== carriageReturn))
    throw new MalformedResponseError('the status is not between 100 and 599')
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
    throw new MalformedResponseError('a control character in a header line')
  return at + 2
}

/** Reads one header line into `fields`; returns the offset of the next. */
function parseLine(bytes: Buffer, start: number, fields: Fields): number {
  let at = start
  while (tokenBytes[bytes[at]!] === 1) at++
  // This refuses empty names, a space before the colon, folded lines and lines without a colon.
  if (at === start || bytes[at] !== colon) throw new MalformedResponseError('a header line without a proper name')
  const nameEnd = at++
  for (let byte = bytes[at]!; (byte >= space && byte !== 127) || byte === tab; byte = bytes[at]!) at++
  const next = afterLineEnd(bytes, at)
  const length = nameEnd - start
  if (length < 256 && framingNameLengths[length] === 1) {
    for (const name of framingNames)
      if (isNamed(bytes, start, nameEnd, name)) fields.add(name, fieldValue(bytes, nameEnd + 1, at))
  }
  return next
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
