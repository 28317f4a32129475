/**
 * Answers that must fit a schema which the model's host does not enforce: collected, validated, and requested again
 * with a description of the problem. The router sees one exchange, however many requests were sent.
 */
import type { Call } from '../../core/call.ts'
import type { ChatEvent, ChatRequest, Message } from '../../core/chat.ts'
import { GatewayError, toGatewayError } from '../../core/errors.ts'
import type { EventWriter, StreamRelay, StrictSchema } from '../../core/format.ts'
import type { Target, TranslatedCall } from '../../core/provider.ts'
import type {
  AnswerHead,
  BodyPiece,
  BodySink,
  CallHead,
  UpstreamBody,
  UpstreamExchange,
  UpstreamResponse,
} from '../../core/transport.ts'
import type { Usage } from '../../core/usage.ts'
import { unfinishedStream } from '../../core/unfinished-stream.ts'
import { checkReferences, correctionPrompt, validateJson, schemaMismatch } from '../../emulation/index.ts'
import type { OutputSchema } from '../../emulation/index.ts'
import type { Clock } from '../../lib/clock.ts'
import { frameSplitter } from '../../lib/frames.ts'
import type { Frame, FrameSplitter } from '../../lib/frame.ts'
import { TimerEntry } from '../../lib/timer-wheel.ts'
import type { TimerWheel } from '../../lib/timer-wheel.ts'
import { UpstreamDrain, silenceMs } from './upstream-drain.ts'
import { AnswerState, endsSilently, unreadable } from './translate.ts'
import type { TranslatedStream } from './translate.ts'
import { addUsage, recordUsage } from '../usage.ts'
import { noteWholeAnswer } from '../usage-estimate.ts'

/** Number of repeated requests: a model that fails three times does not understand the schema. */
const retriesMax = 2

/** A translated call whose answer must be JSON that fits `outputSchema`. */
export interface JsonQuestion extends TranslatedStream {
  readonly target: Target
  readonly outputSchema: OutputSchema
}

/** The conversation until an answer fits. */
export class JsonDialogue {
  readonly question: JsonQuestion
  #request: ChatRequest
  #retries = retriesMax
  /** The usage of all answers together: each is billed. */
  usage: Usage | undefined
  /** The answer that fits; empty until there is one. */
  events: readonly ChatEvent[] = []

  constructor(question: JsonQuestion) {
    this.question = question
    this.#request = question.request
  }

  /** The request for the next answer. */
  call(): TranslatedCall {
    return this.question.adapter.request(this.#request, this.question.target)
  }

  /** true = `events` is the answer; false = ask again. Throws `schema-mismatch` after the last try. */
  accepts(events: readonly ChatEvent[]): boolean {
    for (const event of events) if (event.type === 'usage') this.usage = addUsage(this.usage, event.usage)
    const mended = new Map<number, string>()
    for (const [choice, text] of finishedTexts(events)) {
      const validation = validateJson(text, this.question.outputSchema)
      if ('problem' in validation) {
        this.#askAgain(text, validation.problem)
        return false
      }
      mended.set(choice, validation.json)
    }
    this.events = withTexts(events, mended, this.usage)
    return true
  }

  #askAgain(text: string, problem: string): void {
    if (this.#retries-- === 0) {
      throw new GatewayError(
        'schema-mismatch',
        `the model '${this.question.publicModel}' was asked ${retriesMax + 1} times and its answer still does not ` +
          'fit ' +
          `response_format: ${problem}`,
        { param: 'response_format', cause: text.slice(0, 2000) },
      )
    }
    const message = (role: Message['role'], text: string): Message => ({ role, parts: [{ type: 'text', text }] })
    const { messages } = this.question.request
    // Only the last answer is sent back: earlier ones would mislead the model.
    const turn = [message('assistant', text.trim() || '(empty)'), message('user', correctionPrompt(problem))]
    this.#request = { ...this.#request, messages: [...messages, ...turn] }
  }
}

/**
 * The texts that must be JSON, by choice. Answers that were cut by length, refused, or consist of tool calls are not
 * checked: their finish reason shows it, as with a host that enforces schemas.
 */
