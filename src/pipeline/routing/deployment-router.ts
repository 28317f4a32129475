/** Chooses deployments and tries them until one answers. */
import type { Call, FallbackModel } from '../../core/call.ts'
import type { Deployment, DeploymentRateLimits } from '../../core/deployment.ts'
import type { Reply } from '../../core/answer.ts'
import type { GatewayError } from '../../core/errors.ts'
import { toGatewayError } from '../../core/errors.ts'
import type { FaultKind } from '../../core/errors.ts'
import type { Outcome } from '../../core/hub/operation.ts'
import { clientClosed } from '../../core/request.ts'
import type { Limiter } from '../../core/tenancy/limits.ts'
import type { UpstreamNotes } from '../../core/upstream-notes.ts'
import type { Transport, UpstreamExchange, UpstreamResponse } from '../../core/transport.ts'
import type { Clock } from '../../lib/clock.ts'
import type { TimerWheel } from '../../lib/timer-wheel.ts'
import { reportAttempt } from '../admission/admission.ts'
import type { CallPolicies } from '../admission/admission.ts'
import { hasRoom, isAdmitted, isModelAdmitted } from '../admission/attempt-admission.ts'
import { planAttempt } from '../lanes/attempt.ts'
import type { Answer, Attempt } from '../lanes/attempt-parts.ts'
import type { AttemptListener, CallControl } from '../call-control.ts'
import { AttemptSender } from './attempt-sender.ts'
import { Cooldowns } from './cooldown.ts'
import type { Cooldown } from './cooldown.ts'
import { DeploymentChoice } from './deployment-choice.ts'
import { DeploymentLimits } from './deployment-limits.ts'
import { DeploymentLoads } from './deployment-loads.ts'
import { FirstAttempt } from '../reply-receiver.ts'
import type { ReplyReceiver } from '../reply-receiver.ts'
import { retriesAfter, retriesByPolicy } from './error-policies.ts'
import { LimitReached, Unsuitable } from './passed-over.ts'
import { RetryBudgets } from './retry-budget.ts'
import { shortened } from './shortened-timeouts.ts'
import { unstreamedFault } from './unstreamed-fault.ts'
import { blamesDeployment, cleanFault, deploymentFault, readFault } from './upstream-fault.ts'
import { streamingOf } from '../lanes/streaming.ts'
import { openStream } from '../lanes/stream-reply.ts'
import { NotesOfUpstreams } from './upstream-notes.ts'
import { isSuccess, recordUnusableAnswer, recordUsage } from '../settlement/usage.ts'
import { noteWholeAnswer } from '../settlement/usage-estimate.ts'

const answerBytesMax = 64 * 1024 * 1024
/** Before an attempt at a deployment that has failed. */
const backOffMs = 100
/** Chosen at random, and multiplied by the number of attempts before. */
const backOffSpreadMs = 200
/** Until the end of a cooldown, where the operator grants a retry after it: none is longer. */
const waitMsMax = 61_000
const temporary: ReadonlySet<FaultKind> = new Set(['upstream-failed', 'upstream-overloaded', 'upstream-unreachable'])
const nothingTried: ReadonlySet<Deployment> = new Set()

interface RouterParts {
  readonly transport: Transport
  readonly timers: TimerWheel
  readonly clock: Clock
  /** Counts what deployments with limits of their own take. */
  readonly limiter: Pick<Limiter, 'take'>
  /** A number in [0, 1): chooses among deployments by weight. */
  random(): number
  readonly policies: CallPolicies
  /** An administrator has switched the deployment off, now and not only when the call began. */
  isBlocked(deploymentId: string): boolean
  /** Called once per cooldown. */
  reportCooldown?(cooldown: Cooldown): void
  /** Called at the end of each attempt; `error` is undefined when its answer is complete. */
  countAttempt?(deployment: Deployment, error: FaultKind | undefined): void
  /** Called when a call goes on to another model; both are configured names. */
  countFallback?(from: string, to: string): void
}

/** One for all calls: they share the cooldowns, the upstreams' tokens, and the retry budgets. */
export class Router implements AttemptListener {
  readonly #parts: RouterParts
  readonly #cooldowns: Cooldowns
  readonly #notes: NotesOfUpstreams
  readonly #loads: DeploymentLoads
  readonly #limits: DeploymentLimits
  readonly #choice: DeploymentChoice
  readonly #budgets: RetryBudgets
  readonly #sender: AttemptSender

