/** One client's connection: one request after another, each answered whole or piece by piece; trusts no byte. */
import type { Socket } from 'bun'
import { isAnswerStream } from '../core/answer.ts'
import type { Answer, AnswerBody, AnswerStream } from '../core/answer.ts'
import { GatewayError } from '../core/errors.ts'
import { ChunkedReader } from '../lib/chunked-reader.ts'
import type { Clock } from '../lib/clock.ts'
import { TimerEntry } from '../lib/timer-wheel.ts'
import type { TimerWheel } from '../lib/timer-wheel.ts'
import { headText } from './answer-head.ts'
import type { Framing } from './answer-head.ts'
import { ConnectedRequest } from './connected-request.ts'
import type { IncomingRequest } from './connected-request.ts'
import { IncomingBody } from './incoming-body.ts'
import type { BodySource } from './incoming-body.ts'
import { Outbox } from './outbox.ts'
import { headBytesMax, RefusedRequest, RequestHead } from './request-head.ts'
import { PulledStream, StreamSink } from './streams.ts'
import type { StreamLine } from './streams.ts'

/** The server, as a connection sees it. */
export interface Host {
  readonly wheel: TimerWheel
  readonly clock: Clock
  /** No request after the present one. */
  readonly stopping: boolean
  /** Never throws and never rejects. */
  handle(request: IncomingRequest): Answer | Promise<Answer>
  /** What a client is told whose request cannot even be read. */
  refuse(refusal: RefusedRequest): Answer
  /** Sends what waits when the present events are worked off: a system call costs more than the bytes it carries. */
  flushSoon(connection: ClientConnection): void
  closed(connection: ClientConnection): void
  /** A failure of this program while it answered: the connection is cut. */
  failed(connection: ClientConnection, thrown: unknown): void
}

const idleMs = 255_000
/** From the first byte of a head to its last; between two pieces of a body; for a client to take a piece of its answer. */
const stalledMs = 60_000
/** Sent after the request, while it is not answered: kept up to here, then the client has to wait. */
const pipelinedBytesMax = 64 * 1024
/** The rest of a body that nobody wants is read up to here, so that the client gets to see its answer. */
const discardedBytesMax = 64 * 1024 * 1024
/** More than this waits for the client: the upstream has to wait too. */
const fullBytes = 256 * 1024

type ClientSocket = Socket<ClientConnection>
/** `body` = the answer is out, the body is not yet through. `ending` = closes when everything is sent. */
type Phase = 'head' | 'request' | 'body' | 'ending' | 'closed'

const blankLine = Buffer.from('\r\n\r\n')
const noBytes = Buffer.alloc(0)
const left = (): GatewayError => new GatewayError('client-closed', 'the client left while sending its body')

export class ClientConnection extends TimerEntry implements BodySource, StreamLine {
  /** Waits in the server's list to be flushed. Owned by the server. */
  queued = false
  readonly #host: Host
  readonly #socket: ClientSocket
  readonly #outbox = new Outbox()
  #address: string | undefined
  #phase: Phase = 'head'
  /** The beginning of a head that came in parts, or what came behind a request that is not answered yet. */
  #kept: Buffer = noBytes
  #request: ConnectedRequest | undefined
  #chunks: ChunkedReader | undefined
  /** Bytes of the body still to come, when its length is known. */
  #bodyLeft = 0
  #discarded = 0
  /** Asked with `connection: close`, or unable to go on. */
  #last = false
  #stream: AnswerStream | undefined
  #resting = false
  /** Bytes of a head are there, but not all. */
  #headBegan = false
  /** The framing of the present body cannot be understood. */
  #broken = false

  constructor(host: Host, socket: ClientSocket) {
    super()
    this.#host = host
    this.#socket = socket
    this.#deadline(stalledMs)
  }

