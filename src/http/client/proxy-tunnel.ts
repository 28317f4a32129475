/**
 * A tunnel through a proxy to an https upstream: CONNECT (RFC 9110, 9.3.6), then TLS with the upstream inside. The
 * proxy learns a name and a port, nothing else.
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
import { TlsInTlsSocket } from './tls-in-tls-socket.ts'
import type { Origin } from './request-head.ts'
import { MalformedResponseError } from './response-head.ts'
import { ResponseParser } from './response-parser.ts'
import { openSocket, startTls } from './socket.ts'
import type { SocketTarget, TlsSettings, ByteSocket, SocketListener } from './socket.ts'

/** A proxy and the upstream behind it. One object per pool. */
export interface TunnelTarget {
  readonly proxy: UpstreamProxy
  readonly hop: SocketTarget
  /** The upstream's name, for its certificate. */
  readonly hostname: string
  readonly tls: TlsSettings
  /** CONNECT, whole. */
  readonly request: Buffer
}

/** Gets the inner socket, or the error. */
export interface TunnelListener extends SocketListener {
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

/** Takes the place of the socket until the tunnel is established, so that it can be terminated. */
export class Tunnel implements ByteSocket, SocketListener {
  readonly #target: TunnelTarget
  readonly #listener: TunnelListener
  readonly #parser = new ResponseParser()
  #socket: ByteSocket | undefined
  /** `over` = terminated, failed, or handed to the listener. */
  #stage: 'connecting' | 'requested' | 'over' = 'connecting'
  /** Bytes of the CONNECT request that the socket has taken. */
  #written = 0

  /** Connects at once. */
  constructor(target: TunnelTarget, listener: TunnelListener) {
    this.#target = target
    this.#listener = listener
    if (target.hop.tls) TlsInTlsSocket.open(this, target.hop)
    else openSocket(this, target.hop)
  }

  /** The error of a timeout, by the side that did not answer. */
  timedOut(limitMs: number): GatewayError {
    const { proxy } = this.#target
    return this.#stage === 'requested' ? proxySilent(proxy, limitMs) : timedOutConnecting(limitMs, proxySubject(proxy))
  }

  // ---- what the listener calls

  /** Nothing may be sent yet. */
  write(): number {
    return 0
  }

  pause(): void {}

  resume(): void {}

  terminate(): void {
    this.#stage = 'over'
    this.#socket?.terminate()
  }

  // ---- what the socket to the proxy calls

  onOpen(socket: ByteSocket): void {
    this.#socket = socket
    if (this.#stage === 'over') return socket.terminate()
    if (!this.#target.hop.tls) this.#sendConnect()
  }

  onHandshake(success: boolean, error: Error | null): void {
    if (this.#stage !== 'connecting') return
    if (success) this.#sendConnect()
    else this.onLost(error)
  }

  onDrain(): void {
    if (this.#stage === 'requested') this.#flush()
  }

  onData(chunk: Buffer): void {
    // Behind the handover these are encrypted bytes of the upstream, which the inner socket decrypts.
    if (this.#stage === 'over') return
    if (this.#stage === 'connecting')
      return this.#fail(proxyMalformed(this.#target.proxy, 'it spoke before it was asked'))
    try {
      this.#parser.feed(chunk)
      // A refusal's body is not waited for.
      if (this.#parser.next() === 'head') this.#answered(this.#parser.head!.status)
    } catch (thrown) {
      if (!(thrown instanceof MalformedResponseError)) throw thrown
      this.#fail(proxyMalformed(this.#target.proxy, thrown.message))
    }
  }

  onEnd(): void {
    this.onLost(undefined)
  }

  onLost(error: unknown): void {
    const { proxy } = this.#target
    if (this.#stage === 'connecting') this.#fail(unreachable(error, proxySubject(proxy)))
    else if (this.#stage === 'requested') this.#fail(proxyCut(proxy, error))
  }

  // ---- inside

  #sendConnect(): void {
    this.#stage = 'requested'
    this.#flush()
  }

  #flush(): void {
    const { request } = this.#target
    const left = request.length - this.#written
    if (left === 0) return
    const taken = this.#socket!.write(request, this.#written, left)
    // Negative = closed: the event of the close follows.
    if (taken > 0) this.#written += taken
  }

  #answered(status: number): void {
    const { proxy } = this.#target
    if (status < 200 || status > 299) return this.#fail(proxyRefused(proxy, status))
    // In TLS the client sends first: these bytes are not the upstream's, and would be taken for its.
    if (this.#parser.leftover > 0)
      return this.#fail(proxyMalformed(proxy, 'it sent bytes before the upstream was asked'))
    if (this.#written < this.#target.request.length)
      return this.#fail(proxyMalformed(proxy, 'it answered before it had the request'))
    this.#handOver(this.#socket!)
  }

  /** From here on the listener gets the events itself. */
  #handOver(socket: ByteSocket): void {
    const { proxy, tls, hostname } = this.#target
    this.#stage = 'over'
    try {
      if (socket instanceof TlsInTlsSocket) socket.secure(this.#listener, tls, hostname)
      else if (!startTls(socket, this.#listener, tls)) this.#fail(proxyCut(proxy, undefined))
    } catch (thrown) {
      this.#fail(unreachable(thrown, tunnelSubject(proxy)))
    }
  }

  #fail(error: GatewayError): void {
    this.terminate()
    this.#listener.tunnelFailed(error)
  }
}
