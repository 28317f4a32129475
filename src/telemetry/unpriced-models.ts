/** Reports models whose calls have no known price: once for each, because a busy one would fill the log. */
import type { Deployment } from '../core/deployment.ts'
import type { Usage } from '../core/usage/usage.ts'
import type { Logger } from './log.ts'

/** Clients choose the names of models that a pattern stands for: after so many no more are reported. */
const namesMax = 1000

/**
 * A function to call with every request that has no known price. It warns of the first of each model, and of each tier
 * that served it, that a process meets. `modelgate_unpriced_calls_total` counts all of them.
 */
export function unpricedModels(logger: Pick<Logger, 'warn'>): (usage: Usage, deployment: Deployment) => void {
  const warned = new Set<string>()
  return ({ served }, { modelName, target, prices }) => {
    const upstream = `${target.provider.name}/${target.model}`
    const tier = prices ? (served?.speed ?? served?.serviceTier) : undefined
    const name = `${upstream} ${tier ?? ''}`
    if (warned.has(name) || warned.size >= namesMax) return
    warned.add(name)
    logger.warn('a call has no known price, its cost is null; `modelgate prices explain` shows what is known', {
      model: modelName,
      upstream,
      served_by: tier,
    })
  }
}
