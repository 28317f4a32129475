/**
 * Several prompts of one call (text completions with a list) at an upstream that takes one conversation at a time:
 * sent one after the other, their answers are further choices. The router sees one exchange with one answer.
 */
import type { ChatEvent, ChatRequest, Message } from '../../core/chat.ts'
import { GatewayError } from '../../core/errors.ts'
import type { EventWriter, StreamRelay } from '../../core/format.ts'
import type { Target, TranslatedCall } from '../../core/provider.ts'
import { addUsage } from '../../core/usage-sum.ts'
import type { Usage } from '../../core/usage.ts'
import { frameSplitter } from '../../lib/frames.ts'
import type { Frame, FrameSplitter } from '../../lib/frame.ts'
import { answerState, quietMsOf, unreadable, usageIn } from './translate.ts'
import type { AnswerState, TranslatedStream } from './translate.ts'

/** The position in the prompts, and the events of all answers as those of one. */
export class PromptSeries {
  readonly stream: TranslatedStream
  readonly #target: Target
  readonly #prompts: readonly (readonly Message[])[]
  readonly #choicesEach: number
  #at = 0
  /** The usage of the finished answers; each is billed. */
  usage: Usage | undefined

  constructor(stream: TranslatedStream, target: Target) {
    const { messages, series = [], choices = 1 } = stream.request
    this.stream = stream
    this.#target = target
    this.#prompts = [messages, ...series]
    this.#choicesEach = choices
  }

