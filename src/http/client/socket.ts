/** A socket as the client needs it: whoever uses one does not care what it leads through. */
import type { Socket, SocketHandler } from 'bun'
import type { Writable } from './request-writer.ts'

/** Bun's sockets are such. */
export interface Wire extends Writable {
  pause(): void
  resume(): void
  /** Closes at once. */
  terminate(): void
}

/** Hears of everything that happens on a wire. `onLost` may come more than once, also after `terminate`. */
export interface WireUser {
  /** TCP stands. With TLS the handshake is still to come. */
  onOpen(wire: Wire): void
  /** Only with TLS: it stands, or `error` says why not. */
  onHandshake(success: boolean, error: Error | null): void
  onData(chunk: Buffer): void
  onDrain(): void
  /** The peer sent FIN. */
  onEnd(): void
  /** The socket is closed or could never be opened; any of the socket's events may bring this first. */
  onLost(error: unknown): void
}

/** What TLS needs. One object per origin. */
export interface TlsSettings {
  readonly rejectUnauthorized: true
  /** In ALPN's own format. */
  readonly ALPNProtocols: Buffer
  /** The name to ask for and to check; absent = the address that is connected to. */
  readonly serverName?: string
  readonly ca?: string
}

/** Where a socket is opened to. */
export interface Hop {
  readonly hostname: string
  readonly port: number
  /** Absent = plain TCP. */
  readonly tls: TlsSettings | undefined
}

/** One set of handlers for all sockets: Bun keeps the user itself in `socket.data`. */
const handlers: SocketHandler<WireUser> = {
  open: socket => socket.data.onOpen(socket),
  handshake: (socket, success, error) => (socket.data as WireUser).onHandshake(success, error),
  data: (socket, chunk) => socket.data.onData(chunk as Buffer),
  drain: socket => socket.data.onDrain(),
  end: socket => socket.data.onEnd(),
  close: (socket, error) => socket.data.onLost(error),
  error: (socket, error) => socket.data.onLost(error),
}

/** Connects; the user hears of nothing before this has returned. */
export function openWire(user: WireUser, { hostname, port, tls }: Hop): void {
  const options = { hostname, port, data: user, socket: handlers }
  try {
    const connecting = Bun.connect<WireUser>(tls ? { ...options, tls } : options)
    connecting.catch(error => user.onLost(error))
  } catch (thrown) {
    queueMicrotask(() => user.onLost(thrown))
  }
}

/**
 * Begins TLS on an open socket of plain TCP. `user` hears `onOpen` at once and then of what is inside; the former user
 * goes on to hear of the bytes as they are on the network. False = the socket is closed.
 */
export function secureWire(socket: Wire, user: WireUser, tls: TlsSettings): boolean {
  // Of a socket that is closed Bun makes none, whatever its types say.
  const pair: unknown = (socket as Socket<WireUser>).upgradeTLS<WireUser>({ data: user, tls, socket: handlers })
  return pair !== undefined
}
