/** One client's connection: reads one request after another and sends their answers; no byte of a client is trusted. */
import type { Socket } from 'bun'
import { isAnswerStream } from '../../core/answer.ts'
import type { Answer, AnswerStream } from '../../core/answer.ts'
import { GatewayError } from '../../core/errors.ts'
import type { Upgrade } from '../../core/message-socket.ts'
import { BodyFraming } from './body-framing.ts'
import type { BodyReceiver } from './body-framing.ts'
import { BodyRate } from './body-rate.ts'
import { cancelBody, ReadableStreamSource, StreamSink } from './body-streams.ts'
import type { StreamConnection } from './body-streams.ts'
import {
  discardedBytesMax,
  evictableAfterMs,
  keepAliveTimeoutMs,
  lingerMs,
  pipelinedBytesMax,
  sendHighWaterBytes,
  stalledEvictableAfterMs,
  stallTimeoutMs,
  unauthenticatedBytesMax,
  unpacedBytesMax,
} from './client-limits.ts'
import { ClientSocket } from './client-socket.ts'
import type { ConnectionOwner, ServedConnection } from './connection-owner.ts'
import { HeadReader } from './head-reader.ts'
import { answeredEarly, clientLeft, IncomingBody } from './incoming-body.ts'
import type { BodySource } from './incoming-body.ts'
import { noBytes, ReceiveBuffer } from './receive-buffer.ts'
import { RefusedRequest } from './request-head.ts'
import type { RequestHead } from './request-head.ts'
import { framingOf, ResponseHead } from './response-head.ts'
import { SendQueue } from './send-queue.ts'
import { ServerRequest } from './server-request.ts'

/** Belongs to one `ConnectionOwner`. `close` and `lost` may be called at any time and more than once. */
export class ClientConnection extends ClientSocket implements ServedConnection, BodySource, StreamConnection {
  queued = false
  readonly #sendQueue = new SendQueue()
  readonly #receiveBuffer = new ReceiveBuffer()
  readonly #heads = new HeadReader()
  #request: ServerRequest | undefined
  readonly #framing = new BodyFraming()
  readonly #rate = new BodyRate()
  /** Receives the rest of a body that is not read. */
  readonly #discarder: BodyReceiver = { push() {}, end: () => this.#next() }
  /** The present answer is the last one on this connection. */
  #closeAfterAnswer = false
  /** The body of the present answer, while it is streamed. */
  #stream: AnswerStream | undefined
  /** Bytes in the receive buffer wait until the client has taken the answers before them. */
  #pipeliningPaused = false
  /** `100 Continue` is sent. */
  #continued = false
  /** The rest of the present body cannot be framed, or is not waited for. */
  #bodyBroken = false
  /** An orderly close would look like the end of the answer: the connection has to be reset. */
  #resetOnClose = false
  /** The socket takes no bytes: the deadline is that of the client's next read. */
  #sendStalled = false
  /** The client has closed its sending side (half-close). */
  #halfClosed = false

  constructor(owner: ConnectionOwner, socket: Socket<ServedConnection>) {
    super(owner, socket)
    this.sinceMs = this.setDeadline(stallTimeoutMs)
  }

  get idle(): boolean {
    return this.phase === 'head' && !this.queued && this.#sendQueue.size === 0
  }

  get evictableFromMs(): number {
    if (this.queued || this.phase === 'closed') return Infinity
    const request = this.phase === 'request' ? this.#request : undefined
    const isStalled = this.#sendQueue.size > 0
    if (isStalled && this.authenticated) return this.sinceMs + stalledEvictableAfterMs
    if (isStalled || !request?.authenticated) return this.sinceMs + evictableAfterMs
    return request.incoming.awaited ? this.#rate.sinceMs + stalledEvictableAfterMs : Infinity
  }

  get evictionRank(): number {
    if (this.phase === 'request') return this.#request!.authenticated ? 2 : 0
    return !this.authenticated ? 0 : this.#sendQueue.size > 0 ? 2 : 1
  }

