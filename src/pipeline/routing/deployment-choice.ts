/** Which deployment of a group is tried next: by order, then by weight, among those that may be tried. */
import type { Call } from '../../core/call.ts'
import type { Deployment } from '../../core/deployment.ts'
import type { Cooldowns } from './cooldown.ts'

type Group = readonly Deployment[]
type TriedDeployments = ReadonlySet<Deployment>

/** Chooses deployments for calls: `tried` are those of the group that the call has tried. Remembers nothing. */
export class DeploymentChoice {
  readonly #cooldowns: Cooldowns
  readonly #random: () => number
  readonly #isBlocked: (deploymentId: string) => boolean

  /** `isBlocked` tells of this moment: a call may have found its deployments a while ago. */
  constructor(cooldowns: Cooldowns, random: () => number, isBlocked: (deploymentId: string) => boolean) {
    this.#cooldowns = cooldowns
    this.#random = random
    this.#isBlocked = isBlocked
  }

  /** One that was not tried and is not in cooldown; undefined = there is none. */
  available(call: Call, group: Group, tried: TriedDeployments): Deployment | undefined {
    if (group.length === 1) {
      const only = group[0]!
      return this.#mayServe(only, call, tried) && this.#isAvailable(only) ? only : undefined
    }
    return this.#availableOf(call, group, tried)
  }

  #availableOf(call: Call, group: Group, tried: TriedDeployments): Deployment | undefined {
    const open = group.filter(one => this.#mayServe(one, call, tried) && this.#isAvailable(one))
    // A call that has failed once should not be the probe where it can be answered elsewhere.
    const healthy = tried.size > 0 ? open.filter(one => this.#cooldowns.availability(one) === 'healthy') : open
    return this.#byWeight(healthy.length > 0 ? healthy : open)
  }

  /** One that was not tried, in cooldown or not; those whose provider asked for a wait are left out. */
  evenCooling(call: Call, group: Group, tried: TriedDeployments): Deployment | undefined {
    return this.#byWeight(
      group.filter(one => this.#mayServe(one, call, tried) && this.#cooldowns.availability(one) !== 'rate-limited'),
    )
  }

  #mayServe(deployment: Deployment, call: Call, tried: TriedDeployments): boolean {
    return !tried.has(deployment) && !isDrained(deployment, call) && !this.#isBlocked(deployment.id)
  }

  #isAvailable(deployment: Deployment): boolean {
    const availability = this.#cooldowns.availability(deployment)
    return availability === 'healthy' || availability === 'half-open'
  }

  #byWeight(open: readonly Deployment[]): Deployment | undefined {
    if (open.length <= 1) return open[0]
    const first = Math.min(...open.map(one => one.order))
    const level = open.filter(one => one.order === first)
    let at = this.#random() * level.reduce((sum, one) => sum + one.weight, 0)
    return level.find(one => (at -= one.weight) < 0) ?? level.at(-1)
  }
}

/** Calls that are for this deployment alone still reach it: by its id, or for a file that is stored there. */
export function isDrained(deployment: Deployment, call: Call): boolean {
  return deployment.weight === 0 && call.namedFiles === undefined && call.model !== deployment.id
}
