/** `fetch` over the gateway's own HTTP client, for the library that speaks MCP: checked addresses, no redirects. */
import { GatewayError } from '../core/errors.ts'
import type { Transport, UpstreamExchange, UpstreamRequest, UpstreamResponse } from '../core/transport.ts'

/** What requests to one server are sent with. */
export interface FetchParts {
  readonly transport: Pick<Transport, 'send'>
  /** Throws GatewayError where the host is not to be connected to. */
  addressOf(url: URL): Promise<string>
  /** Of the body of one answer. */
  readonly bytesMax: number
}

type Method = UpstreamRequest['method']
const timeouts = { connectMs: 10_000, firstByteMs: 0, idleMs: 0, totalMs: 0 }

/** What of an answer's head MCP and OAuth read; the client gives headers only by name. */
const readHeaders = [
  'content-type',
  'mcp-session-id',
  'mcp-protocol-version',
  'www-authenticate',
  'location',
  'retry-after',
]

/** Statuses that have no body (Fetch, 2.2.3). */
const bodiless: ReadonlySet<number> = new Set([204, 205, 304])

/** Rejects with GatewayError, and with the signal's reason where it ends the request. */
export function fetchOver(parts: FetchParts) {
  return async (input: string | URL, init: RequestInit = {}): Promise<Response> => {
    const url = new URL(input)
    const signal = init.signal ?? undefined
    signal?.throwIfAborted()
    const address = await parts.addressOf(url)
    signal?.throwIfAborted()
    const exchange = parts.transport.send({
      method: (init.method ?? 'GET').toUpperCase() as Method,
      head: { url: url.href, address, headers: Object.fromEntries(new Headers(init.headers)) },
      body: bodyOf(init.body),
      timeouts,
    })
    const response = await untilAborted(exchange, signal)
    const headers = new Headers()
    for (const name of readHeaders) {
      const value = response.header(name)
      if (value !== undefined) headers.set(name, value)
    }
    const { status } = response
    // Nothing else of this connection is read before the end of a body, also of one that does not matter.
    if (bodiless.has(status)) {
      await response.body.bytes(parts.bytesMax)
      return new Response(null, { status, headers })
    }
    const isEndless = init.method === undefined || init.method === 'GET'
    const body = streamOf({ response, exchange, signal, bytesMax: isEndless ? Infinity : parts.bytesMax })
    return new Response(body, { status, headers })
  }
}

function bodyOf(body: RequestInit['body']): readonly Uint8Array[] {
  if (body === undefined || body === null) return []
  if (typeof body === 'string') return [Buffer.from(body)]
  if (body instanceof URLSearchParams) return [Buffer.from(body.toString())]
  throw new GatewayError('internal', 'a request to a tool server has a body that is no text')
}

function untilAborted(exchange: UpstreamExchange, signal: AbortSignal | undefined): Promise<UpstreamResponse> {
  if (!signal) return exchange.response
  return new Promise((resolve, reject) => {
    const abort = () => {
      exchange.cancel()
      reject(signal.reason as Error)
    }
    signal.addEventListener('abort', abort, { once: true })
    const over = () => signal.removeEventListener('abort', abort)
    exchange.response.then(
      response => {
        over()
        resolve(response)
      },
      (error: unknown) => {
        over()
        reject(error as Error)
      },
    )
  })
}

interface BodyParts {
  readonly response: UpstreamResponse
  readonly exchange: UpstreamExchange
  readonly signal: AbortSignal | undefined
  readonly bytesMax: number
}

/** The body at the pace of its reader. */
function streamOf({ response: { body }, exchange, signal, bytesMax }: BodyParts): ReadableStream<Uint8Array> {
  let over = false
  let bytes = 0
  let abort: (() => void) | undefined
  const end = () => {
    over = true
    if (abort) signal?.removeEventListener('abort', abort)
  }
  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        const fail = (error: unknown) => {
          if (over) return
          end()
          exchange.cancel()
          controller.error(error)
        }
        abort = () => fail(signal?.reason)
        signal?.addEventListener('abort', abort, { once: true })
        body.pipe({
          data(piece) {
            if (over) return
            bytes += piece.length
            if (bytes > bytesMax) return fail(tooLarge(bytesMax))
            controller.enqueue(piece)
            if ((controller.desiredSize ?? 1) <= 0) body.pause()
          },
          end() {
            if (over) return
            end()
            controller.close()
          },
          fail,
        })
      },
      pull: () => body.resume(),
      cancel() {
        if (!over) exchange.cancel()
        end()
      },
    },
    { highWaterMark: 16 },
  )
}

const tooLarge = (bytesMax: number) =>
  new GatewayError('upstream-broken', `the tool server answered with more than ${bytesMax} bytes`)
