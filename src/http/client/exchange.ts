/** One request and its answer: exchange, response and body in one object. */
import type { GatewayError } from '../../core/errors.ts'
import type { BodySink, UpstreamBody, UpstreamExchange } from '../../core/transport.ts'
import type { UpstreamRequest, UpstreamResponse } from '../../core/transport.ts'
import { decodedBody } from './decoded-body.ts'
import type { PackedBody } from './decoded-body.ts'
import { tooLarge } from './errors.ts'
import type { PreparedHead } from './request-head.ts'
import type { ResponseHead } from './response-head.ts'

/** The connection that carries an exchange, as the exchange sees it. */
export interface ExchangeConnection {
  /** Stops reading from the socket (backpressure). */
  pause(): void
  resume(): void
  /** Closes the socket at once, without calling the exchange. */
  close(): void
}

/** High-water mark of a body that is not read yet: beyond it the upstream has to wait. */
const unclaimedBytesMax = 256 * 1024
const smallPieceBytes = 1024
const blockBytes = 16 * 1024

/** Owns the bytes it receives until the sink has them. Before the body is asked for, it buffers 256 KiB of it. */
export class Exchange implements UpstreamExchange, UpstreamResponse, UpstreamBody {
  readonly request: UpstreamRequest
  readonly prepared: PreparedHead
  /** `Clock.monotonicMs` at which the whole call is over; Infinity = no limit. */
  readonly totalAtMs: number
  readonly response: Promise<UpstreamResponse>
  /** A second connection was opened because the first, an idle one, was closed by the peer. */
  retried = false
  sent = false
  /** Set while a connection works for this exchange. */
  connection: ExchangeConnection | undefined
  #resolve!: (response: UpstreamResponse) => void
  #reject!: (error: GatewayError) => void
  #head: ResponseHead | undefined
  /** Pieces that are not taken yet. Usually one, which needs no array. */
  #first: Uint8Array | undefined
  #rest: Uint8Array[] | undefined
  /** The block into which small pieces are copied; its filled part is the last of `rest`. */
  #block: Uint8Array | undefined
  #blockUsed = 0
  #queuedBytes = 0
  #sink: BodySink | undefined
  #collect: BodyCollector | undefined
  /** Of an answer that its upstream packed. */
  #decoded: PackedBody | undefined
  #claimed = false
  #paused = false
  #flushing = false
  #ended = false
  #failure: GatewayError | undefined
  /** Cancelled or ended: neither sink nor collector is called any more. */
  #detached = false

  constructor(request: UpstreamRequest, prepared: PreparedHead, totalAtMs: number) {
    this.request = request
    this.prepared = prepared
    this.totalAtMs = totalAtMs
    this.response = new Promise((resolve, reject) => {
      this.#resolve = resolve
      this.#reject = reject
    })
  }

  // ---- what the pipeline calls

  get status(): number {
    return this.#head?.status ?? 0
  }

  header(name: string): string | undefined {
    return this.#head?.first(name) ?? undefined
  }

