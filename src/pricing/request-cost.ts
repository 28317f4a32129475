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
 * The cost of a request; `listed` is asked for other models that the upstream used. Prices that the operator gave win
 * over what the upstream says: they are the operator's contract.
 */
export function requestCost(
  usage: Usage,
  deployment: Deployment,
  times: RequestTimes,
  listed: ListedPrices,
): RequestCost {
  const { provider } = deployment.target
  const { reportedCostNanoUsd: reported } = usage
  if (reported !== undefined && provider.reportsCost && deployment.priceSource !== 'config')
    return { nanoUsd: reported, source: 'upstream' }
  if (usage.served?.serviceTier === unbilledTier && provider.leavesUnbilled) return freeCost
  const terms =
    usage.otherModels || usage.routedModel !== undefined
      ? { ...times, pricesOfModel: pricesAt(listed, provider.name) }
      : times
  const nanoUsd = costNanoUsd(usage, deployment.prices, terms)
  return nanoUsd === null ? unknownCost : { nanoUsd, source: 'prices' }
}

/** Whether a request used something that has a price. */
export const usesAnything = ({
  inputTokens,
  outputTokens,
  images,
  audioSeconds,
  videoSeconds,
  characters,
  pages,
  searchUnits,
}: Usage): boolean =>
  Boolean(inputTokens || outputTokens || images || audioSeconds || videoSeconds || characters || pages || searchUnits)