function finishedTexts(events: readonly ChatEvent[]): Map<number, string> {
  const texts = new Map<number, string>()
  const finished = new Set<number>()
  const refused = new Set<number>()
  for (const event of events) {
    if (event.type === 'text') texts.set(event.choice, (texts.get(event.choice) ?? '') + event.text)
    else if (event.type === 'refusal') refused.add(event.choice)
    else if (event.type === 'finish' && event.reason === 'stop') finished.add(event.choice)
  }
  return new Map([...finished].filter(choice => !refused.has(choice)).map(choice => [choice, texts.get(choice) ?? '']))
}

/** The events with each text joined before its choice's end, and one report of the whole usage. */
function withTexts(
  events: readonly ChatEvent[],
  texts: ReadonlyMap<number, string>,
  usage: Usage | undefined,
): ChatEvent[] {
  const result: ChatEvent[] = []
  for (const event of events) {
    if (event.type === 'usage' || (event.type === 'text' && texts.has(event.choice))) continue
    const text = event.type === 'finish' ? texts.get(event.choice) : undefined
    if (text !== undefined && event.type === 'finish') result.push({ type: 'text', choice: event.choice, text })
    result.push(event)
  }
  if (usage) result.push({ type: 'usage', usage })
  return result
}

/** Collects streams and returns the one that fits. Heartbeats keep the client's connection alive meanwhile. */
export class CheckedRelay implements StreamRelay {
  terminated = false
  failure: GatewayError | undefined
  started = false
  /** The current stream has had its terminal event: later bytes are ignored. */
  isOver = false
  readonly #dialogue: JsonDialogue
  readonly #onNext: () => void
  readonly #writer: EventWriter
  #state = new AnswerState()
  #events: ChatEvent[] = []
  #splitter: FrameSplitter
  #read: (frame: Frame) => readonly ChatEvent[]

  /** `onNext` is called when an answer is over and the next one is asked for: usage and content then begin anew. */
  constructor(dialogue: JsonDialogue, onNext: () => void = () => {}) {
    this.#dialogue = dialogue
    this.#onNext = onNext
    const { adapter, format, publicModel, request } = dialogue.question
    this.#writer = format.writer(publicModel, request)
    this.#splitter = frameSplitter(adapter.framing)
    this.#read = adapter.reader()
  }

  /** The current answer is complete, and its dialect has no terminal event. */
  get hasSilentEnd(): boolean {
    return this.#state.complete && endsSilently(this.#dialogue.question.adapter)
  }

  /** false while the answer may still be requested again. */
  get complete(): boolean {
    return this.terminated
  }
  get usage(): Usage | undefined {
    return this.#state.usage
  }
  get contentEvents(): number {
    return this.#state.contentEvents
  }
  get contentCharacters(): number {
    return this.#state.contentCharacters
  }

  push(bytes: Uint8Array): string {
    if (!this.isOver) this.#guarded(() => this.#gather(this.#splitter.push(bytes)))
    return ''
  }

  #gather(frames: readonly Frame[]): void {
    const { adapter } = this.#dialogue.question
    for (const frame of frames) {
      for (const event of this.#read(frame)) {
        const isNew = this.#state.see(event)
        this.started ||= this.#state.started
        if (this.#state.failure) throw this.#state.failure
        if (isNew) this.#events.push(event)
      }
      this.isOver = adapter.isLast?.(frame) ?? false
      if (this.isOver) return
    }
  }

  /**
   * One upstream's stream has ended: returns the next request; undefined = it was the last one, or it failed.
   */
  ended(): TranslatedCall | undefined {
    let again: TranslatedCall | undefined
    this.#guarded(() => {
      if (!this.isOver) this.#gather(this.#splitter.end())
      if (!this.#state.complete) throw unfinishedStream()
      if (this.#dialogue.accepts(this.#events)) return
      again = this.#dialogue.call()
      this.#restart()
    })
    return again
  }

