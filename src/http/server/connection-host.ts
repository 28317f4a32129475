/** The server, as a connection sees it. */
import type { Answer } from '../../core/answer.ts'
import type { Clock } from '../../lib/clock.ts'
import type { TimerWheel } from '../../lib/timer-wheel.ts'
import type { ServerRequest } from './server-request.ts'
import type { RefusedRequest } from './request-head.ts'

/** One for clients that are served, and one for those that are turned away. `Connection` is the type it keeps of each. */
export interface Host<Connection> {
  readonly wheel: TimerWheel
  readonly clock: Clock
  /** No request after the present one. */
  readonly stopping: boolean
  /** Never throws and never rejects. */
  handle(request: ServerRequest): Answer | Promise<Answer>
  /** What a client is told whose request cannot even be read: a text. */
  refuse(refusal: RefusedRequest): Answer
  /** Sends what waits when the present events are worked off: a system call costs more than the bytes it carries. */
  flushSoon(connection: Connection): void
  closed(connection: Connection): void
  /** A failure of this program while it answered: the connection is cut. */
  failed(connection: Connection, thrown: unknown): void
}