  constructor(parts: RouterParts) {
    this.#parts = parts
    this.#cooldowns = new Cooldowns(parts.clock, parts.reportCooldown)
    this.#notes = new NotesOfUpstreams()
    this.#loads = new DeploymentLoads(parts.clock)
    this.#limits = new DeploymentLimits(parts.limiter, parts.clock)
    const { random, isBlocked } = parts
    const known = { cooldowns: this.#cooldowns, loads: this.#loads, limits: this.#limits }
    this.#choice = new DeploymentChoice({ ...known, random, isBlocked })
    this.#budgets = new RetryBudgets(parts.clock)
    this.#sender = new AttemptSender(parts)
  }

  /** Deployments in cooldown, which get calls only where there are no others; `unwell`: also those behind theirs. */
  readonly coolingDown = (): Deployment[] => this.#cooldowns.coolingDown()
  readonly unwell = (): Deployment[] => this.#cooldowns.unwell()

  /** What calls have shown of the upstreams; read while they go on. */
  get upstreams(): UpstreamNotes {
    return { noteOf: id => this.#notes.noteOf(id), cooldowns: () => this.#cooldowns.held() }
  }

  /**
   * Tries the call's candidates, then the fallbacks of its model. Fails with what the last attempt threw.
   * A call whose first attempt succeeds needs a single promise: each promise and each async function costs part of a
   * microsecond and hundreds of bytes.
   */
  run(control: CallControl, receiver: ReplyReceiver): void {
    const { call } = control
    const { candidates } = call
    this.#budgets.called(candidates[0]!.modelName)
    const first = this.#choice.available(call, candidates, nothingTried)
    if (!first) return this.#recoverFor(receiver, control, undefined)
    this.#attempt(control, first, new FirstAttempt(control, first, receiver, this.#recoverFirst))
  }

  readonly #recoverFirst = ({ control, deployment, receiver }: FirstAttempt, thrown: unknown): void => {
    if (thrown instanceof LimitReached) return this.#recoverFor(receiver, control, undefined)
    const error = this.#failed(control, deployment, thrown)
    this.#recoverFor(receiver, control, { deployment, error, isPassedOver: thrown instanceof Unsuitable })
  }

  /** The end of the attempt under way, of which nothing was said before: a stream's, or that of a client that left. */
  ended(control: CallControl, outcome: Outcome, error: GatewayError | undefined): void {
    const { call } = control
    const { deployment } = call
    control.attempting = undefined
    if (!deployment) return
    this.#used(control, call)
    if (outcome === 'success') this.#cooldowns.completed(deployment, control)
    else if (outcome === 'upstream_cut' && error && blamesDeployment(error)) {
      this.#cooldowns.failed(deployment, control, { error, settings: call.models.settings.router, cut: true })
      this.#notes.failed(deployment, error)
    } else this.#cooldowns.released(deployment, control)
    this.#over(control, deployment, error?.kind)
  }

  /** The tokens of an attempt that ends, before `#over`; `call` undefined = nothing was sent. */
  #used(control: CallControl, call: Call | undefined): void {
    this.#limits.ended(control, call)
    this.#loads.used(control, call)
  }