  #restart(): void {
    const { adapter } = this.#dialogue.question
    this.#onNext()
    this.#state = new AnswerState()
    this.#events = []
    this.isOver = false
    this.#splitter = frameSplitter(adapter.framing)
    this.#read = adapter.reader()
  }

  #guarded(step: () => void): void {
    if (this.failure) return
    try {
      step()
    } catch (cause) {
      this.failure = unreadable(cause)
    }
  }

  end(): string {
    let last = ''
    this.#guarded(() => {
      last = this.#dialogue.events.map(event => this.#writer.write(event)).join('') + this.#writer.end()
    })
    this.terminated = !this.failure
    return this.failure ? '' : last
  }

  errorEvent(error: GatewayError): string {
    return this.#writer.fail?.(error) ?? this.#dialogue.question.format.errorEvent(error)
  }
}

interface WholeAnswer {
  readonly body: Uint8Array | string
  readonly usage: Usage | undefined
}

type ReadAnswer<Answer> = (bytes: Uint8Array, head: AnswerHead) => Answer

/**
 * For a host that was sent the schema: `read`, with the answer validated. Nothing is requested again. undefined = this
 * call has no strict schema.
 */
export function validatedAnswer<Answer extends WholeAnswer>(
  call: Call,
  strict: StrictSchema,
  read: ReadAnswer<Answer>,
): ReadAnswer<Answer> | undefined {
  const schema = strict.schema(call.body!)
  if (!schema) return undefined
  checkReferences(schema, [strict.field])
  return (bytes, head) => {
    const answer = read(bytes, head)
    const text = typeof answer.body === 'string' ? answer.body : new TextDecoder().decode(answer.body)
    for (const one of strict.texts(JSON.parse(text))) {
      const problem = schemaMismatch(one, schema)
      if (problem === undefined) continue
      // An answer that does not fit is billed, too.
      recordUsage(call, answer.usage)
      noteWholeAnswer(call, answer.body, answer.usage)
      throw new GatewayError(
        'schema-mismatch',
        `the answer of the model '${call.model}' does not fit ${strict.field}: ${problem}`,
        {
          param: strict.field,
          cause: one.slice(0, 2000),
        },
      )
    }
    return answer
  }
}

/** The request that is sent when an answer must be repeated. */
interface NextCall {
  readonly head: CallHead
  readonly body: readonly BodyPiece[]
}

/** Checks finished answers of one attempt. */
export interface AnswerCheck {
  /** The requests are the prompts of a list; else the same is asked for again. */
  readonly isSeries: boolean
  /** For a whole answer: the next request; undefined = the answer is accepted. Throws after the last try. */
  whole(bytes: Uint8Array): NextCall | undefined
  /** The attempt's relay has seen the frame that ends a stream, though its bytes may go on. */
  isOver(): boolean
  /** The answer is complete, in a dialect without such a frame. */
  hasSilentEnd?(): boolean
  /** As `whole`, for the stream that the attempt's relay has just read to its end. */
  streamed(): NextCall | undefined
}

interface Asking {
  readonly check: AnswerCheck
  readonly clock: Clock
  readonly timers: TimerWheel
  /** Limit for all tries together; 0 = none. */
  readonly totalMs: number
  /** Asked before each further request; it is not sent when this rejects. */
  admit(): Promise<void>
  send(next: NextCall, totalMs: number): UpstreamExchange
  /** Told the status of each answer to `send`. */
  answered(status: number): void
  /** The error for an answer without success. */
  fault(response: UpstreamResponse): Promise<GatewayError>
}

/** `first` and the requests that follow it, as one exchange with one body. */
export function checkedExchange(first: UpstreamExchange, asking: Asking): UpstreamExchange {
  const body = new CheckedBody(first, asking)
  const response = first.response.then(answer => {
    if (answer.status < 200 || answer.status >= 300) return answer
    body.begin(answer.body)
    return { status: answer.status, header: (name: string) => answer.header(name), body }
  })
  return {
    response,
    get sent() {
      return body.sent
    },
    cancel: () => body.cancel(),
  }
}

/** Waits for silence after an answer without a terminal event. */
class Silence extends TimerEntry {
  readonly #timers: TimerWheel
  #over: () => void = () => {}

  constructor(timers: TimerWheel) {
    super()
    this.#timers = timers
  }

