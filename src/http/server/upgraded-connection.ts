/** A connection on which HTTP has ended: a WebSocket talks on. */
import type { Socket } from 'bun'
import type { Upgrade } from '../../core/message-socket.ts'
import type { GatewayError } from '../../core/errors.ts'
import { TimerEntry } from '../../lib/timer-wheel.ts'
import { lingerMs, sendHighWaterBytes, stalledEvictableAfterMs, stallTimeoutMs } from './client-limits.ts'
import type { ConnectionOwner, ServedConnection } from './connection-owner.ts'
import { SendQueue } from './send-queue.ts'
import { loadWebSockets, WebSocketChannel } from './websocket.ts'
import type { ByteSocket } from './websocket.ts'

/** So often a silent client is asked whether it is there; one that says nothing until the next time is gone. */
const pingMs = 30_000

/** Owned like a `ClientConnection`, whose place it takes. */
export class UpgradedConnection extends TimerEntry implements ServedConnection, ByteSocket {
  queued = false
  readonly #owner: ConnectionOwner
  readonly #socket: Socket<ServedConnection>
  readonly #sendQueue = new SendQueue()
  #channel: WebSocketChannel | undefined
  /** What arrived before the protocol was there. */
  #early: Buffer[] = []
  #closed = false
  /** Closes once all is sent. */
  #ending = false
  #readPaused = false
  /** `Clock.monotonicMs` of the last byte in either direction. */
  #usedMs: number
  /** A ping is sent and nothing has come since. */
  #pinged = false
  /** The send queue was not empty at the last deadline. */
  #stalled = false

  /** `early` = the bytes behind the request. */
  constructor(owner: ConnectionOwner, socket: Socket<ServedConnection>, upgrade: Upgrade, early: Buffer) {
    super()
    this.#owner = owner
    this.#socket = socket
    this.#usedMs = owner.wheel.nowMs()
    if (early.length > 0) this.#early.push(Buffer.from(early))
    const { accept, subprotocol } = upgrade
    const lines = [
      'HTTP/1.1 101 Switching Protocols',
      'upgrade: websocket',
      'connection: Upgrade',
      `sec-websocket-accept: ${accept}`,
      ...(subprotocol === undefined ? [] : [`sec-websocket-protocol: ${subprotocol}`]),
    ]
    this.#sendQueue.add(`${lines.join('\r\n')}\r\n\r\n`)
    this.#touch(pingMs)
    loadWebSockets().then(
      () => this.#guard(() => this.#open(upgrade)),
      thrown => owner.failed(this, thrown),
    )
  }

  get idle(): boolean {
    return this.#channel !== undefined && !this.#channel.busy && this.#sendQueue.size === 0
  }

  /** A client connects again: an idle one is closed where another needs its place. */
  get evictableFromMs(): number {
    return this.#closed || this.#channel?.busy !== false ? Infinity : this.#usedMs + stalledEvictableAfterMs
  }

  get evictionRank(): number {
    return 1
  }

  // ---- what the socket calls

  data(chunk: Buffer): void {
    this.#usedMs = this.#owner.wheel.nowMs()
    this.#pinged = false
    if (this.#channel) this.#channel.data(chunk)
    // A client that sends before it has the answer breaks the protocol, and is held to what one chunk has.
    else if (this.#early.length > 1) this.close()
    else this.#early.push(Buffer.from(chunk))
  }

  /** FIN of the client. */
  ended(): void {
    if (this.#ending) return this.#finish()
    this.close()
  }

  lost(): void {
    if (this.#closed) return
    this.#closed = true
    this.#owner.wheel.cancel(this)
    this.#sendQueue.clear()
    this.#owner.closed(this)
    this.#guard(() => this.#channel?.lost())
  }

  flush(): void {
    if (this.#closed) return
    const state = this.#sendQueue.flush(this.#socket)
    if (this.#sendQueue.madeProgress) this.#usedMs = this.#owner.wheel.nowMs()
    if (state === 'closed') return this.close()
    if (state === 'more') return this.#owner.flushSoon(this)
    if (state === 'waiting') return
    this.#stalled = false
    if (this.#ending) {
      this.#socket.shutdown()
      return this.#touch(lingerMs)
    }
    this.#channel?.drained()
  }

  // ---- what the server calls

  endOfTick(): void {
    this.queued = false
    this.#guard(() => this.flush())
  }

  evict(): void {
    this.endWhenIdle()
  }

  endWhenIdle(): void {
    if (this.#channel) this.#channel.goAway()
    else this.close()
  }

  interrupt(error: GatewayError): void {
    this.#guard(() => this.#channel?.interrupt(error))
  }

  close(): void {
    if (this.#closed) return
    this.#socket.terminate()
    this.lost()
  }

  override expired(): void {
    this.#guard(() => this.#timedOut())
  }

  // ---- what the protocol calls

  get full(): boolean {
    return this.#sendQueue.size > sendHighWaterBytes
  }

  write(bytes: Uint8Array): void {
    if (this.#closed) return
    this.#sendQueue.add(bytes)
    this.#owner.flushSoon(this)
  }

  end(): void {
    this.#ending = true
    this.resume()
    this.#touch(stallTimeoutMs)
    this.#owner.flushSoon(this)
  }

  pause(): void {
    if (this.#readPaused || this.#closed) return
    this.#readPaused = true
    this.#socket.pause()
  }

  resume(): void {
    if (!this.#readPaused || this.#closed) return
    this.#readPaused = false
    this.#socket.resume()
  }

  // ---- inside

  #open(upgrade: Upgrade): void {
    if (this.#closed) return
    const channel = new WebSocketChannel(this, upgrade)
    this.#channel = channel
    this.#owner.flushSoon(this)
    for (const bytes of this.#early.splice(0)) channel.data(bytes)
    if (this.#owner.stopping) channel.goAway()
  }

  #timedOut(): void {
    if (this.#ending) return this.close()
    if (this.#sendQueue.size > 0) {
      this.flush()
      if (this.#closed) return
      if (this.#stalled && !this.#sendQueue.madeProgress) return this.close()
      this.#stalled = this.#sendQueue.size > 0
      return this.#touch(stallTimeoutMs)
    }
    // While this side does not read, silence is no sign.
    if (this.#pinged && !this.#readPaused) return this.close()
    this.#pinged = !this.#readPaused
    this.#channel?.ping()
    this.#touch(pingMs)
  }

  #finish(): void {
    this.#socket.end()
    this.lost()
  }

  #touch(ms: number): void {
    this.#owner.wheel.touch(this, this.#owner.wheel.nowMs() + ms)
  }

  #guard(work: () => void): void {
    try {
      work()
    } catch (thrown) {
      this.#owner.failed(this, thrown)
    }
  }
}
