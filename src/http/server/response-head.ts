/** Status line and headers of an answer. */
import type { AnswerBody } from '../../core/answer.ts'
import { isToken } from '../syntax.ts'

/** Reason phrases (RFC 9110, 15). */
const reasons: Readonly<Record<number, string>> = {
  200: 'OK',
  201: 'Created',
  202: 'Accepted',
  204: 'No Content',
  302: 'Found',
  303: 'See Other',
  304: 'Not Modified',
  400: 'Bad Request',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'Not Found',
  405: 'Method Not Allowed',
  408: 'Request Timeout',
  409: 'Conflict',
  413: 'Content Too Large',
  415: 'Unsupported Media Type',
  417: 'Expectation Failed',
  422: 'Unprocessable Content',
  426: 'Upgrade Required',
  429: 'Too Many Requests',
  431: 'Request Header Fields Too Large',
  500: 'Internal Server Error',
  501: 'Not Implemented',
  502: 'Bad Gateway',
  503: 'Service Unavailable',
  504: 'Gateway Timeout',
  505: 'HTTP Version Not Supported',
}

/** How the body is framed: content-length in bytes, chunks, the close of the connection; or there is no body. */
type Framing = number | 'chunked' | 'until-close' | 'none'

/** `headers` must not change before the head is sent: they are checked when it is made, and written later. */
export interface ResponseHeadParts {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  /** Values of `set-cookie`; absent = none. */
  readonly cookies?: readonly string[] | undefined
  readonly framing: Framing
  /** Value of the `connection` header; empty = no such header. */
  readonly connection: string
  readonly epochMs: number
}

/** Upper bound for status line, date and framing headers. */
const ownBytesMax = 256

/**
 * Status line and headers, serialised byte by byte when they are sent: joining a string of sixty parts first costs
 * three microseconds and twice the garbage.
 */
export class ResponseHead {
  /** Bytes, at most. */
  readonly length: number
  readonly #parts: ResponseHeadParts

  /** Throws for a name or value that could inject a header or body (response splitting), and for framing headers. */
  constructor(parts: ResponseHeadParts) {
    const { headers, cookies } = parts
    let length = ownBytesMax
    for (const name in headers) {
      const value = headers[name]!
      const known = goodFields.get(name)
      if (known?.value !== value) checkField(name, value, known)
      length += name.length + value.length + 4
    }
    if (cookies)
      for (const value of cookies) {
        if (!isFieldText(value)) throw new Error('a cookie cannot be sent as it is')
        length += cookieName.length + value.length + 4
      }
    this.length = length
    this.#parts = parts
  }

  /** Writes from `from` on, as Latin-1; returns the offset behind it. */
  write(bytes: Uint8Array, from: number): number {
    const { status, headers, cookies, framing, connection, epochMs } = this.#parts
    let at = put(bytes, from, statusLine(status))
    at = put(bytes, at, dateText(epochMs))
    for (const name in headers) at = putField(bytes, at, name, headers[name]!)
    if (cookies) for (const value of cookies) at = putField(bytes, at, cookieName, value)
    if (typeof framing === 'number') {
      at = put(bytes, at, '\r\ncontent-length: ')
      at = put(bytes, at, String(framing))
    } else if (framing === 'chunked') at = put(bytes, at, '\r\ntransfer-encoding: chunked')
    if (connection !== '') {
      at = put(bytes, at, '\r\nconnection: ')
      at = put(bytes, at, connection)
    }
    return put(bytes, at, '\r\n\r\n')
  }
}

const cookieName = 'set-cookie'

function putField(bytes: Uint8Array, from: number, name: string, value: string): number {
  let at = put(bytes, from, '\r\n')
  at = put(bytes, at, name)
  at = put(bytes, at, ': ')
  return put(bytes, at, value)
}

function put(bytes: Uint8Array, from: number, text: string): number {
  let at = from
  for (let index = 0; index < text.length; index++) bytes[at++] = text.charCodeAt(index)
  return at
}

const statusLines = new Map<number, string>()
/** A 426 says which protocol is spoken instead (RFC 9110, 15.5.22). */
const upgradeFields = 'upgrade: HTTP/1.1\r\nconnection: upgrade\r\n'

function statusLine(status: number): string {
  let line = statusLines.get(status)
  if (line === undefined)
    statusLines.set(
      status,
      (line = `HTTP/1.1 ${status} ${reasons[status] ?? 'Status'}\r\n${status === 426 ? upgradeFields : ''}date: `),
    )
  return line
}

/** Without a known length: chunks, or in HTTP/1.0 the close of the connection. */
export function framingOf(body: AnswerBody, status: number, { method, isHttp10 }: RequestLine): Framing {
  if (status === 204 || status === 304) return 'none'
  if (body === null) return method === 'HEAD' ? 'none' : 0
  if (typeof body === 'string') return Buffer.byteLength(body, 'utf8')
  if (body instanceof Uint8Array) return body.length
  return isHttp10 ? 'until-close' : 'chunked'
}

/** The parts of a request on which the framing depends. */
interface RequestLine {
  readonly method: string
  /** HTTP/1.0. */
  readonly isHttp10: boolean
}

/** No control character but TAB, and nothing beyond Latin-1. */
function isFieldText(value: string): boolean {
  for (let index = 0; index < value.length; index++) {
    const code = value.charCodeAt(index)
    if ((code < 32 && code !== 9) || code === 127 || code > 255) return false
  }
  return true
}

/** Names that were checked before, there are few of them, each with its last short value: most come again. */
const goodFields = new Map<string, { value: string }>()
const goodFieldsMax = 1000
const keptValueLengthMax = 200
/** Set by the server alone. */
const framingNames = new Set(['connection', 'content-length', 'date', 'keep-alive', 'transfer-encoding', 'upgrade'])

function checkField(name: string, value: string, known: { value: string } | undefined): void {
  if (!known && (!isToken(name) || framingNames.has(name.toLowerCase())))
    throw new Error(`an answer cannot have a header named ${name}`)
  if (!isFieldText(value)) throw new Error(`the header ${name} cannot be sent as it is`)
  if (value.length > keptValueLengthMax) return
  if (known) known.value = value
  else if (goodFields.size < goodFieldsMax) goodFields.set(name, { value })
}

let dateSecond = 0
let date = new Date(0).toUTCString()

/** Made once a second. */
function dateText(epochMs: number): string {
  const second = Math.floor(epochMs / 1000)
  if (second !== dateSecond) {
    dateSecond = second
    date = new Date(epochMs).toUTCString()
  }
  return date
}
