/** What a connection does with its socket and its owner in every phase: pausing, deadlines, errors. */
import type { Socket } from 'bun'
import { TimerEntry } from '../../lib/timer-wheel.ts'
import type { ConnectionOwner, ServedConnection } from './connection-owner.ts'
import type { DiscardingConnection } from './discard-pace.ts'

/**
 * `head` = idle, or a head arrives; `request` = a request is answered; `discard` = the answer is sent, the rest of the
 * request's body is read and discarded; `closing` = closes when all is sent.
 */
type Phase = 'head' | 'request' | 'discard' | 'closing' | 'closed'

/** What all phases of a `ClientConnection` share. */
export abstract class ClientSocket extends TimerEntry implements DiscardingConnection {
  protected readonly owner: ConnectionOwner
  protected readonly socket: Socket<ServedConnection>
  protected phase: Phase = 'head'
  /**
   * `Clock.monotonicMs` since which the client has been in a phase that may be evicted. Without a valid key the time
   * goes on over its phases: requests that need no key hold no place.
   */
  protected sinceMs = 0
  /** The request that is answered, or was answered last, had a valid key. */
  protected authenticated = false
  #address: string | undefined
  #readPaused = false
  #discardedBytes = 0

  constructor(owner: ConnectionOwner, socket: Socket<ServedConnection>) {
    super()
    this.owner = owner
    this.socket = socket
  }

  /** Of the peer; empty when it has left before it was requested. */
  get address(): string {
    return (this.#address ??= this.socket.remoteAddress ?? '')
  }

  /** Stops reading (backpressure). */
  pause(): void {
    if (this.#readPaused || this.phase === 'closed') return
    this.#readPaused = true
    this.socket.pause()
  }

  resume(): void {
    if (!this.#readPaused || this.phase === 'closed') return
    this.#readPaused = false
    this.socket.resume()
  }

  discardMore(): boolean {
    if (this.phase !== 'discard') return false
    this.resume()
    return true
  }

  /** For the next request. */
  protected startDiscarding(): void {
    this.#discardedBytes = 0
  }

  /** Counts what was read of a body that is not wanted, or behind the last request; returns the sum. */
  protected countDiscarded(bytes: number): number {
    return (this.#discardedBytes += bytes)
  }

  /** The connection is cut after an error of this program. */
  protected abstract failed(thrown: unknown): void

  /** Counts from now; returns now (`Clock.monotonicMs`). */
  protected setDeadline(ms: number): number {
    const { wheel } = this.owner
    const nowMs = wheel.nowMs()
    wheel.touch(this, nowMs + ms)
    return nowMs
  }

  /** A phase of at most `ms` begins in which the connection waits for its client. */
  protected enterPhase(ms: number): void {
    const nowMs = this.setDeadline(ms)
    if (this.authenticated) this.sinceMs = nowMs
  }

  /** For work without a caller that could handle its error. */
  protected guard(work: () => void): void {
    try {
      work()
    } catch (thrown) {
      this.failed(thrown)
    }
  }
}
