/** The HTTP/1.1 server. Its own, because the platform's costs twice as much a request: docs/decisions/0007. */
import type { Socket, SocketHandler, TCPSocketListener } from 'bun'
import type { Answer } from '../../core/answer.ts'
import type { GatewayError } from '../../core/errors.ts'
import type { Clock } from '../../lib/clock.ts'
import { atEndOfTurn } from '../../lib/end-of-turn.ts'
import type { TimerWheel } from '../../lib/timer-wheel.ts'
import type { ServerRequest } from './server-request.ts'
import { ClientConnection } from './connection.ts'
import type { Host } from './connection-host.ts'
import type { RefusedRequest } from './request-head.ts'
import { Room } from './connection-slots.ts'

/** Where the server listens, and who answers. There is no limit on how long `handle` may take. */
export interface ServerOptions {
  readonly hostname: string
  /** 0 = any free one. */
  readonly port: number
  readonly clock: Clock
  readonly wheel: TimerWheel
  /** Never throws and never rejects. */
  handle(request: ServerRequest): Answer | Promise<Answer>
  /** For what could not become a request. The body has to be text. */
  refuse(refusal: RefusedRequest): Answer
  /** A failure of the server's own: the connection is cut. */
  report(thrown: unknown): void
  /** Absent = as many connections as the system gives. */
  readonly limit?: ConnectionLimit
}

/** How many clients there may be, and what becomes of the others. */
export interface ConnectionLimit {
  /** Connections of clients at once. Beyond them idle ones are closed; when none is idle, new ones are turned away. */
  readonly max: number
  /** Answers the one request of a connection beyond that. Never throws and never rejects. */
  turnAway(request: ServerRequest): Answer | Promise<Answer>
  /** Somebody was turned away. Called at most once a minute. */
  reached(counts: ClientCounts): void
}

/** The connections of one moment, those that are turned away included. */
export interface ClientCounts {
  /** Connections with a request under way or an answer to send. */
  readonly busy: number
  readonly idle: number
  /** Infinity = not limited. */
  readonly max: number
  /** Idle ones closed in favour of new ones, since the start. */
  readonly closedIdle: number
  /** New ones answered with a refusal, or cut without one, since the start. */
  readonly turnedAway: number
}

/**
 * A server that listens. To end it: `stop`, and what is still there after a while hears of `interrupt`, and then of
 * `cut`.
 */
export interface HttpServer {
  /** `http://HOST:PORT/`. */
  readonly url: string
  /** Open ones. */
  readonly connections: number
  /** Looks at every connection. */
  clients(): ClientCounts
  /** Takes no new connection or request; resolves when the last answer is out. */
  stop(): Promise<void>
  /** Tells those who work on an answer to end it, so that clients hear why. */
  interrupt(error: GatewayError): void
  /** Cuts what is left. */
  cut(): void
}

/** Throws when the address is taken. */
export function listen(options: ServerOptions): HttpServer {
  return new Server(options)
}

class Server implements HttpServer, Host<ClientConnection> {
  readonly wheel: TimerWheel
  readonly clock: Clock
  stopping = false
  readonly #options: ServerOptions
  readonly #listener: TCPSocketListener<ClientConnection>
  readonly #room: Room
  /** Connections beyond the limit, while they are told so. */
  readonly #lobby: Room
  readonly #lobbyHost: Host<ClientConnection>
  #turnedAway = 0
  #reachedMs = -Infinity
  #stopped: (() => void) | undefined
  #stop: Promise<void> | undefined

  constructor(options: ServerOptions) {
    this.#options = options
    this.wheel = options.wheel
    this.clock = options.clock
    const { hostname, port, limit } = options
    const max = limit?.max ?? Infinity
    this.#room = new Room(max)
    this.#lobby = new Room(Math.max(lobbyMin, Math.floor(max / connectionsPerLobbyPlace)))
    this.#lobbyHost = this.#turningAway()
    this.#listener = Bun.listen<ClientConnection>({ hostname, port, allowHalfOpen: true, socket: this.#handlers() })
  }

  get url(): string {
    const { hostname, port } = this.#listener
    return `http://${hostname.includes(':') ? `[${hostname}]` : hostname}:${port}/`
  }

  get connections(): number {
    return this.#room.connections.size + this.#lobby.connections.size
  }

  clients(): ClientCounts {
    const idle = this.#room.idle + this.#lobby.idle
    return {
      busy: this.connections - idle,
      idle,
      max: this.#options.limit?.max ?? Infinity,
      closedIdle: this.#room.closedIdle,
      turnedAway: this.#turnedAway,
    }
  }

  handle(request: ServerRequest): Answer | Promise<Answer> {
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
    this.#room.connections.delete(connection)
    if (this.connections === 0) this.#stopped?.()
  }

  failed(connection: ClientConnection, thrown: unknown): void {
    this.#options.report(thrown)
    connection.close()
  }

  stop(): Promise<void> {
    return (this.#stop ??= this.#drain())
  }

  interrupt(error: GatewayError): void {
    for (const connection of this.#all()) connection.interrupt(error)
  }

  cut(): void {
    for (const connection of this.#all()) connection.close()
  }

  async #drain(): Promise<void> {
    this.stopping = true
    this.#listener.stop()
    for (const connection of this.#all()) connection.endWhenIdle()
    if (this.connections > 0) await new Promise<void>(resolve => (this.#stopped = resolve))
  }

  #all(): ClientConnection[] {
    return [...this.#room.connections, ...this.#lobby.connections]
  }

  /** As this server, except that there is one request a connection, and one answer. */
  #turningAway(): Host<ClientConnection> {
    const { limit } = this.#options
    return {
      wheel: this.wheel,
      clock: this.clock,
      stopping: true,
      handle: request => (limit ? limit.turnAway(request) : this.handle(request)),
      refuse: refusal => this.refuse(refusal),
      flushSoon: connection => this.flushSoon(connection),
      closed: connection => {
        this.#lobby.connections.delete(connection)
        this.closed(connection)
      },
      failed: (connection, thrown) => this.failed(connection, thrown),
    }
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
    const nowMs = this.clock.monotonicMs()
    if (this.#room.hasPlace(nowMs)) return this.#admit(socket, this, this.#room)
    this.#turnedAway++
    if (this.#lobby.hasPlace(nowMs)) this.#admit(socket, this.#lobbyHost, this.#lobby)
    else socket.terminate()
    if (nowMs - this.#reachedMs < reachedAgainMs) return
    this.#reachedMs = nowMs
    this.#options.limit?.reached(this.clients())
  }

  #admit(socket: Socket<ClientConnection>, host: Host<ClientConnection>, { connections }: Room): void {
    socket.data = new ClientConnection(host, socket)
    connections.add(socket.data)
    socket.setKeepAlive(true, keepAliveMs)
  }
}

/** Clients that are turned away at once: so many and this part of the limit. Whoever comes then is cut without a word. */
const lobbyMin = 16
const connectionsPerLobbyPlace = 16
const reachedAgainMs = 60_000

/** A client whose machine is gone is noticed by probes from then on. */
const keepAliveMs = 60_000
