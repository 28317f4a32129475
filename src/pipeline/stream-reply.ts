/** A streamed answer: pushed from the upstream's socket through the relay into the client's response. */
import { GatewayError, toGatewayError } from '../core/errors.ts'
import type { StreamRelay } from '../core/format.ts'
import type { BodySink, UpstreamBody, UpstreamExchange } from '../core/transport.ts'
import { TimerEntry } from '../lib/timer-wheel.ts'
import type { TimerWheel } from '../lib/timer-wheel.ts'
import type { CallControl } from './control.ts'
import { recordProgress } from './usage.ts'

/** Pieces the client may lag behind before the upstream is paused; at most 64 KiB each. */
const piecesAhead = 16
/** Held back until content is seen, so that an early failure can still go to another deployment. */
const holdBytesMax = 256 * 1024
const holdMs = 2000
const heartbeatMs = 15_000
const stallMs = 60_000

export interface StreamSource {
  readonly exchange: UpstreamExchange
  readonly body: UpstreamBody
  readonly relay: StreamRelay
}

/**
 * Holds the stream back until its first content, then hands it over. The promise rejects with what
 * broke before that point: nothing has been sent and the router may try elsewhere.
 */
export function openStream(
  source: StreamSource,
  control: CallControl,
  upkeep: Upkeep,
): Promise<ReadableStream<Uint8Array>> {
  const pump = new StreamPump(source, control, upkeep)
  return pump.opened
}

export interface Upkeep {
  readonly timers: TimerWheel
  /** Sent to a client that has heard nothing for a while; means nothing in its dialect. Empty = nothing may be sent. */
  readonly heartbeat: string
}

type Phase = 'holding' | 'flowing' | 'closed'

/** Its one timer guards what the phase is waiting for: content, the next heartbeat, or a client that reads. */
class StreamPump extends TimerEntry implements BodySink {
  readonly opened: Promise<ReadableStream<Uint8Array>>
  readonly #source: StreamSource
  readonly #control: CallControl
  readonly #timers: TimerWheel
  readonly #heartbeat: string
  #phase: Phase = 'holding'
  #held: Uint8Array[] = []
  #heldBytes = 0
  #resolve!: (stream: ReadableStream<Uint8Array>) => void
  #reject!: (error: GatewayError) => void
  #controller!: ReadableStreamDefaultController<Uint8Array>
  #paused = false
  #ended = false

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
    this.#wait(holdMs)
    source.body.pipe(this)
  }

  data(bytes: Uint8Array): void {
    if (this.#phase === 'closed') return
    const { relay } = this.#source
    const out = relay.push(bytes)
    if (relay.failure) return this.#break(relay.failure, out)
    recordProgress(this.#control.call, relay)
    // What tells the client that it has everything may only go out after the record is safe.
    if (relay.terminated) this.#settleSuccess()
    this.#send(out)
    if (this.#phase === 'holding' && (relay.started || relay.complete || this.#heldBytes > holdBytesMax))
      this.#open()
  }

  end(): void {
    if (this.#phase === 'closed') return
    const { relay } = this.#source
    const out = relay.end()
    if (relay.failure) return this.#break(relay.failure, out)
    recordProgress(this.#control.call, relay)
    this.#settleSuccess()
    this.#send(out)
    this.#ended = true
    if (this.#phase === 'holding') this.#open()
    else this.#close()
  }

  fail(error: GatewayError): void {
    // After the terminal event a cut connection takes nothing away from the client.
    if (this.#source.relay.terminated) return this.#close()
    this.#break(error, '')
  }

  #settleSuccess(): void {
    this.#control.settle('success', 200)
  }

  #send(out: Uint8Array | string): void {
    if (out.length === 0) return
    const bytes = typeof out === 'string' ? Buffer.from(out, 'utf8') : out
    if (this.#phase === 'holding') {
      this.#held.push(bytes)
      this.#heldBytes += bytes.length
      return
    }
    this.#controller.enqueue(bytes)
    if (!this.#paused && (this.#controller.desiredSize ?? 1) <= 0) this.#pause()
    else if (!this.#paused) this.#wait(heartbeatMs)
  }

  /** Headers go out: from here on the client sees whatever happens. */
  #open(): void {
    if (this.#phase !== 'holding') return
    const stream = new ReadableStream<Uint8Array>(
      {
        start: controller => {
          this.#controller = controller
        },
        pull: () => this.#resume(),
        cancel: () => this.#control.clientLeft(),
      },
      { highWaterMark: piecesAhead },
    )
    this.#phase = 'flowing'
    const { call } = this.#control
    if (call.firstByteMs < 0) call.firstByteMs = performance.now() - call.startedMs
    for (const bytes of this.#held) this.#controller.enqueue(bytes)
    this.#held = []
    if (this.#ended) this.#close()
    else this.#wait(heartbeatMs)
    this.#resolve(stream)
  }

  #wait(ms: number): void {
    this.#timers.touch(this, this.#timers.nowMs() + ms)
  }

  override expired(): void {
    if (this.#phase === 'holding') {
      if (this.#control.left) this.#phase = 'closed'
      else if (this.#heldBytes > 0) this.#open()
    } else if (this.#phase === 'flowing' && !this.#control.settled) {
      if (this.#paused) return this.#stalled()
      if (this.#heartbeat) this.#controller.enqueue(Buffer.from(this.#heartbeat))
      this.#wait(heartbeatMs)
    }
  }

  #pause(): void {
    this.#paused = true
    this.#source.body.pause()
    this.#wait(stallMs)
  }

  #resume(): void {
    if (!this.#paused) return
    this.#paused = false
    // Sooner than the stall's deadline: the entry has to be filed anew.
    this.#timers.cancel(this)
    this.#wait(heartbeatMs)
    this.#source.body.resume()
  }

  /** A client that reads nothing for a minute is gone; it must not keep an upstream busy. */
  #stalled(): void {
    this.#phase = 'closed'
    this.#control.clientLeft()
    this.#controller.error(new Error('the client stopped reading'))
  }

  #break(error: GatewayError, last: Uint8Array | string): void {
    this.#source.exchange.cancel()
    if (this.#phase === 'holding') {
      this.#timers.cancel(this)
      this.#phase = 'closed'
      return this.#reject(error)
    }
    if (this.#phase === 'closed') return
    recordProgress(this.#control.call, this.#source.relay)
    this.#control.settle('upstream_cut', 200, error)
    const event = this.#source.relay.errorEvent(error)
    // Audio has no words for an error: a cut connection is the only way to say that it is not complete.
    if (event === '') return this.#abort(error)
    this.#send(last)
    this.#send(event)
    this.#close()
  }

  #abort(error: GatewayError): void {
    this.#phase = 'closed'
    this.#timers.cancel(this)
    this.#controller.error(error)
  }

  #close(): void {
    if (this.#phase === 'closed') return
    this.#phase = 'closed'
    this.#timers.cancel(this)
    try {
      this.#controller.close()
    } catch (cause) {
      // The client has left in this very turn and the stream is already cancelled.
      void toGatewayError(cause)
    }
  }
}
