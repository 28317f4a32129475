/** One upstream call and all equal calls that wait for its answer: each of them gets it from its beginning. */
import type { AnswerSink, AnswerStream, Reply } from '../core/answer.ts'
import type { Call, CallInAdmission } from '../core/call.ts'
import type { ChatEvent } from '../core/hub/chat.ts'
import { GatewayError } from '../core/errors.ts'
import type { ChatFormat, EventWriter } from '../core/format.ts'
import { eventSize, replyOf } from './entry.ts'
import type { CachedContent } from './entry.ts'

/** How the answer ended, for those who follow it. */
interface FlightEnd {
  /** null = not known. Nano-dollars. */
  readonly costNanoUsd: bigint | null
}

/** Waits for the beginning of a stream, or for the whole answer. */
interface WaitingFollower {
  readonly call: CallInAdmission
  /** The answer, or undefined: the call has to go itself. */
  resolve(reply: Reply | undefined): void
}

/** In which the answer of the leader is: it waits, streams events, is complete, or failed. */
type FlightState = 'waiting' | 'flowing' | 'complete' | 'failed'

/** The answer while it arrives. `bytesMax` bounds what is held for those who follow. */
export class Flight {
  readonly #bytesMax: number
  /** Called once, when the last follower has left. */
  onDeserted: (() => void) | undefined
  #state: FlightState = 'waiting'
  /** Those from number `#first` on: the ones before were read by all, and no further call may follow. */
  #events: ChatEvent[] = []
  #first = 0
  #bytes = 0
  #waiting = new Set<WaitingFollower>()
  readonly #followers = new Set<FollowerStream>()
  #end: FlightEnd = { costNanoUsd: null }

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax
  }

  /** How many calls have, or will get, their answer from here. */
  get followerCount(): number {
    return this.#waiting.size + this.#followers.size
  }

  get followed(): boolean {
    return this.followerCount > 0
  }

  /** The answer is over, or too large to be given from its beginning any more: further calls go themselves. */
  get isClosed(): boolean {
    return this.#state === 'failed' || this.#state === 'complete' || this.#first > 0
  }

  /** The reply to an equal call; undefined = it has to go itself. Not for a closed flight. */
  follow(call: Call): Promise<Reply | undefined> {
    return new Promise(resolve => {
      const waiting: WaitingFollower = { call, resolve }
      this.#waiting.add(waiting)
      call.client.onLeft(() => {
        if (this.#waiting.delete(waiting)) this.#left()
      })
      if (this.#state === 'flowing') this.#startStreams()
    })
  }

  // ---- what the leader calls

  /** The beginning of a stream of events has arrived. */
  begin(): void {
    if (this.#state !== 'waiting') return
    this.#state = 'flowing'
    this.#startStreams()
  }

  add(events: readonly ChatEvent[]): void {
    if (this.#state !== 'flowing' || events.length === 0) return
    for (const event of events) {
      this.#events.push(event)
      this.#bytes += eventSize(event)
    }
    for (const follower of this.#followers) follower.more()
    if (this.#bytes > this.#bytesMax) this.#trim()
  }

  /** The answer is complete and passed. */
  complete(content: CachedContent, end: FlightEnd): void {
    if (this.#state === 'failed') return
    this.#state = 'complete'
    this.#end = end
    for (const follower of [...this.#followers]) follower.more()
    for (const { call, resolve } of this.#takeWaiting()) resolve(this.#replyFrom(call, content))
  }

  /** There will be no answer: those who have nothing yet go themselves, begun streams are cut. */
  fail(): void {
    if (this.#state === 'complete' || this.#state === 'failed') return
    this.#state = 'failed'
    for (const { resolve } of this.#takeWaiting()) resolve(undefined)
    for (const follower of [...this.#followers]) follower.cut()
    this.#followers.clear()
  }

  /** All events of the answer; undefined = its beginning is no longer held. */
  get events(): readonly ChatEvent[] | undefined {
    return this.#first === 0 ? this.#events : undefined
  }

  // ---- what the streams call

  get isComplete(): boolean {
    return this.#state === 'complete'
  }

  get costNanoUsd(): bigint | null {
    return this.#end.costNanoUsd
  }

  /** The events from number `at` on that are there. */
  from(at: number): readonly ChatEvent[] {
    return at === this.#first ? this.#events : this.#events.slice(at - this.#first)
  }

  gone(follower: FollowerStream): void {
    if (this.#followers.delete(follower)) this.#left()
  }

  // ---- inside

  #left(): void {
    if (!this.followed) this.onDeserted?.()
  }

  #takeWaiting(): Iterable<WaitingFollower> {
    const waiting = this.#waiting
    this.#waiting = new Set()
    return waiting
  }

  #replyFrom(call: CallInAdmission, content: CachedContent): Reply | undefined {
    const reply = tried(() => replyOf(call, content))
    if (!reply) return undefined
    call.cacheHit = 'shared'
    call.savedNanoUsd = this.#end.costNanoUsd
    return reply
  }

  #startStreams(): void {
    for (const waiting of this.#waiting) {
      const { call, resolve } = waiting
      const { format } = call
      if (!call.stream || !format || !('writer' in format)) continue
      const input = tried(() => call.input())
      if (input?.kind !== 'chat') continue
      this.#waiting.delete(waiting)
      const stream = new FollowerStream(this, call, format, format.writer(call.model, input.request))
      this.#followers.add(stream)
      call.cacheHit = 'shared'
      resolve({ status: 200, contentType: contentTypeOf(format), body: stream })
    }
  }

  /** Memory is bounded: what all have read is dropped, and who is too far behind the others is cut. */
  #trim(): void {
    for (const { resolve } of this.#takeWaiting()) resolve(undefined)
    let next = this.#first + this.#events.length
    for (const follower of this.#followers) next = Math.min(next, follower.at)
    this.#drop(next - this.#first)
    if (this.#bytes <= this.#bytesMax) return
    for (const follower of [...this.#followers])
      if (follower.at === this.#first) {
        this.#followers.delete(follower)
        follower.cut()
      }
    this.#drop(this.#events.length > 0 && this.#followers.size === 0 ? this.#events.length : 0)
  }

  #drop(count: number): void {
    if (count <= 0) return
    for (const event of this.#events.slice(0, count)) this.#bytes -= eventSize(event)
    this.#events = this.#events.slice(count)
    this.#first += count
  }
}

const contentTypeOf = ({ streaming }: ChatFormat): string =>
  typeof streaming === 'object' ? streaming.contentType : 'text/event-stream; charset=utf-8'

/** A follower that cannot be answered from here calls its upstream itself, and gets its own error. */
function tried<T>(ask: () => T): T | undefined {
  try {
    return ask()
  } catch {
    return undefined
  }
}

/** The stream of one follower, at its own pace. */
class FollowerStream implements AnswerStream {
  readonly #flight: Flight
  readonly #call: CallInAdmission
  readonly #format: ChatFormat
  readonly #writer: EventWriter
  #sink: AnswerSink | undefined
  #isOver = false
  #isCut = false
  /** The number of the next event to be written. */
  at = 0

  constructor(flight: Flight, call: Call, format: ChatFormat, writer: EventWriter) {
    this.#flight = flight
    this.#call = call
    this.#format = format
    this.#writer = writer
  }

  pipe(sink: AnswerSink): void {
    this.#sink = sink
    if (this.#isCut) this.#break(sink)
    else this.more()
  }

  resume(): void {
    this.more()
  }

  cancel(): void {
    this.#isOver = true
    this.#flight.gone(this)
  }

  /** Writes what is there, as far as the client takes it. */
  more(): void {
    const sink = this.#sink
    if (!sink || this.#isOver) return
    const events = this.#flight.from(this.at)
    let taken = 0
    while (taken < events.length && !sink.full) {
      const event = events[taken++]!
      this.at++
      const shown = event.type === 'start' ? { ...event, id: this.#call.id, model: this.#call.model } : event
      const text = this.#writer.write(shown)
      if (text !== '') sink.write(text)
    }
    if (taken < events.length || !this.#flight.isComplete) return
    this.#isOver = true
    this.#call.savedNanoUsd = this.#flight.costNanoUsd
    this.#flight.gone(this)
    const last = this.#writer.end()
    if (last !== '') sink.write(last)
    sink.end()
  }

  /** The answer breaks off. */
  cut(): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#isCut = true
    if (this.#sink) this.#break(this.#sink)
  }

  #break(sink: AnswerSink): void {
    const error = new GatewayError('upstream-broken', 'the shared answer broke off; send the request again')
    sink.write(this.#writer.fail?.(error) ?? this.#format.errorEvent(error))
    sink.abort()
  }
}
