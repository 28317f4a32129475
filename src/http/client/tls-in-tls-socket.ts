/**
 * TLS inside of TLS: an https upstream behind an https proxy. Bun's own sockets cannot do that, so this case uses the
 * streams of node:tls, which cost more.
 */
import { connect } from 'node:tls'
import type { TLSSocket } from 'node:tls'
import { isIP } from 'node:net'
import type { SocketTarget, TlsSettings, ByteSocket, SocketListener } from './socket.ts'

/** Unlike other sockets it gets its `onOpen` before it is connected; it may be used from `onHandshake` on. */
export class TlsInTlsSocket implements ByteSocket {
  readonly #stream: TLSSocket
  #listener: SocketListener
  /** The socket that carries this one's bytes. */
  readonly #outer: TlsInTlsSocket | undefined

  private constructor(stream: TLSSocket, listener: SocketListener, outer?: TlsInTlsSocket) {
    this.#stream = stream
    this.#listener = listener
    this.#outer = outer
    stream.on('secureConnect', () => this.#listener.onHandshake(true, null))
    stream.on('data', this.#onData)
    stream.on('drain', () => this.#listener.onDrain())
    stream.on('end', () => this.#listener.onEnd())
    stream.on('error', error => this.#listener.onLost(error))
    stream.on('close', () => this.#listener.onLost(undefined))
  }

  /** Connects with TLS to a proxy. */
  static open(listener: SocketListener, { hostname, port, tls }: SocketTarget): void {
    const socket = new TlsInTlsSocket(connect({ host: hostname, port, ...settingsOf(tls!, hostname) }), listener)
    listener.onOpen(socket)
  }

  /** Begins the inner TLS, with `hostname`; the former listener gets no events any more but the end. */
  secure(listener: SocketListener, tls: TlsSettings, hostname: string): void {
    this.#stream.off('data', this.#onData)
    const socket = new TlsInTlsSocket(
      connect({ socket: this.#stream, host: hostname, ...settingsOf(tls, hostname) }),
      listener,
      this,
    )
    listener.onOpen(socket)
  }

  /** Takes all or nothing: a Node stream buffers what the network does not take yet. */
  write(bytes: Uint8Array, offset: number, length: number): number {
    if (this.#stream.destroyed) return -1
    if (this.#stream.writableNeedDrain) return 0
    // A copy, because the stream may keep it and the bytes are the caller's.
    this.#stream.write(Buffer.from(bytes.subarray(offset, offset + length)))
    return length
  }

  pause(): void {
    this.#stream.pause()
  }

  resume(): void {
    this.#stream.resume()
  }

  terminate(): void {
    this.#stream.destroy()
    this.#outer?.terminate()
  }

  readonly #onData = (chunk: Buffer): void => this.#listener.onData(chunk)
}

function settingsOf({ rejectUnauthorized, ALPNProtocols, ca }: TlsSettings, hostname: string) {
  return { rejectUnauthorized, ALPNProtocols, ca, ...(isIP(hostname) === 0 ? { servername: hostname } : {}) }
}
