/** The HTTP/1.1 server. Its own, because the platform's costs twice as much a request: docs/decisions/0007. */
import type { Socket, SocketHandler, TCPSocketListener } from 'bun'
import type { Answer } from '../core/answer.ts'
import type { Clock } from '../lib/clock.ts'
import { atEndOfTurn } from '../lib/end-of-turn.ts'
import type { TimerWheel } from '../lib/timer-wheel.ts'
import type { IncomingRequest } from './connected-request.ts'
import { ClientConnection } from './connection.ts'
import type { Host } from './host.ts'
import type { RefusedRequest } from './request-head.ts'

export interface ServerOptions {
  readonly hostname: string
  /** 0 = any free one. */
  readonly port: number
  readonly clock: Clock
  readonly wheel: TimerWheel
  /** Never throws and never rejects. */
  handle(request: IncomingRequest): Answer | Promise<Answer>
  refuse(refusal: RefusedRequest): Answer
  /** A failure of the server's own: the connection is cut. */
  report(thrown: unknown): void
}

export interface HttpServer {
  /** `http://HOST:PORT/`. */
  readonly url: string
  /** Open ones. */
  readonly connections: number
  /** Takes no new connection or request; resolves when the last answer is out. */
  stop(): Promise<void>
  /** Cuts what is left. */
  cut(): void
}

/** Throws when the address is taken. */
export function listen(options: ServerOptions): HttpServer {
  return new Server(options)
}

class Server implements HttpServer, Host {
  readonly wheel: TimerWheel
  readonly clock: Clock
  stopping = false
  readonly #options: ServerOptions
  readonly #listener: TCPSocketListener<ClientConnection>
  readonly #connections = new Set<ClientConnection>()
  #stopped: (() => void) | undefined
  #stop: Promise<void> | undefined

  constructor(options: ServerOptions) {
    this.#options = options
    this.wheel = options.wheel
    this.clock = options.clock
    const { hostname, port } = options
    this.#listener = Bun.listen<ClientConnection>({ hostname, port, allowHalfOpen: true, socket: this.#handlers() })
  }

  get url(): string {
    const { hostname, port } = this.#listener
    return `http://${hostname.includes(':') ? `[${hostname}]` : hostname}:${port}/`
  }

  get connections(): number {
    return this.#connections.size
  }

  handle(request: IncomingRequest): Answer | Promise<Answer> {
    return this.#options.handle(request)
  }

  refuse(refusal: RefusedRequest): Answer {
    return this.#options.refuse(refusal)
  }

  flushSoon(connection: ClientConnection): void {
    if (connection.queued) return
    connection.queued = true
    atEndOfTurn(connection)
  }

  closed(connection: ClientConnection): void {
    this.#connections.delete(connection)
    if (this.#connections.size === 0) this.#stopped?.()
  }

  failed(connection: ClientConnection, thrown: unknown): void {
    this.#options.report(thrown)
    connection.close()
  }

  stop(): Promise<void> {
    return (this.#stop ??= this.#drain())
  }

  cut(): void {
    for (const connection of [...this.#connections]) connection.close()
  }

  async #drain(): Promise<void> {
    this.stopping = true
    this.#listener.stop()
    for (const connection of [...this.#connections]) connection.endWhenIdle()
    if (this.#connections.size > 0) await new Promise<void>(resolve => (this.#stopped = resolve))
  }

  /** One set of handlers for all sockets: Bun keeps the connection itself in `socket.data`. */
  #handlers(): SocketHandler<ClientConnection> {
    return {
      open: socket => this.#open(socket),
      data: (socket, chunk) => {
        const connection = socket.data
        try {
          connection.data(chunk as Buffer)
        } catch (thrown) {
          this.failed(connection, thrown)
        }
      },
      drain: socket => {
        const connection = socket.data
        try {
          connection.flush()
        } catch (thrown) {
          this.failed(connection, thrown)
        }
      },
      end: socket => {
        const connection = socket.data
        try {
          connection.ended()
        } catch (thrown) {
          this.failed(connection, thrown)
        }
      },
      // A connection that came while the server stopped has no data.
      close: socket => socket.data?.lost(),
      // Also what the handlers above let through: then the socket is still open.
      error: socket => socket.data?.close(),
    }
  }

  #open(socket: Socket<ClientConnection>): void {
    if (this.stopping) return void socket.terminate()
    socket.data = new ClientConnection(this, socket)
    this.#connections.add(socket.data)
    socket.setKeepAlive(true, keepAliveMs)
  }
}

/** A client whose machine is gone is noticed by probes from then on. */
const keepAliveMs = 60_000
