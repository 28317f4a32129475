/** The model of a call that names none. */
import type { Caller } from '../../core/caller.ts'
import type { Deployment } from '../../core/deployment.ts'
import type { ModelDirectory } from '../../core/model-directory.ts'
import { mayCall } from './model-access.ts'

/**
 * The configured model, else the first of this mode that the caller may call, else the first that `otherwise` accepts;
 * undefined = there is none. The built-in ones, whose results are simulated, count only where all models are built in:
 * elsewhere their results would be mistaken for real ones.
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
  return (usable.find(one => one.mode === mode) ?? usable.find(otherwise))?.modelName
}
