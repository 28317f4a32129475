/** `enable_tag_filtering`: the tags of a call choose among the deployments of a model. */
import type { Call } from '../core/call.ts'
import type { Deployment } from '../core/deployment.ts'
import { GatewayError } from '../core/errors.ts'
import type { Policy } from '../core/policy.ts'
import type { TenantDirectory } from '../core/tenancy/tenancy-store.ts'
import type { Tag } from '../core/tenancy/tenancy.ts'
import { keepDeployments } from '../access/models/serving-deployments.ts'

/** Takes calls without tags, and those whose tags no other deployment of the model has. */
const defaultTag = 'default'

/**
 * Once tags, model and fallbacks are known: keeps the deployments with a tag of the call, or that a tag of the call
 * lists in its `models` (with all of them where the operator says so), else those with the tag `default`. A call
 * without tags goes to these, or to any where there are none. Calls of one deployment by its id are left alone. Throws
 * `model-forbidden` where none of the model is left.
 */
export function tagFilter(tenants: TenantDirectory): Policy {
  return {
    name: 'tag-filter',
    stage: 'body',
    admit(call) {
      const { tagFilter: filter } = call.models.settings.router
      if (!filter || call.candidates.length === 0 || isById(call)) return
      const found = call.tags.map(tag => tenants.lookup('tag', tag))
      if (!found.some(one => one instanceof Promise)) return keep(call, found as (Tag | undefined)[], filter.matches)
      return Promise.all(found).then(records => keep(call, records, filter.matches))
    },
  }
}

type Matches = 'any' | 'all'

/** `records` = those of the call's tags that were made, in their order. */
function keep(call: Call, records: readonly (Tag | undefined)[], matches: Matches): void {
  const wanted = call.tags.map((name, at) => ({ name, models: new Set(records[at]?.models) }))
  keepDeployments(call, group => taggedFor(wanted, group, matches))
  if (call.candidates.length > 0) return
  const shown = call.tags.map(tag => `'${tag}'`).join(', ')
  throw new GatewayError(
    'model-forbidden',
    `no deployment of '${call.model}' is for the tags of this call (${shown}), of which some may be those of its ` +
      'key or team; send a tag that one has',
  )
}

/** A tag of the call, with the models and ids of deployments that it lists. */
interface WantedTag {
  readonly name: string
  readonly models: ReadonlySet<string>
}

const isFor = ({ name, models }: WantedTag, { tags, id, modelName }: Deployment): boolean =>
  tags?.includes(name) === true || models.has(id) || models.has(modelName)

const isById = ({ candidates: [first], model }: Call): boolean => first?.id === model && first.modelName !== model

function taggedFor(tags: readonly WantedTag[], group: readonly Deployment[], matches: Matches): readonly Deployment[] {
  const defaults = () => group.filter(one => one.tags?.includes(defaultTag))
  if (tags.length === 0) {
    const found = defaults()
    return found.length > 0 ? found : group
  }
  const tagged = group.filter(one =>
    matches === 'any' ? tags.some(tag => isFor(tag, one)) : tags.every(tag => isFor(tag, one)),
  )
  return tagged.length > 0 ? tagged : defaults()
}
