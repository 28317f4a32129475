/** One attempt at one deployment, from its limits to its answer, and what is counted of it. */
import type { CloudCredentials } from '../../clouds/cloud-credentials.ts'
import type { Call, RunningCall } from '../../core/call.ts'
import { credentialFor } from '../../core/client-credential.ts'
import type { Deployment, DeploymentRateLimits } from '../../core/deployment.ts'
import type { Reply } from '../../core/answer.ts'
import { GatewayError, toGatewayError } from '../../core/errors.ts'
import type { FaultKind } from '../../core/errors.ts'
import { streamingOf } from '../../core/format.ts'
import type { Outcome } from '../../core/hub/operation.ts'
import { clientClosed } from '../../core/request.ts'
import type { Transport, UpstreamExchange, UpstreamResponse } from '../../core/transport.ts'
import type { Clock } from '../../lib/clock.ts'
import type { TimerWheel } from '../../lib/timer-wheel.ts'
import { AttemptRecord } from '../attempt-record.ts'
import { reportAttempt } from '../admission/admission.ts'
import type { CallPolicies } from '../admission/admission.ts'
import { planAttempt } from '../lanes/attempt.ts'
import type { WholeAnswer, PlannedAttempt } from '../lanes/attempt-parts.ts'
import type { AttemptListener, CallControl } from '../call-control.ts'
import { AlikeFailures } from './alike-failures.ts'
import { AttemptSender } from './attempt-sender.ts'
import type { Cooldowns } from './cooldown.ts'
import type { DeploymentLimits } from './deployment-limits.ts'
import type { DeploymentStats } from './deployment-stats.ts'
import type { SessionPins } from './session-pins.ts'
import type { ReplyReceiver } from '../reply-receiver.ts'
import {
  blamesDeployment,
  callersFault,
  errorInstead,
  isOfAccount,
  judged,
  readFault,
} from '../upstream/upstream-fault.ts'
import { openStream } from '../lanes/stream-reply.ts'
import type { NotesOfUpstreams } from './upstream-notes.ts'
import { isSuccess, recordUnusableAnswer, recordUsage } from '../settlement/usage.ts'
import { noteWholeAnswer } from '../settlement/usage-estimate.ts'

const answerBytesMax = 64 * 1024 * 1024

/** What attempts are made with. */
export interface AttemptParts {
  readonly transport: Transport
  readonly timers: TimerWheel
  readonly clock: Clock
  readonly policies: CallPolicies
  readonly credentials: CloudCredentials
  /** Called at the end of each attempt; `error` is undefined when its answer is complete. */
  countAttempt?(deployment: Deployment, error: FaultKind | undefined): void
}

/** What attempts leave behind, and the choice of deployments reads. */
export interface DeploymentRecords {
  readonly cooldowns: Cooldowns
  readonly notes: NotesOfUpstreams
  readonly stats: DeploymentStats
  readonly limits: DeploymentLimits
  readonly pins: SessionPins
}

/** Those of all calls. Each one that begins ends once: by its reply, by `failed`, or by `ended`. */
export class DeploymentAttempts implements AttemptListener {
  readonly #parts: AttemptParts
  readonly #cooldowns: Cooldowns
  readonly #notes: NotesOfUpstreams
  readonly #stats: DeploymentStats
  readonly #limits: DeploymentLimits
  readonly #pins: SessionPins
  readonly #sender: AttemptSender
  readonly #alike = new AlikeFailures()

  constructor(parts: AttemptParts, { cooldowns, notes, stats, limits, pins }: DeploymentRecords) {
    this.#parts = parts
    this.#cooldowns = cooldowns
    this.#notes = notes
    this.#stats = stats
    this.#limits = limits
    this.#pins = pins
    this.#sender = new AttemptSender(parts)
  }

  /** Tries one deployment, if its own limits have room: the receiver hears the reply, or what was thrown. */
  begin(control: CallControl, deployment: Deployment, receiver: ReplyReceiver): void {
    if (deployment.rateLimits) this.#beginWithin(deployment.rateLimits, control, deployment, receiver)
    else this.#send(control, deployment, receiver)
  }

