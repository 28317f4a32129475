/** The one way to an upstream. Implemented by `http/client` for the network. */
import type { Secret } from '../lib/secret.ts'
import type { GatewayError } from './errors.ts'

/**
 * A file that is open for reading. `read` fills `into` from byte `at` of the file and returns how much it read; 0 = no
 * more.
 */
export interface ReadableFile {
  read(into: Uint8Array, at: number): number
}

/** A stretch of a file, read when the socket can take it. It must stay readable until the exchange is over. */
export interface FilePiece {
  readonly file: ReadableFile
  readonly offset: number
  /** Bytes. */
  readonly length: number
}

/** A part of a request's body: bytes, or a part of a file. */
export type BodyPiece = Uint8Array | FilePiece

/** An HTTP proxy that leads to upstreams. */
export interface UpstreamProxy {
  /** Equal for equal proxies with equal credentials; holds none of these. */
  readonly key: string
  /** `host:port`, fit for messages. */
  readonly name: string
  /** It is spoken to with TLS. */
  readonly secure: boolean
  /** A name or an address, without the brackets of IPv6. */
  readonly hostname: string
  readonly port: number
  /** The value of `proxy-authorization`; undefined = none is sent. */
  readonly authorization: Secret | undefined
}

/** Which proxy leads where. Compared by identity: what a URL was answered holds as long as the object does. */
export interface ProxyRules {
  /** undefined = straight to the upstream. Throws GatewayError when the proxy that is set cannot be used. */
  proxyFor(url: URL): UpstreamProxy | undefined
}

/** Where and with which headers a call goes. On the forward lane it is made once per deployment and kept. */
export interface CallHead {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
}

/** A request to an upstream, ready to be sent. */
export interface UpstreamRequest {
  readonly method: 'GET' | 'POST' | 'DELETE'
  /** Prepared once per deployment and path; the transport may cache what it derives from it by identity. */
  readonly head: CallHead
  /** Sent one after another without being joined; `content-length` is their sum. */
  readonly body: readonly BodyPiece[]
  readonly timeouts: ExchangeTimeouts
  /** Absent = straight to the upstream, whatever it is. */
  readonly proxies?: ProxyRules | undefined
}

/** 0 = no limit. */
export interface ExchangeTimeouts {
  readonly connectMs: number
  /** From the request to the whole head of the response. */
  readonly firstByteMs: number
  /** Between two pieces of a body. */
  readonly idleMs: number
  readonly totalMs: number
}

/** Where the pieces of a body go. `data` may be called synchronously from within `pipe`. */
export interface BodySink {
  /** The bytes are the sink's to keep. */
  data(bytes: Uint8Array): void
  /** The body ended as its framing said it would. For a close-delimited body that proves nothing. */
  end(): void
  /** Cut, stalled or malformed: `upstream-broken` or `upstream-timeout`. */
  fail(error: GatewayError): void
}

/** The body of an upstream's answer; it is read in one way, once. */
export interface UpstreamBody {
  /** The whole body. Rejects with `upstream-broken` when it is cut or larger than `bytesMax`. */
  bytes(bytesMax: number): Promise<Uint8Array>
  /** The whole body when all of it is here already, and no promise is needed; undefined = ask for `bytes`. */
  whole?(bytesMax: number): Uint8Array | undefined
  /** Exactly one of `end` and `fail` follows, unless the body is cancelled. */
  pipe(sink: BodySink): void
  /** Backpressure: stop and continue reading from the upstream. While paused the idle timer rests. */
  pause(): void
  resume(): void
}

/** The head of an upstream's answer: headers by lower-case name. */
export interface AnswerHead {
  header(name: string): string | undefined
}

/** The head of an upstream's answer, and the way to its body. */
export interface UpstreamResponse {
  readonly status: number
  /** First value by lower-case name. */
  header(name: string): string | undefined
  readonly body: UpstreamBody
}

/** One attempt at one upstream. */
export interface UpstreamExchange {
  /** Rejects with GatewayError `upstream-unreachable`, `upstream-timeout` or `upstream-broken`. */
  readonly response: Promise<UpstreamResponse>
  /** Closes the connection at once, whatever state the exchange is in. Nothing is called afterwards; idempotent. */
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
