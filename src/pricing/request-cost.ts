/** What one request to an upstream cost: by what the upstream says, where it is believed, else by usage and prices. */
import type { Deployment } from '../core/deployment.ts'
import type { Prices } from '../core/usage/prices.ts'
import { unknownCost } from '../core/usage/request-cost.ts'
import type { RequestCost, RequestTimes } from '../core/usage/request-cost.ts'
import { unbilledTier } from '../core/usage/usage.ts'
import type { Usage } from '../core/usage/usage.ts'
import { costNanoUsd } from './cost.ts'

const freeCost: RequestCost = Object.freeze({ nanoUsd: 0n, source: 'prices' })

/** The list prices of a provider's model; null = not known. */
export type ListedPrices = (provider: string, model: string) => Prices | null

const pricesAt = (listed: ListedPrices, provider: string) => (model: string) => listed(provider, model)

/**
 * The cost of a request, bound to the price list, which is asked for other models that the upstream used. Prices that
 * the operator gave win over what the upstream says: they are the operator's contract. `unpriced` is called for each
 * request that used something and has no known price.
 */
export function requestCosts(
  listed: ListedPrices,
  unpriced: (usage: Usage, deployment: Deployment) => void = () => {},
): (usage: Usage, deployment: Deployment, times: RequestTimes) => RequestCost {
  return (usage, deployment, times) => {
    const { provider } = deployment.target
    const { reportedCostNanoUsd: reported } = usage
    if (reported !== undefined && provider.reportsCost && deployment.priceSource !== 'config')
      return { nanoUsd: reported, source: 'upstream' }
    if (usage.served?.serviceTier === unbilledTier && provider.leavesUnbilled) return freeCost
    const terms = usage.otherModels ? { ...times, pricesOfModel: pricesAt(listed, provider.name) } : times
    const nanoUsd = costNanoUsd(usage, deployment.prices, terms)
    if (nanoUsd !== null) return { nanoUsd, source: 'prices' }
    if (usesAnything(usage)) unpriced(usage, deployment)
    return unknownCost
  }
}

const usesAnything = ({ inputTokens, outputTokens, images, audioSeconds, characters, searchUnits }: Usage): boolean =>
  Boolean(inputTokens || outputTokens || images || audioSeconds || characters || searchUnits)
