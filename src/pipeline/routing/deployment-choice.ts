/**
 * Which deployment of a group is tried next: by order, then by session, then by the strategy, then by weight, among
 * those that may be tried.
 */
import { allBlocked } from '../../core/blocked-model.ts'
import type { Call, RunningCall, SessionAffinity } from '../../core/call.ts'
import type { Deployment } from '../../core/deployment.ts'
import { GatewayError } from '../../core/errors.ts'
import type { RoutingStrategy } from '../../core/settings.ts'
import type { Cooldowns } from './cooldown.ts'
import type { DeploymentLimits } from './deployment-limits.ts'
import type { DeploymentStats } from './deployment-stats.ts'
import type { SessionPins } from './session-pins.ts'

type Group = readonly Deployment[]
type TriedDeployments = ReadonlySet<Deployment>

interface ChoiceParts {
  readonly cooldowns: Cooldowns
  readonly stats: DeploymentStats
  readonly limits: DeploymentLimits
  readonly pins: SessionPins
  /** A number in [0, 1). */
  readonly random: () => number
  /** As of this moment: a call may have found its deployments a while ago. */
  readonly isBlocked: (deploymentId: string) => boolean
}

/** Chooses deployments for calls: `tried` are those of the group that the call has tried. Remembers nothing. */
export class DeploymentChoice {
  readonly #cooldowns: Cooldowns
  readonly #stats: DeploymentStats
  readonly #limits: DeploymentLimits
  readonly #pins: SessionPins
  readonly #random: () => number
  readonly #isBlocked: (deploymentId: string) => boolean

  constructor({ cooldowns, stats, limits, pins, random, isBlocked }: ChoiceParts) {
    this.#cooldowns = cooldowns
    this.#stats = stats
    this.#limits = limits
    this.#pins = pins
    this.#random = random
    this.#isBlocked = isBlocked
  }

  /** One that was not tried, has room for the call and is not in cooldown; undefined = there is none. */
  available(call: RunningCall, group: Group, tried: TriedDeployments): Deployment | undefined {
    if (group.length === 1) {
      const only = group[0]!
      return this.#mayServe(only, call, tried) && this.#isAvailable(only) ? only : undefined
    }
    return this.#availableOf(call, group, tried)
  }

