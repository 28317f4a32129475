/** A streamed answer: pushed from the upstream's socket through the relay into the client's response. */
import type { AnswerSink, AnswerStream } from '../../core/answer.ts'
import type { Outcome } from '../../core/operation.ts'
import type { GatewayError } from '../../core/errors.ts'
import type { StreamRelay } from '../../core/format.ts'
import type { BodySink, UpstreamBody, UpstreamExchange } from '../../core/transport.ts'
import { TimerEntry } from '../../lib/timer-wheel.ts'
import type { TimerWheel } from '../../lib/timer-wheel.ts'
import type { CallControl } from '../call-control.ts'
import { Remainder, silenceMs } from './upstream-drain.ts'
import { recordProgress } from '../usage.ts'

/** Held back until content is seen, so that an early failure can still go to another deployment. */
const holdBytesMax = 256 * 1024
const holdMs = 2000
const heartbeatMs = 15_000

interface StreamSource {
  readonly exchange: UpstreamExchange
  readonly body: UpstreamBody
  readonly relay: StreamRelay
}

/**
 * Holds the stream back until its first content, then hands it over. The promise rejects with what
 * broke before that point: nothing has been sent and the router may try elsewhere.
 */
export function openStream(source: StreamSource, control: CallControl, upkeep: Upkeep): Promise<AnswerStream> {
  const pump = new StreamPump(source, control, upkeep)
  return pump.opened
}

interface Upkeep {
  readonly timers: TimerWheel
  /** Sent to a client that has heard nothing for a while; means nothing in its dialect. Empty = nothing may be sent. */
  readonly heartbeat: string
}

type Phase = 'holding' | 'flowing' | 'closed'

/**
 * Its one timer guards what the phase is waiting for: content, or the next heartbeat. A client that reads nothing is
 * the connection's matter, which sees every byte that goes out.
 */
class StreamPump extends TimerEntry implements BodySink, AnswerStream {
  readonly opened: Promise<AnswerStream>
  readonly #source: StreamSource
  readonly #control: CallControl
  readonly #timers: TimerWheel
  readonly #heartbeat: string
  readonly #beganMs: number
  #phase: Phase = 'holding'
  /** Waits for content, and then for whoever takes the stream. */
  #held: (Uint8Array | string)[] = []
  #heldBytes = 0
  /** The upstream has sent something, if only what no client gets to see. */
  #heard = false
  #resolve!: (stream: AnswerStream) => void
  #reject!: (error: GatewayError) => void
  #sink: AnswerSink | undefined
  #paused = false
  #cut = false
  /** Set when the upstream has said its last word, but its bytes have not ended yet. */
  #remainder: Remainder | undefined

  constructor(source: StreamSource, control: CallControl, { timers, heartbeat }: Upkeep) {
    super()
    this.#source = source
    this.#control = control
    this.#timers = timers
    this.#heartbeat = heartbeat
    this.opened = new Promise((resolve, reject) => {
      this.#resolve = resolve
      this.#reject = reject
    })
    this.#beganMs = timers.nowMs()
    this.#wait(holdMs)
    source.body.pipe(this)
  }

  // ---- what the client's connection calls

