/** The strategy of the router, from a checked configuration. */
import type { RouterSettings } from '../core/settings.ts'
import type { Config } from './sections/file.ts'

const forgetSecondsDefault = 60

/** Empty = deployments are chosen by their weights. */
export function routingStrategyOf(
  router: NonNullable<Config['router_settings']>,
): Pick<RouterSettings, 'strategy'> | undefined {
  const { routing_strategy: by = 'simple-shuffle', routing_strategy_args: given = {} } = router
  if (by === 'simple-shuffle') return undefined
  if (by !== 'latency-based-routing') return { strategy: { by } }
  const forgetMs = (given.ttl ?? forgetSecondsDefault) * 1000
  return { strategy: { by, bufferShare: given.lowest_latency_buffer ?? 0, forgetMs } }
}
