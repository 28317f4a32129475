/** Sends requests of the clouds' libraries by the transport of calls: its proxies and roots hold for them. */
import type { ProxyRules, Transport, UpstreamRequest } from '../core/transport.ts'

const answerBytesMax = 1024 * 1024
const timeouts = { connectMs: 5000, firstByteMs: 10_000, idleMs: 5000, totalMs: 15_000 }
/** The headers of answers that the libraries read. */
const readHeaders = ['content-type', 'date', 'retry-after', 'www-authenticate', 'x-amzn-requestid', 'x-ms-request-id']

/** A request of a library. */
export interface Question {
  readonly method: string
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string | Uint8Array | undefined
}

/** The whole answer. */
export interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array
}

/** Sends a question; rejects with GatewayError where no whole answer comes. */
export type Ask = (question: Question) => Promise<Answer>

const methods: Readonly<Record<string, UpstreamRequest['method']>> = { GET: 'GET', POST: 'POST', PUT: 'PUT' }

/** Binds the transport and the proxies of a deployment. */
export function askBy(transport: Transport, proxies: ProxyRules | undefined): Ask {
  return async ({ method: name, url, headers, body = '' }) => {
    const method = methods[name.toUpperCase()]
    if (!method) throw new Error(`the method ${name} is not sent to clouds`)
    const bytes = typeof body === 'string' ? Buffer.from(body, 'utf8') : body
    const small = Object.fromEntries(Object.entries(headers).map(([key, value]) => [key.toLowerCase(), value]))
    const request = {
      method,
      head: { url, headers: small },
      body: bytes.length === 0 ? [] : [bytes],
      timeouts,
      proxies,
    }
    const response = await transport.send(request).response
    const given = readHeaders.flatMap(key => {
      const value = response.header(key)
      return value === undefined ? [] : [[key, value]]
    })
    return {
      status: response.status,
      headers: Object.fromEntries(given),
      body: await response.body.bytes(answerBytesMax),
    }
  }
}