  #availableOf(call: RunningCall, group: Group, tried: TriedDeployments): Deployment | undefined {
    const open = group.filter(one => this.#mayServe(one, call, tried) && this.#isAvailable(one))
    // A call that has failed once should not be the probe where it can be answered elsewhere.
    const healthy = tried.size > 0 ? open.filter(one => this.#cooldowns.availability(one) === 'healthy') : open
    return this.#best(call, group, healthy.length > 0 ? healthy : open)
  }

  /**
   * One that was not tried and has room for the call, in cooldown or not; those whose provider asked for a wait are
   * left out.
   */
  evenCooling(call: RunningCall, group: Group, tried: TriedDeployments): Deployment | undefined {
    return this.#best(
      call,
      group,
      group.filter(one => this.#mayServe(one, call, tried) && this.#cooldowns.availability(one) !== 'rate-limited'),
    )
  }

  /** Why there is none to try. */
  refusal(call: Call, candidates: readonly Deployment[]): GatewayError {
    const group = candidates.filter(one => !this.#isBlocked(one.id))
    if (group.length === 0) return allBlocked(call.model)
    if (group.every(one => isDrained(one, call)))
      return new GatewayError(
        'upstream-overloaded',
        `every deployment of '${call.model}' is drained (\`weight: 0\`); ask for another model`,
      )
    const isOwn = group.some(one => this.#limits.waitMs(one, call) > 0)
    const why = isOwn ? 'at its limit of requests or tokens a minute' : 'rate limited by its provider'
    return new GatewayError('upstream-rate-limited', `every deployment of '${call.model}' is ${why}; try again later`, {
      retryAfterMs: Math.max(this.leastWaitMs(call, group), 1000),
    })
  }

  /** Milliseconds until one of them may be tried that is not drained and not blocked; Infinity = there is none. */
  leastWaitMs(call: Call, group: Group): number {
    const serving = group.filter(one => !isDrained(one, call) && !this.#isBlocked(one.id))
    return Math.min(...serving.map(one => Math.max(this.#cooldowns.remainingMs(one), this.#limits.waitMs(one, call))))
  }

  #mayServe(deployment: Deployment, call: Call, tried: TriedDeployments): boolean {
    if (tried.has(deployment) || isDrained(deployment, call) || this.#isBlocked(deployment.id)) return false
    return deployment.rateLimits === undefined || this.#limits.waitMs(deployment, call) === 0
  }

  #isAvailable(deployment: Deployment): boolean {
    const availability = this.#cooldowns.availability(deployment)
    return availability === 'healthy' || availability === 'half-open'
  }

  #best(call: RunningCall, group: Group, open: readonly Deployment[]): Deployment | undefined {
    if (open.length === 0) return undefined
    const affinity = group.length > 1 ? this.#affinityIn(call, group) : undefined
    if (open.length === 1) return open[0]
    const level = firstOrder(open)
    const pinned = affinity && this.#pins.pinned(affinity, level)
    if (pinned) return pinned
    const { strategy } = call.models.settings.router
    const best = strategy ? bestOf(level, strategy, { stats: this.#stats, isStream: call.stream }) : level
    return affinity ? this.#pins.byHash(affinity, best) : this.#byWeight(best)
  }

  /** Of the call in this group, with where the group has it when all are well. */
  #affinityIn(call: RunningCall, group: Group): SessionAffinity | undefined {
    const affinity = this.#pins.affinityOf(call)
    if (!affinity) return undefined
    const serving = group.filter(one => !isDrained(one, call) && !this.#isBlocked(one.id))
    affinity.homeId = serving.length === 0 ? '' : this.#pins.byHash(affinity, firstOrder(serving)).id
    return affinity
  }

  #byWeight(level: readonly Deployment[]): Deployment | undefined {
    let at = this.#random() * level.reduce((sum, one) => sum + one.weight, 0)
    return level.find(one => (at -= one.weight) < 0) ?? level.at(-1)
  }
}

/** Those with the lowest order. */
function firstOrder(open: readonly Deployment[]): readonly Deployment[] {
  const first = Math.min(...open.map(one => one.order))
  return open.filter(one => one.order === first)
}

/** Calls that are for this deployment alone still reach it: by its id, or for a file that is stored there. */
function isDrained(deployment: Deployment, call: Call): boolean {
  return deployment.weight === 0 && call.namedFiles === undefined && call.model !== deployment.id
}

/** Those of `level` that are the best by the strategy; never empty. */
function bestOf(level: readonly Deployment[], strategy: RoutingStrategy, given: Measured): Deployment[] {
  const costs = level.map(one => costOf(one, strategy, given))
  const least = Math.min(...costs)
  const most = strategy.by === 'latency-based-routing' ? least * (1 + strategy.bufferShare) : least
  return level.filter((_, at) => costs[at]! <= most)
}

interface Measured {
  readonly stats: DeploymentStats
  /** The call is answered by a stream. */
  readonly isStream: boolean
}

function costOf(deployment: Deployment, strategy: RoutingStrategy, { stats, isStream }: Measured): number {
  switch (strategy.by) {
    case 'least-busy':
      return (stats.runningAt(deployment) + 1) / deployment.weight
    case 'usage-based-routing':
      return (stats.tokensAt(deployment) + 1) / deployment.weight
    case 'cost-based-routing':
      return priceOf(deployment)
    case 'latency-based-routing': {
      const ms = stats.meanTimeOf(deployment, isStream, strategy.forgetMs)
      if (ms !== undefined) return ms
      // One call finds out how fast it is; the others go where that is known.
      return stats.runningAt(deployment) === 0 ? 0 : Infinity
    }
  }
}

/** Of a token in and a token out, else of the unit of other models; Infinity = it is not known. */
function priceOf({ prices }: Deployment): number {
  if (!prices) return Infinity
  const { input, output, image, character, audioSecond, searchUnit, request } = prices
  if (input !== undefined || output !== undefined) return Number((input ?? 0n) + (output ?? 0n))
  const other = image ?? character ?? audioSecond ?? searchUnit ?? request
  return other === undefined ? Infinity : Number(other)
}