  get body(): UpstreamBody {
    const codings = this.#head?.codings
    return codings?.length ? (this.#decoded ??= decodedBody(this, codings)) : this
  }

  bytes(bytesMax: number): Promise<Uint8Array> {
    this.#claim()
    if (this.#failure) return Promise.reject(this.#failure)
    const promised = this.#ended ? 0 : (this.#head?.contentLength ?? 0)
    const declared = Math.max(promised, this.#queuedBytes)
    if (declared > bytesMax) {
      this.cancel()
      return Promise.reject(tooLarge(bytesMax))
    }
    if (this.#ended) return Promise.resolve(this.#takeAll())
    const collected = new Promise<Uint8Array>((resolve, reject) => {
      this.#collect = { bytesMax, resolve, reject }
    })
    if (!this.#paused) this.connection?.resume()
    return collected
  }

  whole(bytesMax: number): Uint8Array | undefined {
    if (!this.#ended || this.#failure || this.#queuedBytes > bytesMax) return undefined
    this.#claim()
    return this.#takeAll()
  }

  pipe(sink: BodySink): void {
    this.#claim()
    if (this.#detached) return
    this.#sink = sink
    this.#flush()
    if (!this.#paused) this.connection?.resume()
  }

  pause(): void {
    if (this.#paused) return
    this.#paused = true
    this.connection?.pause()
  }

  resume(): void {
    if (!this.#paused) return
    this.#paused = false
    this.#flush()
    if (!this.#paused) this.connection?.resume()
  }

  cancel(): void {
    if (this.#detached) return
    this.#detach()
    const { connection } = this
    this.connection = undefined
    connection?.close()
  }

  // ---- what the connection calls

  /** The head is complete; the pipeline may have the response. */
  answered(head: ResponseHead): void {
    if (this.#detached) return
    this.#head = head
    this.#resolve(this)
  }

  /** A piece of the body. */
  received(piece: Uint8Array): void {
    if (this.#detached) return
    if (this.#sink && !this.#paused && this.#first === undefined) {
      this.#sink.data(piece)
      return
    }
    this.#queue(piece)
    const collect = this.#collect
    if (collect) {
      if (this.#queuedBytes <= collect.bytesMax) return
      this.cancel()
      collect.reject(tooLarge(collect.bytesMax))
    } else if (!this.#claimed && this.#queuedBytes > unclaimedBytesMax) this.connection?.pause()
  }

  /** The body is complete; the connection has already been given back. */
  completed(): void {
    this.connection = undefined
    if (this.#detached) return
    this.#ended = true
    const collect = this.#collect
    if (collect) {
      const all = this.#takeAll()
      this.#detach()
      collect.resolve(all)
    } else if (this.#sink) this.#flush()
  }

  /** The exchange is over without a complete answer. Reported at once, also to a sink that pauses. */
  failed(error: GatewayError): void {
    this.connection = undefined
    if (this.#detached) return
    if (!this.#head) {
      this.#detach()
      this.#reject(error)
      return
    }
    this.#failure = error
    const collect = this.#collect
    const sink = this.#sink
    if (!collect && !sink) return
    // Inside of `pipe` the pieces before go first; its loop then says how it ended.
    if (this.#flushing) return
    this.#detach()
    if (collect) collect.reject(error)
    else sink?.fail(error)
  }

  // ---- inside

  #claim(): void {
    if (this.#claimed) throw new Error('the body of an upstream answer was asked for twice')
    this.#claimed = true
  }

  #queue(piece: Uint8Array): void {
    const { length } = piece
    this.#queuedBytes += length
    if (this.#first === undefined) {
      this.#first = piece
      return
    }
    this.#rest ??= []
    if (length >= smallPieceBytes) {
      this.#rest.push(piece)
      this.#block = undefined
    } else this.#join(piece, this.#rest)
  }

  /** Small pieces share a block: a view costs about 100 bytes, even for a piece of one byte. */
  #join(piece: Uint8Array, rest: Uint8Array[]): void {
    if (this.#block === undefined || this.#block.length - this.#blockUsed < piece.length) {
      this.#block = new Uint8Array(blockBytes)
      this.#blockUsed = 0
      rest.push(this.#block)
    }
    this.#block.set(piece, this.#blockUsed)
    this.#blockUsed += piece.length
    // The block is always the last piece; its view grows with it.
    rest[rest.length - 1] = this.#block.subarray(0, this.#blockUsed)
  }

  #takeAll(): Uint8Array {
    const first = this.#first
    const rest = this.#rest
    this.#first = undefined
    this.#rest = undefined
    this.#block = undefined
    if (first === undefined) return new Uint8Array(0)
    if (rest === undefined) return first
    return Buffer.concat([first, ...rest], this.#queuedBytes)
  }

  /** Gives the sink what waits for it, then the end. The sink may pause, resume or cancel meanwhile. */
  #flush(): void {
    if (this.#flushing || !this.#sink) return
    this.#flushing = true
    try {
      while (this.#first !== undefined && !this.#paused && !this.#detached) this.#sink?.data(this.#shift())
    } finally {
      this.#flushing = false
    }
    if (this.#detached) return
    const sink = this.#sink
    if (this.#failure) {
      this.#detach()
      sink.fail(this.#failure)
    } else if (this.#ended && !this.#paused) {
      this.#detach()
      sink.end()
    }
  }

  #shift(): Uint8Array {
    const piece = this.#first!
    this.#queuedBytes -= piece.length
    // The sink keeps what is handed out: nothing may be appended to it.
    this.#block = undefined
    this.#first = this.#rest?.shift()
    if (this.#rest?.length === 0) this.#rest = undefined
    return piece
  }

  #detach(): void {
    this.#detached = true
    this.#sink = undefined
    this.#collect = undefined
    this.#first = undefined
    this.#rest = undefined
    this.#block = undefined
  }
}

interface BodyCollector {
  readonly bytesMax: number
  resolve(bytes: Uint8Array): void
  reject(error: GatewayError): void
}
