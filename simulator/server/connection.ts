/** One TCP connection: requests in, bytes out with backpressure, and the ways to close it. */
import type { Socket } from 'bun'
import { RequestError, RequestParser } from './request-parser.ts'
import type { HttpRequest } from './request-parser.ts'

/** Longer pauses are shortened to this: timers beyond 2^31 - 1 ms fire at once. */
const waitMsMax = 2 ** 31 - 1
/** An RST discards bytes that the peer has not read yet; this pause lets the client read them first. */
const beforeResetMs = 10

interface Piece {
  bytes: Uint8Array
  readonly flushed: (() => void) | undefined
}

/** The server as a connection sees it. No `onRequest` follows an `onMalformed`. */
export interface ConnectionOwner {
  /** Called for one request at a time, in order of arrival. */
  onRequest(connection: Connection, request: HttpRequest): Promise<void>
  onMalformed(connection: Connection, error: RequestError): void
}

/** Bytes go out in the order of `send`. Its promises never reject; they also resolve when the socket closes. */
export class Connection {
  /** The socket is closed, by either side. */
  isClosed = false
  /** Called when the socket closes. */
  onClose: (() => void) | undefined
  /** The connection has sent a request other than to a control endpoint. */
  isClient = false
  readonly #socket: Socket<Connection>
  readonly #owner: ConnectionOwner
  readonly #parser: RequestParser
  #waiting: HttpRequest[] = []
  #isBusy = false
  #isEnding = false
  #pieces: Piece[] = []
  #wakes = new Set<() => void>()
  #onNextBytes: (() => void) | undefined
  #idleTimer: ReturnType<typeof setTimeout> | undefined

  constructor(socket: Socket<Connection>, owner: ConnectionOwner) {
    this.#socket = socket
    this.#owner = owner
    this.#parser = new RequestParser(() => this.send('HTTP/1.1 100 Continue\r\n\r\n'))
  }

  /** Socket event handlers, called by the server. */
  received(bytes: Uint8Array): void {
    clearTimeout(this.#idleTimer)
    if (this.#onNextBytes) return this.#onNextBytes()
    if (this.#isEnding) return
    try {
      this.#waiting.push(...this.#parser.push(bytes))
    } catch (error) {
      if (!(error instanceof RequestError)) throw error
      return this.#owner.onMalformed(this, error)
    }
    if (!this.#isBusy && this.#waiting.length > 0) void this.#run()
  }

  drained(): void {
    this.#flush()
  }

  closed(): void {
    if (this.isClosed) return
    this.isClosed = true
    clearTimeout(this.#idleTimer)
    this.#pieces = []
    this.onClose?.()
    this.#wake()
  }

  async #run(): Promise<void> {
    this.#isBusy = true
    for (
      let request = this.#waiting.shift();
      request && !this.isClosed && !this.#isEnding;
      request = this.#waiting.shift()
    )
      await this.#owner.onRequest(this, request)
    this.#isBusy = false
  }

  /** No request is arriving or queued; one may be in progress. */
  get isIdle(): boolean {
    return !this.#parser.isInside && this.#waiting.length === 0
  }

  /** The kernel has taken all bytes. */
  get isFlushed(): boolean {
    return this.#pieces.length === 0
  }

  /** Queues bytes; `flushed` is called when the kernel has taken the last of them. */
  send(bytes: string | Uint8Array, flushed?: () => void): void {
    if (this.isClosed || this.#isEnding) return
    this.#pieces.push({ bytes: typeof bytes === 'string' ? Buffer.from(bytes) : bytes, flushed })
    if (this.#pieces.length === 1) this.#flush()
  }

  #flush(): void {
    while (this.#pieces.length > 0 && !this.isClosed) {
      const piece = this.#pieces[0]!
      const written = piece.bytes.length === 0 ? 0 : this.#socket.write(piece.bytes)
      if (written < 0) return
      if (written < piece.bytes.length) {
        piece.bytes = piece.bytes.subarray(written)
        return
      }
      this.#pieces.shift()
      piece.flushed?.()
    }
    if (this.#pieces.length === 0) this.#wake()
  }

  #wake(): void {
    for (const wake of [...this.#wakes]) wake()
  }

  #wakeWhen(isTrue: () => boolean): Promise<void> {
    if (isTrue()) return Promise.resolve()
    return new Promise(resolve => {
      const wake = () => {
        if (!isTrue()) return
        this.#wakes.delete(wake)
        resolve()
      }
      this.#wakes.add(wake)
    })
  }

  /** Resolves when the kernel has taken all bytes, or when the socket closes. */
  whenFlushed(): Promise<void> {
    return this.#wakeWhen(() => this.isClosed || this.isFlushed)
  }

  whenClosed(): Promise<void> {
    return this.#wakeWhen(() => this.isClosed)
  }

  /** Waits `ms` milliseconds, at least one turn of the event loop; ends early when the socket closes. */
  wait(ms: number): Promise<void> {
    if (this.isClosed) return Promise.resolve()
    return new Promise(resolve => {
      const done = () => {
        if (timer !== undefined) clearTimeout(timer)
        this.#wakes.delete(wake)
        resolve()
      }
      const wake = () => {
        if (this.isClosed) done()
      }
      const timer = ms > 0 ? setTimeout(done, Math.min(ms, waitMsMax)) : undefined
      if (timer === undefined) setImmediate(done)
      this.#wakes.add(wake)
    })
  }

  /** Sends what is queued, then FIN. No further requests are read. */
  async fin(): Promise<void> {
    await this.whenFlushed()
    this.#isEnding = true
    if (!this.isClosed) this.#socket.end()
  }

  /** Sends what is queued, then FIN for our direction only; reading continues. */
  async halfClose(): Promise<void> {
    await this.whenFlushed()
    if (!this.isClosed) this.#socket.shutdown()
  }

  /** Sends what is queued, then RST. */
  async reset(): Promise<void> {
    if (!this.isFlushed) await this.whenFlushed()
    this.#isEnding = true
    await this.wait(beforeResetMs)
    this.terminate()
  }

  /** Sends RST immediately. */
  terminate(): void {
    this.#isEnding = true
    if (!this.isClosed) this.#socket.terminate()
  }

  /** Calls `act` if nothing is received within `ms` from now. */
  whenIdle(ms: number, act: () => void): void {
    clearTimeout(this.#idleTimer)
    const run = () => {
      if (!this.isClosed && this.isIdle) act()
    }
    this.#idleTimer = setTimeout(run, Math.min(ms, waitMsMax))
  }

  /** Calls `act` instead of parsing the next received bytes. */
  onNextBytes(act: () => void): void {
    this.#onNextBytes = act
  }
}