  /** The request for the current prompt. */
  call(): TranslatedCall {
    const request: ChatRequest = { ...this.stream.request, messages: [...this.#prompts[this.#at]!], series: undefined }
    return this.stream.adapter.request(request, this.#target)
  }

  get isLast(): boolean {
    return this.#at === this.#prompts.length - 1
  }

  /** The event as one of the whole answer; undefined = it is repeated, or part of the sum at the end. */
  renumbered(event: ChatEvent): ChatEvent | undefined {
    if (event.type === 'usage' || (event.type === 'start' && this.#at > 0)) return undefined
    if (event.type === 'start' || event.type === 'error') return event
    if (event.choice >= this.#choicesEach)
      throw new GatewayError(
        'upstream-broken',
        `the upstream gave more than the ${this.#choicesEach} choice(s) it was asked for`,
      )
    return { ...event, choice: this.#at * this.#choicesEach + event.choice }
  }

  /** One answer is finished, with its usage: goes on to the next prompt. false = it was the last. */
  next(usage: Usage | undefined): boolean {
    if (usage) this.usage = addUsage(this.usage, usage)
    if (this.isLast) return false
    this.#at++
    return true
  }
}

/** Whole answers, collected until the last prompt is answered. */
export class GatheredSeries {
  readonly #series: PromptSeries
  readonly #events: ChatEvent[] = []

  constructor(series: PromptSeries) {
    this.#series = series
  }

  /** Adds an answer; returns the request for the next one, or undefined after the last. */
  take(events: readonly ChatEvent[], usage: Usage | undefined): TranslatedCall | undefined {
    for (const event of events) {
      const renumbered = this.#series.renumbered(event)
      if (renumbered) this.#events.push(renumbered)
    }
    return this.#series.next(usage) ? this.#series.call() : undefined
  }

  /** The whole answer in the client's dialect. */
  body(): string {
    const { format, publicModel, request } = this.#series.stream
    const { usage } = this.#series
    const events: ChatEvent[] = usage ? [...this.#events, { type: 'usage', usage }] : this.#events
    return JSON.stringify(format.encode(events, publicModel, request))
  }
}

/** Streams, passed on as they arrive. */
export class SeriesRelay implements StreamRelay {
  terminated = false
  failure: GatewayError | undefined
  started = false
  /** The upstream's current stream has had its terminal event: later bytes are ignored. */
  isOver = false
  readonly #series: PromptSeries
  readonly #onNext: () => void
  readonly #writer: EventWriter
  #state: AnswerState
  /** The terminal event has come, before any usage. */
  #holdsEnd = false
  #splitter: FrameSplitter
  #read: (frame: Frame) => readonly ChatEvent[]
  #steps = 0
  /** Bytes from the end of one stream, sent with the next piece. */
  #late = ''

  /** `onNext` is called when an answer is over and the next one is asked for: usage and content then begin anew. */
  constructor(series: PromptSeries, onNext: () => void = () => {}) {
    const { adapter, format, publicModel, request } = series.stream
    this.#series = series
    this.#onNext = onNext
    this.#writer = format.writer(publicModel, request)
    this.#state = answerState(adapter, request)
    this.#splitter = frameSplitter(adapter.framing)
    this.#read = adapter.reader()
  }

  /** After so much quiet the current answer is over; 0 = it is not complete. */
  get endsInMs(): number {
    const { adapter } = this.#series.stream
    return this.#hasEnd ? quietMsOf(adapter, this.#holdsEnd || this.#state.usage !== undefined) : 0
  }
  get #hasEnd(): boolean {
    return this.#holdsEnd || this.isOver ? this.#state.mayEnd : this.#state.complete
  }
  get complete(): boolean {
    return this.#series.isLast && this.#hasEnd
  }
  get heard(): boolean {
    return this.#steps > 0 || this.#state.heard
  }
  get steps(): number {
    return this.#steps + this.#state.steps
  }
  get usage(): Usage | undefined {
    return this.#state.reportedUsage
  }
  get contentEvents(): number {
    return this.#state.contentEvents
  }
  get contentCharacters(): number {
    return this.#state.contentCharacters
  }

  push(bytes: Uint8Array): string {
    if (this.isOver) return ''
    const late = this.#late
    this.#late = ''
    return late + this.#guarded(() => this.#translate(this.#splitter.push(bytes)))
  }

  #translate(frames: readonly Frame[]): string {
    const { adapter } = this.#series.stream
    let out = ''
    for (const frame of frames) {
      if (this.#holdsEnd) {
        this.#afterEnd(frame)
        if (this.isOver) return out
        continue
      }
      for (const event of this.#read(frame)) {
        const isNew = this.#state.see(event)
        this.started ||= this.#state.started
        if (this.#state.failure) {
          this.failure = this.#state.failure
          return out
        }
        const renumbered = isNew ? this.#series.renumbered(event) : undefined
        if (renumbered) out += this.#writer.write(renumbered)
      }
      if (!adapter.isLast?.(frame)) continue
      this.#holdsEnd = this.#state.mayEnd && !this.#state.usage
      this.isOver = !this.#holdsEnd
      if (this.isOver) return out
    }
    return out
  }

  /** Only a report of usage counts any more. */
  #afterEnd(frame: Frame): void {
    const usage = usageIn(frame, this.#read)
    if (!usage) return
    this.#state.see(usage)
    this.isOver = true
  }

  /**
   * One upstream's stream has ended: returns the request for the next answer; undefined = it was the last, or it
   * failed.
   */
  ended(): TranslatedCall | undefined {
    if (!this.isOver) this.#late += this.#guarded(() => this.#translate(this.#splitter.end()))
    if (!this.failure && !this.#hasEnd) this.failure = this.#state.unfinished
    if (this.failure || this.#series.isLast) return undefined
    let call: TranslatedCall | undefined
    this.#guarded(() => {
      this.#series.next(this.#state.usage)
      this.#restart()
      call = this.#series.call()
      return ''
    })
    return call
  }

  #restart(): void {
    const { adapter, request } = this.#series.stream
    this.#onNext()
    this.#steps = this.steps
    this.#state = answerState(adapter, request)
    this.#holdsEnd = false
    this.isOver = false
    this.#splitter = frameSplitter(adapter.framing)
    this.#read = adapter.reader()
  }

  #guarded(step: () => string): string {
    if (this.failure) return ''
    try {
      return step()
    } catch (cause) {
      this.failure = unreadable(cause)
      return ''
    }
  }

  end(): string {
    const late = this.#late
    this.#late = ''
    const { usage: before } = this.#series
    const usage = this.#state.usage ? addUsage(before, this.#state.usage) : before
    const last = this.#guarded(() => (usage ? this.#writer.write({ type: 'usage', usage }) : '') + this.#writer.end())
    this.terminated = !this.failure
    return late + last
  }

  errorEvent(error: GatewayError): string {
    return this.#writer.fail?.(error) ?? this.#series.stream.format.errorEvent(error)
  }
}
