/** Counts models for messages. Built-in models are counted apart. */
import type { Settings } from '../core/settings.ts'

/** How many models there are, by where they come from: public names, not deployments. */
export interface ModelCounts {
  /** Names from the configuration, the environment or local servers; a pattern counts as one. */
  readonly own: number
  readonly builtIn: number
}

/** A name that exists in both groups counts in both. */
export function countModels({ deployments }: Pick<Settings, 'deployments'>): ModelCounts {
  const own = new Set(deployments.filter(one => one.origin.kind !== 'built-in').map(one => one.modelName))
  const builtIn = new Set(deployments.filter(one => one.origin.kind === 'built-in').map(one => one.modelName))
  return { own: own.size, builtIn: builtIn.size }
}

const models = (count: number): string => `${count} ${count === 1 ? 'model' : 'models'}`

/** `6 models` and what follows: `, and 7 built-in ones`. */
export function modelCountText({ own, builtIn }: ModelCounts): { models: string; more: string } {
  if (builtIn === 0) return { models: models(own), more: '' }
  if (own === 0)
    return { models: models(builtIn), more: builtIn === 1 ? ', which is built-in' : ', all of them built-in' }
  return { models: models(own), more: `, and ${builtIn} built-in ${builtIn === 1 ? 'one' : 'ones'}` }
}