  // ---- what the socket calls

  data(chunk: Buffer): void {
    try {
      this.#take(chunk)
    } catch (thrown) {
      if (!(thrown instanceof RefusedRequest)) throw thrown
      if (this.phase === 'head') this.#refuse(thrown)
      else this.#breakBody(thrown)
    }
  }

  /** FIN of the client. Half-close during a call counts as leaving: clients that wait for an answer do not do it. */
  ended(): void {
    if (this.phase === 'closed') return
    this.#halfClosed = true
    if (this.phase === 'request') return this.close()
    this.#closeAfterAnswer = true
    if (this.phase === 'discard') this.#next()
    else this.phase = 'closing'
    this.flush()
  }

  /** The socket is closed, by either side. */
  lost(): void {
    if (this.phase === 'closed') return
    this.phase = 'closed'
    this.owner.wheel.cancel(this)
    this.#sendQueue.clear()
    this.#receiveBuffer.clear()
    const [request, stream] = [this.#request, this.#stream]
    this.#request = undefined
    this.#stream = undefined
    this.owner.closed(this)
    if (request) this.guard(() => request.abort(clientLeft()))
    if (stream) this.guard(() => stream.cancel())
  }

  /** Sends what is queued; also called when the socket drains. */
  flush(): void {
    if (this.phase === 'closed') return
    const state = this.#sendQueue.flush(this.socket)
    if (state === 'closed') return this.close()
    if (state === 'waiting') return this.#awaitClient()
    if (state === 'more') return this.owner.flushSoon(this)
    this.#sendStalled = false
    if (this.#stream) return this.#stream.resume()
    if (this.phase === 'closing') this.#closeLingering()
    else if (this.phase === 'head') this.#becomeIdle()
  }

  // ---- what the server calls

  endOfTick(): void {
    this.queued = false
    try {
      this.flush()
    } catch (thrown) {
      this.failed(thrown)
    }
  }

  endWhenIdle(): void {
    this.#closeAfterAnswer = true
    if (this.phase !== 'head') return
    if (this.#sendQueue.size === 0) return this.#closeInOrder()
    this.phase = 'closing'
  }

  interrupt(error: GatewayError): void {
    this.#closeAfterAnswer = true
    if (this.phase === 'request') this.guard(() => this.#request!.interrupt(error))
  }

  evict(): void {
    if (this.idle) this.#closeInOrder()
    else this.close()
  }

  close(): void {
    if (this.phase === 'closed') return
    this.socket.terminate()
    this.lost()
  }

  override expired(): void {
    this.guard(() => this.#timedOut())
  }

  // ---- what the body calls

  wanted(): void {
    // In the middle of an answer an interim response would be taken for a part of it.
    if (this.#request!.headers.expectsContinue && !this.#continued && !this.#stream) {
      this.#continued = true
      this.#sendQueue.add('HTTP/1.1 100 Continue\r\n\r\n')
      this.owner.flushSoon(this)
    }
    this.#rate.waitStarted(this.owner.wheel.nowMs())
    this.#watchBodyRate()
  }

  // ---- reading

  #take(chunk: Buffer): void {
    let rest = this.#receiveBuffer.length === 0 ? chunk : this.#receiveBuffer.join(chunk)
    while (rest.length > 0) {
      if (this.phase === 'head') {
        // One request a tick: many from one client would keep the others waiting, and fill the memory with answers.
        if (this.#sendQueue.size > 0 || this.#pipeliningPaused) return this.#pausePipelining(rest)
        rest = this.#takeHead(rest)
      } else if (this.phase === 'request') {
        if (this.#bodyBroken) return
        if (this.#request!.incoming.ended) return this.#bufferPipelined(rest)
        rest = this.#takeBody(rest)
      } else if (this.phase === 'discard') rest = this.#discard(rest)
      // The connection closes: so much is read that the client is not reset before it has read its answer.
      else return void (this.countDiscarded(rest.length) > unauthenticatedBytesMax && this.pause())
    }
  }

  /** Returns the bytes behind the head; nothing when the head is not complete. */
  #takeHead(bytes: Buffer): Buffer {
    const wasPartial = this.#heads.hasPartialHead
    const head = this.#heads.read(bytes)
    const rest = this.#heads.takeRest()
    if (head) return this.#begin(head, rest)
    if (!wasPartial && rest.length > 0) this.setDeadline(stallTimeoutMs)
    this.#receiveBuffer.keep(rest)
    return noBytes
  }

  /** Body bytes that came with the head are taken first: most requests are complete when they are handed over. */
  #begin(head: RequestHead, bytes: Buffer): Buffer {
    const request = new ServerRequest(this, head, new IncomingBody(this, this.#framing.begin(head), this.owner.bodies))
    this.#request = request
    this.phase = 'request'
    this.#continued = false
    this.startDiscarding()
    this.#rate.reset()
    this.#closeAfterAnswer = !head.keepAlive || this.owner.stopping
    const rest = bytes.length > 0 && !request.incoming.ended ? this.#takeFirst(bytes) : bytes
    const answer = this.owner.handle(request)
    if (this.authenticated && !request.authenticated) this.sinceMs = this.owner.wheel.nowMs()
    if (answer instanceof Promise) this.#answerLater(request, answer)
    else this.#answer(request, answer)
    return rest
  }

  #answerLater(request: ServerRequest, answer: Promise<Answer>): void {
    answer.then(
      made => this.#answerOrFail(request, made),
      thrown => this.failed(thrown),
    )
  }

  #answerOrFail(request: ServerRequest, made: Answer): void {
    try {
      this.#answer(request, made)
    } catch (thrown) {
      this.failed(thrown)
    }
  }

  #takeFirst(bytes: Buffer): Buffer {
    try {
      return this.#takeBody(bytes)
    } catch (thrown) {
      if (!(thrown instanceof RefusedRequest)) throw thrown
      this.#breakBody(thrown)
      return noBytes
    }
  }

  /** Gives the body its bytes; returns those behind it. */
  #takeBody(bytes: Buffer): Buffer {
    const { incoming: body } = this.#request!
    this.#rate.received(bytes.length)
    if (body.awaited) {
      this.#rate.waited(this.owner.wheel.nowMs())
      this.#watchBodyRate()
    }
    return this.#framing.take(bytes, body)
  }

  #discard(bytes: Buffer): Buffer {
    const discardedBytes = this.countDiscarded(bytes.length)
    if (discardedBytes > unpacedBytesMax) this.owner.discards.wait(this)
    if (discardedBytes <= discardedBytesMax) return this.#framing.take(bytes, this.#discarder)
    this.close()
    return noBytes
  }

  /** Pipelined bytes wait for the answer to the present request. */
  #bufferPipelined(bytes: Buffer): void {
    if (bytes.length <= pipelinedBytesMax) return this.#receiveBuffer.keep(bytes)
    this.pause()
    // Half a megabyte may have been read: without a valid key it is not kept, the client has to send it again.
    if (this.authenticated || this.#request?.authenticated) this.#receiveBuffer.keep(bytes)
    else this.#closeAfterAnswer = true
  }

  /** They wait until the client has taken the answers before them. */
  #pausePipelining(bytes: Buffer): void {
    this.#pipeliningPaused = true
    this.#bufferPipelined(bytes)
    // Those that were dropped have no answer.
    if (this.#closeAfterAnswer) this.phase = 'closing'
  }

  /** Takes the bytes of the receive buffer as if they came now. */
  #takeBuffered(): void {
    this.guard(() => this.data(noBytes))
  }

  // ---- answering

  #answer(request: ServerRequest, answer: Answer): void {
    if (this.#request !== request || this.phase !== 'request') return cancelBody(answer.body)
    if (answer.upgrade) return this.#upgrade(request, answer.upgrade)
    const { headers: head } = request
    const { body, status, headers, cookies } = answer
    const stream =
      body instanceof ReadableStream ? new ReadableStreamSource(body) : isAnswerStream(body) ? body : undefined
    const framing = framingOf(body, status, head)
    if (framing === 'until-close') this.#closeAfterAnswer = true
    this.authenticated = request.authenticated
    if (!request.incoming.ended && !this.#waitsForRest(request)) this.#closeAfterAnswer = true
    const connection = this.#closeAfterAnswer ? 'close' : head.isHttp10 ? 'keep-alive' : ''
    // Before the head: when it cannot be made, the stream ends with the connection.
    this.#stream = stream
    const epochMs = this.owner.clock.epochMs()
    this.#sendQueue.add(new ResponseHead({ status, headers, cookies, framing, connection, epochMs }))
    const sendsBody = head.method !== 'HEAD' && framing !== 'none'
    if (stream && sendsBody) {
      stream.pipe(new StreamSink(this, request, framing === 'chunked'))
      return this.owner.flushSoon(this)
    }
    this.#stream = undefined
    stream?.cancel()
    if (sendsBody && (typeof body === 'string' || body instanceof Uint8Array)) this.#sendQueue.add(body)
    this.#answered()
  }

  /** The socket has another owner from now on. */
  #upgrade(request: ServerRequest, upgrade: Upgrade): void {
    request.complete()
    this.resume()
    this.owner.upgrade(this.socket, upgrade, this.#receiveBuffer.join(noBytes))
    this.lost()
  }

  // ---- what a stream calls

  streamed(request: ServerRequest, piece: Uint8Array | string): void {
    if (this.#request !== request || !this.#stream) return
    this.#sendQueue.add(piece)
    this.owner.flushSoon(this)
  }

  streamEnded(request: ServerRequest, end: 'complete' | 'cut'): void {
    if (this.#request !== request || !this.#stream) return
    this.#stream = undefined
    if (end === 'cut') {
      this.#closeAfterAnswer = true
      this.#bodyBroken = true
      // In HTTP/1.1 the last chunk is missing; without chunks an orderly close would look like the end of the answer.
      this.#resetOnClose = request.headers.isHttp10
    }
    this.#answered()
  }

  get full(): boolean {
    return this.#sendQueue.size > sendHighWaterBytes
  }

  /** The whole answer is in the send queue. */
  #answered(): void {
    const request = this.#request!
    request.complete()
    if (request.incoming.ended) return this.#next()
    request.incoming.fail(answeredEarly())
    // HTTP/1.0 may need the close to see the end.
    const isLast = this.#closeAfterAnswer && (request.headers.isHttp10 || !this.#waitsForRest(request))
    if (this.#bodyBroken || isLast) return this.#next()
    this.phase = 'discard'
    this.resume()
    this.enterPhase(this.authenticated ? stallTimeoutMs : lingerMs)
    this.owner.flushSoon(this)
  }

  /**
   * Whether the rest of the answered request's body is read. Not that of a client that waits for `100 Continue`, which
   * may never send it, nor much of one without a valid key.
   */
  #waitsForRest({ headers, authenticated }: ServerRequest): boolean {
    if (headers.expectsContinue && !this.#continued) return false
    return authenticated || (!this.#closeAfterAnswer && this.#framing.endsWithin(unauthenticatedBytesMax))
  }

  /** The request is over: the next one is read, or the connection closes. */
  #next(): void {
    this.#request = undefined
    this.phase = this.#closeAfterAnswer ? 'closing' : 'head'
    this.resume()
    this.owner.flushSoon(this)
    if (this.#receiveBuffer.length === 0) return
    if (this.#closeAfterAnswer) this.#receiveBuffer.clear()
    else queueMicrotask(() => this.#takeBuffered())
  }

  /** The framing of the body is wrong: its reader gets the error and answers; the bytes behind it are not trusted. */
  #breakBody(refusal: RefusedRequest): void {
    this.#bodyBroken = true
    this.#closeAfterAnswer = true
    if (this.phase === 'request') this.#request!.incoming.fail(new GatewayError('invalid-request', refusal.message))
    else if (this.phase === 'discard') this.#next()
  }

  /** Answers what could not be read as a request. */
  #refuse(refusal: RefusedRequest): void {
    this.phase = 'closing'
    this.#receiveBuffer.clear()
    const { status, headers, body } = this.owner.refuse(refusal)
    const text = String(body)
    const [framing, epochMs] = [Buffer.byteLength(text), this.owner.clock.epochMs()]
    this.#sendQueue.add(new ResponseHead({ status, headers, framing, connection: 'close', epochMs }))
    this.#sendQueue.add(text)
    this.owner.flushSoon(this)
  }

  // ---- deadlines and closing

  #timedOut(): void {
    if (this.#sendQueue.size > 0) return this.#retryFlush()
    if (this.phase === 'request') return this.#checkBodyRate()
    if (this.phase === 'head') {
      if (this.#pipeliningPaused) return this.#resumePipelining()
      if (!this.#heads.hasPartialHead) return this.#closeInOrder()
      return this.#refuse(new RefusedRequest(408, `the head did not end within ${stallTimeoutMs / 1000} s`))
    }
    this.close()
  }

  /** A socket is writable when a third of its buffer is free: only a client that takes not even a byte is gone. */
  #retryFlush(): void {
    this.flush()
    if (this.phase === 'closed') return
    const isLeft = this.#sendQueue.size > 0
    if (!this.#sendQueue.madeProgress || (isLeft && !this.authenticated)) this.close()
    else if (!isLeft) this.setDeadline(keepAliveTimeoutMs)
  }

  /** While the client has to take bytes first, the deadline is that of its reading. */
  #watchBodyRate(): void {
    if (!this.#sendStalled) this.owner.wheel.touch(this, this.#rate.deadlineMs)
  }

  #checkBodyRate(): void {
    const { incoming: body } = this.#request!
    // The gateway itself is at work, which has no limit here.
    if (!body.awaited) return void this.setDeadline(keepAliveTimeoutMs)
    if (this.#rate.deadlineMs > this.owner.wheel.nowMs()) return this.#watchBodyRate()
    this.setDeadline(keepAliveTimeoutMs)
    this.#closeAfterAnswer = true
    this.#bodyBroken = true
    body.fail(new GatewayError('body-timeout', this.#rate.problem))
  }

  /** Only bytes that the client takes move the deadline; where no key was needed, nothing does. */
  #awaitClient(): void {
    if (this.#sendStalled && !(this.#sendQueue.madeProgress && this.authenticated)) return
    this.#sendStalled = true
    this.enterPhase(stallTimeoutMs)
  }

  /** All answers are sent: pipelined requests go on, or the connection waits for the next one. */
  #becomeIdle(): void {
    if (!this.#heads.hasPartialHead) this.enterPhase(keepAliveTimeoutMs)
    if (!this.#pipeliningPaused) return
    // Without a valid key they wait for a step of the timers: they must not keep calls waiting.
    if (this.authenticated) this.#resumePipelining()
    else this.setDeadline(0)
  }

  #resumePipelining(): void {
    this.#pipeliningPaused = false
    this.resume()
    this.#takeBuffered()
  }

  /** Lingering close: sends FIN and waits for the client's, so that unread bytes do not reset the connection. */
  #closeLingering(): void {
    if (this.#resetOnClose) return this.close()
    if (this.#halfClosed) return this.#closeInOrder()
    this.enterPhase(lingerMs)
    this.socket.shutdown()
  }

  /** For a connection on which nothing is under way. */
  #closeInOrder(): void {
    this.socket.end()
    this.lost()
  }

  protected failed(thrown: unknown): void {
    this.owner.failed(this, thrown)
  }
}
