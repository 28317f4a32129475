/** One answer to the client that is read from several streams of an upstream, one after the other. */
import type { ChatEvent } from '../../core/hub/chat.ts'
import type { GatewayError } from '../../core/errors.ts'
import type { EventWriter, StreamRelay } from '../../core/format.ts'
import type { TranslatedCall } from '../../core/provider.ts'
import type { Usage } from '../../core/usage/usage.ts'
import { frameSplitter } from '../../lib/frame-splitter.ts'
import type { Frame, FrameSplitter } from '../../lib/frame.ts'
import { answerState, quietMsOf, unreadable, usageIn } from './translate.ts'
import type { AnswerState, TranslatedStream } from './translate.ts'

/** Reads the streams; what becomes of their events, and whether another one follows, its subclasses decide. */
export abstract class SuccessiveStreams implements StreamRelay {
  terminated = false
  failure: GatewayError | undefined
  started = false
  /** The current stream has had its terminal event: later bytes are ignored. */
  isOver = false
  protected readonly stream: TranslatedStream
  protected readonly writer: EventWriter
  /** Of the current stream. */
  protected state: AnswerState
  /** Text for the client that has not been returned yet. */
  protected out = ''
  readonly #onNext: () => void
  /** The terminal event has come, before any usage. */
  #holdsEnd = false
  #splitter: FrameSplitter
  #read: (frame: Frame) => readonly ChatEvent[]
  /** Of the streams before the current one. */
  #steps = 0

  /** `onNext` is called when an answer is over and the next one is requested: usage and content then begin anew. */
  constructor(stream: TranslatedStream, onNext: () => void) {
    const { adapter, format, publicModel, request } = stream
    this.stream = stream
    this.#onNext = onNext
    this.writer = format.writer(publicModel, request)
    this.state = answerState(adapter, request)
    this.#splitter = frameSplitter(adapter.framing)
    this.#read = adapter.reader()
  }

  /** false while another answer may be requested. */
  abstract get complete(): boolean
  /** A new event of the current stream. Throws when the answer cannot be used. */
  protected abstract take(event: ChatEvent): void
  /** The current stream has ended well: the request for the next one; undefined = it was the last. */
  protected abstract next(): TranslatedCall | undefined
  /** Adds the end of the whole answer to `out`. */
  protected abstract finish(): void

  /** After so much quiet the current stream is over; 0 = it is not complete. */
  get endsInMs(): number {
    return this.hasEnd ? quietMsOf(this.stream.adapter, this.#holdsEnd || this.state.usage !== undefined) : 0
  }
  protected get hasEnd(): boolean {
    return this.#holdsEnd || this.isOver ? this.state.mayEnd : this.state.complete
  }
  get received(): boolean {
    return this.#steps > 0 || this.state.received
  }
  get steps(): number {
    return this.#steps + this.state.steps
  }
  get usage(): Usage | undefined {
    return this.state.reportedUsage
  }
  get contentEvents(): number {
    return this.state.contentEvents
  }
  get contentCharacters(): number {
    return this.state.contentCharacters
  }

  push(bytes: Uint8Array): string {
    if (!this.isOver) this.#guarded(() => this.#readFrames(this.#splitter.push(bytes)))
    return this.#taken()
  }

  #readFrames(frames: readonly Frame[]): void {
    for (const frame of frames) {
      if (this.#holdsEnd) this.#readAfterEnd(frame)
      else {
        for (const event of this.#read(frame)) this.#see(event)
        if (!this.stream.adapter.isLast?.(frame)) continue
        this.#holdsEnd = this.state.mayEnd && !this.state.usage
        this.isOver = !this.#holdsEnd
      }
      if (this.isOver) return
    }
  }

  #see(event: ChatEvent): void {
    const isNew = this.state.see(event)
    this.started ||= this.state.started
    if (this.state.failure) throw this.state.failure
    if (isNew) this.take(event)
  }

  /** Only a report of usage counts any more. */
  #readAfterEnd(frame: Frame): void {
    const usage = usageIn(frame, this.#read)
    if (!usage) return
    this.#see(usage)
    this.isOver = true
  }

  /** One stream has ended: returns the request for the next one; undefined = it was the last, or it failed. */
  ended(): TranslatedCall | undefined {
    let call: TranslatedCall | undefined
    this.#guarded(() => {
      if (!this.isOver) this.#readFrames(this.#splitter.end())
      if (!this.hasEnd) throw this.state.unfinished
      call = this.next()
      if (call) this.#restart()
    })
    return call
  }

  #restart(): void {
    const { adapter, request } = this.stream
    this.#onNext()
    this.#steps = this.steps
    this.state = answerState(adapter, request)
    this.#holdsEnd = false
    this.isOver = false
    this.#splitter = frameSplitter(adapter.framing)
    this.#read = adapter.reader()
  }

  end(): string {
    this.#guarded(() => this.finish())
    this.terminated = !this.failure
    return this.#taken()
  }

  /** Output before a failure is kept: else the client's text would depend on how the bytes were split. */
  #guarded(step: () => void): void {
    if (this.failure) return
    try {
      step()
    } catch (cause) {
      this.failure = unreadable(cause)
    }
  }

  #taken(): string {
    const { out } = this
    this.out = ''
    return out
  }

  errorEvent(error: GatewayError): string {
    return this.writer.fail?.(error) ?? this.stream.format.errorEvent(error)
  }
}
