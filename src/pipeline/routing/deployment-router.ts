/** Chooses deployments and tries them until one answers. */
import type { Call, FallbackModel, RunningCall } from '../../core/call.ts'
import type { Deployment } from '../../core/deployment.ts'
import type { Reply } from '../../core/answer.ts'
import type { GatewayError } from '../../core/errors.ts'
import { toGatewayError } from '../../core/errors.ts'
import type { FaultKind } from '../../core/errors.ts'
import type { Limiter } from '../../core/tenancy/limits.ts'
import type { SharedPins } from '../../core/session-pins.ts'
import type { UpstreamNotes } from '../../core/upstream-notes.ts'
import { hasRoom, isAdmitted, modelRefusal } from '../admission/attempt-admission.ts'
import type { CallControl } from '../call-control.ts'
import { Cooldowns, countFor } from './cooldown.ts'
import type { Cooldown } from './cooldown.ts'
import type { SharedCooldown } from '../../core/workers.ts'
import { DeploymentAttempts, LimitReached, Unsuitable } from './deployment-attempts.ts'
import type { AttemptParts } from './deployment-attempts.ts'
import { DeploymentChoice } from './deployment-choice.ts'
import { DeploymentLimits } from './deployment-limits.ts'
import { DeploymentStats } from './deployment-stats.ts'
import { SessionPins } from './session-pins.ts'
import { FirstAttempt } from '../reply-receiver.ts'
import type { ReplyReceiver } from '../reply-receiver.ts'
import { RetryBudgets } from './retry-budget.ts'
import { NotesOfUpstreams } from './upstream-notes.ts'

/** Before an attempt at a deployment that has failed. */
const backOffMs = 100
/** Chosen at random, and multiplied by the number of attempts before. */
const backOffSpreadMs = 200
/** Until the end of a cooldown, where the operator grants a retry after it: none is longer. */
const waitMsMax = 61_000
const temporary: ReadonlySet<FaultKind> = new Set(['upstream-failed', 'upstream-overloaded', 'upstream-unreachable'])
const nothingTried: ReadonlySet<Deployment> = new Set()

interface RouterParts extends AttemptParts {
  /** Counts what deployments with limits of their own take. */
  readonly limiter: Pick<Limiter, 'take'>
  /** Tells other replicas where sessions are; absent = there are none, or no Redis. */
  readonly sharedPins?: SharedPins | undefined
  /** A number in [0, 1): chooses among deployments by weight. */
  random(): number
  /** An administrator has switched the deployment off, now and not only when the call began. */
  isBlocked(deploymentId: string): boolean
  /** Called once per cooldown. */
  reportCooldown?(cooldown: Cooldown): void
  /** Called when a call goes on to another model; both are configured names. */
  countFallback?(from: string, to: string): void
}

/** One for all calls: they share the cooldowns, the upstreams' tokens, and the retry budgets. */
export class Router {
  readonly #parts: RouterParts
  readonly #cooldowns: Cooldowns
  readonly #notes: NotesOfUpstreams
  readonly #attempts: DeploymentAttempts
  readonly #choice: DeploymentChoice
  readonly #budgets: RetryBudgets

  constructor(parts: RouterParts) {
    this.#parts = parts
    this.#cooldowns = new Cooldowns(parts.clock, parts.reportCooldown)
    this.#notes = new NotesOfUpstreams()
    const records = {
      cooldowns: this.#cooldowns,
      notes: this.#notes,
      stats: new DeploymentStats(parts.clock),
      limits: new DeploymentLimits(parts.limiter, parts.clock),
      pins: new SessionPins(parts.clock, parts.sharedPins),
    }
    const { random, isBlocked } = parts
    this.#attempts = new DeploymentAttempts(parts, records)
    this.#choice = new DeploymentChoice({ ...records, random, isBlocked })
    this.#budgets = new RetryBudgets(parts.clock)
  }

  /** Deployments in cooldown, which get calls only where there are no others; `unwell`: also those behind theirs. */
  readonly coolingDown = (): Deployment[] => this.#cooldowns.coolingDown()
  readonly unwell = (): Deployment[] => this.#cooldowns.unwell()
  /** See `Cooldowns.states`. */
  readonly cooldownStates = (): ReadonlyMap<string, number> => this.#cooldowns.states()

