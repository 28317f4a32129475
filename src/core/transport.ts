/** The interface to upstreams. Implemented by `http/client` for the network. */
import type { Secret } from '../lib/secret.ts'
import type { GatewayError } from './errors.ts'

/**
 * A file that is open for reading. `read` fills `into` from byte `at` of the file and returns how much it read; 0 = no
 * more.
 */
export interface ReadableFile {
  read(into: Uint8Array, at: number): number
}

/** A range of a file, read when the socket can take it. It must stay readable until the exchange is over. */
export interface FilePiece {
  readonly file: ReadableFile
  readonly offset: number
  /** Bytes. */
  readonly length: number
}

/** A part of a request's body: bytes, or a part of a file. */
export type BodyPiece = Uint8Array | FilePiece

/**
 * Headers that the transport sets itself (host, framing) or that concern one connection (RFC 9110, 7.6.1), in small
 * letters: given ones are not sent.
 */
export const unsentHeaders: ReadonlySet<string> = new Set([
  'host',
  'content-length',
  'transfer-encoding',
  'connection',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'upgrade',
  'expect',
  'accept-encoding',
])

/** An HTTP proxy that leads to upstreams. */
export interface UpstreamProxy {
  /** Equal for equal proxies with equal credentials; holds none of these. */
  readonly key: string
  /** `host:port`, for messages. */
  readonly name: string
  /** The connection to the proxy uses TLS. */
  readonly secure: boolean
  /** A name or an address, without the brackets of IPv6. */
  readonly hostname: string
  readonly port: number
  /** The value of `proxy-authorization`; undefined = none is sent. */
  readonly authorization: Secret | undefined
}

/** Chooses the proxy for a URL. Compared by identity: the choice for a URL never changes. */
export interface ProxyRules {
  /** undefined = a direct connection. Throws GatewayError when the configured proxy cannot be used. */
  proxyFor(url: URL): UpstreamProxy | undefined
}

/** URL and headers of a call. On the forward lane it is made once per deployment and cached. */
export interface CallHead {
  readonly url: string
  /** The IP address to connect to, of the URL's host, without brackets; absent = whichever the host's name has. */
  readonly address?: string | undefined
  readonly headers: Readonly<Record<string, string>>
}

/** A request to an upstream, ready to be sent. */
export interface UpstreamRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  /** Prepared once per deployment and path; the transport may cache what it derives from it by identity. */
  readonly head: CallHead
  /** Sent one after another without being joined; `content-length` is their sum. */
  readonly body: readonly BodyPiece[]
  readonly timeouts: ExchangeTimeouts
  /** Absent = a direct connection to every upstream. */
  readonly proxies?: ProxyRules | undefined
}

/** 0 = no limit. */
export interface ExchangeTimeouts {
  readonly connectMs: number
  /** From the request to the first byte of the response's body, or to its end where it has none. */
  readonly firstByteMs: number
  /** Between two pieces of a body, after its first. */
  readonly idleMs: number
  readonly totalMs: number
}

/** Where the pieces of a body go. `data` may be called synchronously from within `pipe`. */
export interface BodySink {
  /** The sink may keep the bytes. */
  data(bytes: Uint8Array): void
  /** The body ended as its framing said it would. A close-delimited body may be incomplete nevertheless. */
  end(): void
  /** Cut, stalled or malformed: `upstream-closed`, `upstream-timeout` or `upstream-broken`. */
  fail(error: GatewayError): void
}

/** The body of an upstream's answer; it is read in one way, once. */
export interface UpstreamBody {
  /** The whole body. Rejects with `upstream-closed` when it is cut, `upstream-broken` when it is above `bytesMax`. */
  bytes(bytesMax: number): Promise<Uint8Array>
  /** The whole body if it has already arrived, without a promise; undefined = call `bytes`. */
  whole?(bytesMax: number): Uint8Array | undefined
  /** Exactly one of `end` and `fail` follows, unless the body is cancelled. */
  pipe(sink: BodySink): void
  /** Backpressure: stop and continue reading from the upstream. The idle timer is stopped meanwhile. */
  pause(): void
  resume(): void
}

/** The head of an upstream's answer: headers by lower-case name. */
export interface AnswerHead {
  header(name: string): string | undefined
}

/** An upstream's answer: its head, and its body. */
export interface UpstreamResponse {
  readonly status: number
  /** First value by lower-case name. */
  header(name: string): string | undefined
  readonly body: UpstreamBody
}

/** One attempt at one upstream. */
export interface UpstreamExchange {
  /** Rejects with GatewayError `upstream-unreachable`, `upstream-closed`, `upstream-timeout` or `upstream-broken`. */
  readonly response: Promise<UpstreamResponse>
  /** At least one byte of the request was handed to the upstream's socket: it may work on it, and bill it. */
  readonly sent: boolean
  /** Closes the connection at once, in any state of the exchange. No callback follows; idempotent. */
  cancel(): void
}

/** The HTTP client for upstreams. */
export interface Transport {
  send(request: UpstreamRequest): UpstreamExchange
  /** Sockets now open to upstreams, busy and idle. */
  connections(): { busy: number; idle: number }
  /** Closes idle connections and refuses new exchanges. */
  close(): void
}
