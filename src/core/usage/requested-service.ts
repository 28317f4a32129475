/** Which service (tier, speed, region) a client requests, by the field names of all dialects. */
import type { JsonBody } from '../../lib/json/json-body.ts'
import type { Served } from './usage.ts'

const requestFields = {
  serviceTier: ['service_tier', 'serviceTier'],
  speed: ['speed'],
  region: ['inference_geo'],
} as const
/** They ask for nothing in particular. */
const undecided: ReadonlySet<string> = new Set(['auto', 'unspecified', 'service_tier_unspecified'])

/** undefined = the body does not ask for it. What was left out of the request (`dropped`) was not requested. */
export function requestedService(
  body: JsonBody | undefined,
  dropped: readonly string[],
  name: keyof Served,
): string | undefined {
  if (!body) return undefined
  for (const field of requestFields[name]) {
    if (!body.has(field) || dropped.includes(field)) continue
    const value = body.get(field)
    if (typeof value === 'string' && !undecided.has(value.toLowerCase())) return value.toLowerCase()
  }
  return undefined
}
