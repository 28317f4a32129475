/** The translate lane: the upstream's frames become events, the events become the client's dialect. */
import type { ChatEvent, ChatRequest } from '../../core/hub/chat.ts'
import { GatewayError, toGatewayError } from '../../core/errors.ts'
import type { ChatFormat, EventWriter, StreamRelay } from '../../core/format.ts'
import type { ChatAdapter } from '../../core/provider.ts'
import type { Usage } from '../../core/usage/usage.ts'
import { ChoiceStates, endWaitMs, silentEndMs, unfinishedStream } from '../../core/dialects/stream-end.ts'
import { frameSplitter } from '../../lib/frame-splitter.ts'
import type { Frame, FrameSplitter } from '../../lib/frame.ts'
import { exactText, parseExact } from '../../lib/json/exact-json.ts'

/** More calls are no answer: an upstream that goes on beginning them would fill the memory, and every client. */
export const toolCallsMax = 1024

/** The state of an answer as a whole, from its events. */
export class AnswerState {
  started = false
  received = false
  steps = 0
  usage: Usage | undefined
  answeredModel: string | undefined
  failure: GatewayError | undefined
  contentEvents = 0
  contentCharacters = 0
  #toolCalls = 0
  #usageAtStart: Usage | undefined
  /** The upstream's failure, while the report of its usage may still follow. */
  #awaited: GatewayError | undefined
  readonly #choices: ChoiceStates

  /** `expectedChoices` = the choices that have to finish where no terminal event says that there are fewer. */
  constructor(expectedChoices = 1) {
    this.#choices = new ChoiceStates(expectedChoices)
  }

  /** false = a repetition, or a failure that is not settled yet: it must not reach the client. */
  see(event: ChatEvent): boolean {
    this.received = true
    if (this.#awaited) {
      if (event.type === 'usage') this.usage = event.usage
      this.failure = this.#awaited
      return false
    }
    if (event.type === 'finish') return this.#finish(event.choice)
    this.#note(event)
    return this.#awaited === undefined
  }

  #finish(choice: number): boolean {
    this.started = true
    const isNew = this.#choices.finish(choice)
    if (isNew) this.steps++
    return isNew
  }

  #note(event: Exclude<ChatEvent, { type: 'finish' }>): void {
    switch (event.type) {
      case 'start':
        this.#usageAtStart = event.usage
        this.answeredModel = event.model
        return
      case 'usage':
        this.usage = event.usage
        return
      case 'error':
        if (event.awaitsUsage && !this.usage) this.#awaited = event.error
        else this.failure = event.error
        return
      case 'text':
      case 'refusal':
        return this.#content(event.choice, event.text.length)
      case 'reasoning':
        return this.#content(event.choice, event.text?.length ?? 0)
      case 'tool-call-arguments':
        return this.#content(event.choice, event.fragment.length)
      case 'tool-call-start':
        if (++this.#toolCalls > toolCallsMax) this.failure = tooManyCalls()
        return this.#begin(event.choice)
      default:
        this.#begin(event.choice)
    }
  }

  #begin(choice: number): void {
    this.started = true
    this.steps++
    this.#choices.begin(choice)
  }

  #content(choice: number, characters: number): void {
    this.#choices.begin(choice)
    if (characters === 0) return
    this.started = true
    this.steps++
    this.contentEvents++
    this.contentCharacters += characters
  }

  /** A failure of which nothing but its usage is missing. */
  get awaited(): GatewayError | undefined {
    return this.#awaited
  }

  /** What an end without the finish of every choice is: the upstream's own failure, or a break. */
  get unfinished(): GatewayError {
    return this.#awaited ?? unfinishedStream()
  }

  /** The report of the usage; before it, or without one, what the answer began with. */
  get reportedUsage(): Usage | undefined {
    const early = this.#usageAtStart
    return this.usage ?? (early && this.mayEnd ? { ...early, outputTokens: 0 } : early)
  }

  /** Every choice that began has ended, including the first one: the upstream may say that this is the end. */
  get mayEnd(): boolean {
    return this.#choices.mayEnd
  }
  /** The same, and no choice that was asked for is missing. */
  get complete(): boolean {
    return this.#choices.complete
  }
}

/** Streams of this dialect may end without a terminal event. */
const endsSilently = ({ isLast, endsSilently: some }: ChatAdapter): boolean => isLast === undefined || some === true

/** After so many milliseconds without a further step a complete answer is over, without its terminal event. */
export const quietMsOf = (adapter: ChatAdapter, isCounted: boolean): number =>
  endsSilently(adapter) ? silentEndMs : endWaitMs(isCounted)

const tooManyCalls = () =>
  new GatewayError('upstream-broken', `the upstream's answer begins more than ${toolCallsMax} tool calls`)

/** The state of one stream. Where nothing marks its end, an upstream may answer with fewer choices than requested. */
export const answerState = (adapter: ChatAdapter, { choices }: ChatRequest): AnswerState =>
  new AnswerState(endsSilently(adapter) ? 1 : choices)

/** How the upstream's answer to one call is read, and how it is written for the client. */
export interface TranslatedStream {
  readonly adapter: ChatAdapter
  readonly format: ChatFormat
  readonly request: ChatRequest
  readonly publicModel: string
}

/**
 * After its terminal event or a failure further bytes are ignored. Output before a failure stays valid. A terminal
 * event that comes before any usage is held until the usage, the end of the bytes or `quietMs`: some report it later.
 */
