/** Chooses deployments and tries them until one answers. */
import type { Call } from '../core/call.ts'
import type { Deployment, Timeouts } from '../core/deployment.ts'
import type { Reply } from '../core/answer.ts'
import { GatewayError, toGatewayError } from '../core/errors.ts'
import type { Transport, UpstreamExchange, UpstreamRequest, UpstreamResponse } from '../core/transport.ts'
import type { Clock } from '../lib/clock.ts'
import type { TimerWheel } from '../lib/timer-wheel.ts'
import { reportAttempt } from './admission.ts'
import type { CallPolicies } from './admission.ts'
import { planAttempt } from './lanes/attempt.ts'
import type { Answer, Attempt } from './lanes/attempt.ts'
import { Authorizer } from './authorize.ts'
import type { CallControl } from './call-control.ts'
import { Cooldowns } from './cooldown.ts'
import type { Cooldown } from './cooldown.ts'
import { blamesDeployment, readFault } from './upstream-fault.ts'
import { answerInProcess, inProcessExchange } from './lanes/in-process.ts'
import { streamingOf } from './lanes/streaming.ts'
import { openStream } from './lanes/stream-reply.ts'
import { checkedExchange } from './lanes/structured-output.ts'
import type { AnswerCheck } from './lanes/structured-output.ts'
import { recordUsage, writtenCharacters } from './usage.ts'

const answerBytesMax = 64 * 1024 * 1024
/** Retries on a deployment that already failed may be at most this share of all calls. */
const retryShare = 0.2
const retryBudgetMax = 20
const nothingTried: ReadonlySet<Deployment> = new Set()

interface RouterParts {
  readonly transport: Transport
  readonly timers: TimerWheel
  readonly clock: Clock
  /** A number in [0, 1): chooses among deployments by weight. */
  random(): number
  readonly policies: CallPolicies
  /** Called once per cooldown. */
  reportCooldown?(cooldown: Cooldown): void
}

/** Receives the result of a call: exactly one method is called, once. They must not throw. */
export interface ReplyReceiver {
  answered(reply: Reply): void
  failed(thrown: unknown): void
}

/**
 * One for all calls: they share the cooldowns, the upstreams' tokens, and the budget of retries on a deployment that
 * failed. Every call adds a fifth of a retry to the budget, up to 20.
 */
export class Router {
  readonly #parts: RouterParts
  readonly #cooldowns: Cooldowns
  readonly #authorizer: Authorizer
  #retryBudget = retryBudgetMax

  constructor(parts: RouterParts) {
    this.#parts = parts
    this.#cooldowns = new Cooldowns(parts.clock, parts.reportCooldown)
    this.#authorizer = new Authorizer(parts.transport, parts.clock)
  }

  /** Deployments in cooldown, which get calls only where there are no others. */
  coolingDown(): Deployment[] {
    return this.#cooldowns.coolingDown()
  }

