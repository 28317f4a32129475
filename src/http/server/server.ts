/** The HTTP/1.1 server on plain sockets: the platform's own costs twice as much per request (docs/decisions/0007). */
import type { Socket, SocketHandler, TCPSocketListener } from 'bun'
import type { Answer } from '../../core/answer.ts'
import type { GatewayError } from '../../core/errors.ts'
import type { Upgrade } from '../../core/message-socket.ts'
import type { Clock } from '../../lib/clock.ts'
import { atEndOfTick } from '../../lib/end-of-tick.ts'
import type { TimerWheel } from '../../lib/timer-wheel.ts'
import type { ServerRequest } from './server-request.ts'
import { BodyMemory } from './body-memory.ts'
import { ClientConnection } from './connection.ts'
import type { ConnectionOwner, OwnedConnection, ServedConnection } from './connection-owner.ts'
import type { RefusedRequest } from './request-head.ts'
import { DiscardPace } from './discard-pace.ts'
import { ConnectionSlots } from './connection-slots.ts'
import { UpgradedConnection } from './upgraded-connection.ts'

/** What the server shows to clients, in PEM. */
export interface TlsIdentity {
  readonly cert: string
  readonly key: string
  /** Clients have to show a certificate of this authority; absent = they need none. */
  readonly clientCa?: string
}

/** Where the server listens, and who answers. There is no limit on how long `handle` may take. */
export interface ServerOptions {
  readonly hostname: string
  /** 0 = any free one. */
  readonly port: number
  /** Other processes listen on the same address, and the system shares new connections out among them. */
  readonly sharesPort?: boolean
  /** Absent = plain HTTP. */
  readonly tls?: TlsIdentity | undefined
  readonly clock: Clock
  readonly wheel: TimerWheel
  /** Never throws and never rejects. */
  handle(request: ServerRequest): Answer | Promise<Answer>
  /** The answer to what could not be read as a request. Its body has to be text. */
  refuse(refusal: RefusedRequest): Answer
  /** An internal error: the connection is cut. */
  report(thrown: unknown): void
  /** Absent = no limit but that of the system. */
  readonly limit?: ConnectionLimit
  /** The memory for the bodies of all requests together, asked for each; absent = no limit. */
  bodyMemoryBytesMax?(): number
}

/** The most connections of clients, and what happens to those beyond it. */
export interface ConnectionLimit {
  /** Open ones. Beyond it others are evicted (docs/connections.md); when none can be, new ones are turned away. */
  readonly max: number
  /** Answers the only request of a connection beyond the limit. Never throws and never rejects. */
  turnAway(request: ServerRequest): Answer | Promise<Answer>
  /** Clients are turned away. Called at most once a minute. */
  reached(counts: ClientCounts): void
}

/** Open connections, those that are turned away included. */
export interface ClientCounts {
  /** Connections with a request under way or an answer to send. */
  readonly busy: number
  readonly idle: number
  /** Infinity = not limited. */
  readonly max: number
  /** Evicted in favour of new ones, since the start. */
  readonly evicted: number
  /** New ones beyond the limit since the start: refused, or cut before that. */
  readonly turnedAway: number
}

/** A listening server. To end it: `stop`, then after a grace period `interrupt`, then `cut`. */
export interface HttpServer {
  /** `http://HOST:PORT/`, with TLS `https://`. */
  readonly url: string
  /** Open ones. */
  readonly connections: number
  /** Shows it to new connections; those that are open go on. Throws where the server speaks plain HTTP. */
  renewTls(identity: TlsIdentity): void
  /** Looks at every connection. */
  clients(): ClientCounts
  /**
   * Drains: takes no new connection; resolves when the last answer is sent. An idle connection stays open for `idleMs`
   * more (default: 0), and is closed behind the answer to a request that comes meanwhile.
   */
  stop(idleMs?: number): Promise<void>
  /** Aborts the requests under way with `error`, which can still be sent to their clients. */
  interrupt(error: GatewayError): void
  /** Closes the connections that are left, at once. */
  cut(): void
}

/** Throws when the address is taken. */
export function listen(options: ServerOptions): HttpServer {
  return new Server(options)
}

class Server implements HttpServer, ConnectionOwner {
  readonly wheel: TimerWheel
  readonly clock: Clock
  stopping = false
  readonly bodies: BodyMemory
  readonly discards: DiscardPace
  readonly #options: ServerOptions
  #listener: TCPSocketListener<ServedConnection>
  readonly #slots: ConnectionSlots
  /** Connections beyond the limit, while they get their refusal, in the order of their arrival. */
  readonly #overflow = new Set<OwnedConnection>()
  readonly #overflowMax: number
  readonly #overflowOwner: ConnectionOwner
  #turnedAway = 0
  #reachedMs = -Infinity
  #stopped: (() => void) | undefined
  #stop: Promise<void> | undefined

  constructor(options: ServerOptions) {
    this.#options = options
    this.wheel = options.wheel
    this.clock = options.clock
    this.bodies = new BodyMemory(() => options.bodyMemoryBytesMax?.() ?? Infinity)
    this.discards = new DiscardPace(options.wheel)
    const { port, limit, tls } = options
    const max = limit?.max ?? Infinity
    this.#slots = new ConnectionSlots(max)
    this.#overflowMax = Math.max(overflowMin, Math.floor(max / connectionsPerOverflowSlot))
    this.#overflowOwner = this.#turningAway()
    this.#listener = this.#listen(port, tls)
  }

