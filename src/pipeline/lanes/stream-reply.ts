/** A streamed answer: pushed from the upstream's socket through the relay into the client's response. */
import type { AnswerSink, AnswerStream } from '../../core/answer.ts'
import type { Deployment } from '../../core/deployment.ts'
import type { Outcome } from '../../core/hub/operation.ts'
import { GatewayError, toGatewayError } from '../../core/errors.ts'
import type { StreamRelay } from '../../core/format.ts'
import type { BodySink, UpstreamBody, UpstreamExchange } from '../../core/transport.ts'
import { TimerEntry } from '../../lib/timer-wheel.ts'
import type { TimerWheel } from '../../lib/timer-wheel.ts'
import type { CallControl } from '../call-control.ts'
import type { EarlyReceiver, LateAnswer } from './filtered-format.ts'
import { UpstreamDrain } from '../upstream/upstream-drain.ts'
import { judged } from '../upstream/upstream-fault.ts'

/** Held back until content is seen, so that an early failure can still go to another deployment. */
const holdBytesMax = 256 * 1024
const holdMs = 2000
const heartbeatMs = 15_000

interface StreamSource {
  readonly exchange: UpstreamExchange
  readonly body: UpstreamBody
  readonly relay: StreamRelay
  /** What comes after the upstream's answer is complete; undefined = nothing. */
  readonly late?: LateAnswer | undefined
}

/**
 * Holds the stream back until its first content, then hands it over. The promise rejects with what failed before that:
 * nothing has been sent, and the router may try another deployment.
 */
export function openStream(
  source: StreamSource,
  control: CallControl,
  settings: StreamSettings,
): Promise<AnswerStream> {
  return new StreamPump(source, control, settings).opened
}

interface StreamSettings {
  readonly timers: TimerWheel
  readonly deployment: Deployment
  /** Sent to a client after a while without data; ignored in its dialect. Empty = nothing may be sent. */
  readonly heartbeat: string
}

type Phase = 'holding' | 'flowing' | 'closed'

/**
 * Its one timer is for what comes first: the opening or the next heartbeat, or the end of the wait for content. A
 * client that does not read is detected by its connection.
 */
class StreamPump extends TimerEntry implements BodySink, AnswerStream, EarlyReceiver {
  readonly opened: Promise<AnswerStream>
  readonly #source: StreamSource
  readonly #control: CallControl
  readonly #timers: TimerWheel
  readonly #heartbeat: string
  readonly #deployment: Deployment
  readonly #beganMs: number
  /** Of the relay, when the wait for content began. */
  #steps = 0
  #received = false
  /** How long content is waited for: see `#contentWaitMs`. */
  #waitMs = 0
  /** When that wait is over, by the timers' clock. */
  #contentDueMs = Infinity
  #phase: Phase = 'holding'
  /** Output that waits for content, and then for the client's connection. */
  #held: (Uint8Array | string)[] = []
  #heldBytes = 0
  #resolve!: (stream: AnswerStream) => void
  #reject!: (error: GatewayError) => void
  #sink: AnswerSink | undefined
  #paused = false
  #cut = false
  /** The upstream's answer is complete, and policies have not accepted it yet. */
  #policiesPending = false
  /** Set after the upstream's terminal event, until its bytes end. */
  #drain: UpstreamDrain | undefined

  constructor(source: StreamSource, control: CallControl, { timers, deployment, heartbeat }: StreamSettings) {
    super()
    this.#source = source
    this.#control = control
    this.#timers = timers
    this.#heartbeat = heartbeat
    this.#deployment = deployment
    this.opened = new Promise((resolve, reject) => {
      this.#resolve = resolve
      this.#reject = reject
    })
    this.#beganMs = timers.nowMs()
    control.call.attempt!.relay = source.relay
    source.late?.listen?.(this)
    this.#awaitContent()
    this.#wait(holdMs)
    source.body.pipe(this)
  }

  // ---- what the client's connection calls