  #over(control: CallControl, deployment: Deployment, error: FaultKind | undefined): void {
    this.#loads.ended(control, error)
    this.#parts.countAttempt?.(deployment, error)
  }

  #recoverFor(receiver: ReplyReceiver, control: CallControl, failed: FailedAttempt | undefined): void {
    this.#recover(control, failed).then(
      reply => receiver.answered(reply),
      thrown => receiver.failed(thrown),
    )
  }

  /** Further attempts after the first one failed, or when no deployment was available. */
  async #recover(control: CallControl, failed: FailedAttempt | undefined): Promise<Reply> {
    const { call } = control
    let error: GatewayError
    try {
      return await this.#tryGroup(control, { group: call.candidates, others: call.fallbacksInOrder, failed })
    } catch (thrown) {
      error = toGatewayError(thrown)
    }
    const passedOver = call.attempts === 0
    try {
      return await this.#fallBack(control, error)
    } catch (thrown) {
      // The own deployments were in cooldown, and no fallback has answered.
      if (!passedOver || toGatewayError(thrown).retry === 'never') throw thrown
      if (!this.#choice.evenCooling(call, call.candidates, nothingTried)) throw thrown
      call.attemptedModel = ''
      if (!hasRoom(call, 0) || !(await isAdmitted(this.#parts.policies, call))) throw thrown
      return await this.#tryGroup(control, { group: call.candidates, others: [], failed: undefined })
    }
  }

  /**
   * A conversation that is too long needs a larger model, one that the provider's filter refuses a more lenient one;
   * other failures that another deployment may not have need any other model.
   */
  async #fallBack(control: CallControl, error: GatewayError): Promise<Reply> {
    const { call } = control
    const others = [...call.fallbacksInOrder]
    const larger = [...call.largerModels]
    const lenient = [...call.lenientModels]
    let from = call.candidates[0]!.modelName
    let last = error
    for (;;) {
      const list = last.kind === 'context-too-long' ? larger : last.kind === 'content-policy' ? lenient : others
      const next = list !== others || last.retry !== 'never' ? list.shift() : undefined
      if (!next) throw last
      const { name, deployments } = next
      // Empty where no deployment of the model can be given the files of the call.
      const group = call.namedFiles ? await call.namedFiles.among(deployments, name).catch(() => []) : deployments
      if (group.length === 0) continue
      if (!hasRoom(call, 0)) throw last
      if (!(await isModelAdmitted(this.#parts.policies, call, name))) continue
      call.attemptedModel = name
      if (!(await isAdmitted(this.#parts.policies, call))) throw last
      call.fallbacks++
      const to = group[0]!.modelName
      this.#parts.countFallback?.(from, to)
      this.#budgets.called(to)
      from = to
      try {
        return await this.#tryGroup(control, { group, others, failed: undefined })
      } catch (thrown) {
        last = toGatewayError(thrown)
      }
    }
  }

  async #tryGroup(control: CallControl, { group, others, failed }: Trial): Promise<Reply> {
    const { call } = control
    const tried = new Set<Deployment>(failed ? [failed.deployment] : [])
    let passedOver: 'unsuitable' | 'full' | undefined = failed?.isPassedOver ? 'unsuitable' : undefined
    let refusal = passedOver ? failed?.error : undefined
    let last = passedOver ? undefined : failed?.error
    for (let attempt = last ? 1 : 0; !last || attempt <= retriesAfter(last, call, group); attempt++) {
      // Retries give way to the models that have not been tried.
      if (last && !hasRoom(call, others.length)) break
      const deployment =
        this.#next(call, { group, others }, tried) ??
        (last && (await this.#again(control, { group, others }, { last, attempt })))
      if (!deployment) break
      // In place of the one that was passed over: neither a request nor a retry more.
      if (passedOver === 'unsuitable') call.attempts--
      if (last && !passedOver) {
        if (!(await isAdmitted(this.#parts.policies, call))) break
        call.retries = (call.retries ?? 0) + 1
      }
      const isNew = !tried.has(deployment)
      tried.add(deployment)
      try {
        return await new Promise((answered, failed) => this.#attempt(control, deployment, { answered, failed }))
      } catch (thrown) {
        if (thrown instanceof LimitReached) passedOver = 'full'
        else {
          const error = this.#failed(control, deployment, thrown)
          passedOver = thrown instanceof Unsuitable ? 'unsuitable' : undefined
          if (passedOver) refusal ??= error
          else last = error
        }
        if (passedOver && isNew) attempt--
      }
    }
    throw last ?? refusal ?? this.#choice.refusal(call, group)
  }

  /**
   * The next deployment of the group. While all of them cool down, calls go on to their fallbacks at once; where there
   * is none, they are tried all the same: one of them may have recovered.
   */
  #next(call: Call, { group, others }: Models, tried: ReadonlySet<Deployment>): Deployment | undefined {
    const available = this.#choice.available(call, group, tried)
    if (available) return available
    return this.#isAvailable(call, others) ? undefined : this.#choice.evenCooling(call, group, tried)
  }

  #isAvailable(call: Call, others: readonly FallbackModel[]): boolean {
    return others.some(one => this.#choice.available(call, one.deployments, nothingTried))
  }

  /**
   * A retry at a deployment that has failed, within the retry budget: for temporary failures, and where the operator
   * grants retries after such an error. At one whose provider asks for a wait only after it.
   */
  async #again(control: CallControl, models: Models, { last, attempt }: Repeat): Promise<Deployment | undefined> {
    const { call } = control
    const { group, others } = models
    const isGranted = retriesByPolicy(last, call, group) !== undefined
    if (!isGranted && !temporary.has(last.kind)) return undefined
    const { clock, random } = this.#parts
    let pauseMs = backOffMs + random() * backOffSpreadMs * attempt
    if (!this.#next(call, models, nothingTried)) {
      if (!isGranted || this.#isAvailable(call, others)) return undefined
      pauseMs += this.#choice.leastWaitMs(call, group)
      if (pauseMs > waitMsMax) return undefined
    }
    if (!this.#budgets.take(group[0]!.modelName)) return undefined
    const beganMs = clock.monotonicMs()
    await Bun.sleep(pauseMs)
    call.waitedMs += clock.monotonicMs() - beganMs
    return control.left ? undefined : this.#next(call, models, nothingTried)
  }

  #failed(control: CallControl, deployment: Deployment, thrown: unknown): GatewayError {
    const { call } = control
    this.#used(control, thrown instanceof Unsuitable ? undefined : call)
    control.failed(this.#parts.clock.monotonicMs())
    const error = deploymentFault(toGatewayError(thrown instanceof Unsuitable ? thrown.error : thrown), deployment)
    reportAttempt(this.#parts.policies, call, deployment, error)
    // After the end of the call nothing more is counted: its client has left.
    if (!control.attempting) return error
    control.attempting = undefined
    // A short timeout of one client must not cool the deployment down for all others.
    const ownTimeout = error.kind === 'upstream-timeout' && call.overrides.timeoutMs !== undefined
    if (blamesDeployment(error) && !ownTimeout) {
      this.#cooldowns.failed(deployment, control, { error, settings: call.models.settings.router })
      error.retryAfterMs = this.#cooldowns.waitMs(deployment, error)
      this.#notes.failed(deployment, error)
    } else this.#cooldowns.released(deployment, control)
    if (ownTimeout) this.#loads.ended(control, 'client-closed')
    this.#over(control, deployment, error.kind)
    return error
  }

  #attempt(control: CallControl, deployment: Deployment, receiver: ReplyReceiver): void {
    if (deployment.rateLimits) this.#attemptWithin(deployment.rateLimits, control, deployment, receiver)
    else this.#begin(control, deployment, receiver)
  }

  /** An attempt at a deployment with limits, if they have room for it. */
  #attemptWithin(
    limits: DeploymentRateLimits,
    control: CallControl,
    deployment: Deployment,
    receiver: ReplyReceiver,
  ): void {
    const next = (hasRoom: boolean): void => {
      if (hasRoom && !control.left) return this.#begin(control, deployment, receiver)
      this.#limits.ended(control, undefined)
      receiver.failed(hasRoom ? clientClosed() : new LimitReached())
    }
    const taken = this.#limits.take(deployment, limits, control, control.call)
    if (typeof taken === 'boolean') next(taken)
    else void taken.then(next)
  }

  #begin(control: CallControl, deployment: Deployment, receiver: ReplyReceiver): void {
    const { call } = control
    const { timeoutMs } = call.overrides
    call.deployment = deployment
    call.attempts++
    control.attempting = this
    this.#cooldowns.begin(deployment, control)
    const { strategy } = call.models.settings.router
    if (strategy) this.#loads.begin(deployment, control, call, strategy)
    let attempt: Attempt
    try {
      attempt = planAttempt(call, deployment, this.#parts.policies)
    } catch (thrown) {
      const error = toGatewayError(thrown)
      return receiver.failed(error.kind === 'internal' || error.retry !== 'never' ? error : new Unsuitable(error))
    }
    call.dropped = attempt.dropped
    call.isSeries = attempt.check?.isSeries === true
    const limited =
      timeoutMs === undefined
        ? deployment
        : { ...deployment, timeouts: shortened(deployment.timeouts, call.stream, timeoutMs) }
    const exchange = this.#sender.send(call, attempt, limited)
    control.setExchange(exchange, this.#parts.clock.monotonicMs())
    exchange.response.then(
      response => this.#answer(control, { attempt, exchange, response, deployment }, receiver),
      thrown => receiver.failed(thrown),
    )
  }

  #answer(control: CallControl, arrived: UpstreamAnswer, receiver: ReplyReceiver): void {
    const { response, deployment, attempt } = arrived
    control.call.upstreamStatus = response.status
    this.#notes.answered(deployment, response)
    const { tierHeader } = deployment.target.provider
    if (tierHeader !== undefined) control.call.answeredTier = response.header(tierHeader)
    if (!isSuccess(response.status)) return this.#fault(arrived, receiver)
    if (control.call.stream || attempt.streamed) return this.#streamTo(control, arrived, receiver)
    const bytes = response.body.whole?.(answerBytesMax)
    if (bytes) this.#whole(control, arrived, bytes, receiver)
    else this.#wholeLater(control, arrived, receiver)
  }

  /** Apart from `#answer`, as what follows: what a closure captures is allocated whenever its function is entered. */
  #fault({ deployment, response }: UpstreamAnswer, receiver: ReplyReceiver): void {
    const failed = (thrown: unknown): void => receiver.failed(thrown)
    readFault(deployment, response, this.#parts.clock.epochMs()).then(failed, failed)
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
    let answer: Answer
    try {
      answer = attempt.answer(bytes, response)
    } catch (thrown) {
      recordUnusableAnswer(control.call, bytes, thrown)
      return receiver.failed(cleanFault(thrown, deployment))
    }
    if (attempt.late) this.#late(control, arrived, { bytes, answer }, receiver)
    else receiver.answered(this.#reply(control, deployment, answer))
  }

  /** The text of the answer is still being made. */
  #late(
    control: CallControl,
    { attempt, deployment }: UpstreamAnswer,
    { bytes, answer }: { readonly bytes: Uint8Array; readonly answer: Answer },
    receiver: ReplyReceiver,
  ): void {
    attempt.late!.text().then(
      body => receiver.answered(this.#reply(control, deployment, { ...answer, body })),
      thrown => {
        recordUnusableAnswer(control.call, bytes, thrown)
        receiver.failed(cleanFault(thrown, deployment))
      },
    )
  }

  #reply(control: CallControl, deployment: Deployment, answer: Answer): Reply {
    const { call } = control
    recordUsage(call, answer.usage)
    noteWholeAnswer(call, answer.body, answer.usage)
    this.#used(control, call)
    const nowMs = this.#parts.clock.monotonicMs()
    call.firstByteMs = nowMs - call.startedMs
    control.answered(nowMs)
    control.attempting = undefined
    this.#cooldowns.completed(deployment, control)
    this.#loads.answered(control, answer.usage?.outputTokens ?? 0)
    this.#over(control, deployment, undefined)
    reportAttempt(this.#parts.policies, call, deployment)
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
      throw cleanFault(unstreamedFault(call, attempt, response, whole), deployment)
    }
    const source = { exchange, body: bytes, relay: attempt.relay(type), late: attempt.late }
    const { contentType, heartbeat } = streamingOf(call.format!, given)
    const body = await openStream(source, control, {
      timers: this.#parts.timers,
      deployment,
      heartbeat,
    })
    control.answered(this.#parts.clock.monotonicMs())
    this.#loads.answered(control, 0)
    // Its end is reported by `ended`; a short stream is already over.
    if (control.attempting) this.#cooldowns.began(deployment, control)
    reportAttempt(this.#parts.policies, call, deployment)
    return { status: 200, contentType, body }
  }
}

interface UpstreamAnswer {
  readonly attempt: Attempt
  readonly exchange: UpstreamExchange
  readonly response: UpstreamResponse
  readonly deployment: Deployment
}

/** The deployments of one model, and the models that may be tried after it. */
interface Models {
  readonly group: readonly Deployment[]
  readonly others: readonly FallbackModel[]
}

interface Trial extends Models {
  /** The first attempt at the group, if it was made before. */
  readonly failed: FailedAttempt | undefined
}

/** The failure that a repeated attempt may mend; `attempt` counts those at the group. */
interface Repeat {
  readonly last: GatewayError
  readonly attempt: number
}

/** The previous attempt, and its error. */
interface FailedAttempt {
  readonly deployment: Deployment
  readonly error: GatewayError
  /** It cannot take the request: nothing was sent. */
  readonly isPassedOver: boolean
}
