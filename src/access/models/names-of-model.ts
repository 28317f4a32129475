/** The names under which a caller reaches one model: a limit of the model holds under each of them. */
import type { Caller } from '../../core/caller.ts'
import type { ModelDirectory } from '../../core/model-directory.ts'
import { modelAliases } from './model-access.ts'

/**
 * `model` is the name that was requested, after the caller's aliases. With it: the public name behind an alias or the
 * id of a deployment, the name without or with its vendor where both find the same deployment, and the aliases of the
 * configuration, the key and the team.
 */
export function namesOfModel(caller: Caller, model: string, index: ModelDirectory): ReadonlySet<string> {
  const { aliases } = index.settings
  const meant = (Object.hasOwn(aliases, model) ? aliases[model] : undefined) ?? model
  const names = new Set([model, meant])
  const served = index.resolve(model)[0]
  if (!served) return names
  if (!served.modelName.includes('*')) names.add(served.modelName)
  const vendor = `${served.target.provider.name}/`
  const twin = meant.startsWith(vendor) ? meant.slice(vendor.length) : `${vendor}${meant}`
  if (index.resolve(twin)[0] === served) names.add(twin)
  for (const one of [aliases, modelAliases(caller)])
    for (const [alias, target] of Object.entries(one)) if (names.has(target)) names.add(alias)
  return names
}
