/** One connection to an upstream: one exchange after another, with their deadlines; no byte of the peer is trusted. */
import { toGatewayError } from '../../core/errors.ts'
import type { GatewayError } from '../../core/errors.ts'
import type { UpstreamProxy } from '../../core/transport.ts'
import { atEndOfTick } from '../../lib/end-of-tick.ts'
import type { TickTask } from '../../lib/end-of-tick.ts'
import { TimerEntry } from '../../lib/timer-wheel.ts'
import type { TimerWheel } from '../../lib/timer-wheel.ts'
import {
  cut,
  malformed,
  proxyRefused,
  proxySubject,
  timedOut,
  timedOutConnecting,
  tunnelSubject,
  unreachable,
  unreadable,
  upstreamSubject,
} from './errors.ts'
import type { Exchange, ExchangeConnection } from './exchange.ts'
import { RequestWriter } from './request-writer.ts'
import type { ResponseHead } from './response-head.ts'
import { MalformedResponseError } from './response-head.ts'
import { ResponseParser } from './response-parser.ts'
import { Tunnel } from './proxy-tunnel.ts'
import type { TunnelListener, TunnelTarget } from './proxy-tunnel.ts'
import { openSocket } from './socket.ts'
import type { SocketTarget, ByteSocket } from './socket.ts'

/** The pool, as a connection sees it. */
export interface ConnectionOwner {
  readonly wheel: TimerWheel
  /** The exchange is over and the connection reusable: the owner keeps or closes it. */
  released(connection: Connection): void
  /** The connection is closed; called exactly once. */
  closed(connection: Connection): void
  /** A kept-alive connection turned out to be closed: the exchange needs a new one. */
  retry(exchange: Exchange): void
  /** The peer sent bytes that no request asked for; the connection that they came on is closed by itself. */
  unsolicited(): void
}

/** Where connections of a pool lead, and through which proxy. One object per pool. */
export interface ConnectionTarget {
  /** The next hop: the origin itself, or a proxy. */
  readonly hop: SocketTarget
  /** Absent = no proxy. */
  readonly proxy: UpstreamProxy | undefined
  /** The CONNECT tunnel through the proxy, for https. */
  readonly tunnel: TunnelTarget | undefined
}

/** `queued` = the request is sent at the end of this tick. */
type Phase = 'connecting' | 'queued' | 'head' | 'body' | 'idle' | 'closed'

/** Carries one exchange at a time. Once closed it stays closed; the owner is notified once. */
export class Connection extends TimerEntry implements ExchangeConnection, TickTask, TunnelListener {
  /** The keep-alive timeout that the peer announced; Infinity = none. */
  keepAliveMs = Infinity
  readonly #owner: ConnectionOwner
  readonly #target: ConnectionTarget
  readonly #parser = new ResponseParser()
  readonly #writer = new RequestWriter()
  /** The tunnel, while one is being opened. */
  #socket: ByteSocket | undefined
  #exchange: Exchange | undefined
  #phase: Phase = 'connecting'
  /** It has carried another exchange before. */
  #reused = false
  /** At least one byte of the present answer has arrived. */
  #answerBegan = false
  /** At least one byte of its body has: an upstream may send the head at once, and work for minutes then. */
  #bodyBegan = false
  /** Backpressure: reading and the idle timeout are suspended. */
  #readPaused = false

  /** Connects at once; `exchange` is sent as soon as the connection (and TLS) is established. */
  constructor(owner: ConnectionOwner, target: ConnectionTarget, exchange: Exchange) {
    super()
    this.#owner = owner
    this.#target = target
    this.#exchange = exchange
    exchange.connection = this
    this.#deadline(exchange.request.timeouts.connectMs)
    if (target.tunnel) this.#socket = new Tunnel(target.tunnel, this)
    else openSocket(this, target.hop)
  }

  // ---- what the owner and the exchange call

  /** Sends the next exchange on an idle connection, at the end of this tick. */
  send(exchange: Exchange, nowMs: number): void {
    this.#exchange = exchange
    exchange.connection = this
    this.#reused = true
    this.#answerBegan = false
    this.#phase = 'queued'
    this.#deadlineFrom(nowMs, exchange.request.timeouts.firstByteMs)
    atEndOfTick(this)
  }

