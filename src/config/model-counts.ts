/** How many models there are, in words: the built-in ones are nobody's reason to start a gateway. */
import type { Settings } from '../core/settings.ts'

/** Names that clients can ask for, not deployments. */
export interface ModelCounts {
  /** Names that the configuration, the environment or this machine offers; a pattern counts once. */
  readonly own: number
  readonly builtIn: number
}

/** A name that is offered both ways counts on both sides. */
export function countModels({ deployments }: Pick<Settings, 'deployments'>): ModelCounts {
  const own = new Set(deployments.filter(one => one.origin.kind !== 'built-in').map(one => one.modelName))
  const builtIn = new Set(deployments.filter(one => one.origin.kind === 'built-in').map(one => one.modelName))
  return { own: own.size, builtIn: builtIn.size }
}

const models = (count: number): string => `${count} ${count === 1 ? 'model' : 'models'}`

/** `6 models` and what follows: `, and 7 built-in ones`. */
export function modelWords({ own, builtIn }: ModelCounts): { models: string; more: string } {
  if (builtIn === 0) return { models: models(own), more: '' }
  if (own === 0)
    return { models: models(builtIn), more: builtIn === 1 ? ', which is built-in' : ', all of them built-in' }
  return { models: models(own), more: `, and ${builtIn} built-in ${builtIn === 1 ? 'one' : 'ones'}` }
}