export class TranslatedRelay implements StreamRelay {
  terminated = false
  #holdsEnd = false
  readonly #state: AnswerState
  readonly #splitter: FrameSplitter
  readonly #read: (frame: Frame) => readonly ChatEvent[]
  readonly #adapter: ChatAdapter
  readonly #writer: EventWriter
  readonly #format: ChatFormat

  constructor(stream: TranslatedStream) {
    this.#state = answerState(stream.adapter, stream.request)
    this.#splitter = frameSplitter(stream.adapter.framing)
    this.#read = stream.adapter.reader()
    this.#adapter = stream.adapter
    this.#writer = stream.format.writer(stream.publicModel, stream.request)
    this.#format = stream.format
  }

  get started(): boolean {
    return this.#state.started
  }
  get received(): boolean {
    return this.#state.received
  }
  get steps(): number {
    return this.#state.steps
  }
  get answeredModel(): string | undefined {
    return this.#state.answeredModel
  }
  get complete(): boolean {
    return this.#holdsEnd || this.#state.complete
  }
  get failure(): GatewayError | undefined {
    return this.#state.failure
  }
  get quietMs(): number {
    return quietMsOf(this.#adapter, this.#holdsEnd || this.#state.usage !== undefined)
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
    return this.#isOver ? '' : this.#translate(bytes)
  }

  /**
   * `bytes` absent = they have ended. Output before a failure is kept: else the client's text would depend on how the
   * bytes were split.
   */
  #translate(bytes?: Uint8Array): string {
    let out = ''
    try {
      for (const frame of bytes ? this.#splitter.push(bytes) : this.#splitter.end()) {
        if (this.#holdsEnd) {
          out += this.#afterEnd(frame)
          if (this.terminated) return out
          continue
        }
        for (const event of this.#read(frame)) {
          const isNew = this.#state.see(event)
          if (this.#state.failure) return out
          if (isNew) out += this.#writer.write(event)
        }
        // The bytes may go on: an upstream may keep its connection open.
        if (!this.#adapter.isLast?.(frame)) continue
        if (!this.#state.mayEnd || this.#state.usage) return out + this.#finish({ isComplete: this.#state.mayEnd })
        this.#holdsEnd = true
      }
    } catch (cause) {
      this.#state.failure = unreadable(cause)
    }
    return out
  }

  /** Only a report of usage counts any more. */
  #afterEnd(frame: Frame): string {
    const usage = usageIn(frame, this.#read)
    if (!usage) return ''
    this.#state.see(usage)
    return this.#writer.write(usage) + this.#finish({ isComplete: true })
  }

  end(): string {
    if (this.#isOver) return ''
    const last = this.#translate()
    if (this.#isOver) return last
    try {
      return last + this.#finish({ isComplete: this.complete })
    } catch (cause) {
      this.#state.failure = unreadable(cause)
      return last
    }
  }

  /** Further bytes are ignored. */
  get #isOver(): boolean {
    return this.terminated || this.#state.failure !== undefined
  }

  /** The upstream has sent its terminal event, or its bytes have ended. */
  #finish({ isComplete }: { readonly isComplete: boolean }): string {
    if (!isComplete) {
      this.#state.failure = this.#state.unfinished
      return ''
    }
    const last = this.#writer.end()
    this.terminated = true
    return last
  }

  errorEvent(error: GatewayError): string {
    return this.#writer.fail?.(error) ?? this.#format.errorEvent(error)
  }
}

/** The report of usage in a frame behind the terminal event, where nothing else is believed; undefined = none. */
export function usageIn(frame: Frame, read: (frame: Frame) => readonly ChatEvent[]): UsageEvent | undefined {
  try {
    return read(frame).find(event => event.type === 'usage')
  } catch {
    return undefined
  }
}

type UsageEvent = Extract<ChatEvent, { type: 'usage' }>

/** Of whole answers, each decoded in one call: it keeps nothing between them. */
const decoder = new TextDecoder()

/** A whole answer in the client's dialect. */
export function encodeAnswer({ format, publicModel, request }: TranslatedStream, events: readonly ChatEvent[]): string {
  return exactText(format.encode(events, publicModel, request))
}

/**
 * The events of a whole answer. Throws `upstream-broken` on an unknown or unfinished one, and the answer's own error,
 * with the usage that the answer reports.
 */
export function readAnswer(adapter: ChatAdapter, bytes: Uint8Array): { events: ChatEvent[]; state: AnswerState } {
  let events: ChatEvent[]
  try {
    events = adapter.result(parseExact(decoder.decode(bytes), adapter.argumentNames ?? []))
  } catch (cause) {
    throw unreadable(cause)
  }
  const state = new AnswerState()
  const newEvents = events.filter(event => state.see(event))
  const failure = state.failure ?? state.awaited
  if (failure) throw failure.withUsage(state.reportedUsage)
  if (!state.complete) throw new GatewayError('upstream-broken', "the upstream's answer has no finish reason")
  return { events: newEvents, state }
}

/** An answer that the reader cannot read is the upstream's error. */
export function unreadable(cause: unknown): GatewayError {
  if (cause instanceof GatewayError) return toGatewayError(cause)
  return new GatewayError('upstream-broken', "the upstream's answer does not follow its protocol", { cause })
}