  /** An attempt at a deployment with limits, if they have room for it. */
  #beginWithin(
    limits: DeploymentRateLimits,
    control: CallControl,
    deployment: Deployment,
    receiver: ReplyReceiver,
  ): void {
    const next = (hasRoom: boolean): void => {
      if (hasRoom && !control.left) return this.#send(control, deployment, receiver)
      this.#limits.ended(control, undefined)
      receiver.failed(hasRoom ? clientClosed() : new LimitReached())
    }
    const taken = this.#limits.take(deployment, limits, control, control.call)
    if (typeof taken === 'boolean') next(taken)
    else void taken.then(next)
  }

  #send(control: CallControl, deployment: Deployment, receiver: ReplyReceiver): void {
    const { call } = control
    const isCallers = credentialFor(call, deployment) !== undefined
    const record = (call.attempt = new AttemptRecord(deployment, call.progress.model, isCallers))
    call.progress.attempts++
    control.attempting = this
    this.#cooldowns.begin(deployment, control)
    const { strategy } = call.models.settings.router
    if (strategy) this.#stats.begin(deployment, control, call, strategy)
    let attempt: PlannedAttempt
    try {
      attempt = planAttempt(call, deployment, this.#parts.policies)
    } catch (thrown) {
      const error = toGatewayError(thrown)
      call.progress.sentMs = 0
      return receiver.failed(error.kind === 'internal' || error.retry !== 'never' ? error : new Unsuitable(error))
    }
    record.dropped = attempt.dropped
    record.isSeries = attempt.check?.isSeries === true
    const exchange = this.#sender.send(call, attempt, deployment)
    control.setExchange(exchange, this.#parts.clock.monotonicMs())
    exchange.response.then(
      response => this.#answer(control, { attempt, exchange, response, deployment }, receiver),
      thrown => receiver.failed(thrown),
    )
  }

  #answer(control: CallControl, arrived: UpstreamAnswer, receiver: ReplyReceiver): void {
    const { response, deployment, attempt } = arrived
    const record = control.call.attempt!
    record.status = response.status
    // What is left at the caller's account says nothing of the gateway's.
    if (!record.isCallers) this.#notes.answered(deployment, response)
    const { tierHeader } = deployment.target.provider
    if (tierHeader !== undefined) record.answeredTier = response.header(tierHeader)
    if (!isSuccess(response.status)) return this.#fault(arrived, receiver)
    if (control.call.stream || attempt.streamed) return this.#streamTo(control, arrived, receiver)
    const bytes = response.body.whole?.(answerBytesMax)
    if (bytes) this.#whole(control, arrived, bytes, receiver)
    else this.#wholeLater(control, arrived, receiver)
  }

  /** Apart from `#answer`, as what follows: what a closure captures is allocated whenever its function is entered. */
  #fault({ deployment, response, attempt }: UpstreamAnswer, receiver: ReplyReceiver): void {
    const failed = (thrown: unknown): void => receiver.failed(thrown)
    readFault(deployment, response, this.#parts.clock.epochMs(), attempt.body).then(failed, failed)
  }

  #streamTo(control: CallControl, arrived: UpstreamAnswer, receiver: ReplyReceiver): void {
    this.#stream(control, arrived).then(
      reply => receiver.answered(reply),
      thrown => receiver.failed(thrown),
    )
  }

  #wholeLater(control: CallControl, arrived: UpstreamAnswer, receiver: ReplyReceiver): void {
    arrived.response.body.bytes(answerBytesMax).then(
      later => this.#whole(control, arrived, later, receiver),
      thrown => receiver.failed(thrown),
    )
  }

  #whole(control: CallControl, arrived: UpstreamAnswer, bytes: Uint8Array, receiver: ReplyReceiver): void {
    const { attempt, response, deployment } = arrived
    let answer: WholeAnswer
    try {
      answer = attempt.answer(bytes, response)
    } catch (thrown) {
      recordUnusableAnswer(control.call, bytes, thrown)
      return receiver.failed(errorInstead(thrown, bytes))
    }
    if (attempt.late) this.#late(control, arrived, { bytes, answer }, receiver)
    else receiver.answered(this.#reply(control, deployment, answer))
  }

  /** The text of the answer is still being made. */
  #late(
    control: CallControl,
    { attempt, deployment }: UpstreamAnswer,
    { bytes, answer }: { readonly bytes: Uint8Array; readonly answer: WholeAnswer },
    receiver: ReplyReceiver,
  ): void {
    attempt.late!.text().then(
      body => receiver.answered(this.#reply(control, deployment, { ...answer, body })),
      thrown => {
        recordUnusableAnswer(control.call, bytes, thrown)
        receiver.failed(thrown)
      },
    )
  }

  #reply(control: CallControl, deployment: Deployment, answer: WholeAnswer): Reply {
    const { call } = control
    recordUsage(call, answer.usage, answer.answeredModel)
    noteWholeAnswer(call, answer.body, answer.usage)
    this.#used(control, call)
    const nowMs = this.#parts.clock.monotonicMs()
    call.progress.firstByteMs = nowMs - call.startedMs
    control.answered(nowMs)
    control.attempting = undefined
    this.#cooldowns.completed(deployment, control)
    this.#pins.served(call, deployment)
    this.#stats.answered(control, answer.usage?.outputTokens ?? 0)
    this.#over(control, deployment, undefined)
    reportAttempt(this.#parts.policies, call, { deployment, attempt: call.attempt!, error: undefined })
    return { status: 200, contentType: answer.contentType ?? 'application/json', body: answer.body }
  }

  async #stream(control: CallControl, arrived: UpstreamAnswer): Promise<Reply> {
    const { attempt, exchange, response, deployment } = arrived
    const { call } = control
    const given = response.header('content-type') ?? ''
    const { body: bytes } = response
    const type = given.toLowerCase()
    if (!attempt.streamTypes.some(one => type.startsWith(one))) {
      // Audio has no other form: its JSON is no answer.
      const isReadable = type.includes('json') && !attempt.streamed
      const whole = isReadable ? await bytes.bytes(answerBytesMax) : undefined
      throw unstreamedFault(call, attempt, response, whole)
    }
    const source = { exchange, body: bytes, relay: attempt.relay(type), late: attempt.late }
    const { contentType, heartbeat } = streamingOf(call.format!, given)
    const body = await openStream(source, control, {
      timers: this.#parts.timers,
      deployment,
      heartbeat,
    })
    control.answered(this.#parts.clock.monotonicMs())
    this.#stats.answered(control, 0)
    this.#pins.served(call, deployment)
    // Its end is reported by `ended`; a short stream is already over.
    if (control.attempting) this.#cooldowns.began(deployment, control)
    reportAttempt(this.#parts.policies, call, { deployment, attempt: call.attempt!, error: undefined })
    return { status: 200, contentType, body }
  }

  /** The end of the attempt under way, of which nothing was said before: a stream's, or that of a client that left. */
  ended(control: CallControl, outcome: Outcome, error: GatewayError | undefined): void {
    const { call } = control
    const deployment = call.attempt?.deployment
    control.attempting = undefined
    if (!deployment) return
    this.#used(control, call)
    if (outcome === 'success') this.#cooldowns.completed(deployment, control)
    else if (outcome === 'upstream_cut' && error && blamesDeployment(error) && !isCallersFault(call, error)) {
      this.#cooldowns.failed(deployment, control, { error, settings: call.models.settings.router, cut: true })
      this.#notes.failed(deployment, error)
    } else this.#cooldowns.released(deployment, control)
    this.#over(control, deployment, error?.kind)
  }

  /**
   * Counts an attempt that has failed with `thrown`; returns what the call fails with if no other attempt helps. A
   * receiver that hears of a failure calls it once.
   */
  failed(control: CallControl, deployment: Deployment, thrown: unknown): GatewayError {
    const { call } = control
    this.#used(control, thrown instanceof Unsuitable ? undefined : call)
    const attempt = call.attempt!
    const { body: sent, status = 0 } = attempt
    const endedMs = this.#parts.clock.monotonicMs()
    control.failed(endedMs)
    const own = credentialFor(call, deployment)
    const fault = judged(thrown instanceof Unsuitable ? thrown.error : thrown, deployment, sent)
    const error = own ? callersFault(fault, own) : fault
    if (!(thrown instanceof Unsuitable)) {
      const { attempts: number, sentMs } = call.progress
      const failed = { number, deployment, status, error, sentMs, endedMs }
      call.failedAttempts = [...(call.failedAttempts ?? []), failed]
    }
    reportAttempt(this.#parts.policies, call, { deployment, attempt, error })
    // After the end of the call nothing more is counted: its client has left.
    if (!control.attempting) return error
    control.attempting = undefined
    // A short timeout of one client must not cool the deployment down for all others.
    const ownTimeout = error.kind === 'upstream-timeout' && call.overrides.timeoutMs !== undefined
    if (this.#isRequests(control, deployment, error)) this.#cooldowns.released(deployment, control)
    else if (blamesDeployment(error) && !ownTimeout && !(own && isOfAccount(error))) {
      this.#cooldowns.failed(deployment, control, { error, settings: call.models.settings.router })
      error.retryAfterMs = this.#cooldowns.waitMs(deployment, error)
      this.#notes.failed(deployment, error)
    } else this.#cooldowns.released(deployment, control)
    if (ownTimeout) this.#stats.ended(control, 'client-closed')
    this.#over(control, deployment, error.kind)
    return error
  }

  /** Several deployments have failed in the same words. Nothing of it counts for a cooldown, nor is it tried again. */
  #isRequests(control: CallControl, deployment: Deployment, error: GatewayError): boolean {
    const earlier = this.#alike.earlier(control, deployment, error)
    if (earlier.length === 0 || !this.#cooldowns.forgive(deployment, control)) return false
    if (earlier.length === 1) this.#cooldowns.forgive(earlier[0]!, control)
    error.isRequests = true
    return true
  }

  /** The tokens of an attempt that ends, before `#over`; `call` undefined = nothing was sent. */
  #used(control: CallControl, call: Call | undefined): void {
    this.#limits.ended(control, call)
    this.#stats.used(control, call)
  }

  #over(control: CallControl, deployment: Deployment, error: FaultKind | undefined): void {
    this.#stats.ended(control, error)
    this.#parts.countAttempt?.(deployment, error)
  }
}

const isCallersFault = ({ attempt }: Call, error: GatewayError): boolean =>
  attempt?.isCallers === true && isOfAccount(error)

interface UpstreamAnswer {
  readonly attempt: PlannedAttempt
  readonly exchange: UpstreamExchange
  readonly response: UpstreamResponse
  readonly deployment: Deployment
}

/**
 * Thrown in place of an attempt that was not made, as the deployment cannot take the request: another deployment of the
 * name may serve the call. Holds its refusal.
 */
export class Unsuitable {
  readonly error: GatewayError

  constructor(error: GatewayError) {
    this.error = error
  }
}

/** Thrown in place of an attempt that was not made, as the deployment has no room for it within its limits. */
export class LimitReached {}

/**
 * The error of an upstream that was asked for a stream and answered otherwise: that which the whole answer reports,
 * else that of its media type. What it has used is recorded; `bytes` absent = it is not read, and nothing of it is owed
 * but the input (docs/decisions/0012).
 */
function unstreamedFault(
  call: RunningCall,
  attempt: PlannedAttempt,
  response: UpstreamResponse,
  bytes: Uint8Array | undefined,
): GatewayError {
  if (bytes) {
    const reported = faultIn(call, attempt, response, bytes)
    if (reported) return reported
  } else call.attempt!.answerCharacters = 0
  const given = response.header('content-type')?.toLowerCase() || 'no content type'
  return new GatewayError('upstream-broken', `the upstream was asked for a stream and answered with ${given}`)
}

/** Undefined = the answer is whole, or cannot be read. */
function faultIn(
  call: Call,
  attempt: PlannedAttempt,
  response: UpstreamResponse,
  bytes: Uint8Array,
): GatewayError | undefined {
  try {
    const { body, usage } = attempt.answer(bytes, response)
    recordUsage(call, usage)
    noteWholeAnswer(call, body, usage)
    return undefined
  } catch (thrown) {
    recordUnusableAnswer(call, bytes, thrown)
    const error = errorInstead(thrown, bytes)
    return error instanceof GatewayError && error.kind !== 'upstream-broken' ? error : undefined
  }
}
