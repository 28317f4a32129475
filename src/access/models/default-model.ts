/** The model of a call that names none. */
import type { Caller } from '../../core/caller.ts'
import type { Deployment } from '../../core/deployment.ts'
import type { ModelDirectory } from '../../core/model-directory.ts'
import { mayCall, visibleDeployments } from './model-access.ts'

/**
 * What a vendor's pattern (`openai/*`, `*`) offers for calls without `model`: the one that OpenAI takes then ("Create
 * moderation"); images have none there since DALL-E ended, so that it is the one that it names in its place ("Create
 * image" in the types of openai, 2026-11).
 */
const vendorDefaults = { moderation: 'omni-moderation-latest', image_generation: 'gpt-image-2.5-flare' } as const

/**
 * The configured model, else the first of this mode that the caller may call, else the first that `otherwise` accepts,
 * else OpenAI's where a pattern has it; undefined = there is none. The built-in ones, whose results are simulated,
 * count only where all models are built in: elsewhere their results would be mistaken for real ones.
 */
export function defaultModel(
  models: ModelDirectory,
  caller: Caller,
  mode: 'moderation' | 'image_generation',
  otherwise: (deployment: Deployment) => boolean = () => false,
): string | undefined {
  const { settings, deployments } = models.of(caller)
  const configured = settings.defaultModels[mode]
  if (configured !== undefined) return configured
  const own = deployments.filter(one => one.origin.kind !== 'built-in')
  const usable = (own.length > 0 ? own : deployments).filter(
    one => !one.modelName.includes('*') && mayCall(caller, one.modelName, settings),
  )
  const named = usable.find(one => one.mode === mode) ?? usable.find(otherwise)
  return named ? named.modelName : ofPattern(models.of(caller), caller, mode)
}

/** A pattern that leads to a vendor without such models has no default. */
function ofPattern(index: ModelDirectory, caller: Caller, mode: keyof typeof vendorDefaults): string | undefined {
  if (index.wildcardNames().length === 0) return undefined
  const bare = vendorDefaults[mode]
  const names = index.wildcardNames().map(pattern => pattern.replace('*', bare))
  return [bare, ...names].find(name => visibleDeployments(caller, name, index).some(one => hasDefault(one, mode)))
}

/** The pattern leads to OpenAI's own models: another host has its own, or none. */
const hasDefault = ({ mode, target: { provider, model } }: Deployment, wanted: keyof typeof vendorDefaults): boolean =>
  mode === wanted && model === vendorDefaults[wanted] && provider.ownNames?.test(model) === true