  pipe(sink: AnswerSink): void {
    this.#sink = sink
    const held = this.#held
    this.#held = []
    for (const piece of held) sink.write(piece)
    if (this.#phase === 'closed') this.#endSink(sink)
  }

  resume(): void {
    if (!this.#paused) return
    this.#paused = false
    this.#awaitContent()
    this.#wait(heartbeatMs)
    this.#source.body.resume()
  }

  cancel(): void {
    this.#phase = 'closed'
    this.#timers.cancel(this)
    this.#control.clientLeft()
  }

  // ---- what the call's control calls

  interrupted(error: GatewayError): void {
    // The answer is complete; further bytes of the upstream are not needed.
    if (this.#source.relay.terminated && !this.#policiesPending) return this.#drain?.cancel()
    this.#break(error, '', 'interrupted')
  }

  // ---- what the upstream's connection calls

  data(bytes: Uint8Array): void {
    if (this.#phase === 'closed' || this.#policiesPending) return this.#drain?.data(bytes)
    const { relay } = this.#source
    const out = relay.push(bytes)
    if (relay.failure) return this.#break(relay.failure, out)
    if (relay.steps !== this.#steps || relay.received !== this.#received || this.#waitMs !== this.#contentWaitMs)
      this.#awaitContent()
    if (relay.terminated && this.#source.late) return this.#awaitPolicies(out, this.#source.late)
    // The terminal event may only be sent after the call is recorded.
    if (relay.terminated) this.#settleSuccess()
    this.#send(out)
    if (this.#phase === 'holding' && this.#mayOpen) this.#open()
    if (relay.terminated) this.#endAhead()
    else if (this.#isSilentlyComplete && !this.#paused) this.#wait(heartbeatMs)
  }

  end(): void {
    if (this.#phase === 'closed' || this.#policiesPending) return this.#drain?.over()
    const { relay, late } = this.#source
    const out = relay.end()
    if (relay.failure) return this.#break(relay.failure, out)
    if (late) {
      this.#awaitPolicies(out, late)
      return this.#drain?.over()
    }
    this.#settleSuccess()
    this.#send(out)
    this.#finish()
  }

  fail(error: GatewayError): void {
    // After the terminal event a cut connection does not matter.
    if (this.#phase === 'closed' || this.#policiesPending) return this.#drain?.over()
    // The deployment's idle timeout was shorter than the wait for silence: the answer is complete all the same.
    if (this.#isSilentlyComplete && error.kind === 'upstream-timeout') return this.end()
    this.#break(error, '')
  }

  // ---- what filters call that give out text between the upstream's pieces

  early(text: string): void {
    if (this.#phase === 'closed') return
    this.#send(text)
    if (this.#phase === 'holding' && this.#mayOpen) this.#open()
  }

  refused(error: GatewayError): void {
    if (this.#phase !== 'closed') this.#break(error, '')
  }

  override expired(): void {
    if (this.#phase === 'closed') return
    if (this.#control.left || this.#timers.nowMs() < this.#contentDueMs) {
      if (this.#phase === 'holding') this.#openOrWait()
      else this.#sendHeartbeat()
    } else if (this.#isSilentlyComplete) this.#endInSilence()
    else this.#break(this.#noContent(), '')
  }

  #sendHeartbeat(): void {
    if (!this.#control.settled && !this.#paused) {
      if (this.#heartbeat) this.#sink?.write(this.#heartbeat)
      this.#wait(heartbeatMs)
    }
  }

  // ---- inside

  /**
   * A model may send nothing for minutes while it thinks or reads a long prompt, and proxies before the gateway close
   * silent connections sooner: once an event arrives, or after the heartbeat interval, the client gets its headers.
   * Comments and pings are no events: within that interval another deployment may still answer.
   */
  #openOrWait(): void {
    const { relay, late } = this.#source
    if (this.#control.left) this.#phase = 'closed'
    else if ((relay.received && late?.holds() !== true) || this.#heldMs() >= heartbeatMs) this.#open()
    else this.#wait(this.#heartbeat ? heartbeatMs - holdMs : Infinity)
  }

  #heldMs(): number {
    return this.#timers.nowMs() - this.#beganMs
  }

  get #mayOpen(): boolean {
    const { relay, late } = this.#source
    if (late?.holds() === true) return false
    return relay.started || relay.complete || this.#heldBytes > holdBytesMax
  }

  /** The upstream is done; the answer goes on, or is refused, when the policies have read it. */
  #awaitPolicies(out: Uint8Array | string, late: LateAnswer): void {
    this.#policiesPending = true
    this.#contentDueMs = Infinity
    this.#send(out)
    this.#drain = new UpstreamDrain(this.#source.exchange, this.#timers)
    if (this.#paused) {
      this.#paused = false
      this.#source.body.resume()
    }
    late.text().then(
      text => {
        if (this.#phase === 'closed') return
        this.#settleSuccess()
        this.#send(text)
        this.#finish()
      },
      thrown => this.#break(toGatewayError(thrown), ''),
    )
  }

  #settleSuccess(): void {
    this.#began()
    this.#control.settle('success', 200)
  }

  /** Records the time of the client's first byte, which is sent at the end of this turn. */
  #began(): void {
    const { call } = this.#control
    if (call.progress.firstByteMs < 0) call.progress.firstByteMs = performance.now() - call.startedMs
  }

  #send(out: Uint8Array | string): void {
    if (out.length === 0) return
    const sink = this.#sink
    if (!sink) {
      this.#held.push(out)
      this.#heldBytes += out.length
      return
    }
    sink.write(out)
    if (this.#paused) return
    if (sink.full) this.#pause()
    else this.#wait(heartbeatMs)
  }

  /** Sends the headers: from now on failures are visible to the client. */
  #open(): void {
    this.#phase = 'flowing'
    this.#control.stream = this
    this.#began()
    this.#wait(heartbeatMs)
    this.#resolve(this)
  }

  #wait(ms: number): void {
    this.#timers.touch(this, Math.min(this.#timers.nowMs() + ms, this.#contentDueMs))
  }

  /** The wait begins anew: content has come, or another limit holds. */
  #awaitContent(): void {
    const { relay } = this.#source
    this.#steps = relay.steps
    this.#received = relay.received
    this.#waitMs = this.#contentWaitMs
    // An upstream that sends its head at once has not answered: the first event is waited for from the request on.
    const sinceMs = relay.received ? this.#timers.nowMs() : this.#control.sentMs
    this.#contentDueMs = this.#waitMs === 0 ? Infinity : sinceMs + this.#waitMs
  }

  /** Milliseconds; 0 = no limit. For more of a complete answer, between contents, for the first or the first event. */
  get #contentWaitMs(): number {
    const { relay } = this.#source
    if (relay.complete) return relay.quietMs ?? 0
    const { timeouts } = this.#deployment
    if (relay.started) return timeouts.contentMs
    return relay.received || this.#contentIsDueFirst ? timeouts.firstContentMs : timeouts.firstEventMs
  }

  /** Before the first event: content is waited for less long than an event. */
  get #contentIsDueFirst(): boolean {
    const { firstContentMs, firstEventMs } = this.#deployment.timeouts
    return firstContentMs > 0 && (firstEventMs === 0 || firstContentMs < firstEventMs)
  }

  #noContent(): GatewayError {
    const { started, received } = this.#source.relay
    const awaitsContent = received || this.#contentIsDueFirst
    const limit = started ? 'content_timeout' : awaitsContent ? 'first_content_timeout' : 'stream_timeout'
    const what = awaitsContent ? 'content' : 'event'
    return new GatewayError(
      'upstream-timeout',
      `the upstream sent no ${what} for ${this.#waitMs / 1000} s (\`${limit}\`)`,
    )
  }

  #pause(): void {
    this.#paused = true
    this.#source.body.pause()
    this.#timers.cancel(this)
  }

  #break(failure: GatewayError, last: Uint8Array | string, outcome: Outcome = 'upstream_cut'): void {
    this.#source.exchange.cancel()
    if (this.#phase === 'holding') {
      this.#timers.cancel(this)
      this.#phase = 'closed'
      return this.#reject(failure)
    }
    if (this.#phase === 'closed') return
    const error = judged(failure, this.#deployment, this.#control.call.attempt?.body)
    this.#control.settle(outcome, 200, error)
    const event = this.#source.relay.errorEvent(error)
    // Audio cannot carry an error: only a cut connection shows that it is incomplete.
    if (event === '') return this.#abort()
    this.#send(last)
    this.#send(event)
    this.#close()
  }

  #finish(): void {
    if (this.#phase === 'holding') this.#open()
    this.#close()
  }

  /** Some upstreams keep the connection open long after the terminal event: the client does not wait for that. */
  #endAhead(): void {
    const { exchange, body } = this.#source
    this.#finish()
    this.#drain = new UpstreamDrain(exchange, this.#timers)
    if (!this.#paused) return
    this.#paused = false
    body.resume()
  }

  /** The answer is complete, and its terminal event has not come. */
  get #isSilentlyComplete(): boolean {
    const { relay } = this.#source
    return relay.complete && relay.quietMs !== undefined
  }

  /** The answer is complete and the upstream is silent: the end of its bytes is not needed. */
  #endInSilence(): void {
    this.end()
    this.#source.exchange.cancel()
  }

  #abort(): void {
    this.#cut = true
    this.#close()
  }

  #close(): void {
    if (this.#phase === 'closed') return
    this.#phase = 'closed'
    this.#timers.cancel(this)
    if (this.#sink) this.#endSink(this.#sink)
  }

  #endSink(sink: AnswerSink): void {
    if (this.#cut) sink.abort()
    else sink.end()
  }
}
