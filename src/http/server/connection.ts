/** One client's connection: one request after another, each answered whole or piece by piece; trusts no byte. */
import type { Socket } from 'bun'
import { isAnswerStream } from '../../core/answer.ts'
import type { Answer, AnswerStream } from '../../core/answer.ts'
import { GatewayError } from '../../core/errors.ts'
import type { TurnTask } from '../../lib/end-of-turn.ts'
import { TimerEntry } from '../../lib/timer-wheel.ts'
import { AnswerHead, framingOf } from './response-head.ts'
import { Backlog, noBytes } from './receive-buffer.ts'
import { BodyFraming } from './body-framing.ts'
import type { BodyTaker } from './body-framing.ts'
import { BodyPace } from './body-rate.ts'
import { ServerRequest } from './server-request.ts'
import type { Host } from './connection-host.ts'
import { IncomingBody } from './incoming-body.ts'
import type { BodySource } from './incoming-body.ts'
import { Outbox } from './send-queue.ts'
import { discardedBytesMax, fullBytes, goodbyeMs, idleMs, pipelinedBytesMax, stalledMs } from './client-limits.ts'
import { headBytesMax } from '../header-fields.ts'
import { RefusedRequest, refuseHopeless, RequestHead } from './request-head.ts'
import { cancelBody, PulledStream, StreamSink } from './body-streams.ts'
import type { StreamLine } from './body-streams.ts'

/** `body` = the answer is out, the body is not yet through. `ending` = closes when everything is sent. */
type Phase = 'head' | 'request' | 'body' | 'ending' | 'closed'

const blankLine = Buffer.from('\r\n\r\n')
const left = (): GatewayError => new GatewayError('client-closed', 'the client left while sending its body')
const tooLate = (): GatewayError =>
  new GatewayError('client-closed', 'the request is answered: the rest of its body is not read')

/** Belongs to one `Host`. `close` and `lost` may be called at any time and more than once. */
export class ClientConnection extends TimerEntry implements BodySource, StreamLine, TurnTask {
  /** Waits in the server's list to be flushed. Owned by the server. */
  queued = false
  readonly #host: Host<ClientConnection>
  readonly #socket: Socket<ClientConnection>
  readonly #outbox = new Outbox()
  readonly #backlog = new Backlog()
  #address: string | undefined
  #phase: Phase = 'head'
  #request: ServerRequest | undefined
  readonly #framing = new BodyFraming()
  readonly #pace = new BodyPace()
  /** Takes the rest of a body that is not wanted. */
  readonly #nobody: BodyTaker = { push() {}, end: () => this.#next() }
  #discarded = 0
  /** Asked with `connection: close`, or unable to go on. */
  #last = false
  #stream: AnswerStream | undefined
  /** Reading is stopped. */
  #resting = false
  /** Requests wait until the client has taken the answers before them. */
  #held = false
  /** `Clock.monotonicMs` when it came to rest the last time. */
  #restedMs: number
  /** Bytes of a head are there, but not all. */
  #headBegan = false
  /** Bytes of the backlog in which no head ends. */
  #searched = 0
  /** `100 Continue` is said. */
  #continued = false
  /** What comes of the present body cannot be understood, or is not waited for. */
  #broken = false
  /** The client cannot know from the bytes alone that its answer is not complete. */
  #reset = false
  /** The client takes nothing: the deadline is its own. */
  #stalling = false
  /** The client has said that it sends nothing more. */
  #deaf = false

  constructor(host: Host<ClientConnection>, socket: Socket<ClientConnection>) {
    super()
    this.#host = host
    this.#socket = socket
    this.#restedMs = this.#deadline(stalledMs)
  }