  /** The exchange may have been cancelled meanwhile and the connection closed. */
  endOfTick(): void {
    if (this.#phase === 'queued') this.#write(this.#exchange!)
  }

  /** Idle for `idleMs` from now, or until the peer sends anything. */
  becomeIdle(idleMs: number): void {
    this.#phase = 'idle'
    // Also drops the references to the last answer's bytes.
    this.#parser.reset()
    const { wheel } = this.#owner
    wheel.touch(this, wheel.nowMs() + idleMs)
  }

  pause(): void {
    if (this.#readPaused || this.#phase === 'closed') return
    this.#readPaused = true
    this.#socket?.pause()
    this.#deadline(0)
  }

  resume(): void {
    if (!this.#readPaused || this.#phase === 'closed') return
    this.#readPaused = false
    this.#socket?.resume()
    if (this.#exchange) this.#deadline(this.#pieceMs(this.#exchange))
  }

  close(): void {
    if (this.#phase === 'closed') return
    this.#phase = 'closed'
    const exchange = this.#exchange
    if (exchange) exchange.connection = undefined
    this.#exchange = undefined
    this.#writer.stop()
    this.#owner.wheel.cancel(this)
    this.#socket?.terminate()
    this.#socket = undefined
    this.#owner.closed(this)
  }

  override expired(nowMs: number): void {
    const exchange = this.#exchange
    if (!exchange) return this.close()
    const { timeouts } = exchange.request
    if (nowMs >= exchange.totalAtMs) this.#fail(timedOut('end', timeouts.totalMs))
    else if (this.#phase === 'connecting') this.#fail(this.#connectTimedOut(timeouts.connectMs))
    else if (!this.#bodyBegan) this.#fail(timedOut('first-byte', timeouts.firstByteMs))
    else this.#fail(timedOut('next-byte', timeouts.idleMs))
  }

  // ---- what the socket calls

  onOpen(socket: ByteSocket): void {
    if (this.#phase !== 'connecting') {
      // Given up while it was connecting.
      socket.terminate()
      return
    }
    this.#socket = socket
    const { tunnel, hop } = this.#target
    if (!tunnel && !hop.tls) this.#established(this.#exchange!)
  }

  onHandshake(success: boolean, error: Error | null): void {
    if (this.#phase !== 'connecting') return
    if (success) this.#established(this.#exchange!)
    else this.#fail(unreachable(error, this.#subject()))
  }

  /** The tunnel could not be established. */
  tunnelFailed(error: GatewayError): void {
    this.#fail(error)
  }

  onData(chunk: Buffer): void {
    const exchange = this.#exchange
    if (this.#phase === 'connecting') return this.#fail(malformed('it spoke before it was asked'))
    // Bytes on an idle connection must not be taken for the next answer.
    if (!exchange) return this.#unsolicited()
    // Bytes before the request is sent are no answer to it: it goes to another connection.
    if (this.#phase === 'queued') return this.#unsolicited()
    this.#answerBegan = true
    try {
      this.#read(exchange, chunk)
    } catch (thrown) {
      if (this.#exchange !== exchange) throw thrown
      const isMalformed = thrown instanceof MalformedResponseError
      this.#fail(isMalformed ? malformed(thrown.message) : toGatewayError(thrown))
    }
  }

  onDrain(): void {
    const exchange = this.#exchange
    if (!exchange || !this.#socket || this.#writer.done) return
    if (this.#writer.flush(this.#socket) === 'unreadable') return this.#fail(unreadable())
    // The first-byte timeout begins when the upstream has the whole request.
    if (this.#phase === 'head') this.#deadline(exchange.request.timeouts.firstByteMs)
  }

  onEnd(): void {
    const exchange = this.#exchange
    if (!exchange || this.#phase !== 'body' || !this.#parser.finish()) return this.onLost(undefined)
    this.#exchange = undefined
    this.close()
    exchange.completed()
  }

  onLost(error: unknown): void {
    if (this.#phase === 'closed') return
    const exchange = this.#exchange
    if (!exchange) return this.close()
    if (this.#phase === 'connecting') return this.#fail(unreachable(error, this.#subject()))
    const isStale = this.#reused && !this.#answerBegan && !exchange.retried
    if (!isStale) return this.#fail(cut(this.#answerBegan, error))
    // The peer closed the idle connection while the request was on its way: no byte of an answer has arrived.
    exchange.retried = true
    exchange.sent = false
    this.close()
    this.#owner.retry(exchange)
  }

  // ---- inside

  #established(exchange: Exchange): void {
    this.#deadline(exchange.request.timeouts.firstByteMs)
    this.#write(exchange)
  }

  #write(exchange: Exchange): void {
    this.#phase = 'head'
    this.#answerBegan = false
    this.#bodyBegan = false
    const state = this.#writer.start(this.#socket!, exchange.prepared, exchange.request)
    exchange.sent = state !== 'closed'
    // The close event may already have been delivered. A microtask later, because the caller has no exchange yet.
    if (state === 'closed' || state === 'unreadable') this.#failLater(exchange, state)
  }

  #failLater(exchange: Exchange, state: 'closed' | 'unreadable'): void {
    queueMicrotask(() => {
      if (this.#exchange !== exchange) return
      if (state === 'closed') this.onLost(undefined)
      else this.#fail(unreadable())
    })
  }

  #read(exchange: Exchange, chunk: Buffer): void {
    const parser = this.#parser
    parser.feed(chunk)
    for (;;) {
      const event = parser.next()
      if (event === 'body') {
        this.#bodyBegan = true
        exchange.received(parser.piece)
      } else if (event === 'more') break
      else if (event === 'end') return this.#complete(exchange)
      else if (!this.#begin(exchange, parser.head!)) return
      // The callback may have cancelled the exchange, and with it this connection.
      if (this.#exchange !== exchange) return
    }
    if (this.#bodyBegan && !this.#readPaused) this.#deadline(exchange.request.timeouts.idleMs)
  }

  /** How long the next piece of the body is waited for. */
  #pieceMs({ request: { timeouts } }: Exchange): number {
    return this.#bodyBegan ? timeouts.idleMs : timeouts.firstByteMs
  }

  /** The head is complete. False = the answer is refused. */
  #begin(exchange: Exchange, head: ResponseHead): boolean {
    const { proxy, tunnel } = this.#target
    // From a proxy that reads the requests itself: the upstream has not seen this one.
    if (proxy && !tunnel && head.status === 407) {
      exchange.sent = false
      this.#fail(proxyRefused(proxy, head.status))
      return false
    }
    this.#phase = 'body'
    exchange.answered(head)
    return true
  }

  /** The answer is complete. The connection is released first, so that the reader's next call can use it. */
  #complete(exchange: Exchange): void {
    const head = this.#parser.head!
    const isLying = head.status === 204 && (head.chunked || head.contentLength > 0)
    const hasLeftover = this.#parser.leftover > 0
    const isClean = !hasLeftover && this.#writer.done && !isLying
    this.#exchange = undefined
    exchange.connection = undefined
    if (this.#readPaused) this.resume()
    if (isClean && head.keepAlive) {
      this.keepAliveMs = head.keepAliveMs
      this.#owner.released(this)
    } else this.close()
    if (hasLeftover) this.#owner.unsolicited()
    exchange.completed()
  }

  /** First the other idle connections are closed, so that the request is not sent again on one of them. */
  #unsolicited(): void {
    this.#owner.unsolicited()
    this.onLost(undefined)
  }

  /** Who cannot be reached, before the connection is established. */
  #subject(): string {
    const { proxy, tunnel } = this.#target
    if (!proxy) return upstreamSubject
    return tunnel ? tunnelSubject(proxy) : proxySubject(proxy)
  }

  #connectTimedOut(limitMs: number): GatewayError {
    const socket = this.#socket
    return socket instanceof Tunnel ? socket.timedOut(limitMs) : timedOutConnecting(limitMs, this.#subject())
  }

  #fail(error: GatewayError): void {
    const exchange = this.#exchange
    this.close()
    exchange?.failed(error)
  }

  /** The nearer of `ms` from now (0 = no limit) and the end of the whole call. */
  #deadline(ms: number): void {
    this.#deadlineFrom(this.#owner.wheel.nowMs(), ms)
  }

  #deadlineFrom(nowMs: number, ms: number): void {
    const atMs = ms > 0 ? nowMs + ms : Infinity
    const totalAtMs = this.#exchange?.totalAtMs ?? Infinity
    this.#owner.wheel.touch(this, atMs < totalAtMs ? atMs : totalAtMs)
  }
}