  pipe(sink: AnswerSink): void {
    this.#sink = sink
    const held = this.#held
    this.#held = []
    for (const piece of held) sink.write(piece)
    if (this.#phase === 'closed') this.#over(sink)
  }

  resume(): void {
    if (!this.#paused) return
    this.#paused = false
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
    // The client has everything; what is left of the upstream's bytes is for nobody.
    if (this.#source.relay.terminated) return this.#remainder?.cancel()
    this.#break(error, '', 'interrupted')
  }

  // ---- what the upstream's connection calls

  data(bytes: Uint8Array): void {
    if (this.#phase === 'closed') return this.#remainder?.data(bytes)
    this.#heard = true
    const { relay } = this.#source
    const out = relay.push(bytes)
    if (relay.failure) return this.#break(relay.failure, out)
    recordProgress(this.#control.call, relay)
    // What tells the client that it has everything may only go out after the record is safe.
    if (relay.terminated) this.#settleSuccess()
    this.#send(out)
    if (this.#phase === 'holding' && (relay.started || relay.complete || this.#heldBytes > holdBytesMax)) this.#open()
    if (relay.terminated) this.#endAhead()
    else if (this.#isOverUnsaid && !this.#paused) this.#wait(silenceMs)
  }

  end(): void {
    if (this.#phase === 'closed') return this.#remainder?.over()
    const { relay } = this.#source
    const out = relay.end()
    if (relay.failure) return this.#break(relay.failure, out)
    recordProgress(this.#control.call, relay)
    this.#settleSuccess()
    this.#send(out)
    this.#finish()
  }

  fail(error: GatewayError): void {
    // After the terminal event a cut connection takes nothing away from the client.
    if (this.#phase === 'closed') return this.#remainder?.over()
    // The deployment's own limit came before ours: it is the same silence.
    if (this.#isOverUnsaid && error.kind === 'upstream-timeout') return this.end()
    this.#break(error, '')
  }

  override expired(): void {
    if (this.#phase === 'holding') {
      this.#holdOn()
    } else if (this.#phase === 'flowing' && !this.#control.settled && !this.#paused) {
      if (this.#isOverUnsaid) return this.#endUnsaid()
      if (this.#heartbeat) this.#sink?.write(this.#heartbeat)
      this.#wait(heartbeatMs)
    }
  }

  // ---- inside

  /**
   * A model that thinks, or reads a long prompt, says nothing for minutes, and proxies before the gateway give up on
   * silence sooner: once it is heard of, or after the time of a heartbeat, the client gets its headers.
   */
  #holdOn(): void {
    if (this.#control.left) this.#phase = 'closed'
    else if (this.#heard || this.#heldMs() >= heartbeatMs) this.#open()
    else if (this.#heartbeat) this.#wait(heartbeatMs - holdMs)
  }

  #heldMs(): number {
    return this.#timers.nowMs() - this.#beganMs
  }

  #settleSuccess(): void {
    this.#began()
    this.#control.settle('success', 200)
  }

  /** The client's first byte: it goes out as soon as this turn is over. */
  #began(): void {
    const { call } = this.#control
    if (call.firstByteMs < 0) call.firstByteMs = performance.now() - call.startedMs
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

  /** Headers go out: from here on the client sees whatever happens. */
  #open(): void {
    this.#phase = 'flowing'
    this.#control.stream = this
    this.#began()
    this.#wait(heartbeatMs)
    this.#resolve(this)
  }

  #wait(ms: number): void {
    this.#timers.touch(this, this.#timers.nowMs() + ms)
  }

  #pause(): void {
    this.#paused = true
    this.#source.body.pause()
    this.#timers.cancel(this)
  }

  #break(error: GatewayError, last: Uint8Array | string, outcome: Outcome = 'upstream_cut'): void {
    this.#source.exchange.cancel()
    if (this.#phase === 'holding') {
      this.#timers.cancel(this)
      this.#phase = 'closed'
      // No other attempt follows: what this one has used is all that the call has.
      if (error.retry === 'never') recordProgress(this.#control.call, this.#source.relay)
      return this.#reject(error)
    }
    if (this.#phase === 'closed') return
    recordProgress(this.#control.call, this.#source.relay)
    this.#control.settle(outcome, 200, error)
    const event = this.#source.relay.errorEvent(error)
    // Audio has no words for an error: a cut connection is the only way to say that it is not complete.
    if (event === '') return this.#abort()
    this.#send(last)
    this.#send(event)
    this.#close()
  }

  #finish(): void {
    if (this.#phase === 'holding') this.#open()
    this.#close()
  }

  /** Some upstreams keep their connection open long after their last word: no client waits for that. */
  #endAhead(): void {
    const { exchange, body } = this.#source
    this.#finish()
    this.#remainder = new Remainder(exchange, this.#timers)
    if (!this.#paused) return
    this.#paused = false
    body.resume()
  }

  /** All is there, and no event will say so. */
  get #isOverUnsaid(): boolean {
    const { relay } = this.#source
    return relay.endsSilently === true && relay.complete
  }

  /** All is there, and the upstream says no more: its bytes need not end. */
  #endUnsaid(): void {
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
    if (this.#sink) this.#over(this.#sink)
  }

  #over(sink: AnswerSink): void {
    if (this.#cut) sink.abort()
    else sink.end()
  }
}
