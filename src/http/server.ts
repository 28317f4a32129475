/** The HTTP/1.1 server. Its own, because the platform's costs twice as much a request: docs/decisions/0007. */
import type { SocketHandler, TCPSocketListener } from 'bun'
import type { Answer } from '../core/answer.ts'
import type { Clock } from '../lib/clock.ts'
import type { TimerWheel } from '../lib/timer-wheel.ts'
import type { IncomingRequest } from './connected-request.ts'
import { ClientConnection } from './connection.ts'
import type { Host } from './connection.ts'
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
  readonly #flush = (): void => this.#flushAll()
  #waiting: ClientConnection[] = []
  #stopped: (() => void) | undefined

  constructor(options: ServerOptions) {
    this.#options = options
    this.wheel = options.wheel
    this.clock = options.clock
    const { hostname, port } = options
    this.#listener = Bun.listen<ClientConnection>({ hostname, port, socket: this.#handlers() })
  }

  get url(): string {
    const { hostname, port } = this.#listener
    return `http://${hostname.includes(':') ? `[${hostname}]` : hostname}:${port}/`
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
    if (this.#waiting.push(connection) === 1) setImmediate(this.#flush)
  }

  closed(connection: ClientConnection): void {
    this.#connections.delete(connection)
    if (this.#connections.size === 0) this.#stopped?.()
  }

  failed(connection: ClientConnection, thrown: unknown): void {
    this.#options.report(thrown)
    connection.close()
  }

  async stop(): Promise<void> {
    this.stopping = true
    this.#listener.stop()
    for (const connection of [...this.#connections]) connection.endWhenIdle()
    if (this.#connections.size > 0) await new Promise<void>(resolve => (this.#stopped = resolve))
  }

  cut(): void {
    for (const connection of [...this.#connections]) connection.close()
  }

  #flushAll(): void {
    const waiting = this.#waiting
    this.#waiting = []
    for (const connection of waiting) {
      connection.queued = false
      this.#guarded(connection, () => connection.flush())
    }
  }

  /** One set of handlers for all sockets: Bun keeps the connection itself in `socket.data`. */
  #handlers(): SocketHandler<ClientConnection> {
    return {
      open: socket => {
        socket.data = new ClientConnection(this, socket)
        this.#connections.add(socket.data)
        socket.setKeepAlive(true, keepAliveMs)
      },
      data: (socket, chunk) => this.#guarded(socket.data, () => socket.data.data(chunk as Buffer)),
      drain: socket => this.#guarded(socket.data, () => socket.data.drained()),
      end: socket => socket.data.close(),
      close: socket => socket.data?.lost(),
      error: socket => socket.data?.lost(),
    }
  }

  #guarded(connection: ClientConnection, work: () => void): void {
    try {
      work()
    } catch (thrown) {
      this.failed(connection, thrown)
    }
  }
}

/** A client whose machine is gone is noticed by probes from then on. */
const keepAliveMs = 60_000
