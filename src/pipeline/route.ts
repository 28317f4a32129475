/** Chooses deployments and tries them until one answers: the innermost step of every call. */
import type { Call } from '../core/call.ts'
import type { Deployment } from '../core/deployment.ts'
import { GatewayError, toGatewayError } from '../core/errors.ts'
import type { Format } from '../core/format.ts'
import type { Reply } from '../core/policy.ts'
import type { RouterSettings } from '../core/settings.ts'
import type { Transport, UpstreamExchange, UpstreamResponse } from '../core/transport.ts'
import type { Clock } from '../lib/clock.ts'
import type { TimerWheel } from '../lib/timer-wheel.ts'
import { planAttempt } from './attempt.ts'
import type { Attempt } from './attempt.ts'
import type { CallControl } from './control.ts'
import { Cooldowns } from './cooldown.ts'
import { blamesDeployment, readFault } from './fault.ts'
import { inProcessExchange } from './in-process.ts'
import { openStream } from './stream-reply.ts'

const answerBytesMax = 64 * 1024 * 1024
/** Retries on a deployment that already failed may be at most this share of all calls. */
const retryShare = 0.2
const retryBudgetMax = 20

export interface RouterParts {
  readonly transport: Transport
  readonly timers: TimerWheel
  readonly clock: Clock
  /** A number in [0, 1): chooses among deployments by weight. */
  random(): number
}

export interface RoutedCall {
  readonly control: CallControl
  readonly format: Format
  readonly settings: RouterSettings
  /** The deployments of a fallback's name. */
  resolve(model: string): readonly Deployment[]
}

export class Router {
  readonly #parts: RouterParts
  readonly #cooldowns: Cooldowns
  #retryBudget = retryBudgetMax

  constructor(parts: RouterParts) {
    this.#parts = parts
    this.#cooldowns = new Cooldowns(parts.clock)
  }

  /** Tries the call's candidates, then the fallbacks of its model. Throws what the last attempt threw. */
  async run(routed: RoutedCall): Promise<Reply> {
    const { call } = routed.control
    this.#retryBudget = Math.min(this.#retryBudget + retryShare, retryBudgetMax)
    try {
      return await this.#tryGroup(routed, call.candidates)
    } catch (thrown) {
      const names = routed.settings.fallbacks[call.model] ?? routed.settings.fallbacks['*'] ?? []
      let last = toGatewayError(thrown)
      for (const name of names) {
        if (last.retry === 'never') break
        call.fallbacks++
        try {
          return await this.#tryGroup(routed, routed.resolve(name))
        } catch (error) {
          last = toGatewayError(error)
        }
      }
      throw last
    }
  }

