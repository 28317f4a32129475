/** Sockets of the client: plain TCP or TLS, on one interface. */
import type { Socket, SocketHandler } from 'bun'
import type { Writable } from './request-writer.ts'

/** A stream of bytes with backpressure. Bun's sockets implement it. */
export interface ByteSocket extends Writable {
  pause(): void
  resume(): void
  /** Closes at once. */
  terminate(): void
}

/** Receives the events of a socket. `onLost` may come more than once, also after `terminate`. */
export interface SocketListener {
  /** TCP is connected. With TLS the handshake follows. */
  onOpen(socket: ByteSocket): void
  /** With TLS only: established, or `error` says why not. */
  onHandshake(success: boolean, error: Error | null): void
  onData(chunk: Buffer): void
  onDrain(): void
  /** The peer sent FIN. */
  onEnd(): void
  /** The socket is closed or could not be opened; it may be the first event. */
  onLost(error: unknown): void
}

/** TLS settings. One object per origin. */
export interface TlsSettings {
  readonly rejectUnauthorized: true
  /** In ALPN's own format. */
  readonly ALPNProtocols: Buffer
  /** The name to ask for and to check; absent = the address that is connected to. */
  readonly serverName?: string
  readonly ca?: string
}

/** Where a socket is opened to. */
export interface SocketTarget {
  readonly hostname: string
  readonly port: number
  /** Absent = plain TCP. */
  readonly tls: TlsSettings | undefined
}

/** One set of handlers for all sockets: Bun keeps the listener itself in `socket.data`. */
const handlers: SocketHandler<SocketListener> = {
  open: socket => socket.data.onOpen(socket),
  handshake: (socket, success, error) => (socket.data as SocketListener).onHandshake(success, error),
  data: (socket, chunk) => socket.data.onData(chunk as Buffer),
  drain: socket => socket.data.onDrain(),
  end: socket => socket.data.onEnd(),
  close: (socket, error) => socket.data.onLost(error),
  error: (socket, error) => socket.data.onLost(error),
}

/** Connects. No event is delivered before this has returned. */
export function openSocket(listener: SocketListener, { hostname, port, tls }: SocketTarget): void {
  const options = { hostname, port, data: listener, socket: handlers }
  try {
    const connecting = Bun.connect<SocketListener>(tls ? { ...options, tls } : options)
    connecting.catch(error => listener.onLost(error))
  } catch (thrown) {
    queueMicrotask(() => listener.onLost(thrown))
  }
}

/**
 * Begins TLS on a connected plain socket. `listener` gets `onOpen` at once and then the decrypted bytes; the former
 * listener still gets the encrypted ones. False = the socket is closed.
 */
export function startTls(socket: ByteSocket, listener: SocketListener, tls: TlsSettings): boolean {
  // For a closed socket Bun returns undefined, although its types do not say so.
  const pair: unknown = (socket as Socket<SocketListener>).upgradeTLS<SocketListener>({
    data: listener,
    tls,
    socket: handlers,
  })
  return pair !== undefined
}