  get address(): string {
    return (this.#address ??= this.#socket.remoteAddress ?? '')
  }

  /** `Clock.monotonicMs` since which no whole request is there and nothing waits to be sent; Infinity = in use, or closed. */
  get idleSinceMs(): number {
    const isUsed = this.#phase !== 'head' || this.queued || this.#outbox.size > 0
    return isUsed ? Infinity : this.#restedMs
  }

  // ---- what the socket calls

  data(chunk: Buffer): void {
    try {
      this.#take(chunk)
    } catch (thrown) {
      if (!(thrown instanceof RefusedRequest)) throw thrown
      if (this.#phase === 'head') this.#refuse(thrown)
      else this.#breakBody(thrown)
    }
  }

  /** The client sends nothing more. Whoever waits for an answer would not say so: it has left. */
  ended(): void {
    if (this.#phase === 'closed') return
    this.#deaf = true
    if (this.#phase === 'request') return this.close()
    this.#last = true
    if (this.#phase === 'body') this.#next()
    else this.#phase = 'ending'
    this.flush()
  }

  /** The connection is gone, whoever ended it. */
  lost(): void {
    if (this.#phase === 'closed') return
    this.#phase = 'closed'
    this.#host.wheel.cancel(this)
    this.#outbox.clear()
    this.#backlog.clear()
    const request = this.#request
    const stream = this.#stream
    this.#request = undefined
    this.#stream = undefined
    this.#host.closed(this)
    if (request) this.#guard(() => request.abort(left()))
    if (stream) this.#guard(() => stream.cancel())
  }

  // ---- what the server calls

  endOfTurn(): void {
    this.queued = false
    try {
      this.flush()
    } catch (thrown) {
      this.#host.failed(this, thrown)
    }
  }

  /** Sends what waits. */
  flush(): void {
    if (this.#phase === 'closed') return
    const state = this.#outbox.flush(this.#socket)
    if (state === 'closed') return this.close()
    if (state === 'waiting') return this.#waitForClient()
    this.#stalling = false
    if (this.#stream) return this.#stream.resume()
    if (this.#phase === 'ending') this.#finish()
    else if (this.#phase === 'head') this.#rest()
  }

  /** Ends a connection without a request; others end with their answer. */
  endWhenIdle(): void {
    this.#last = true
    if (this.#phase !== 'head') return
    if (this.#outbox.size === 0) return this.#leave()
    this.#phase = 'ending'
  }

  /** Lets whoever works on an answer end it now. */
  interrupt(error: GatewayError): void {
    this.#last = true
    if (this.#phase === 'request') this.#guard(() => this.#request!.interrupt(error))
  }

  /** At once, whatever is under way. */
  close(): void {
    if (this.#phase === 'closed') return
    this.#socket.terminate()
    this.lost()
  }

  override expired(): void {
    this.#guard(() => this.#tooSlow())
  }

  // ---- what the body calls

  wanted(): void {
    // In the middle of an answer a word about going on would be taken for a part of it.
    if (this.#request!.headers.expectsContinue && !this.#continued && !this.#stream) {
      this.#continued = true
      this.#outbox.add('HTTP/1.1 100 Continue\r\n\r\n')
      this.#host.flushSoon(this)
    }
    this.#pace.wanted(this.#host.wheel.nowMs())
    this.#watchBody()
  }

  pause(): void {
    if (this.#resting || this.#phase === 'closed') return
    this.#resting = true
    this.#socket.pause()
  }

  resume(): void {
    if (!this.#resting || this.#phase === 'closed') return
    this.#resting = false
    this.#socket.resume()
  }

  // ---- reading

  #take(chunk: Buffer): void {
    let rest = this.#backlog.length === 0 ? chunk : this.#backlog.join(chunk)
    while (rest.length > 0) {
      if (this.#phase === 'head') {
        // Whoever asks and asks without reading would fill the memory with answers.
        if (this.#outbox.size > fullBytes) return this.#hold(rest)
        rest = this.#takeHead(rest)
      } else if (this.#phase === 'request') {
        if (this.#broken) return
        if (this.#request!.body.ended) return this.#keep(rest)
        rest = this.#takeBody(rest)
      } else if (this.#phase === 'body') rest = this.#discard(rest)
      else return
    }
  }

  /** What is left after the head; nothing when the head is not complete. */
  #takeHead(bytes: Buffer): Buffer {
    let start = 0
    // RFC 9112, 2.2: an empty line before a request is passed over.
    while (bytes[start] === 13 && bytes[start + 1] === 10) start += 2
    const found = bytes.indexOf(blankLine, Math.max(start, this.#searched - 3))
    const length = (found < 0 ? bytes.length : found + 4) - start
    if (length > headBytesMax) throw new RefusedRequest(431, 'the headers are larger than 64 KiB')
    if (found < 0) {
      if (length > 0) this.#keepHead(start === 0 ? bytes : bytes.subarray(start))
      return noBytes
    }
    const head = new RequestHead(bytes, start, found + 4)
    const rest = found + 4 === bytes.length ? noBytes : bytes.subarray(found + 4)
    return this.#begin(head, rest)
  }

  #keepHead(bytes: Buffer): void {
    if (!this.#headBegan) this.#deadline(stalledMs)
    this.#headBegan = true
    refuseHopeless(bytes, this.#searched)
    this.#searched = bytes.length
    this.#backlog.keep(bytes)
  }

  /** What of the body is there is taken first: most requests are complete when they are handed over. */
  #begin(head: RequestHead, bytes: Buffer): Buffer {
    const request = new ServerRequest(this, head, new IncomingBody(this, this.#framing.begin(head)))
    this.#request = request
    this.#phase = 'request'
    this.#headBegan = false
    this.#searched = 0
    this.#continued = false
    this.#pace.begin()
    this.#last = !head.keepAlive || this.#host.stopping
    const rest = bytes.length > 0 && !request.body.ended ? this.#takeFirst(bytes) : bytes
    const answer = this.#host.handle(request)
    if (answer instanceof Promise) this.#answerLater(request, answer)
    else this.#answer(request, answer)
    return rest
  }

  #answerLater(request: ServerRequest, answer: Promise<Answer>): void {
    const failed = (thrown: unknown): void => this.#host.failed(this, thrown)
    answer.then(made => {
      try {
        this.#answer(request, made)
      } catch (thrown) {
        failed(thrown)
      }
    }, failed)
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

  /** Gives the body what is its; returns what comes after it. */
  #takeBody(bytes: Buffer): Buffer {
    const { body } = this.#request!
    this.#pace.came(bytes.length)
    if (body.awaited) {
      this.#pace.waited(this.#host.wheel.nowMs())
      this.#watchBody()
    }
    return this.#framing.take(bytes, body)
  }

  #discard(bytes: Buffer): Buffer {
    this.#discarded += bytes.length
    if (this.#discarded > discardedBytesMax) {
      this.close()
      return noBytes
    }
    return this.#framing.take(bytes, this.#nobody)
  }

  /** What came behind a request waits for its answer. */
  #keep(bytes: Buffer): void {
    this.#backlog.keep(bytes)
    if (bytes.length > pipelinedBytesMax) this.pause()
  }

  /** What came waits until the client has taken its answers. */
  #hold(bytes: Buffer): void {
    this.#backlog.keep(bytes)
    this.#held = true
    this.pause()
  }

  /** Takes what waited, as if it came just now. */
  #again(): void {
    this.#guard(() => this.data(noBytes))
  }

  // ---- answering

  #answer(request: ServerRequest, answer: Answer): void {
    if (this.#request !== request || this.#phase !== 'request') return cancelBody(answer.body)
    const { headers: head } = request
    const { body, status, headers } = answer
    const stream = body instanceof ReadableStream ? new PulledStream(body) : isAnswerStream(body) ? body : undefined
    const framing = framingOf(body, status, head)
    if (framing === 'until-close') this.#last = true
    if (!request.body.ended && head.expectsContinue && !this.#continued) this.#last = true
    const connection = this.#last ? 'close' : head.isOld ? 'keep-alive' : ''
    // Not piped yet: when the head cannot be made, the stream ends with the connection.
    this.#stream = stream
    const answerHead = new AnswerHead({ status, headers, framing, connection, epochMs: this.#host.clock.epochMs() })
    const sendsBody = head.method !== 'HEAD' && framing !== 'none'
    if (stream && sendsBody) {
      this.#outbox.add(answerHead)
      stream.pipe(new StreamSink(this, request, framing === 'chunked'))
      return this.#host.flushSoon(this)
    }
    this.#stream = undefined
    stream?.cancel()
    this.#outbox.add(answerHead)
    if (sendsBody && (typeof body === 'string' || body instanceof Uint8Array)) this.#outbox.add(body)
    this.#answered()
  }

  // ---- what a stream calls

  streamed(request: ServerRequest, piece: Uint8Array | string): void {
    if (this.#request !== request || !this.#stream) return
    this.#outbox.add(piece)
    this.#host.flushSoon(this)
  }

  streamEnded(request: ServerRequest, isComplete: boolean): void {
    if (this.#request !== request || !this.#stream) return
    this.#stream = undefined
    if (!isComplete) {
      this.#last = true
      this.#broken = true
      // A chunked answer lacks its last chunk; without chunks an orderly end would look like the end of the answer.
      this.#reset = request.headers.isOld
    }
    this.#answered()
  }

  get full(): boolean {
    return this.#outbox.size > fullBytes
  }

  /** Everything of the answer is in the outbox. */
  #answered(): void {
    const { headers: head, body } = this.#request!
    this.#request!.complete()
    if (body.ended) return this.#next()
    body.fail(tooLate())
    // Whoever waits for `100 Continue` may never send the body it announced; an answer until the close needs the close.
    if (this.#broken || (this.#last && (head.isOld || (head.expectsContinue && !this.#continued)))) return this.#next()
    this.#phase = 'body'
    this.#discarded = 0
    this.resume()
    this.#deadline(stalledMs)
    this.#host.flushSoon(this)
  }

  /** The request is over, and the connection goes on or says goodbye. */
  #next(): void {
    this.#request = undefined
    this.#phase = this.#last ? 'ending' : 'head'
    this.resume()
    this.#host.flushSoon(this)
    if (this.#backlog.length === 0) return
    if (this.#last) this.#backlog.clear()
    else queueMicrotask(() => this.#again())
  }

  /** The framing of the body is wrong: whoever reads it answers, and nothing after it can be trusted. */
  #breakBody(refusal: RefusedRequest): void {
    this.#broken = true
    this.#last = true
    if (this.#phase === 'request') this.#request!.body.fail(new GatewayError('invalid-request', refusal.message))
    else if (this.#phase === 'body') this.#next()
  }

  /** Answers what could not become a request. */
  #refuse(refusal: RefusedRequest): void {
    this.#phase = 'ending'
    this.#backlog.clear()
    const { status, headers, body } = this.#host.refuse(refusal)
    const text = String(body)
    const framing = Buffer.byteLength(text)
    this.#outbox.add(
      new AnswerHead({ status, headers, framing, connection: 'close', epochMs: this.#host.clock.epochMs() }),
    )
    this.#outbox.add(text)
    this.#host.flushSoon(this)
  }

  // ---- waiting and ending

  #tooSlow(): void {
    if (this.#outbox.size > 0) return this.#lookAgain()
    if (this.#phase === 'request') return this.#checkBody()
    if (this.#phase === 'head') {
      if (!this.#headBegan) return this.#leave()
      return this.#refuse(new RefusedRequest(408, `the head of the request did not end within ${stalledMs / 1000} s`))
    }
    this.close()
  }

  /**
   * The system calls a socket writable when a third of its buffer is free, which takes a slow reader minutes: only when
   * not even a byte goes out is the client gone.
   */
  #lookAgain(): void {
    this.flush()
    if (this.#phase === 'closed') return
    if (!this.#outbox.moved) this.close()
    else if (this.#outbox.size === 0) this.#deadline(idleMs)
  }

  /** As long as the client has to take something first, that has its own deadline. */
  #watchBody(): void {
    if (!this.#stalling) this.#host.wheel.touch(this, this.#pace.dueMs)
  }

  #checkBody(): void {
    const { body } = this.#request!
    // The gateway itself is at work: that may take as long as it takes.
    if (!body.awaited) return void this.#deadline(idleMs)
    if (this.#pace.dueMs > this.#host.wheel.nowMs()) return this.#watchBody()
    this.#deadline(idleMs)
    this.#last = true
    this.#broken = true
    body.fail(new GatewayError('body-timeout', this.#pace.problem))
  }

  /** The deadline moves only when bytes do: writing more is no sign of life of the client. */
  #waitForClient(): void {
    if (this.#stalling && !this.#outbox.moved) return
    this.#stalling = true
    this.#deadline(stalledMs)
  }

  /** Every answer is out: what waited for that goes on, or the next request is waited for. */
  #rest(): void {
    if (!this.#headBegan) this.#restedMs = this.#deadline(idleMs)
    if (!this.#held) return
    this.#held = false
    this.resume()
    this.#again()
  }

  /** Everything is sent: says goodbye, and waits a moment for the client's. */
  #finish(): void {
    if (this.#reset) return this.close()
    if (this.#deaf) return this.#leave()
    this.#host.wheel.touch(this, this.#host.wheel.nowMs() + goodbyeMs)
    this.#socket.shutdown()
  }

  /** An orderly end: nothing is under way. */
  #leave(): void {
    this.#socket.end()
    this.lost()
  }

  /** From now on; returns now. */
  #deadline(ms: number): number {
    const { wheel } = this.#host
    const nowMs = wheel.nowMs()
    wheel.touch(this, nowMs + ms)
    return nowMs
  }

  /** For what nobody calls who could be told. */
  #guard(work: () => void): void {
    try {
      work()
    } catch (thrown) {
      this.#host.failed(this, thrown)
    }
  }
}