  get address(): string {
    return (this.#address ??= this.#socket.remoteAddress)
  }

  /** A request is under way. */
  get busy(): boolean {
    return this.#phase !== 'head' || this.#outbox.size > 0
  }

  // ---- what the socket calls

  data(chunk: Buffer): void {
    try {
      this.#take(chunk)
    } catch (thrown) {
      if (!(thrown instanceof RefusedRequest)) throw thrown
      if (this.#phase === 'request') this.#breakBody(thrown)
      else this.#refuse(thrown)
    }
  }

  drained(): void {
    this.flush()
  }

  /** The connection is gone, whoever ended it. */
  lost(): void {
    if (this.#phase === 'closed') return
    this.#phase = 'closed'
    this.#host.wheel.cancel(this)
    this.#outbox.clear()
    this.#kept = noBytes
    const request = this.#request
    const stream = this.#stream
    this.#request = undefined
    this.#stream = undefined
    this.#host.closed(this)
    request?.leave(left())
    stream?.cancel()
  }

  // ---- what the server calls

  /** Sends what waits. */
  flush(): void {
    if (this.#phase === 'closed') return
    const state = this.#outbox.flush(this.#socket)
    if (state === 'closed') return this.close()
    if (state === 'waiting') return this.#deadline(stalledMs)
    if (this.#stream) return this.#stream.resume()
    if (this.#phase === 'ending') this.#finish()
    else if (this.#phase === 'head') this.#deadline(idleMs)
  }

  /** Ends a connection without a request; others end with their answer. */
  endWhenIdle(): void {
    this.#last = true
    if (!this.busy) this.close()
  }

  /** At once, whatever is under way. */
  close(): void {
    if (this.#phase === 'closed') return
    this.#socket.terminate()
    this.lost()
  }

  override expired(): void {
    const waitsForClient = this.#outbox.size > 0
    if (this.#phase === 'request' && !waitsForClient) {
      // The gateway itself is at work: that may take as long as it takes.
      this.#deadline(idleMs)
      const { body } = this.#request!
      if (!body.awaited) return
      this.#last = true
      return body.fail(new GatewayError('body-timeout', `nothing of the body came for ${stalledMs / 1000} s`))
    }
    if (this.#phase === 'head' && this.#headBegan && !waitsForClient)
      return this.#refuse(new RefusedRequest(408, `the head of the request did not end within ${stalledMs / 1000} s`))
    this.close()
  }

  // ---- what the body calls

  wanted(): void {
    const { head } = this.#request!
    if (head.expectsContinue && this.#outbox.size === 0) {
      this.#outbox.add('HTTP/1.1 100 Continue\r\n\r\n')
      this.flush()
    }
    this.#deadline(stalledMs)
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
    let rest = this.#kept.length === 0 ? chunk : Buffer.concat([this.#kept, chunk])
    this.#kept = noBytes
    while (rest.length > 0) {
      if (this.#phase === 'head') {
        const before = rest
        rest = this.#takeHead(rest)
        if (rest === before) return
      } else if (this.#phase === 'request' && !this.#broken && !this.#request!.body.ended) rest = this.#takeBody(rest)
      else if (this.#phase === 'body') rest = this.#discard(rest)
      else if (this.#phase === 'request' && !this.#broken) return this.#keep(rest)
      else return
    }
  }

  /** What is left after the head; the same bytes when the head is not complete. */
  #takeHead(bytes: Buffer): Buffer {
    let start = 0
    // RFC 9112, 2.2: an empty line before a request is passed over.
    while (bytes[start] === 13 && bytes[start + 1] === 10) start += 2
    const found = bytes.indexOf(blankLine, start)
    const length = (found < 0 ? bytes.length : found + 4) - start
    if (length > headBytesMax) throw new RefusedRequest(431, 'the headers are larger than 64 KiB')
    if (found < 0) {
      if (!this.#headBegan) this.#deadline(stalledMs)
      this.#headBegan = true
      this.#kept = bytes
      return bytes
    }
    const head = new RequestHead(bytes, start, found + 4)
    const rest = found + 4 === bytes.length ? noBytes : bytes.subarray(found + 4)
    return this.#begin(head, rest)
  }

  /** What of the body is there is taken first: most requests are complete when they are handed over. */
  #begin(head: RequestHead, bytes: Buffer): Buffer {
    const length = head.chunked ? -1 : Math.max(head.contentLength, 0)
    const request = new ConnectedRequest(this, head, new IncomingBody(this, length))
    this.#request = request
    this.#phase = 'request'
    this.#headBegan = false
    this.#last = !head.keepAlive || this.#host.stopping
    this.#bodyLeft = length
    if (head.chunked) (this.#chunks ??= new ChunkedReader(why => new RefusedRequest(400, why))).reset()
    const rest = bytes.length > 0 && !request.body.ended ? this.#takeFirst(bytes) : bytes
    const answer = this.#host.handle(request)
    if (answer instanceof Promise) answer.then(made => this.#answer(request, made)).catch(thrown => this.#host.failed(this, thrown))
    else this.#answer(request, answer)
    return rest
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
    if (body.awaited) this.#deadline(stalledMs)
    return this.#eachPiece(bytes, piece => body.push(piece), () => body.end())
  }

  #discard(bytes: Buffer): Buffer {
    this.#discarded += bytes.length
    if (this.#discarded > discardedBytesMax) {
      this.close()
      return noBytes
    }
    return this.#eachPiece(bytes, () => {}, () => this.#next())
  }

  #eachPiece(bytes: Buffer, onPiece: (piece: Uint8Array) => void, onEnd: () => void): Buffer {
    const chunks = this.#request!.head.chunked ? this.#chunks! : undefined
    if (!chunks) {
      const length = Math.min(this.#bodyLeft, bytes.length)
      this.#bodyLeft -= length
      onPiece(length === bytes.length ? bytes : bytes.subarray(0, length))
      if (this.#bodyLeft === 0) onEnd()
      return length === bytes.length ? noBytes : bytes.subarray(length)
    }
    for (let at = 0; ; at = chunks.at) {
      const event = chunks.read(bytes, at)
      if (event === 'body') onPiece(chunks.piece)
      else {
        if (event === 'end') onEnd()
        return chunks.at === bytes.length ? noBytes : bytes.subarray(chunks.at)
      }
    }
  }

  #keep(bytes: Buffer): void {
    this.#kept = bytes
    if (bytes.length > pipelinedBytesMax) this.pause()
  }

  // ---- answering

  #answer(request: ConnectedRequest, answer: Answer): void {
    if (this.#request !== request || this.#phase !== 'request') {
      if (isAnswerStream(answer.body)) answer.body.cancel()
      else if (answer.body instanceof ReadableStream) void answer.body.cancel().catch(() => {})
      return
    }
    const { head } = request
    const { body, status } = answer
    const stream = body instanceof ReadableStream ? new PulledStream(body) : isAnswerStream(body) ? body : undefined
    const framing = framingOf(body, status, head)
    if (framing === 'until-close') this.#last = true
    if (!request.body.ended && head.expectsContinue) this.#last = true
    const connection = this.#last ? 'close' : head.isOld ? 'keep-alive' : ''
    const text = headText({ status, headers: answer.headers, framing, connection, epochMs: this.#host.clock.epochMs() })
    const sendsBody = head.method !== 'HEAD' && framing !== 'none'
    if (stream && sendsBody) {
      this.#outbox.add(text)
      this.#stream = stream
      stream.pipe(new StreamSink(this, request, framing === 'chunked'))
      return this.#host.flushSoon(this)
    }
    stream?.cancel()
    if (typeof body === 'string' && sendsBody) this.#outbox.add(text + body)
    else {
      this.#outbox.add(text)
      if (body instanceof Uint8Array && sendsBody) this.#outbox.add(body)
    }
    this.#answered()
  }

  // ---- what a stream calls

  streamed(request: ConnectedRequest, piece: Uint8Array | string): void {
    if (this.#request !== request) return
    this.#outbox.add(piece)
    this.#host.flushSoon(this)
  }

  streamEnded(request: ConnectedRequest, isComplete: boolean): void {
    if (this.#request !== request) return
    this.#stream = undefined
    if (!isComplete) this.#last = true
    this.#answered()
  }

  get full(): boolean {
    return this.#outbox.size > fullBytes
  }

  /** Everything of the answer is in the outbox. */
  #answered(): void {
    const request = this.#request!
    request.answered()
    // Whoever waits for `100 Continue` may never send the body it announced.
    const comesNoMore = request.body.ended || this.#broken || (this.#last && request.head.expectsContinue)
    if (!comesNoMore) {
      this.#phase = 'body'
      this.#discarded = 0
      this.resume()
      this.#deadline(stalledMs)
    } else this.#next()
    this.#host.flushSoon(this)
  }

  /** The request is over, and the connection goes on. */
  #next(): void {
    this.#request = undefined
    this.#phase = this.#last ? 'ending' : 'head'
    this.resume()
    if (this.#last) return this.#host.flushSoon(this)
    const kept = this.#kept
    if (kept.length === 0) return
    this.#kept = noBytes
    queueMicrotask(() => this.#phase !== 'closed' && this.data(kept))
  }

  /** The framing of the body is wrong: whoever reads it answers, and nothing after it can be trusted. */
  #breakBody(refusal: RefusedRequest): void {
    this.#broken = true
    this.#last = true
    this.#request!.body.fail(new GatewayError('invalid-request', refusal.message))
  }

  /** Answers what could not become a request. */
  #refuse(refusal: RefusedRequest): void {
    if (this.#phase !== 'head') return this.close()
    this.#phase = 'ending'
    const { status, headers, body } = this.#host.refuse(refusal)
    const text = String(body)
    const framing = Buffer.byteLength(text)
    this.#outbox.add(headText({ status, headers, framing, connection: 'close', epochMs: this.#host.clock.epochMs() }) + text)
    this.#host.flushSoon(this)
  }

  /** Everything is sent: says goodbye, and gives the client a moment to read before unread bytes would reset it. */
  #finish(): void {
    this.#host.wheel.touch(this, this.#host.wheel.nowMs() + 2000)
    this.#socket.end()
  }

  #deadline(ms: number): void {
    const { wheel } = this.#host
    wheel.touch(this, wheel.nowMs() + ms)
  }
}

function framingOf(body: AnswerBody, status: number, head: RequestHead): Framing {
  if (status === 204 || status === 304) return 'none'
  if (body === null) return head.method === 'HEAD' ? 'none' : 0
  if (typeof body === 'string') return Buffer.byteLength(body, 'utf8')
  if (body instanceof Uint8Array) return body.length
  return head.isOld ? 'until-close' : 'chunked'
}