  #listen(port: number, tls: TlsIdentity | undefined): TCPSocketListener<ServedConnection> {
    const { hostname, sharesPort = false } = this.#options
    // SO_REUSEPORT, which the declaration of `listen` does not name yet: a new certificate is shown by a listener of
    // its own, which is there before the one before it ends.
    const address = { hostname, port, reusePort: sharesPort || tls !== undefined }
    const secured = tls && {
      tls: {
        cert: tls.cert,
        key: tls.key,
        ...(tls.clientCa !== undefined && { ca: tls.clientCa, requestCert: true, rejectUnauthorized: true }),
      },
    }
    return Bun.listen<ServedConnection>({ ...address, ...secured, allowHalfOpen: true, socket: this.#handlers() })
  }

  renewTls(identity: TlsIdentity): void {
    if (this.#options.tls === undefined) throw new Error('the server speaks plain HTTP')
    if (this.stopping) return
    const before = this.#listener
    this.#listener = this.#listen(before.port, identity)
    before.stop()
  }

  get url(): string {
    const { hostname, port } = this.#listener
    const scheme = this.#options.tls === undefined ? 'http' : 'https'
    return `${scheme}://${hostname.includes(':') ? `[${hostname}]` : hostname}:${port}/`
  }

  get connections(): number {
    return this.#slots.connections.size + this.#overflow.size
  }

  clients(): ClientCounts {
    const { evicted } = this.#slots
    let { idle } = this.#slots
    for (const connection of this.#overflow) if (connection.idle) idle++
    return {
      busy: this.connections - idle,
      idle,
      max: this.#options.limit?.max ?? Infinity,
      evicted,
      turnedAway: this.#turnedAway,
    }
  }

  handle(request: ServerRequest): Answer | Promise<Answer> {
    return this.#options.handle(request)
  }

  refuse(refusal: RefusedRequest): Answer {
    return this.#options.refuse(refusal)
  }

  flushSoon(connection: OwnedConnection): void {
    if (connection.queued) return
    connection.queued = true
    atEndOfTick(connection)
  }

  closed(connection: OwnedConnection): void {
    this.#slots.connections.delete(connection)
    if (this.connections === 0) this.#stopped?.()
  }

  upgrade(socket: Socket<ServedConnection>, upgrade: Upgrade, early: Buffer): void {
    const connection = new UpgradedConnection(this, socket, upgrade, early)
    this.#slots.connections.add(connection)
    socket.data = connection
  }

  failed(connection: OwnedConnection, thrown: unknown): void {
    this.#options.report(thrown)
    connection.close()
  }

  stop(idleMs = 0): Promise<void> {
    return (this.#stop ??= this.#drain(idleMs))
  }

  interrupt(error: GatewayError): void {
    for (const connection of this.#all()) connection.interrupt(error)
  }

  cut(): void {
    for (const connection of this.#all()) connection.close()
  }

  async #drain(idleMs: number): Promise<void> {
    this.stopping = true
    this.#listener.stop()
    const ended = this.connections > 0 && new Promise<void>(resolve => (this.#stopped = resolve))
    for (const connection of this.#all()) if (idleMs === 0 || !connection.idle) connection.endWhenIdle()
    if (ended && idleMs > 0) await Promise.race([ended, Bun.sleep(idleMs)])
    for (const connection of this.#all()) connection.endWhenIdle()
    await ended
  }

  #all(): OwnedConnection[] {
    return [...this.#slots.connections, ...this.#overflow]
  }

  /** Like this server, but each connection has a single request and a refusal as its answer. */
  #turningAway(): ConnectionOwner {
    const { limit } = this.#options
    return {
      wheel: this.wheel,
      clock: this.clock,
      bodies: this.bodies,
      discards: this.discards,
      stopping: true,
      handle: request => (limit ? limit.turnAway(request) : this.handle(request)),
      refuse: refusal => this.refuse(refusal),
      flushSoon: connection => this.flushSoon(connection),
      closed: connection => {
        this.#overflow.delete(connection)
        this.closed(connection)
      },
      upgrade: socket => void socket.terminate(),
      failed: (connection, thrown) => this.failed(connection, thrown),
    }
  }

  /** One set of handlers for all sockets: Bun keeps the connection itself in `socket.data`. */
  #handlers(): SocketHandler<ServedConnection> {
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

  #open(socket: Socket<ServedConnection>): void {
    if (this.stopping) return void socket.terminate()
    const nowMs = this.clock.monotonicMs()
    if (this.#slots.reserve(nowMs)) return this.#admit(socket, this, this.#slots.connections)
    this.#turnedAway++
    // The newest always has a place: it may be a health check, which is answered.
    if (this.#overflow.size >= this.#overflowMax) this.#overflow.values().next().value!.close()
    this.#admit(socket, this.#overflowOwner, this.#overflow)
    if (nowMs - this.#reachedMs < reachedAgainMs) return
    this.#reachedMs = nowMs
    this.#options.limit?.reached(this.clients())
  }

  #admit(socket: Socket<ServedConnection>, owner: ConnectionOwner, connections: Set<OwnedConnection>): void {
    socket.data = new ClientConnection(owner, socket)
    connections.add(socket.data)
    socket.setKeepAlive(true, tcpKeepAliveMs)
  }
}

/**
 * Connections that are being turned away at once: a sixteenth of the limit, at least 16. When one more comes, the
 * oldest of them is cut.
 */
const overflowMin = 16
const connectionsPerOverflowSlot = 16
const reachedAgainMs = 60_000

/** TCP keep-alive: an idle peer is probed after this time, so that a machine that is gone is noticed. */
const tcpKeepAliveMs = 60_000
