/**
 * How many attempts are under way at deployments, how fast these answer, and the tokens of their last minute: for
 * strategies that choose by it.
 */
import { LRUCache } from 'lru-cache'
import type { Call } from '../../core/call.ts'
import type { Deployment } from '../../core/deployment.ts'
import type { FaultKind } from '../../core/errors.ts'
import type { RoutingStrategy } from '../../core/settings.ts'
import type { Clock } from '../../lib/clock.ts'
import { entryLimit } from '../../lib/entry-limit.ts'
import { SlidingWindow } from '../../lib/sliding-window.ts'
import { tokensOfAttempt } from '../settlement/usage-estimate.ts'
import { upstreamKey } from './cooldown.ts'
import type { AttemptAt } from './cooldown.ts'

/** Weight of a new time in the mean: about the last ten answers count. */
const newShare = 0.2

interface MeanTime {
  /** Of a stream until its first content; of a whole answer for each output token, where these are known. */
  ms: number
  /** When the last one was measured, on the monotonic clock; -Infinity = none was. */
  measuredMs: number
}

interface Load {
  running: number
  readonly ofStreams: MeanTime
  readonly ofWholeAnswers: MeanTime
  /** Undefined = no strategy has asked for them. */
  tokens: SlidingWindow | undefined
}

interface Running {
  readonly load: Load
  readonly isStream: boolean
  isMeasured: boolean
  /** What was counted at `beganMs`; undefined = tokens are not. */
  readonly inputTokens: number | undefined
  readonly beganMs: number
}

/**
 * Per process. Only attempts of calls whose settings have a strategy are counted; while there are none, the others cost
 * a comparison. An attempt that has begun is counted until its end, also when the strategy is changed meanwhile.
 */
export class DeploymentStats {
  readonly #clock: Clock
  readonly #loads = new LRUCache<string, Load>(entryLimit(10_000))
  readonly #running = new Map<AttemptAt, Running>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  begin(deployment: Deployment, attempt: AttemptAt, call: Call, { by }: RoutingStrategy): void {
    const key = upstreamKey(deployment)
    let load = this.#loads.get(key)
    if (!load) this.#loads.set(key, (load = newLoad()))
    load.running++
    const beganMs = this.#clock.monotonicMs()
    const inputTokens = by === 'usage-based-routing' ? call.estimatedInputTokens() : undefined
    if (inputTokens !== undefined) {
      load.tokens ??= new SlidingWindow(beganMs)
      load.tokens.advance(beganMs)
      load.tokens.add(inputTokens)
    }
    this.#running.set(attempt, { load, isStream: call.stream, isMeasured: false, inputTokens, beganMs })
  }

  /** Before `ended`, and before the call begins a next attempt; `call` undefined = nothing was sent. */
  used(attempt: AttemptAt, call: Call | undefined): void {
    const running = this.#running.size === 0 ? undefined : this.#running.get(attempt)
    if (running?.inputTokens === undefined) return
    const { load, inputTokens, beganMs } = running
    const times = { atMs: beganMs, nowMs: this.#clock.monotonicMs() }
    load.tokens!.correct(inputTokens, call ? tokensOfAttempt(call, inputTokens) : 0, times)
  }

  /** A whole answer is there, or a stream has its first content. */
  answered(attempt: AttemptAt, outputTokens: number): void {
    const running = this.#running.size === 0 ? undefined : this.#running.get(attempt)
    if (running) this.#measure(running, attempt, running.isStream ? 1 : Math.max(outputTokens, 1))
  }

  /** `error` undefined = the answer is complete. A timeout counts as an answer that took so long. */
  ended(attempt: AttemptAt, error: FaultKind | undefined): void {
    const running = this.#running.size === 0 ? undefined : this.#running.get(attempt)
    if (!running) return
    this.#running.delete(attempt)
    running.load.running--
    // A short stream may be over before its first content is reported.
    if (!running.isMeasured && (error === undefined || error === 'upstream-timeout')) this.#measure(running, attempt, 1)
  }

  runningAt(deployment: Deployment): number {
    return this.#find(deployment)?.running ?? 0
  }

  /** Of the last minute, those of calls under way estimated by their input. */
  tokensAt(deployment: Deployment): number {
    const tokens = this.#find(deployment)?.tokens
    tokens?.advance(this.#clock.monotonicMs())
    return tokens?.total ?? 0
  }

  /** Milliseconds; undefined = nothing was measured in the last `forgetMs`. */
  meanTimeOf(deployment: Deployment, isStream: boolean, forgetMs: number): number | undefined {
    const load = this.#find(deployment)
    if (!load) return undefined
    const mean = isStream ? load.ofStreams : load.ofWholeAnswers
    return this.#clock.monotonicMs() - mean.measuredMs > forgetMs ? undefined : mean.ms
  }

  #find(deployment: Deployment): Load | undefined {
    return this.#loads.get(upstreamKey(deployment))
  }

  #measure(running: Running, { sentMs }: AttemptAt, parts: number): void {
    const nowMs = this.#clock.monotonicMs()
    const mean = running.isStream ? running.load.ofStreams : running.load.ofWholeAnswers
    const ms = (nowMs - sentMs) / parts
    mean.ms = mean.measuredMs === -Infinity ? ms : mean.ms + (ms - mean.ms) * newShare
    mean.measuredMs = nowMs
    running.isMeasured = true
  }
}

const newLoad = (): Load => ({
  running: 0,
  ofStreams: unmeasured(),
  ofWholeAnswers: unmeasured(),
  tokens: undefined,
})
const unmeasured = (): MeanTime => ({ ms: 0, measuredMs: -Infinity })
