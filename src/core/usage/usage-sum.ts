/** The usage of several requests together. */
import type { Served, Usage, UsageCounts } from './usage.ts'

/** The usage of two requests together. */
export function addUsage(before: Usage | undefined, more: Usage): Usage {
  if (!before) return more
  const { served: first, otherModels: firstModels, reportedCostNanoUsd: firstCost, routedModel, ...counts } = before
  const { served, otherModels, reportedCostNanoUsd: cost, routedModel: moreModel, ...moreCounts } = more
  const sum: Usage = { ...counts }
  for (const key of Object.keys(moreCounts) as (keyof UsageCounts)[])
    sum[key] = (counts[key] ?? 0) + (moreCounts[key] ?? 0)
  const both = servedBoth(first, served)
  if (both) sum.served = both
  if (firstModels || otherModels) sum.otherModels = [...(firstModels ?? []), ...(otherModels ?? [])]
  // Of two models none has the price of both: each request is priced before they are added up.
  if (routedModel !== undefined && routedModel === moreModel) sum.routedModel = routedModel
  if (firstCost !== undefined && cost !== undefined) sum.reportedCostNanoUsd = firstCost + cost
  return sum
}

/** `mixed` = not the same for both, which has no price: each request is priced before they are added up. */
function servedBoth(first: Served | undefined, second: Served | undefined): Served | undefined {
  if (!first && !second) return undefined
  const fields = (['serviceTier', 'speed', 'region'] as const).flatMap(name => {
    const [one, other] = [first?.[name], second?.[name]]
    return one === undefined && other === undefined ? [] : [[name, one === other ? one : 'mixed']]
  })
  return Object.fromEntries(fields) as Served
}
