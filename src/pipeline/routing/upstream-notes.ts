/** Remembers what calls show of their upstreams. Per process, and gone with it. */
import { LRUCache } from 'lru-cache'
import type { Deployment } from '../../core/deployment.ts'
import type { GatewayError } from '../../core/errors.ts'
import type { UpstreamResponse } from '../../core/transport.ts'
import type { UpstreamFailure, UpstreamNote, UpstreamRateLimit } from '../../core/upstream-notes.ts'
import type { Clock } from '../../lib/clock.ts'
import { tickClock } from '../../lib/end-of-tick.ts'
import { entryLimit } from '../../lib/entry-limit.ts'
import { rateLimitsIn } from './rate-limit-headers.ts'

/** Of one deployment; more are of no use to a person, and each would cost its call a microsecond. */
const readEveryMs = 250
const messageLengthMax = 500

interface DeploymentNote extends UpstreamNote {
  /** The monotonic time at which headers were read last. */
  readMs: number
  limits: readonly UpstreamRateLimit[]
  limitsAtMs: number | null
  failure: UpstreamFailure | null
}

/** By the id of the deployment: a pattern stands for one account with many models. */
export class NotesOfUpstreams {
  readonly #clock: Clock
  readonly #notes = new LRUCache<string, DeploymentNote>(entryLimit(10_000))

  constructor(clock: Clock = tickClock) {
    this.#clock = clock
  }

  noteOf(deploymentId: string): UpstreamNote | undefined {
    return this.#notes.peek(deploymentId)
  }

  /** The head of an answer has arrived, of a failure too: that of a limit says most. */
  answered({ id }: Deployment, response: UpstreamResponse): void {
    const nowMs = this.#clock.monotonicMs()
    const note = this.#notes.get(id)
    if (note && response.status < 400 && nowMs - note.readMs < readEveryMs) return
    this.#read(id, note, response, nowMs)
  }

  /** Apart from `answered`: what a closure captures is allocated whenever its function is entered. */
  #read(id: string, note: DeploymentNote | undefined, response: UpstreamResponse, nowMs: number): void {
    const atMs = this.#clock.epochMs()
    const limits = rateLimitsIn(name => response.header(name), atMs)
    if (!note) return void this.#notes.set(id, this.#new(nowMs, limits))
    note.readMs = nowMs
    if (limits.length === 0) return
    note.limits = limits
    note.limitsAtMs = atMs
  }

  /** An attempt failed, and it was the deployment's failure. */
  failed({ id }: Deployment, { kind, message }: GatewayError): void {
    const note = this.#notes.get(id) ?? this.#new(-Infinity, [])
    note.failure = { atMs: this.#clock.epochMs(), kind, message: message.slice(0, messageLengthMax) }
    this.#notes.set(id, note)
  }

  #new(readMs: number, limits: readonly UpstreamRateLimit[]): DeploymentNote {
    return { readMs, limits, limitsAtMs: limits.length > 0 ? this.#clock.epochMs() : null, failure: null }
  }
}
