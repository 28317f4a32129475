/**
 * The circuit breakers of the deployments: a cooldown after failures, then one probe at a time until one ends well
 * (docs/decisions/0016).
 */
import { LRUCache } from 'lru-cache'
import { entryLimit } from '../../lib/entry-limit.ts'
import type { Deployment } from '../../core/deployment.ts'
import type { FaultKind, GatewayError } from '../../core/errors.ts'
import type { HeldCooldown } from '../../core/upstream-notes.ts'
import type { CountsByError, PolicyError, RouterSettings } from '../../core/settings.ts'
import type { Clock } from '../../lib/clock.ts'
import type { SharedCooldown } from '../../core/workers.ts'

const cooldownMsMax = 60_000
/** An outage, too, makes several deployments fail in the same words: then nothing is answered in between. */
const forgivenMax = 10
/** What the next call would meet too: one such failure is enough. */
const atOnce: ReadonlySet<FaultKind> = new Set([
  'upstream-rate-limited',
  'upstream-credentials',
  'upstream-model-missing',
])

/**
 * `half-open`: a cooldown is over, and the next call is the probe. `cooling`: in a cooldown, or a probe is under way.
 * `rate-limited`: in a cooldown that its provider requested.
 */
export type Availability = 'healthy' | 'half-open' | 'cooling' | 'rate-limited'

/** One attempt at a deployment. Its call stands for it: a call has one attempt at a time. */
export interface AttemptAt {
  /** When the request was sent, on the monotonic clock. */
  readonly sentMs: number
  /** The call is over. */
  readonly settled: boolean
}

interface Health {
  readonly deployment: Deployment
  failsInARow: number
  /** Cooldowns since the last success. */
  cooldowns: number
  /** The last cooldown; -Infinity = there was none since the last success. */
  beganMs: number
  untilMs: number
  rateLimited: boolean
  /** A cooldown since the last success was for another reason than the rate. */
  hasFailed: boolean
  /** An answer was cut after its beginning: further ones are successes only when they are complete. */
  cutsAnswers: boolean
  probe: AttemptAt | undefined
  /** From then on the probe, whose answer has begun, makes room for the next. */
  nextProbeMs: number
  /** The attempt whose failure began the last cooldown. */
  begunBy: AttemptAt | undefined
  /** Failures since the last success that were the requests'. */
  forgiven: number
}

/** A cooldown that has just begun, for the operator. */
export interface Cooldown {
  readonly deployment: Deployment
  readonly cooldownMs: number
  readonly failsInARow: number
  /** The last of the failures. */
  readonly error: GatewayError
}

/**
 * Per process. A cooldown is as long as the upstream asks for, else as the settings say, twice as long each time a
 * probe fails; a minute at most. What was sent before a cooldown says nothing about the time after it.
 */
export class Cooldowns {
  readonly #clock: Clock
  readonly #report: (cooldown: Cooldown) => void
  /** By deployment and upstream model: a wildcard stands for many models. Only those that failed are stored. */
  readonly #health = new LRUCache<string, Health>(entryLimit(10_000))

  constructor(clock: Clock, report: (cooldown: Cooldown) => void = () => {}) {
    this.#clock = clock
    this.#report = report
  }

  /** Deployments by id that do not get all calls: 1 = in a cooldown, 0.5 = the next call is its probe. */
  states(): Map<string, number> {
    const found = new Map<string, number>()
    for (const health of this.#health.values()) {
      const availability = this.#availabilityOf(health)
      if (availability === 'healthy') continue
      const { deployment } = health
      found.set(deployment.id, Math.max(found.get(deployment.id) ?? 0, availability === 'half-open' ? 0.5 : 1))
    }
    return found
  }