  await(over: () => void): void {
    this.#over = over
    this.#timers.touch(this, this.#timers.nowMs() + silenceMs)
  }

  cancel(): void {
    this.#timers.cancel(this)
  }

  override expired(): void {
    this.#over()
  }
}

class CheckedBody implements UpstreamBody {
  readonly #asking: Asking
  readonly #startedMs: number
  #exchange: UpstreamExchange
  #body: UpstreamBody | undefined
  #paused = false
  #cancelled = false
  /** An answer is over, and the next request is not sent yet. */
  #isBetween = false
  readonly #silence: Silence
  /** Ends the current stream as its own end would; undefined = it has ended. */
  #onSilence: (() => void) | undefined

  constructor(first: UpstreamExchange, asking: Asking) {
    this.#exchange = first
    this.#asking = asking
    this.#silence = new Silence(asking.timers)
    this.#startedMs = asking.clock.monotonicMs()
  }

  begin(body: UpstreamBody): void {
    this.#body = body
  }

  /** Of the current request; those before it are answered, and their usage is known. */
  get sent(): boolean {
    return !this.#isBetween && this.#exchange.sent
  }

  async bytes(bytesMax: number): Promise<Uint8Array> {
    for (;;) {
      const bytes = await this.#body!.bytes(bytesMax)
      const next = this.#asking.check.whole(bytes)
      if (!next) return bytes
      await this.#ask(next)
    }
  }

  pipe(sink: BodySink): void {
    const fail = (error: unknown): void => {
      this.#hush()
      if (!this.#cancelled) sink.fail(toGatewayError(error))
    }
    const { check, timers } = this.#asking
    const exchange = this.#exchange
    const body = this.#body!
    let drain: UpstreamDrain | undefined
    const ended = (): void => {
      this.#hush()
      const next = check.streamed()
      if (!next) return sink.end()
      this.#ask(next).then(() => {
        if (!this.#cancelled) this.pipe(sink)
      }, fail)
    }
    this.#onSilence = () => {
      exchange.cancel()
      ended()
    }
    body.pipe({
      data: bytes => {
        if (drain) return drain.data(bytes)
        sink.data(bytes)
        if (this.#cancelled) return
        if (!check.isOver()) return this.#listen()
        drain = new UpstreamDrain(exchange, timers)
        body.resume()
        ended()
      },
      fail: error => {
        if (drain) return drain.over()
        // The deployment's idle timeout was shorter than the wait for silence: the answer is complete all the same.
        if (error.kind === 'upstream-timeout' && check.hasSilentEnd?.()) ended()
        else fail(error)
      },
      end: () => (drain ? drain.over() : ended()),
    })
    if (this.#paused && !drain) body.pause()
  }

  #listen(): void {
    if (this.#onSilence && !this.#paused && this.#asking.check.hasSilentEnd?.()) this.#silence.await(this.#onSilence)
    else this.#silence.cancel()
  }

  #hush(): void {
    this.#onSilence = undefined
    this.#silence.cancel()
  }

  async #ask(next: NextCall): Promise<void> {
    this.#isBetween = true
    const { clock, totalMs } = this.#asking
    await this.#asking.admit()
    const leftMs = totalMs === 0 ? 0 : totalMs - (clock.monotonicMs() - this.#startedMs)
    if (leftMs < 0)
      throw new GatewayError('upstream-timeout', 'no time was left to ask the upstream for the rest of the answer')
    if (this.#cancelled)
      throw new GatewayError('client-closed', 'the client closed the connection before the answer was complete')
    this.#exchange = this.#asking.send(next, leftMs)
    this.#isBetween = false
    const response = await this.#exchange.response
    this.#asking.answered(response.status)
    if (response.status < 200 || response.status >= 300) throw await this.#asking.fault(response)
    this.#body = response.body
  }

  pause(): void {
    this.#paused = true
    this.#silence.cancel()
    this.#body?.pause()
  }

  resume(): void {
    this.#paused = false
    this.#listen()
    this.#body?.resume()
  }

  cancel(): void {
    this.#cancelled = true
    this.#silence.cancel()
    this.#exchange.cancel()
  }
}