  async #tryGroup(routed: RoutedCall, group: readonly Deployment[]): Promise<Reply> {
    const tried = new Set<Deployment>()
    let last: GatewayError | undefined
    for (let attempt = 0; attempt <= routed.settings.retries; attempt++) {
      let deployment = this.#choose(group, tried)
      if (!deployment) {
        if (!last || !this.#mayRepeat(last)) break
        await Bun.sleep(100 + this.#parts.random() * 200 * attempt)
        deployment = group[Math.floor(this.#parts.random() * group.length)]!
      }
      tried.add(deployment)
      try {
        const reply = await this.#attempt(routed, deployment)
        this.#cooldowns.succeeded(deployment)
        return reply
      } catch (thrown) {
        last = toGatewayError(thrown)
        if (blamesDeployment(last)) this.#cooldowns.failed(deployment, last, routed.settings)
        if (last.retry === 'never') throw last
      }
    }
    throw last ?? this.#nothingAvailable(routed.control.call, group)
  }

  /** The same deployment again helps only against a passing failure, and only within the retry budget. */
  #mayRepeat(error: GatewayError): boolean {
    const passing =
      error.kind === 'upstream-failed' || error.kind === 'upstream-overloaded' || error.kind === 'upstream-unreachable'
    if (!passing || this.#retryBudget < 1) return false
    this.#retryBudget -= 1
    return true
  }

  /** By order, then by weight, among those that were not tried and do not rest. */
  #choose(group: readonly Deployment[], tried: ReadonlySet<Deployment>): Deployment | undefined {
    if (group.length === 1) {
      const only = group[0]!
      return tried.has(only) || this.#cooldowns.isRateLimited(only) ? undefined : only
    }
    let open = group.filter(one => !tried.has(one) && this.#cooldowns.restMs(one) === 0)
    if (open.length === 0) {
      // Everything rests: better a deployment that may have recovered than no answer.
      open = group.filter(one => !tried.has(one) && !this.#cooldowns.isRateLimited(one))
      if (open.length === 0) return undefined
    }
    const first = Math.min(...open.map(one => one.order))
    open = open.filter(one => one.order === first)
    let at = this.#parts.random() * open.reduce((sum, one) => sum + one.weight, 0)
    return open.find(one => (at -= one.weight) < 0) ?? open[0]
  }

  #nothingAvailable(call: Call, group: readonly Deployment[]): GatewayError {
    const waits = group.map(one => this.#cooldowns.restMs(one))
    const retryAfterMs = waits.length > 0 ? Math.max(Math.min(...waits), 1000) : undefined
    return new GatewayError(
      'upstream-rate-limited',
      `every deployment of '${call.model}' is rate limited by its provider; try again later`,
      { retryAfterMs },
    )
  }

  async #attempt(routed: RoutedCall, deployment: Deployment): Promise<Reply> {
    const { control, format } = routed
    const { call } = control
    call.deployment = deployment
    call.attempts++
    const attempt = planAttempt(call, format, deployment)
    call.dropped = attempt.dropped
    const exchange = this.#send(attempt, deployment, call.stream)
    const sentMs = this.#parts.clock.monotonicMs()
    try {
      const response = await control.wait(exchange, exchange.response)
      if (response.status < 200 || response.status >= 300)
        throw await control.wait(exchange, readFault(deployment, response, this.#parts.clock.epochMs()))
      call.answered = true
      return call.stream
        ? await this.#stream(control, { attempt, exchange, response })
        : await this.#whole(control, { attempt, exchange, response })
    } catch (error) {
      exchange.cancel()
      throw error
    } finally {
      call.upstreamMs += this.#parts.clock.monotonicMs() - sentMs
    }
  }

  #send(attempt: Attempt, deployment: Deployment, stream: boolean): UpstreamExchange {
    const { timeouts, target } = deployment
    const { provider } = target
    if (provider.answer) {
      const text = Buffer.concat(attempt.body as Uint8Array[]).toString('utf8')
      return inProcessExchange(provider.answer(attempt.head, JSON.parse(text)))
    }
    return this.#parts.transport.send({
      method: 'POST',
      head: attempt.head,
      body: attempt.body,
      timeouts: stream ? { ...timeouts, firstByteMs: timeouts.streamFirstByteMs } : timeouts,
    })
  }

  async #whole(control: CallControl, arrived: Arrived): Promise<Reply> {
    const { call } = control
    const bytes = await control.wait(arrived.exchange, arrived.response.body.bytes(answerBytesMax))
    const answer = arrived.attempt.answer(bytes)
    if (answer.usage) {
      call.usage = answer.usage
      call.usageSource = 'upstream'
    }
    call.firstByteMs = this.#parts.clock.monotonicMs() - call.startedMs
    call.bytesOut = answer.body.length
    return { status: 200, contentType: 'application/json', body: answer.body }
  }

  async #stream(control: CallControl, arrived: Arrived): Promise<Reply> {
    const { attempt, exchange, response } = arrived
    const type = response.header('content-type') ?? ''
    if (!type.toLowerCase().startsWith('text/event-stream')) {
      throw new GatewayError(
        'upstream-broken',
        `the upstream was asked for a stream and answered with ${type || 'no content type'}`,
      )
    }
    const source = { exchange, body: response.body, relay: attempt.relay() }
    const body = await control.wait(exchange, openStream(source, control, this.#parts.timers))
    return { status: 200, contentType: 'text/event-stream; charset=utf-8', body }
  }
}

interface Arrived {
  readonly attempt: Attempt
  readonly exchange: UpstreamExchange
  readonly response: UpstreamResponse
}
