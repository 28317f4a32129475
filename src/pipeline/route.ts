/** Chooses deployments and tries them until one answers: the innermost step of every call. */
import type { Call } from '../core/call.ts'
import type { Deployment, Timeouts } from '../core/deployment.ts'
import { GatewayError, toGatewayError } from '../core/errors.ts'
import type { Format } from '../core/format.ts'
import type { Policy, Reply } from '../core/policy.ts'
import type { RouterSettings } from '../core/settings.ts'
import type { Transport, UpstreamExchange, UpstreamRequest, UpstreamResponse } from '../core/transport.ts'
import { noOverrides } from '../core/overrides.ts'
import type { RequestOverrides } from '../core/overrides.ts'
import type { Clock } from '../lib/clock.ts'
import type { TimerWheel } from '../lib/timer-wheel.ts'
import { planAttempt, overridesOf } from './lanes/attempt.ts'
import type { Answer, Attempt } from './lanes/attempt.ts'
import { Authorizer } from './authorize.ts'
import type { CallControl } from './call-control.ts'
import { Cooldowns } from './cooldown.ts'
import type { Rest } from './cooldown.ts'
import { blamesDeployment, readFault } from './upstream-fault.ts'
import { answerInProcess, inProcessExchange } from './lanes/in-process.ts'
import { openStream } from './lanes/stream-reply.ts'
import { checkedExchange } from './lanes/structured-output.ts'
import type { AnswerCheck } from './lanes/structured-output.ts'
import { writtenCharacters } from './usage.ts'

const answerBytesMax = 64 * 1024 * 1024
/** Retries on a deployment that already failed may be at most this share of all calls. */
const retryShare = 0.2
const retryBudgetMax = 20
const nothingTried: ReadonlySet<Deployment> = new Set()
const nothingGranted: Granted = new Map()

interface RouterParts {
  readonly transport: Transport
  readonly timers: TimerWheel
  readonly clock: Clock
  /** A number in [0, 1): chooses among deployments by weight. */
  random(): number
  /** Finds the deployments of a call's model, or refuses it: asked for the models that a client names besides. */
  readonly access: Policy
  /** Told once a rest. */
  reportRest?(rest: Rest): void
}

interface RoutedCall {
  readonly control: CallControl
  readonly format: Format
  readonly settings: RouterSettings
  /** The deployments of a fallback's name. */
  resolve(model: string): readonly Deployment[]
}

/** Whoever waits for a reply: one of the two is called, once, and must not throw. */
export interface ReplyTaker {
  answered(reply: Reply): void
  failed(thrown: unknown): void
}

/** The deployments of the models that the client named as fallbacks, and may call. */
type Granted = ReadonlyMap<string, readonly Deployment[]>

/** A call on its way through the router, with what its client wants of it. */
interface Run extends RoutedCall {
  readonly overrides: RequestOverrides
  readonly granted: Granted
}

/**
 * One for all calls: they share what rests, the upstreams' tokens, and the budget of repeats on a deployment that
 * failed. Every call adds a fifth of a repeat to it, up to 20.
 */
export class Router {
  readonly #parts: RouterParts
  readonly #cooldowns: Cooldowns
  readonly #authorizer: Authorizer
  #retryBudget = retryBudgetMax

  constructor(parts: RouterParts) {
    this.#parts = parts
    this.#cooldowns = new Cooldowns(parts.clock, parts.reportRest)
    this.#authorizer = new Authorizer(parts.transport, parts.clock)
  }

  /** Deployments that get calls only where there are no others. */
  resting(): Deployment[] {
    return this.#cooldowns.resting()
  }

