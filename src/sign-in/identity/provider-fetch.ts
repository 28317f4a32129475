/** The Fetch API over the gateway's own HTTP client, for the libraries that ask identity providers. */
import { GatewayError } from '../../core/errors.ts'
import type { ProxyRules, Transport } from '../../core/transport.ts'

/** A provider that does not answer within these must not hold a browser, or a call, for longer. */
const timeouts = { connectMs: 5000, firstByteMs: 10_000, idleMs: 5000, totalMs: 15_000 }
const answerBytesMax = 1024 * 1024

/** What the libraries give with a request. */
export interface FetchOptions {
  readonly method?: string
  readonly headers?: Headers | Readonly<Record<string, string>>
  readonly body?: unknown
  readonly signal?: AbortSignal | undefined
}

/** As `fetch`, for GET and POST; redirects are not followed. Rejects with GatewayError, as the transport does. */
export type ProviderFetch = (url: string, options?: FetchOptions) => Promise<Response>

/** `proxies` is read at each request: a reload may change them. */
export function providerFetch(transport: Transport, proxies: () => ProxyRules | undefined): ProviderFetch {
  return async (url, { method = 'GET', headers = {}, body, signal } = {}) => {
    if (method !== 'GET' && method !== 'POST') throw new TypeError(`${method} is not sent to identity providers`)
    const sent = bytesOf(body)
    const exchange = transport.send({
      method,
      head: { url, headers: plainHeaders(headers) },
      body: sent ? [sent] : [],
      timeouts,
      proxies: proxies(),
    })
    const cancel = () => exchange.cancel()
    signal?.addEventListener('abort', cancel, { once: true })
    try {
      const answer = await exchange.response
      const bytes = await answer.body.bytes(answerBytesMax)
      return new Response(hasNoBody(answer.status) ? null : (bytes as Uint8Array<ArrayBuffer>), {
        status: answer.status,
        headers: headersOf(answer.header('content-type'), answer.header('www-authenticate')),
      })
    } finally {
      signal?.removeEventListener('abort', cancel)
    }
  }
}

/** Why a provider could not be asked, for an administrator. The libraries put what happened behind a word of theirs. */
export function fetchProblem(thrown: unknown): string {
  for (let one = thrown, depth = 0; one instanceof Error && depth < causesMax; one = one.cause, depth++)
    if (one instanceof GatewayError) return one.message
  return thrown instanceof Error ? thrown.message : String(thrown)
}

const causesMax = 5

function bytesOf(body: unknown): Uint8Array | undefined {
  if (body === undefined || body === null) return undefined
  if (body instanceof Uint8Array) return body
  if (typeof body === 'string') return Buffer.from(body)
  if (body instanceof URLSearchParams) return Buffer.from(body.toString())
  throw new TypeError('only texts, forms and bytes are sent to identity providers')
}

function plainHeaders(headers: Headers | Readonly<Record<string, string>>): Record<string, string> {
  return headers instanceof Headers ? Object.fromEntries(headers.entries()) : { ...headers }
}

function headersOf(contentType: string | undefined, challenge: string | undefined): Record<string, string> {
  return {
    ...(contentType !== undefined && { 'content-type': contentType }),
    ...(challenge !== undefined && { 'www-authenticate': challenge }),
  }
}

const hasNoBody = (status: number): boolean => status === 204 || status === 205 || status === 304
