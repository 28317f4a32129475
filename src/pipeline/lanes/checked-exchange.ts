/** Several requests to an upstream, each sent once the answer before it is complete, as one exchange. */
import { GatewayError, toGatewayError } from '../../core/errors.ts'
import type {
  AnswerHead,
  BodyPiece,
  BodySink,
  CallHead,
  UpstreamBody,
  UpstreamExchange,
  UpstreamResponse,
} from '../../core/transport.ts'
import type { Clock } from '../../lib/clock.ts'
import { TimerEntry } from '../../lib/timer-wheel.ts'
import type { TimerWheel } from '../../lib/timer-wheel.ts'
import { UpstreamDrain } from '../upstream/upstream-drain.ts'

/** The request that is sent when an answer must be repeated. */
interface NextCall {
  readonly head: CallHead
  readonly body: readonly BodyPiece[]
}

/** Checks finished answers of one attempt. */
export interface AnswerCheck {
  /** The requests are the prompts of a list; else the same is requested again. */
  readonly isSeries: boolean
  /** For a whole answer: the next request; undefined = the answer is accepted. Throws after the last try. */
  whole(bytes: Uint8Array, head: AnswerHead): NextCall | undefined
  /** The attempt's relay has seen the frame that ends a stream, though its bytes may go on. */
  isOver(): boolean
  /** After so many milliseconds of quiet the answer is over without such a frame; 0 = it is not complete. */
  endsInMs(): number
  /** As of the attempt's relay: what does not raise it does not prolong the wait. */
  steps(): number
  /** As `whole`, for the stream that the attempt's relay has just read to its end. */
  streamed(): NextCall | undefined
}

interface CheckContext {
  readonly check: AnswerCheck
  readonly clock: Clock
  readonly timers: TimerWheel
  /** Limit for all tries together; 0 = none. */
  readonly totalMs: number
  /** Asked before each further request; it is not sent when this rejects. */
  admit(): Promise<void>
  send(next: NextCall, totalMs: number): UpstreamExchange
  /** Called with the status of each answer to `send`. */
  answered(status: number): void
  /** The error for an answer without success. */
  fault(response: UpstreamResponse): Promise<GatewayError>
}

/** `first` and the requests that follow it, as one exchange with one body. */
export function checkedExchange(first: UpstreamExchange, context: CheckContext): UpstreamExchange {
  const body = new CheckedBody(first, context)
  const response = first.response.then(answer => {
    if (answer.status < 200 || answer.status >= 300) return answer
    body.begin(answer)
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

/** Waits for silence after a complete answer whose terminal event has not come. */
class SilenceTimer extends TimerEntry {
  readonly #timers: TimerWheel
  #over: () => void = () => {}
  #ms = 0
  #steps = 0

  constructor(timers: TimerWheel) {
    super()
    this.#timers = timers
  }

  /** From the last of `steps` on, or from when `ms` has changed. */
  await(ms: number, steps: number, over: () => void): void {
    if (ms === this.#ms && steps === this.#steps) return
    this.#ms = ms
    this.#steps = steps
    this.#over = over
    this.#timers.touch(this, this.#timers.nowMs() + ms)
  }

  cancel(): void {
    this.#ms = 0
    this.#timers.cancel(this)
  }

  override expired(): void {
    this.#over()
  }
}

class CheckedBody implements UpstreamBody {
  readonly #context: CheckContext
  readonly #startedMs: number
  #exchange: UpstreamExchange
  /** The current answer. */
  #answer: UpstreamResponse | undefined
  #paused = false
  #cancelled = false
  /** An answer is over, and the next request is not sent yet. */
  #isBetween = false
  readonly #silence: SilenceTimer
  /** Ends the current stream as its own end would; undefined = it has ended. */
  #onSilence: (() => void) | undefined

  constructor(first: UpstreamExchange, context: CheckContext) {
    this.#exchange = first
    this.#context = context
    this.#silence = new SilenceTimer(context.timers)
    this.#startedMs = context.clock.monotonicMs()
  }

  begin(answer: UpstreamResponse): void {
    this.#answer = answer
  }

  /** Of the current request; those before it are answered, and their usage is known. */
  get sent(): boolean {
    return !this.#isBetween && this.#exchange.sent
  }

  async bytes(bytesMax: number): Promise<Uint8Array> {
    for (;;) {
      const answer = this.#answer!
      const bytes = await answer.body.bytes(bytesMax)
      const next = this.#context.check.whole(bytes, answer)
      if (!next) return bytes
      await this.#ask(next)
    }
  }

  pipe(sink: BodySink): void {
    const fail = (error: unknown): void => {
      this.#stopSilenceTimer()
      if (!this.#cancelled) sink.fail(toGatewayError(error))
    }
    const { check, timers } = this.#context
    const exchange = this.#exchange
    const { body } = this.#answer!
    let drain: UpstreamDrain | undefined
    const ended = (): void => {
      this.#stopSilenceTimer()
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
        if (error.kind === 'upstream-timeout' && check.endsInMs() > 0) ended()
        else fail(error)
      },
      end: () => (drain ? drain.over() : ended()),
    })
    if (this.#paused && !drain) body.pause()
  }

  #listen(): void {
    const { check } = this.#context
    const ms = this.#paused ? 0 : check.endsInMs()
    if (this.#onSilence && ms > 0) this.#silence.await(ms, check.steps(), this.#onSilence)
    else this.#silence.cancel()
  }

  #stopSilenceTimer(): void {
    this.#onSilence = undefined
    this.#silence.cancel()
  }

  async #ask(next: NextCall): Promise<void> {
    this.#isBetween = true
    const { clock, totalMs } = this.#context
    await this.#context.admit()
    const leftMs = totalMs === 0 ? 0 : totalMs - (clock.monotonicMs() - this.#startedMs)
    if (leftMs < 0)
      throw new GatewayError('upstream-timeout', 'no time was left to ask the upstream for the rest of the answer')
    if (this.#cancelled)
      throw new GatewayError('client-closed', 'the client closed the connection before the answer was complete')
    this.#exchange = this.#context.send(next, leftMs)
    this.#isBetween = false
    const response = await this.#exchange.response
    this.#context.answered(response.status)
    if (response.status < 200 || response.status >= 300) throw await this.#context.fault(response)
    this.#answer = response
  }

  pause(): void {
    this.#paused = true
    this.#silence.cancel()
    this.#answer?.body.pause()
  }

  resume(): void {
    this.#paused = false
    this.#listen()
    this.#answer?.body.resume()
  }

  cancel(): void {
    this.#cancelled = true
    this.#silence.cancel()
    this.#exchange.cancel()
  }
}
