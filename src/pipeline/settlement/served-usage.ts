/** What served a request, where the usage of its answer does not say it. */
import { requestedService } from '../../core/usage/requested-service.ts'
import type { Call } from '../../core/call.ts'
import { setServed } from '../../core/usage/usage-fields.ts'
import type { Usage } from '../../core/usage/usage.ts'

/**
 * The usage with what served the current request: as its usage says, or as the head of its answer does; else as was
 * requested.
 */
export function withServed({ body, dropped, answeredTier }: Call, usage: Usage): Usage {
  const { served } = usage
  const serviceTier = served?.serviceTier ?? answeredTier ?? requestedService(body, dropped, 'serviceTier')
  const speed = served?.speed ?? requestedService(body, dropped, 'speed')
  const place = served?.place ?? requestedService(body, dropped, 'place')
  if (serviceTier === served?.serviceTier && speed === served?.speed && place === served?.place) return usage
  const completed = { ...usage }
  setServed(completed, { serviceTier, speed, place })
  return completed
}
