/** One socket to one upstream: carries one exchange after another, guards its deadlines, trusts no byte. */
import { toGatewayError } from '../../core/errors.ts'
import type { GatewayError } from '../../core/errors.ts'
import type { UpstreamProxy } from '../../core/transport.ts'
import { atEndOfTick } from '../../lib/end-of-tick.ts'
import type { TickTask } from '../../lib/end-of-tick.ts'
import { TimerEntry } from '../../lib/timer-wheel.ts'
import type { TimerWheel } from '../../lib/timer-wheel.ts'
import {
  compressed,
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
import type { Exchange, Line } from './exchange.ts'
import { RequestWriter } from './request-writer.ts'
import type { ResponseHead } from './response-head.ts'
import { MalformedResponseError } from './response-head.ts'
import { ResponseParser } from './response-parser.ts'
import { Tunnel } from './proxy-tunnel.ts'
import type { TunnelUser, TunnelWay } from './proxy-tunnel.ts'
import { openWire } from './socket.ts'
import type { Hop, Wire } from './socket.ts'

/** The pool, as a connection sees it. */
export interface Owner {
  readonly wheel: TimerWheel
  /** The connection is healthy and free; the owner may keep it or drop it. */
  released(connection: Connection): void
  /** The connection is closed; called exactly once. */
  closed(connection: Connection): void
  /** A kept connection turned out to be closed: the exchange needs a fresh one. */
  retry(exchange: Exchange): void
}

/** How connections get to an origin. One object per pool. */
export interface Way {
  /** To the origin itself, or to the proxy that takes its requests. */
  readonly hop: Hop
  /** Absent = no proxy is on the way. */
  readonly proxy: UpstreamProxy | undefined
  /** Through the proxy to the origin itself, for https. */
  readonly tunnel: TunnelWay | undefined
}

/** `queued` = the request goes out at the end of this turn. */
type Phase = 'connecting' | 'queued' | 'head' | 'body' | 'idle' | 'closed'

/** It carries one exchange at a time. Once closed it stays so: the owner hears of it, and makes another. */
export class Connection extends TimerEntry implements Line, TickTask, TunnelUser {
  /** As long as the peer said it keeps the connection; Infinity = it said nothing. */
  keepAliveMs = Infinity
  readonly #owner: Owner
  readonly #way: Way
  readonly #parser = new ResponseParser()
  readonly #writer = new RequestWriter()
  /** While a tunnel is being opened, that is it. */
  #socket: Wire | undefined
  #exchange: Exchange | undefined
  #phase: Phase = 'connecting'
  /** It has carried an exchange before this one. */
  #reused = false
  /** The present exchange has had at least one byte of an answer. */
  #answerBegan = false
  /** Reading is stopped; the idle timer rests. */
  #resting = false

  /** Connects at once; `exchange` is sent as soon as the connection (and TLS) stands. */
  constructor(owner: Owner, way: Way, exchange: Exchange) {
    super()
    this.#owner = owner
    this.#way = way
    this.#exchange = exchange
    exchange.line = this
    this.#deadline(exchange.request.timeouts.connectMs)
    if (way.tunnel) this.#socket = new Tunnel(way.tunnel, this)
    else openWire(this, way.hop)
  }

  // ---- what the owner and the exchange call

  /** Sends the next exchange on a kept connection. */
  carry(exchange: Exchange): void {
    this.#exchange = exchange
    exchange.line = this
    this.#reused = true
    this.#answerBegan = false
    this.#phase = 'queued'
    this.#deadline(exchange.request.timeouts.firstByteMs)
    atEndOfTick(this)
  }

  /** The exchange may have been cancelled meanwhile, and this connection be closed. */
  endOfTick(): void {
    if (this.#phase === 'queued') this.#send(this.#exchange!)
  }

  /** Free until `idleMs` from now, or until the peer says a word. */
  rest(idleMs: number): void {
    this.#phase = 'idle'
    // Also lets go of the last answer's bytes.
    this.#parser.reset()
    const { wheel } = this.#owner
    wheel.touch(this, wheel.nowMs() + idleMs)
  }

  pause(): void {
    if (this.#resting || this.#phase === 'closed') return
    this.#resting = true
    this.#socket?.pause()
    this.#deadline(0)
  }

  resume(): void {
    if (!this.#resting || this.#phase === 'closed') return
    this.#resting = false
    this.#socket?.resume()
    if (this.#exchange) this.#deadline(this.#exchange.request.timeouts.idleMs)
  }

  drop(): void {
    if (this.#phase === 'closed') return
    this.#phase = 'closed'
    const exchange = this.#exchange
    if (exchange) exchange.line = undefined
    this.#exchange = undefined
    this.#writer.stop()
    this.#owner.wheel.cancel(this)
    this.#socket?.terminate()
    this.#socket = undefined
    this.#owner.closed(this)
  }

  override expired(nowMs: number): void {
    const exchange = this.#exchange
    if (!exchange) return this.drop()
    const { timeouts } = exchange.request
    if (nowMs >= exchange.totalAtMs) this.#fail(timedOut('end', timeouts.totalMs))
    else if (this.#phase === 'connecting') this.#fail(this.#connectTimedOut(timeouts.connectMs))
    else if (this.#phase === 'head') this.#fail(timedOut('first-byte', timeouts.firstByteMs))
    else this.#fail(timedOut('next-byte', timeouts.idleMs))
  }

  // ---- what the socket calls

  onOpen(wire: Wire): void {
    if (this.#phase !== 'connecting') {
      // Given up while it was connecting.
      wire.terminate()
      return
    }
    this.#socket = wire
    const { tunnel, hop } = this.#way
    if (!tunnel && !hop.tls) this.#send(this.#exchange!)
  }

  onHandshake(success: boolean, error: Error | null): void {
    if (this.#phase !== 'connecting') return
    if (success) this.#send(this.#exchange!)
    else this.#fail(unreachable(error, this.#subject()))
  }

  /** The proxy does not lead to the origin. */
  tunnelFailed(error: GatewayError): void {
    this.#fail(error)
  }

  onData(chunk: Buffer): void {
    const exchange = this.#exchange
    // A free connection has nothing to say; whatever this is, it must not become the next answer.
    if (!exchange || this.#phase === 'connecting') return this.#unexpected(exchange)
    // It spoke before it was asked: whatever it says is no answer, but another connection may give one.
    if (this.#phase === 'queued') return this.onLost(undefined)
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
    // Bytes are moving: the upstream's time to answer begins when it has the request.
    if (this.#phase === 'head') this.#deadline(exchange.request.timeouts.firstByteMs)
  }

  onEnd(): void {
    const exchange = this.#exchange
    if (!exchange || this.#phase !== 'body' || !this.#parser.finish()) return this.onLost(undefined)
    this.#exchange = undefined
    this.drop()
    exchange.completed()
  }

  onLost(error: unknown): void {
    if (this.#phase === 'closed') return
    const exchange = this.#exchange
    if (!exchange) return this.drop()
    if (this.#phase === 'connecting') return this.#fail(unreachable(error, this.#subject()))
    const isStale = this.#reused && !this.#answerBegan && !exchange.retried
    if (!isStale) return this.#fail(cut(this.#answerBegan, error))
    // The peer closed the kept connection while the request was under way: it has answered nothing.
    exchange.retried = true
    this.drop()
    this.#owner.retry(exchange)
  }

  // ---- inside

  #send(exchange: Exchange): void {
    this.#phase = 'head'
    this.#answerBegan = false
    this.#deadline(exchange.request.timeouts.firstByteMs)
    const state = this.#writer.start(this.#socket!, exchange.prepared, exchange.request)
    // Closed, and its event may already be past. A turn later, because the caller has no exchange yet.
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
      if (event === 'body') exchange.received(parser.piece)
      else if (event === 'more') break
      else if (event === 'end') return this.#complete(exchange)
      else if (!this.#begin(exchange, parser.head!)) return
      // The callback may have cancelled the exchange, and with it this connection.
      if (this.#exchange !== exchange) return
    }
    if (this.#phase === 'body' && !this.#resting) this.#deadline(exchange.request.timeouts.idleMs)
  }

  /** The head is there. False = refused. */
  #begin(exchange: Exchange, head: ResponseHead): boolean {
    const { proxy, tunnel } = this.#way
    // Only a proxy that reads the requests itself says so: the upstream has not seen this one.
    if (proxy && !tunnel && head.status === 407) {
      this.#fail(proxyRefused(proxy, head.status))
      return false
    }
    const hasBody = head.contentLength !== 0 && head.status !== 204 && head.status !== 304
    if (head.encoding && hasBody) {
      this.#fail(compressed())
      return false
    }
    this.#phase = 'body'
    exchange.answered(head)
    return true
  }

  /** The answer is whole. The connection goes back first, so that the reader's next call can have it. */
  #complete(exchange: Exchange): void {
    const head = this.#parser.head!
    const isLying = head.status === 204 && (head.chunked || head.contentLength > 0)
    const isClean = this.#parser.leftover === 0 && this.#writer.done && !isLying
    this.#exchange = undefined
    exchange.line = undefined
    if (this.#resting) this.resume()
    if (isClean && head.keepAlive) {
      this.keepAliveMs = head.keepAliveMs
      this.#owner.released(this)
    } else this.drop()
    exchange.completed()
  }

  #unexpected(exchange: Exchange | undefined): void {
    if (exchange) this.#fail(malformed('it spoke before it was asked'))
    else this.drop()
  }

  /** Who is not there, while the connection does not stand. */
  #subject(): string {
    const { proxy, tunnel } = this.#way
    if (!proxy) return upstreamSubject
    return tunnel ? tunnelSubject(proxy) : proxySubject(proxy)
  }

  #connectTimedOut(limitMs: number): GatewayError {
    const socket = this.#socket
    return socket instanceof Tunnel ? socket.timedOut(limitMs) : timedOutConnecting(limitMs, this.#subject())
  }

  #fail(error: GatewayError): void {
    const exchange = this.#exchange
    this.drop()
    exchange?.failed(error)
  }

  /** The nearer of `ms` from now (0 = no limit) and the end of the whole call. */
  #deadline(ms: number): void {
    const { wheel } = this.#owner
    const atMs = ms > 0 ? wheel.nowMs() + ms : Infinity
    const totalAtMs = this.#exchange?.totalAtMs ?? Infinity
    wheel.touch(this, atMs < totalAtMs ? atMs : totalAtMs)
  }
}