  /** Another worker has begun it at one of these deployments, or at one of the models that one stands for. */
  noteCooldown(cooldown: SharedCooldown, deployments: readonly Deployment[]): void {
    const deployment = deployments.find(one => one.id === cooldown.deploymentId)
    if (deployment) this.#cooldowns.note(deployment, cooldown)
  }

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
    this.#attempts.begin(control, first, new FirstAttempt(control, first, receiver, this.#recoverFirst))
  }

  readonly #recoverFirst = ({ control, deployment, receiver }: FirstAttempt, thrown: unknown): void => {
    if (thrown instanceof LimitReached) return this.#recoverFor(receiver, control, undefined)
    const error = this.#attempts.failed(control, deployment, thrown)
    this.#recoverFor(receiver, control, { deployment, error, isPassedOver: thrown instanceof Unsuitable })
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
    const passedOver = call.progress.attempts === 0
    try {
      return await this.#fallBack(control, error)
    } catch (thrown) {
      // The own deployments were in cooldown, and no fallback has answered.
      const failure = toGatewayError(thrown)
      const isFinal = failure.retry === 'never'
      if (!passedOver || (isFinal && call.progress.attempts > 0)) throw thrown
      if (!this.#choice.evenCooling(call, call.candidates, nothingTried)) throw thrown
      call.progress.model = ''
      if (!hasRoom(call, 0) || !(await isAdmitted(this.#parts.policies, call))) throw thrown
      const own = { group: call.candidates, others: [], failed: undefined }
      return await this.#tryGroup(control, own).catch(last => {
        // No fallback had room for the call: that can be mended.
        throw isFinal ? failure : last
      })
    }
  }

  /**
   * A conversation that is too long needs a larger model, one that the provider's filter refuses a more lenient one;
   * other failures that another deployment may not have need any other model.
   */
  async #fallBack(control: CallControl, error: GatewayError): Promise<Reply> {
    const { call } = control
    const others = [...call.fallbacksInOrder]
    const larger = [...call.contextWindowFallbacks]
    const lenient = [...call.contentPolicyFallbacks]
    let from = call.candidates[0]!.modelName
    let last = error
    let withoutRoom: GatewayError | undefined
    for (;;) {
      const list = last.kind === 'context-too-long' ? larger : last.kind === 'content-policy' ? lenient : others
      const next = list !== others || last.retry !== 'never' ? list.shift() : undefined
      // A conversation that is too long is shortened by its client; of other failures the budget is what can be mended.
      if (!next) throw list === others && call.progress.fallbacks === 0 ? (withoutRoom ?? last) : last
      const { name, deployments } = next
      // Empty where no deployment of the model can be given the files of the call.
      const group = call.namedFiles ? await call.namedFiles.among(deployments, name).catch(() => []) : deployments
      if (group.length === 0) continue
      if (!hasRoom(call, 0)) throw last
      const refusal = await modelRefusal(this.#parts.policies, call, name)
      if (refusal) {
        withoutRoom ??= refusal
        continue
      }
      call.progress.model = name
      if (!(await isAdmitted(this.#parts.policies, call))) throw last
      call.progress.fallbacks++
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
      if (passedOver === 'unsuitable') call.progress.attempts--
      if (last && !passedOver) {
        if (!(await isAdmitted(this.#parts.policies, call))) break
        call.progress.retries++
      }
      const isNew = !tried.has(deployment)
      tried.add(deployment)
      try {
        return await new Promise((answered, failed) => this.#attempts.begin(control, deployment, { answered, failed }))
      } catch (thrown) {
        if (thrown instanceof LimitReached) passedOver = 'full'
        else {
          const error = this.#attempts.failed(control, deployment, thrown)
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
  #next(call: RunningCall, { group, others }: Models, tried: ReadonlySet<Deployment>): Deployment | undefined {
    const available = this.#choice.available(call, group, tried)
    if (available) return available
    return this.#isAvailable(call, others) ? undefined : this.#choice.evenCooling(call, group, tried)
  }

  #isAvailable(call: RunningCall, others: readonly FallbackModel[]): boolean {
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
    call.progress.waitedMs += clock.monotonicMs() - beganMs
    return control.left ? undefined : this.#next(call, models, nothingTried)
  }
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

/** Attempts after the first that `retry_policy` grants after an error; undefined = it says nothing of this kind. */
function retriesByPolicy(error: GatewayError, call: Call, group: readonly Deployment[]): number | undefined {
  const { retryPolicy, retryPolicies } = call.models.settings.router
  if (!retryPolicy && !retryPolicies) return undefined
  const name = [group[0]!.modelName, call.progress.model || call.model].find(
    one => retryPolicies && Object.hasOwn(retryPolicies, one),
  )
  return countFor(error, name === undefined ? retryPolicy : retryPolicies![name])
}

/** Attempts after the first at the deployments of a model that an error permits. */
function retriesAfter(error: GatewayError, call: Call, group: readonly Deployment[]): number {
  if (error.isRequests) return 0
  const byPolicy = retriesByPolicy(error, call, group)
  if (byPolicy !== undefined) return byPolicy
  return error.retry === 'never' ? 0 : (call.overrides.retries ?? call.models.settings.router.retries)
}