  /**
   * Tries the call's candidates, then the fallbacks of its model. Fails with what the last attempt threw.
   * The way of nearly every call, one attempt that succeeds, needs a single promise: each one, and each async
   * function, costs part of a microsecond and hundreds of bytes.
   */
  run({ control, format, settings, resolve }: RoutedCall, taker: ReplyTaker): void {
    let overrides: RequestOverrides
    try {
      overrides = overridesOf(control.call, format)
    } catch (error) {
      return taker.failed(error)
    }
    const run: Run = { control, format, settings, resolve, overrides, granted: nothingGranted }
    if (overrides === noOverrides) return this.#start(run, taker)
    this.#grant(control.call, overrides).then(
      granted => this.#start({ ...run, granted }, taker),
      thrown => taker.failed(thrown),
    )
  }

  #start(routed: Run, taker: ReplyTaker): void {
    const { candidates } = routed.control.call
    this.#retryBudget = Math.min(this.#retryBudget + retryShare, retryBudgetMax)
    const first = this.#choose(candidates, nothingTried)
    if (!first) return this.#recoverFor(taker, routed, undefined)
    this.#attempt(routed, first, {
      answered: reply => taker.answered(reply),
      failed: thrown =>
        this.#recoverFor(taker, routed, { deployment: first, error: this.#failed(routed, first, thrown) }),
    })
  }

  #recoverFor(taker: ReplyTaker, routed: Run, failed: Failed | undefined): void {
    this.#recover(routed, failed).then(
      reply => taker.answered(reply),
      thrown => taker.failed(thrown),
    )
  }

  /** Every model that the client names is asked for like the call's own, before anything is sent. */
  async #grant(call: Call, overrides: RequestOverrides): Promise<Granted> {
    const granted = new Map<string, readonly Deployment[]>()
    const grant = async (field: string, names: readonly string[]): Promise<void> => {
      for (const model of names) {
        const asked: Call = { ...call, model }
        try {
          await this.#parts.access.admit?.(asked)
        } catch (thrown) {
          const { kind, message } = toGatewayError(thrown)
          throw new GatewayError(kind, `${field}: ${message}`, { param: field, cause: thrown })
        }
        granted.set(model, asked.candidates)
      }
    }
    await grant('fallbacks', overrides.fallbacks ?? [])
    await grant('context_window_fallback_dict', largerModels(call.model, overrides))
    return granted
  }

  /** What is left after the first attempt failed, or found nothing to try. */
  async #recover(routed: Run, failed: Failed | undefined): Promise<Reply> {
    try {
      return await this.#tryGroup(routed, routed.control.call.candidates, failed)
    } catch (thrown) {
      return await this.#fallBack(routed, toGatewayError(thrown))
    }
  }

  /** A conversation that is too long needs a larger model; other failures that may pass need any other. */
  async #fallBack(routed: Run, error: GatewayError): Promise<Reply> {
    const {
      overrides,
      settings,
      control: { call },
    } = routed
    const others = [...(overrides.fallbacks ?? settings.fallbacks[call.model] ?? settings.fallbacks['*'] ?? [])]
    const larger = largerModels(call.model, overrides)
    let last = error
    for (;;) {
      const name =
        last.kind === 'context-too-long' ? larger.shift() : last.retry === 'never' ? undefined : others.shift()
      if (name === undefined) throw last
      const found = routed.granted.get(name) ?? routed.resolve(name)
      const group = call.namedFiles ? await call.namedFiles.among(found, name).catch(() => []) : found
      // A model that cannot be given the files of the call is no help.
      if (call.namedFiles && group.length === 0) continue
      call.fallbacks++
      try {
        return await this.#tryGroup(routed, group, undefined)
      } catch (thrown) {
        last = toGatewayError(thrown)
      }
    }
  }

  async #tryGroup(routed: Run, group: readonly Deployment[], failed: Failed | undefined): Promise<Reply> {
    const tried = new Set<Deployment>(failed ? [failed.deployment] : [])
    let last = failed?.error
    if (last?.retry === 'never') throw last
    const retries = routed.overrides.retries ?? routed.settings.retries
    for (let attempt = failed ? 1 : 0; attempt <= retries; attempt++) {
      let deployment = this.#choose(group, tried)
      if (!deployment) {
        if (!last || !this.#mayRepeat(last)) break
        await Bun.sleep(100 + this.#parts.random() * 200 * attempt)
        deployment = group[Math.floor(this.#parts.random() * group.length)]!
      }
      if (tried.size > 0) routed.control.call.retries = (routed.control.call.retries ?? 0) + 1
      tried.add(deployment)
      try {
        return await new Promise((answered, failed) => this.#attempt(routed, deployment, { answered, failed }))
      } catch (thrown) {
        last = this.#failed(routed, deployment, thrown)
        if (last.retry === 'never') throw last
      }
    }
    throw last ?? this.#nothingAvailable(routed.control.call, group)
  }

  #failed(routed: Run, deployment: Deployment, thrown: unknown): GatewayError {
    routed.control.failed(this.#parts.clock.monotonicMs())
    const error = toGatewayError(thrown)
    // Whoever does not want to wait must not make a deployment rest for all others.
    const isImpatient = error.kind === 'upstream-timeout' && routed.overrides.timeoutMs !== undefined
    if (blamesDeployment(error) && !isImpatient) this.#cooldowns.failed(deployment, error, routed.settings)
    return error
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

  #attempt(routed: Run, deployment: Deployment, taker: ReplyTaker): void {
    const { control, format, overrides } = routed
    const { call } = control
    call.deployment = deployment
    call.attempts++
    let attempt: Attempt
    try {
      attempt = planAttempt(call, format, deployment, overrides)
    } catch (error) {
      return taker.failed(error)
    }
    call.dropped = attempt.dropped
    const limited =
      overrides.timeoutMs === undefined
        ? deployment
        : { ...deployment, timeouts: shortened(deployment.timeouts, call.stream, overrides.timeoutMs) }
    const exchange = attempt.check
      ? this.#sendChecked(call, attempt, attempt.check, limited)
      : this.#send(call, attempt, limited)
    control.carries(exchange, this.#parts.clock.monotonicMs())
    exchange.response.then(
      response => this.#answer(control, { attempt, exchange, response, deployment, format }, taker),
      thrown => taker.failed(thrown),
    )
  }

  #answer(control: CallControl, arrived: Arrived, taker: ReplyTaker): void {
    const { response, deployment, attempt } = arrived
    const failed = (thrown: unknown): void => taker.failed(thrown)
    if (response.status < 200 || response.status >= 300)
      return void readFault(deployment, response, this.#parts.clock.epochMs()).then(failed, failed)
    const { call } = control
    call.answered = true
    if (call.stream || attempt.streamed)
      return void this.#stream(control, arrived).then(reply => taker.answered(reply), failed)
    const bytes = response.body.whole?.(answerBytesMax)
    if (bytes) return this.#whole(control, arrived, bytes, taker)
    response.body.bytes(answerBytesMax).then(later => this.#whole(control, arrived, later, taker), failed)
  }

  /** One exchange to everyone else, even when the answer has to be asked for again. */
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

  #whole(control: CallControl, { attempt, response, deployment }: Arrived, bytes: Uint8Array, taker: ReplyTaker): void {
    let answer: Answer
    try {
      answer = attempt.answer(bytes, response)
    } catch (thrown) {
      return taker.failed(thrown)
    }
    taker.answered(this.#reply(control, deployment, answer))
  }

  #reply(control: CallControl, deployment: Deployment, answer: Answer): Reply {
    const { call } = control
    if (answer.usage) {
      call.usage = answer.usage
      call.usageSource = 'upstream'
    } else call.answerCharacters = writtenCharacters(answer.body)
    const nowMs = this.#parts.clock.monotonicMs()
    call.firstByteMs = nowMs - call.startedMs
    control.answered(nowMs)
    this.#cooldowns.succeeded(deployment)
    return { status: 200, contentType: answer.contentType ?? 'application/json', body: answer.body }
  }

  async #stream(control: CallControl, arrived: Arrived): Promise<Reply> {
    const { attempt, exchange, response, deployment, format } = arrived
    const given = response.header('content-type') ?? ''
    const type = given.toLowerCase()
    if (!attempt.streamTypes.some(one => type.startsWith(one))) {
      throw new GatewayError(
        'upstream-broken',
        `the upstream was asked for a stream and answered with ${type || 'no content type'}`,
      )
    }
    const source = { exchange, body: response.body, relay: attempt.relay(type) }
    const { contentType, heartbeat } = streamingOf(format, given)
    const body = await openStream(source, control, { timers: this.#parts.timers, heartbeat })
    control.answered(this.#parts.clock.monotonicMs())
    this.#cooldowns.succeeded(deployment)
    return { status: 200, contentType, body }
  }
}

/** The model for conversations that are too long for this one, the model for those too long for that one, and so on. */
function largerModels(model: string, { contextFallbacks }: RequestOverrides): string[] {
  const names: string[] = []
  for (let at = contextFallbacks?.get(model); at !== undefined; at = contextFallbacks?.get(at)) {
    if (at === model || names.includes(at)) break
    names.push(at)
  }
  return names
}

function streamingOf({ streaming = eventStream }: Format, given: string): { contentType: string; heartbeat: string } {
  if (streaming !== 'as-upstream') return streaming
  return {
    contentType: given,
    heartbeat: given.toLowerCase().startsWith('text/event-stream') ? eventStream.heartbeat : '',
  }
}

/** An exchange that is not on its way yet: a cancel before that stops it from ever leaving. */
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

interface Arrived {
  readonly attempt: Attempt
  readonly exchange: UpstreamExchange
  readonly response: UpstreamResponse
  readonly deployment: Deployment
  readonly format: Format
}

const eventStream = { contentType: 'text/event-stream; charset=utf-8', heartbeat: ': keep-alive\n\n' }

/** The attempt before, and why it failed. */
interface Failed {
  readonly deployment: Deployment
  readonly error: GatewayError
}

/** 0 is no limit. A stream may go on for as long as the operator lets it. */
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
