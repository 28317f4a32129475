/** Status line and headers of an answer, as text. */
import type { AnswerBody } from '../core/answer.ts'
import { isToken } from '../lib/http-syntax.ts'

/** RFC 9110, 15: what clients print. */
const reasons: Readonly<Record<number, string>> = {
  200: 'OK', 201: 'Created', 202: 'Accepted', 204: 'No Content', 302: 'Found', 304: 'Not Modified',
  400: 'Bad Request', 401: 'Unauthorized', 403: 'Forbidden', 404: 'Not Found', 405: 'Method Not Allowed', 408: 'Request Timeout',
  409: 'Conflict', 413: 'Content Too Large', 415: 'Unsupported Media Type', 417: 'Expectation Failed',
  422: 'Unprocessable Content', 429: 'Too Many Requests', 431: 'Request Header Fields Too Large',
  500: 'Internal Server Error', 501: 'Not Implemented', 502: 'Bad Gateway', 503: 'Service Unavailable', 504: 'Gateway Timeout',
  505: 'HTTP Version Not Supported',
}

/** How the end of the body is told: by its length, by chunks, by closing; or there is none. */
export type Framing = number | 'chunked' | 'until-close' | 'none'

export interface HeadParts {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly framing: Framing
  /** As `connection`; empty = nothing to say. */
  readonly connection: string
  readonly epochMs: number
}

/** Throws when a header could be read as two, or as the end of a body: neither name nor value may frame anything. */
export function headText({ status, headers, framing, connection, epochMs }: HeadParts): string {
  let text = `HTTP/1.1 ${status} ${reasons[status] ?? 'Status'}\r\ndate: ${dateText(epochMs)}\r\n`
  for (const name in headers) {
    const value = headers[name]!
    if (!goodNames.has(name)) checkName(name)
    if (!isFieldText.test(value)) throw new Error(`the header ${name} cannot be sent as it is`)
    text += `${name}: ${value}\r\n`
  }
  if (typeof framing === 'number') text += `content-length: ${framing}\r\n`
  else if (framing === 'chunked') text += 'transfer-encoding: chunked\r\n'
  return connection === '' ? `${text}\r\n` : `${text}connection: ${connection}\r\n\r\n`
}

/** A body whose length is not known has chunks, or in HTTP/1.0 the end of the connection. */
export function framingOf(body: AnswerBody, status: number, { method, isOld }: RequestLine): Framing {
  if (status === 204 || status === 304) return 'none'
  if (body === null) return method === 'HEAD' ? 'none' : 0
  if (typeof body === 'string') return Buffer.byteLength(body, 'utf8')
  if (body instanceof Uint8Array) return body.length
  return isOld ? 'until-close' : 'chunked'
}

/** What the framing depends on. */
interface RequestLine {
  readonly method: string
  /** HTTP/1.0. */
  readonly isOld: boolean
}

const isFieldText = /^[\t\x20-\x7e\x80-\xff]*$/

/** Names are few and come again: each is checked once. */
const goodNames = new Set<string>()
const goodNamesMax = 1000
/** Only the server knows them. */
const framingNames = new Set(['connection', 'content-length', 'date', 'keep-alive', 'transfer-encoding', 'upgrade'])

function checkName(name: string): void {
  if (!isToken(name) || framingNames.has(name.toLowerCase())) throw new Error(`an answer cannot have a header named ${name}`)
  if (goodNames.size < goodNamesMax) goodNames.add(name)
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
