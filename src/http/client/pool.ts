/** The connections to one origin. The one used last is reused first, so that the others reach their idle timeout. */
import type { TimerWheel } from '../../lib/timer-wheel.ts'
import { Connection } from './connection.ts'
import type { ConnectionOwner, ConnectionTarget } from './connection.ts'
import type { Exchange } from './exchange.ts'

interface PoolSettings {
  readonly wheel: TimerWheel
  readonly target: ConnectionTarget
  readonly idleMax: number
  readonly idleMs: number
  /** Bytes came that no request asked for, and `closed` idle connections were closed: at most once a minute. */
  unsolicited(closed: number): void
}

/** Connections are closed this long before the keep-alive timeout of the peer, so that no request crosses its close. */
const keepAliveMarginMs = 1000
const toldAgainMs = 60_000

/** An exchange never waits for a connection: without an idle one it gets a new one, so busy ones have no limit here. */
export class Pool implements ConnectionOwner {
  readonly wheel: TimerWheel
  readonly #settings: PoolSettings
  readonly #idle: Connection[] = []
  #open = 0
  #closed = false
  #toldMs = -Infinity

  constructor(settings: PoolSettings) {
    this.wheel = settings.wheel
    this.#settings = settings
  }

  get idle(): number {
    return this.#idle.length
  }

  /** Connections that carry an exchange or are being opened for one. */
  get busy(): number {
    return this.#open - this.#idle.length
  }

  /** Sends `exchange` on an idle connection, or on a new one. */
  dispatch(exchange: Exchange): void {
    const nowMs = this.wheel.nowMs()
    for (let kept = this.#idle.pop(); kept; kept = this.#idle.pop()) {
      if (kept.deadlineMs > nowMs) return kept.send(exchange, nowMs)
      kept.close()
    }
    this.#connect(exchange)
  }

  /** Closes the idle connections; those in use are closed when they come back. */
  close(): void {
    this.#closed = true
    this.#closeIdle()
  }

  released(connection: Connection): void {
    const idleMs = Math.min(this.#settings.idleMs, connection.keepAliveMs - keepAliveMarginMs)
    if (this.#closed || idleMs <= 0 || this.#settings.idleMax <= 0) return connection.close()
    if (this.#idle.length >= this.#settings.idleMax) this.#idle.shift()?.close()
    connection.becomeIdle(idleMs)
    this.#idle.push(connection)
  }

  closed(connection: Connection): void {
    this.#open--
    const at = this.#idle.indexOf(connection)
    if (at >= 0) this.#idle.splice(at, 1)
  }

  retry(exchange: Exchange): void {
    this.#connect(exchange)
  }

  /**
   * What one connection of an origin does may hold for all of them (a proxy in between that mixes answers up): none
   * that is idle is trusted with another request.
   */
  unsolicited(): void {
    const closed = this.#closeIdle()
    const nowMs = this.wheel.nowMs()
    if (nowMs - this.#toldMs < toldAgainMs) return
    this.#toldMs = nowMs
    this.#settings.unsolicited(closed)
  }

  #closeIdle(): number {
    const idle = this.#idle.splice(0)
    for (const connection of idle) connection.close()
    return idle.length
  }

  #connect(exchange: Exchange): void {
    this.#open++
    new Connection(this, this.#settings.target, exchange)
  }
}