  /** The deployments in cooldown now. */
  coolingDown(): Deployment[] {
    return [...this.#health.values()]
      .filter(health => health.untilMs > this.#clock.monotonicMs())
      .map(health => health.deployment)
  }

  /** The deployments that have cooled down since their last success; not those whose provider only limits the rate. */
  unwell(): Deployment[] {
    const found = [...this.#health.values()].filter(({ hasFailed }) => hasFailed)
    return [...new Map(found.map(({ deployment }) => [deployment.id, deployment])).values()]
  }

  /** The cooldowns that hold now. */
  held(): HeldCooldown[] {
    const nowMs = this.#clock.monotonicMs()
    return [...this.#health.values()].flatMap(({ deployment: { id, target }, untilMs }) =>
      untilMs > nowMs ? [{ deploymentId: id, model: target.model, remainingMs: untilMs - nowMs }] : [],
    )
  }

  availability(deployment: Deployment): Availability {
    const health = this.#find(deployment)
    return health ? this.#availabilityOf(health) : 'healthy'
  }

  #availabilityOf(health: Health): Availability {
    if (health.cooldowns === 0) return 'healthy'
    if (health.untilMs > this.#clock.monotonicMs()) return health.rateLimited ? 'rate-limited' : 'cooling'
    const { probe, nextProbeMs } = health
    return probe && !probe.settled && this.#clock.monotonicMs() < nextProbeMs ? 'cooling' : 'half-open'
  }

  /** Milliseconds until its cooldown is over; 0 = it is. */
  remainingMs(deployment: Deployment): number {
    const health = this.#find(deployment)
    return health ? Math.max(health.untilMs - this.#clock.monotonicMs(), 0) : 0
  }

  /**
   * How long a client that got `error` has to wait: no longer than the cooldown, after which the deployment is asked
   * again though its upstream may have named an hour.
   */
  waitMs(deployment: Deployment, { retryAfterMs }: GatewayError): number | undefined {
    const remainingMs = this.remainingMs(deployment)
    return retryAfterMs === undefined || remainingMs === 0 ? retryAfterMs : Math.min(retryAfterMs, remainingMs)
  }

  /** To be called before the attempt: it is the probe if the deployment waits for one. */
  begin(deployment: Deployment, attempt: AttemptAt): void {
    if (this.availability(deployment) !== 'half-open') return
    const health = this.#find(deployment)!
    health.probe = attempt
    health.nextProbeMs = Infinity
  }

  /** An answer has begun. A probe that goes on for longer than the cooldown was must not keep all others away. */
  began(deployment: Deployment, attempt: AttemptAt): void {
    const health = this.#find(deployment)
    if (!health?.cutsAnswers) return this.completed(deployment, attempt)
    if (health.probe === attempt) health.nextProbeMs = this.#clock.monotonicMs() + health.untilMs - health.beganMs
  }

  /** An answer is complete. */
  completed(deployment: Deployment, attempt: AttemptAt): void {
    const health = this.#find(deployment)
    if (health && (health.probe === attempt || attempt.sentMs >= health.beganMs))
      this.#health.delete(upstreamKey(deployment))
  }

  /** The attempt ended without showing anything about the deployment: its client left, or set a timeout of its own. */
  released(deployment: Deployment, attempt: AttemptAt): void {
    const health = this.#find(deployment)
    if (health?.probe === attempt) health.probe = undefined
  }

  /**
   * Counts the failure; `cut` = after the beginning of an answer. `report` is called when a cooldown begins, not when
   * one is extended.
   */
  failed(deployment: Deployment, attempt: AttemptAt, failure: Failure): void {
    const { error, settings } = failure
    const nowMs = this.#clock.monotonicMs()
    const health = this.#find(deployment) ?? newHealth(deployment)
    this.#health.set(upstreamKey(deployment), health)
    health.failsInARow++
    health.cutsAnswers ||= failure.cut === true
    const isProbe = health.probe === attempt
    if (isProbe) health.probe = undefined
    if (health.untilMs > nowMs) return extend(health, error, nowMs)
    if (!isProbe && attempt.sentMs < health.beganMs) return
    if (health.cooldowns === 0 && health.failsInARow < allowedFails(error, settings)) return
    const grownMs = (deployment.cooldownMs ?? settings.cooldownMs) * 2 ** Math.min(health.cooldowns, 16)
    const cooldownMs = Math.min(error.retryAfterMs ?? grownMs, cooldownMsMax)
    if (cooldownMs <= 0) return
    health.cooldowns++
    health.begunBy = attempt
    health.beganMs = nowMs
    health.untilMs = nowMs + cooldownMs
    health.rateLimited = error.kind === 'upstream-rate-limited'
    health.hasFailed ||= !health.rateLimited
    this.#report({ deployment, cooldownMs, failsInARow: health.failsInARow, error })
  }

  /**
   * The attempt's failure was the request's: it counts no longer, and a cooldown that it began is over. false = so many
   * were forgiven since the last answer that the deployment itself is in doubt.
   */
  forgive(deployment: Deployment, attempt: AttemptAt): boolean {
    const health = this.#find(deployment) ?? newHealth(deployment)
    if (health.forgiven >= forgivenMax) return false
    this.#health.set(upstreamKey(deployment), health)
    health.forgiven++
    if (health.probe === attempt) health.probe = undefined
    if (health.failsInARow > 0) health.failsInARow--
    if (health.begunBy !== attempt) return true
    health.begunBy = undefined
    health.cooldowns--
    health.untilMs = 0
    return true
  }

  /** A cooldown that has begun elsewhere holds here too; the first call after it is the probe. */
  note(deployment: Deployment, { model, cooldownMs, isRateLimited }: SharedCooldown): void {
    const key = keyOf(deployment.id, model)
    const health = this.#health.get(key) ?? newHealth(deployment)
    const nowMs = this.#clock.monotonicMs()
    if (health.untilMs > nowMs + cooldownMs) return
    this.#health.set(key, health)
    health.cooldowns = Math.max(health.cooldowns, 1)
    health.beganMs = nowMs
    health.untilMs = nowMs + cooldownMs
    health.rateLimited = isRateLimited
    health.hasFailed ||= !isRateLimited
  }

  #find(deployment: Deployment): Health | undefined {
    return this.#health.size === 0 ? undefined : this.#health.get(upstreamKey(deployment))
  }
}

interface Failure {
  readonly error: GatewayError
  readonly settings: RouterSettings
  readonly cut?: boolean
}

function allowedFails(error: GatewayError, settings: RouterSettings): number {
  return countFor(error, settings.allowedFailsPolicy) ?? (atOnce.has(error.kind) ? 1 : settings.allowedFails)
}

function newHealth(deployment: Deployment): Health {
  return {
    deployment,
    failsInARow: 0,
    cooldowns: 0,
    beganMs: -Infinity,
    untilMs: 0,
    rateLimited: false,
    hasFailed: false,
    cutsAnswers: false,
    probe: undefined,
    nextProbeMs: Infinity,
    begunBy: undefined,
    forgiven: 0,
  }
}

/** A failure within a cooldown changes it only where the provider asks for a longer one. */
function extend(health: Health, error: GatewayError, nowMs: number): void {
  if (error.kind !== 'upstream-rate-limited') return
  health.rateLimited = true
  if (error.retryAfterMs !== undefined)
    health.untilMs = Math.max(health.untilMs, nowMs + Math.min(error.retryAfterMs, cooldownMsMax))
}

/** A deployment with its upstream model: a wildcard stands for many models. */
export function upstreamKey(deployment: Deployment): string {
  return keyOf(deployment.id, deployment.target.model)
}

const keyOf = (deploymentId: string, model: string): string => `${deploymentId} ${model}`

/** LiteLLM's names of the kinds of errors that `retry_policy` and `allowed_fails_policy` have counts for. */
const policyErrors: Partial<Record<FaultKind, PolicyError>> = {
  'upstream-refused': 'BadRequestError',
  'upstream-credentials': 'AuthenticationError',
  'upstream-model-missing': 'NotFoundError',
  'upstream-timeout': 'TimeoutError',
  'upstream-rate-limited': 'RateLimitError',
  'content-policy': 'ContentPolicyViolationError',
  'upstream-failed': 'InternalServerError',
}

/** The count for an error; undefined = there is none, and what holds for all errors holds for it. */
export function countFor(error: GatewayError, counts: CountsByError | undefined): number | undefined {
  const name = counts && policyErrors[error.kind]
  // Of the refusals only 400 has a count: others, as of a file that is missing, stay what they are everywhere.
  if (!name || (name === 'BadRequestError' && error.status !== 400)) return undefined
  return counts[name]
}
