/**
 * The way through a proxy to an https upstream: CONNECT, then TLS with the upstream inside. The proxy learns a name and a
 * port, nothing else (RFC 9110, 9.3.6).
 */
import type { GatewayError } from '../../core/errors.ts'
import type { UpstreamProxy } from '../../core/transport.ts'
import {
  proxyCut,
  proxyMalformed,
  proxyRefused,
  proxySilent,
  proxySubject,
  timedOutConnecting,
  tunnelSubject,
  unreachable,
} from './errors.ts'
import { NestedWire } from './nested-socket.ts'
import type { Origin } from './request-head.ts'
import { MalformedResponseError } from './response-head.ts'
import { ResponseParser } from './response-parser.ts'
import { openWire, secureWire } from './socket.ts'
import type { Hop, TlsSettings, Wire, WireUser } from './socket.ts'

/** Where a tunnel leads. One object per pool. */
export interface TunnelWay {
  readonly proxy: UpstreamProxy
  readonly hop: Hop
  /** The upstream's name, for its certificate. */
  readonly hostname: string
  readonly tls: TlsSettings
  /** CONNECT, whole. */
  readonly request: Buffer
}

/** Gets the wire inside, or hears why there is none. */
export interface TunnelUser extends WireUser {
  tunnelFailed(error: GatewayError): void
}

/**
 * CONNECT with the head's end (RFC 9110, 9.3.6). Holds the proxy's credentials where it has any: never to be logged.
 */
export function tunnelRequest({ hostname, port }: Origin, proxy: UpstreamProxy): Buffer {
  const target = `${hostname.includes(':') ? `[${hostname}]` : hostname}:${port}`
  const lines = `CONNECT ${target} HTTP/1.1\r\nhost: ${target}\r\nuser-agent: modelgate\r\n`
  const proof = proxy.authorization ? `proxy-authorization: ${proxy.authorization.reveal()}\r\n` : ''
  return Buffer.from(`${lines}${proof}\r\n`, 'latin1')
}

/** Until the tunnel stands it is the user's wire itself, so that it can be given up. */
export class Tunnel implements Wire, WireUser {
  readonly #way: TunnelWay
  readonly #user: TunnelUser
  readonly #parser = new ResponseParser()
  #wire: Wire | undefined
  /** `over` = given up, failed, or handed to the user. */
  #stage: 'connecting' | 'asked' | 'over' = 'connecting'
  /** Bytes of the request that the socket has taken. */
  #written = 0

  /** Connects at once. */
  constructor(way: TunnelWay, user: TunnelUser) {
    this.#way = way
    this.#user = user
    if (way.hop.tls) NestedWire.open(this, way.hop)
    else openWire(this, way.hop)
  }

  /** Time ran out: whom it was that did nothing. */
  timedOut(limitMs: number): GatewayError {
    const { proxy } = this.#way
    return this.#stage === 'asked' ? proxySilent(proxy, limitMs) : timedOutConnecting(limitMs, proxySubject(proxy))
  }

  // ---- what the user calls

  /** Nothing may be said yet. */
  write(): number {
    return 0
  }

  pause(): void {}

  resume(): void {}

  terminate(): void {
    this.#stage = 'over'
    this.#wire?.terminate()
  }

  // ---- what the socket to the proxy calls

  onOpen(wire: Wire): void {
    this.#wire = wire
    if (this.#stage === 'over') return wire.terminate()
    if (!this.#way.hop.tls) this.#ask()
  }

  onHandshake(success: boolean, error: Error | null): void {
    if (this.#stage !== 'connecting') return
    if (success) this.#ask()
    else this.onLost(error)
  }

  onDrain(): void {
    if (this.#stage === 'asked') this.#flush()
  }

  onData(chunk: Buffer): void {
    // After the handing over these are the encrypted bytes of the upstream, which its own wire decrypts.
    if (this.#stage === 'over') return
    if (this.#stage === 'connecting') return this.#fail(proxyMalformed(this.#way.proxy, 'it spoke before it was asked'))
    try {
      this.#parser.feed(chunk)
      // A refusal's body is not waited for.
      if (this.#parser.next() === 'head') this.#answered(this.#parser.head!.status)
    } catch (thrown) {
      if (!(thrown instanceof MalformedResponseError)) throw thrown
      this.#fail(proxyMalformed(this.#way.proxy, thrown.message))
    }
  }

  onEnd(): void {
    this.onLost(undefined)
  }

  onLost(error: unknown): void {
    const { proxy } = this.#way
    if (this.#stage === 'connecting') this.#fail(unreachable(error, proxySubject(proxy)))
    else if (this.#stage === 'asked') this.#fail(proxyCut(proxy, error))
  }

  // ---- inside

  #ask(): void {
    this.#stage = 'asked'
    this.#flush()
  }

  #flush(): void {
    const { request } = this.#way
    const left = request.length - this.#written
    if (left === 0) return
    const taken = this.#wire!.write(request, this.#written, left)
    // Closed: its event is under way.
    if (taken > 0) this.#written += taken
  }

  #answered(status: number): void {
    const { proxy } = this.#way
    if (status < 200 || status > 299) return this.#fail(proxyRefused(proxy, status))
    // In TLS the client speaks first: what came along is not the upstream's, and would be taken for it.
    if (this.#parser.leftover > 0)
      return this.#fail(proxyMalformed(proxy, 'it sent bytes before the upstream was asked'))
    if (this.#written < this.#way.request.length)
      return this.#fail(proxyMalformed(proxy, 'it answered before it had the request'))
    this.#handOver(this.#wire!)
  }

  /** In TLS with the upstream the user hears of everything itself. */
  #handOver(wire: Wire): void {
    const { proxy, tls, hostname } = this.#way
    this.#stage = 'over'
    try {
      if (wire instanceof NestedWire) wire.secure(this.#user, tls, hostname)
      else if (!secureWire(wire, this.#user, tls)) this.#fail(proxyCut(proxy, undefined))
    } catch (thrown) {
      this.#fail(unreachable(thrown, tunnelSubject(proxy)))
    }
  }

  #fail(error: GatewayError): void {
    this.terminate()
    this.#user.tunnelFailed(error)
  }
}