  /**
   * Tries the call's candidates, then the fallbacks of its model. Fails with what the last attempt threw.
   * A call whose first attempt succeeds needs a single promise: each promise and each async function costs part of a
   * microsecond and hundreds of bytes.
   */
  run(control: CallControl, receiver: ReplyReceiver): void {
    const { candidates } = control.call
    this.#retryBudget = Math.min(this.#retryBudget + retryShare, retryBudgetMax)
    const first = this.#choose(candidates, nothingTried)
    if (!first) return this.#recoverFor(receiver, control, undefined)
    this.#attempt(control, first, {
      answered: reply => receiver.answered(reply),
      failed: thrown =>
        this.#recoverFor(receiver, control, { deployment: first, error: this.#failed(control, first, thrown) }),
    })
  }

  #recoverFor(receiver: ReplyReceiver, control: CallControl, failed: Failed | undefined): void {
    this.#recover(control, failed).then(
      reply => receiver.answered(reply),
      thrown => receiver.failed(thrown),
    )
  }

  /** Further attempts after the first one failed, or when no deployment was available. */
  async #recover(control: CallControl, failed: Failed | undefined): Promise<Reply> {
    try {
      return await this.#tryGroup(control, control.call.candidates, failed)
    } catch (thrown) {
      return await this.#fallBack(control, toGatewayError(thrown))
    }
  }

  /** A conversation that is too long needs a larger model; other temporary failures need any other model. */
  async #fallBack(control: CallControl, error: GatewayError): Promise<Reply> {
    const { call } = control
    const others = [...call.fallbacksInOrder]
    const larger = [...call.largerModels]
    let last = error
    for (;;) {
      const next =
        last.kind === 'context-too-long' ? larger.shift() : last.retry === 'never' ? undefined : others.shift()
      if (!next) throw last
      const { name, deployments } = next
      // Empty where no deployment of the model can be given the files of the call.
      const group = call.namedFiles ? await call.namedFiles.among(deployments, name).catch(() => []) : deployments
      if (group.length === 0) continue
      call.fallbacks++
      try {
        return await this.#tryGroup(control, group, undefined)
      } catch (thrown) {
        last = toGatewayError(thrown)
      }
    }
  }

  async #tryGroup(control: CallControl, group: readonly Deployment[], failed: Failed | undefined): Promise<Reply> {
    const { call } = control
    const tried = new Set<Deployment>(failed ? [failed.deployment] : [])
    let last = failed?.error
    if (last?.retry === 'never') throw last
    const retries = call.overrides.retries ?? call.models.settings.router.retries
    for (let attempt = failed ? 1 : 0; attempt <= retries; attempt++) {
      let deployment = this.#choose(group, tried)
      if (!deployment) {
        if (!last || !this.#mayRepeat(last)) break
        await Bun.sleep(100 + this.#parts.random() * 200 * attempt)
        deployment = group[Math.floor(this.#parts.random() * group.length)]!
      }
      if (tried.size > 0) call.retries = (call.retries ?? 0) + 1
      tried.add(deployment)
      try {
        return await new Promise((answered, failed) => this.#attempt(control, deployment, { answered, failed }))
      } catch (thrown) {
        last = this.#failed(control, deployment, thrown)
        if (last.retry === 'never') throw last
      }
    }
    throw last ?? this.#nothingAvailable(call, group)
  }

  #failed(control: CallControl, deployment: Deployment, thrown: unknown): GatewayError {
    const { call } = control
    control.failed(this.#parts.clock.monotonicMs())
    const error = toGatewayError(thrown)
    reportAttempt(this.#parts.policies, call, deployment, error)
    // A short timeout of one client must not cool the deployment down for all others.
    const ownTimeout = error.kind === 'upstream-timeout' && call.overrides.timeoutMs !== undefined
    if (blamesDeployment(error) && !ownTimeout) this.#cooldowns.failed(deployment, error, call.models.settings.router)
    return error
  }

  /** A retry on the same deployment helps only for temporary failures, and only within the retry budget. */
  #mayRepeat(error: GatewayError): boolean {
    const temporary =
      error.kind === 'upstream-failed' || error.kind === 'upstream-overloaded' || error.kind === 'upstream-unreachable'
    if (!temporary || this.#retryBudget < 1) return false
    this.#retryBudget -= 1
    return true
  }

  /** By order, then by weight, among those that were not tried and are not in cooldown. */
  #choose(group: readonly Deployment[], tried: ReadonlySet<Deployment>): Deployment | undefined {
    if (group.length === 1) {
      const only = group[0]!
      return tried.has(only) || this.#cooldowns.isRateLimited(only) ? undefined : only
    }
    let open = group.filter(one => !tried.has(one) && this.#cooldowns.remainingMs(one) === 0)
    if (open.length === 0) {
      // All are in cooldown: one of them may have recovered.
      open = group.filter(one => !tried.has(one) && !this.#cooldowns.isRateLimited(one))
      if (open.length === 0) return undefined
    }
    const first = Math.min(...open.map(one => one.order))
    open = open.filter(one => one.order === first)
    let at = this.#parts.random() * open.reduce((sum, one) => sum + one.weight, 0)
    return open.find(one => (at -= one.weight) < 0) ?? open[0]
  }

  #nothingAvailable(call: Call, group: readonly Deployment[]): GatewayError {
    const waits = group.map(one => this.#cooldowns.remainingMs(one))
    const retryAfterMs = waits.length > 0 ? Math.max(Math.min(...waits), 1000) : undefined
    return new GatewayError(
      'upstream-rate-limited',
      `every deployment of '${call.model}' is rate limited by its provider; try again later`,
      { retryAfterMs },
    )
  }

  #attempt(control: CallControl, deployment: Deployment, receiver: ReplyReceiver): void {
    const { call } = control
    const { timeoutMs } = call.overrides
    call.deployment = deployment
    call.attempts++
    let attempt: Attempt
    try {
      attempt = planAttempt(call, deployment, this.#parts.policies)
    } catch (error) {
      return receiver.failed(error)
    }
    call.dropped = attempt.dropped
    const limited =
      timeoutMs === undefined
        ? deployment
        : { ...deployment, timeouts: shortened(deployment.timeouts, call.stream, timeoutMs) }
    const exchange = attempt.check
      ? this.#sendChecked(call, attempt, attempt.check, limited)
      : this.#send(call, attempt, limited)
    control.setExchange(exchange, this.#parts.clock.monotonicMs())
    exchange.response.then(
      response => this.#answer(control, { attempt, exchange, response, deployment }, receiver),
      thrown => receiver.failed(thrown),
    )
  }

  #answer(control: CallControl, arrived: UpstreamAnswer, receiver: ReplyReceiver): void {
    const { response, deployment, attempt } = arrived
    const failed = (thrown: unknown): void => receiver.failed(thrown)
    if (response.status < 200 || response.status >= 300)
      return void readFault(deployment, response, this.#parts.clock.epochMs()).then(failed, failed)
    const { call } = control
    call.answered = true
    if (call.stream || attempt.streamed)
      return void this.#stream(control, arrived).then(reply => receiver.answered(reply), failed)
    const bytes = response.body.whole?.(answerBytesMax)
    if (bytes) return this.#whole(control, arrived, bytes, receiver)
    response.body.bytes(answerBytesMax).then(later => this.#whole(control, arrived, later, receiver), failed)
  }

  /** Appears as one exchange, also when the answer is requested again. */
  #sendChecked(call: Call, attempt: Attempt, check: AnswerCheck, deployment: Deployment): UpstreamExchange {
    const { timeouts } = deployment
    const { clock, timers } = this.#parts
    return checkedExchange(this.#send(call, attempt, deployment), {
      check,
      clock,
      timers,
      totalMs: timeouts.totalMs,
      send: (next, totalMs) =>
        this.#send(call, { ...attempt, ...next }, { ...deployment, timeouts: { ...timeouts, totalMs } }),
      fault: response => readFault(deployment, response, clock.epochMs()),
    })
  }

  #send(call: Call, attempt: Attempt, deployment: Deployment): UpstreamExchange {
    const { timeouts, target } = deployment
    const { provider } = target
    if (provider.answer) return inProcessExchange(answerInProcess(provider.answer, attempt, call))
    const request: UpstreamRequest = {
      method: 'POST',
      head: attempt.head,
      body: attempt.body,
      timeouts: call.stream ? { ...timeouts, firstByteMs: timeouts.streamFirstByteMs } : timeouts,
      proxies: deployment.proxies,
    }
    if (!provider.authorization) return this.#parts.transport.send(request)
    return deferredExchange(
      this.#authorizer
        .authorize(request, target, provider.authorization)
        .then(proven => this.#parts.transport.send(proven)),
    )
  }

  #whole(
    control: CallControl,
    { attempt, response, deployment }: UpstreamAnswer,
    bytes: Uint8Array,
    receiver: ReplyReceiver,
  ): void {
    let answer: Answer
    try {
      answer = attempt.answer(bytes, response)
    } catch (thrown) {
      return receiver.failed(thrown)
    }
    receiver.answered(this.#reply(control, deployment, answer))
  }

  #reply(control: CallControl, deployment: Deployment, answer: Answer): Reply {
    const { call } = control
    if (answer.usage) recordUsage(call, answer.usage)
    else call.answerCharacters = writtenCharacters(answer.body)
    const nowMs = this.#parts.clock.monotonicMs()
    call.firstByteMs = nowMs - call.startedMs
    control.answered(nowMs)
    this.#succeeded(call, deployment)
    return { status: 200, contentType: answer.contentType ?? 'application/json', body: answer.body }
  }

  #succeeded(call: Call, deployment: Deployment): void {
    this.#cooldowns.succeeded(deployment)
    reportAttempt(this.#parts.policies, call, deployment)
  }

  async #stream(control: CallControl, arrived: UpstreamAnswer): Promise<Reply> {
    const { attempt, exchange, response, deployment } = arrived
    const { call } = control
    const given = response.header('content-type') ?? ''
    const { body: bytes } = response
    const type = given.toLowerCase()
    if (!attempt.streamTypes.some(one => type.startsWith(one))) {
      throw new GatewayError(
        'upstream-broken',
        `the upstream was asked for a stream and answered with ${type || 'no content type'}`,
      )
    }
    const source = { exchange, body: bytes, relay: attempt.relay(type) }
    const { contentType, heartbeat } = streamingOf(call.format!, given)
    const body = await openStream(source, control, { timers: this.#parts.timers, heartbeat })
    control.answered(this.#parts.clock.monotonicMs())
    this.#succeeded(call, deployment)
    return { status: 200, contentType, body }
  }
}

/** An exchange that is sent later: a cancel before that prevents it. */
function deferredExchange(sending: Promise<UpstreamExchange>): UpstreamExchange {
  let cancelled = false
  let exchange: UpstreamExchange | undefined
  const response = sending.then(sent => {
    exchange = sent
    if (cancelled) sent.cancel()
    return sent.response
  })
  return {
    response,
    cancel() {
      cancelled = true
      exchange?.cancel()
    },
  }
}

interface UpstreamAnswer {
  readonly attempt: Attempt
  readonly exchange: UpstreamExchange
  readonly response: UpstreamResponse
  readonly deployment: Deployment
}

/** The previous attempt, and its error. */
interface Failed {
  readonly deployment: Deployment
  readonly error: GatewayError
}

/** 0 = no limit. The total time of a stream is limited by the operator alone. */
function shortened(timeouts: Timeouts, isStream: boolean, mostMs: number): Timeouts {
  const least = (ms: number): number => (ms === 0 ? mostMs : Math.min(ms, mostMs))
  const { firstByteMs, streamFirstByteMs, totalMs } = timeouts
  return {
    ...timeouts,
    firstByteMs: least(firstByteMs),
    streamFirstByteMs: least(streamFirstByteMs),
    totalMs: isStream ? totalMs : least(totalMs),
  }
}
