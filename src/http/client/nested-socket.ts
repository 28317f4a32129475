/**
 * TLS whose bytes go through TLS: an https upstream behind an https proxy. Bun's own sockets cannot do that, so this
 * one way takes the streams of node:tls; they cost more and are used for nothing else.
 */
import { connect } from 'node:tls'
import type { TLSSocket } from 'node:tls'
import { isIP } from 'node:net'
import type { Hop, TlsSettings, Wire, WireUser } from './socket.ts'

/** Unlike other wires it is handed over at once, before it is connected; `onHandshake` tells when it may be used. */
export class NestedWire implements Wire {
  readonly #stream: TLSSocket
  #user: WireUser
  /** The one that carries this one's bytes. */
  readonly #outer: NestedWire | undefined

  private constructor(stream: TLSSocket, user: WireUser, outer?: NestedWire) {
    this.#stream = stream
    this.#user = user
    this.#outer = outer
    stream.on('secureConnect', () => this.#user.onHandshake(true, null))
    stream.on('data', this.#onData)
    stream.on('drain', () => this.#user.onDrain())
    stream.on('end', () => this.#user.onEnd())
    stream.on('error', error => this.#user.onLost(error))
    stream.on('close', () => this.#user.onLost(undefined))
  }

  /** Connects with TLS to a proxy. */
  static open(user: WireUser, { hostname, port, tls }: Hop): void {
    const wire = new NestedWire(connect({ host: hostname, port, ...settingsOf(tls!, hostname) }), user)
    user.onOpen(wire)
  }

  /** Begins the inner TLS, with `hostname`; the former user hears of nothing any more but the end. */
  secure(user: WireUser, tls: TlsSettings, hostname: string): void {
    this.#stream.off('data', this.#onData)
    const wire = new NestedWire(
      connect({ socket: this.#stream, host: hostname, ...settingsOf(tls, hostname) }),
      user,
      this,
    )
    user.onOpen(wire)
  }

  /** Takes all or nothing: a stream keeps what its network does not take yet. */
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

  readonly #onData = (chunk: Buffer): void => this.#user.onData(chunk)
}

function settingsOf({ rejectUnauthorized, ALPNProtocols, ca }: TlsSettings, hostname: string) {
  return { rejectUnauthorized, ALPNProtocols, ca, ...(isIP(hostname) === 0 ? { servername: hostname } : {}) }
}
