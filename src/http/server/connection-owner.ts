/** A connection and the server that owns it, as they see one another. */
import type { Socket } from 'bun'
import type { Answer } from '../../core/answer.ts'
import type { GatewayError } from '../../core/errors.ts'
import type { Upgrade } from '../../core/message-socket.ts'
import type { Clock } from '../../lib/clock.ts'
import type { TickTask } from '../../lib/end-of-tick.ts'
import type { TimerWheel } from '../../lib/timer-wheel.ts'
import type { BodyMemory } from './body-memory.ts'
import type { DiscardPace } from './discard-pace.ts'
import type { RefusedRequest } from './request-head.ts'
import type { ServerRequest } from './server-request.ts'

/** A client's connection, as the server sees it. */
export interface OwnedConnection extends TickTask {
  /** It waits for its flush at the end of this tick. Set by the server. */
  queued: boolean
  /** Between two requests, or before the end of a head. */
  readonly idle: boolean
  /** `Clock.monotonicMs` from which on it may be closed to free its slot; Infinity = not in its present phase. */
  readonly evictableFromMs: number
  /** Lower ranks are evicted first: 0 = the last request had no valid key, 1 = nothing is lost, 2 = a call is cut. */
  readonly evictionRank: number
  /** Closes it to free its slot: an idle one in order, others at once. */
  evict(): void
  /** Closes it at once if it is idle, otherwise behind the present answer. */
  endWhenIdle(): void
  /** Aborts the present request with `error`, so that its handler can still answer with it. */
  interrupt(error: GatewayError): void
  /** Closes it at once. */
  close(): void
}

/** The same, as its socket sees it: Bun keeps it in the socket's `data`. */
export interface ServedConnection extends OwnedConnection {
  data(chunk: Buffer): void
  /** The client has closed its sending side. */
  ended(): void
  /** The socket is closed, by either side. */
  lost(): void
  /** Sends what is queued; also called when the socket drains. */
  flush(): void
}

/** The server, as a connection sees it: one owner for served clients, another for those beyond the limit. */
export interface ConnectionOwner {
  readonly wheel: TimerWheel
  readonly clock: Clock
  readonly bodies: BodyMemory
  readonly discards: DiscardPace
  /** The server drains: connections close behind their present answer. */
  readonly stopping: boolean
  /** Never throws and never rejects. */
  handle(request: ServerRequest): Answer | Promise<Answer>
  /** The answer, with a text as its body, to what could not be read as a request. */
  refuse(refusal: RefusedRequest): Answer
  /** Flushes at the end of this tick: a system call costs more than the bytes it carries. */
  flushSoon(connection: OwnedConnection): void
  closed(connection: OwnedConnection): void
  /** HTTP has ended on the socket; `early` = what came behind its last request. */
  upgrade(socket: Socket<ServedConnection>, upgrade: Upgrade, early: Buffer): void
  /** An error of this program while it answered: the connection is cut. */
  failed(connection: OwnedConnection, thrown: unknown): void
}
