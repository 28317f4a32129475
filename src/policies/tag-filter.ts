/** `enable_tag_filtering`: the tags of a call choose among the deployments of a model. */
import type { Call } from '../core/call.ts'
import type { Deployment } from '../core/deployment.ts'
import { GatewayError } from '../core/errors.ts'
import type { Policy } from '../core/policy.ts'
import { keepDeployments } from '../access/models/serving-deployments.ts'

/** Takes calls without tags, and those whose tags no other deployment of the model has. */
const defaultTag = 'default'

/**
 * Once tags, model and fallbacks are known: keeps the deployments with a tag of the call (with all of them where the
 * operator says so), else those with the tag `default`. A call without tags goes to these, or to any where there are
 * none. Calls of one deployment by its id are left alone. Throws `model-forbidden` where none of the model is left.
 */
export function tagFilter(): Policy {
  return {
    name: 'tag-filter',
    stage: 'body',
    admit(call) {
      const { tagFilter: filter } = call.models.settings.router
      if (!filter || call.candidates.length === 0 || isById(call)) return
      const { tags } = call
      keepDeployments(call, group => taggedFor(tags, group, filter.matches))
      if (call.candidates.length > 0) return
      const shown = tags.map(tag => `'${tag}'`).join(', ')
      throw new GatewayError(
        'model-forbidden',
        `no deployment of '${call.model}' is for the tags of this call (${shown}), of which some may be those of its ` +
          'key or team; send a tag that one has',
      )
    },
  }
}

const isById = ({ candidates: [first], model }: Call): boolean => first?.id === model && first.modelName !== model

function taggedFor(
  tags: readonly string[],
  group: readonly Deployment[],
  matches: 'any' | 'all',
): readonly Deployment[] {
  const defaults = () => group.filter(one => one.tags?.includes(defaultTag))
  if (tags.length === 0) {
    const found = defaults()
    return found.length > 0 ? found : group
  }
  const tagged = group.filter(({ tags: own = [] }) =>
    matches === 'any' ? tags.some(tag => own.includes(tag)) : tags.every(tag => own.includes(tag)),
  )
  return tagged.length > 0 ? tagged : defaults()
}
