/** What served a request, where the usage of its answer does not say it. */
import { requestedService } from '../../core/usage/requested-service.ts'
import type { Attempt, Call } from '../../core/call.ts'
import type { Prices } from '../../core/usage/prices.ts'
import { setServed } from '../../core/usage/usage-fields.ts'
import type { Served, Usage } from '../../core/usage/usage.ts'

/** What of a request says how it asked to be served, and was. */
type ServedAttempt = Pick<Attempt, 'dropped' | 'answeredTier' | 'deployment'>

/**
 * The usage with what served the request: as its usage says, or as the head of its answer does; else as was
 * requested, where that is not cheaper: a discount is the vendor's to give, and a client cannot ask itself into one.
 */
export function withServed({ body }: Pick<Call, 'body'>, attempt: ServedAttempt, usage: Usage): Usage {
  const { dropped, answeredTier, deployment } = attempt
  const { served } = usage
  const prices = deployment?.prices
  const asked = (name: keyof Served): string | undefined => {
    const value = requestedService(body, dropped, name)
    return value !== undefined && isDiscount(name, value, prices) ? undefined : value
  }
  const serviceTier = served?.serviceTier ?? answeredTier ?? asked('serviceTier')
  const speed = served?.speed ?? asked('speed')
  const region = served?.region ?? asked('region')
  if (serviceTier === served?.serviceTier && speed === served?.speed && region === served?.region) return usage
  const completed = { ...usage }
  setServed(completed, { serviceTier, speed, region })
  return completed
}

/** Tiers that are cheaper at every vendor that has them (OpenAI, Gemini, Bedrock, Groq: pages of prices, 2026-11). */
const cheapTiers: ReadonlySet<string> = new Set(['batch', 'flex'])

/** Of a place without a price of its own. */
const listPercent = 100

/** Whether a service costs less than the normal one at any time, by the prices of the deployment. */
function isDiscount(name: keyof Served, value: string, prices: Prices | null | undefined): boolean {
  if (name === 'serviceTier' && cheapTiers.has(value)) return true
  if (!prices) return false
  const all = [prices, ...(prices.later ?? []).map(one => one.prices)].flatMap(one => [
    one,
    ...(one.hours ?? []).map(hours => hours.prices),
  ])
  return all.some(one =>
    name === 'region' ? (one.regionPercent?.[value] ?? listPercent) < listPercent : isBelow(one.variants?.[value], one),
  )
}

function isBelow(variant: Prices | undefined, standard: Prices): boolean {
  if (!variant) return false
  const less = (one: bigint | undefined, other: bigint | undefined) =>
    one !== undefined && other !== undefined && one < other
  return less(variant.input, standard.input) || less(variant.output, standard.output)
}
