/** The strategies by which deployments are chosen that are otherwise as good as each other. */
import type { Deployment } from '../../core/deployment.ts'
import type { RoutingStrategy } from '../../core/settings.ts'
import type { DeploymentLoads } from './deployment-loads.ts'

/** Those of `level` that are the best by the strategy; never empty. */
export function bestOf(level: readonly Deployment[], strategy: RoutingStrategy, given: Measured): Deployment[] {
  const costs = level.map(one => costOf(one, strategy, given))
  const least = Math.min(...costs)
  const most = strategy.by === 'latency-based-routing' ? least * (1 + strategy.bufferShare) : least
  return level.filter((_, at) => costs[at]! <= most)
}

interface Measured {
  readonly loads: DeploymentLoads
  /** The call is answered by a stream. */
  readonly isStream: boolean
}

function costOf(deployment: Deployment, strategy: RoutingStrategy, { loads, isStream }: Measured): number {
  switch (strategy.by) {
    case 'least-busy':
      return (loads.runningAt(deployment) + 1) / deployment.weight
    case 'usage-based-routing':
      return (loads.tokensAt(deployment) + 1) / deployment.weight
    case 'cost-based-routing':
      return priceOf(deployment)
    case 'latency-based-routing': {
      const ms = loads.meanTimeOf(deployment, isStream, strategy.forgetMs)
      if (ms !== undefined) return ms
      // One call finds out how fast it is; the others go where that is known.
      return loads.runningAt(deployment) === 0 ? 0 : Infinity
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
