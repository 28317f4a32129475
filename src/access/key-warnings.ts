/** What is allowed in a key's fields but probably a mistake: said to the administrator, not refused. */
import type { ModelDirectory } from '../core/model-directory.ts'
import { closestMatch } from '../lib/closest-match.ts'
import { wildcardRest } from './models/model-index.ts'

/** Words of a list of models that are no names. */
const specialNames: ReadonlySet<string> = new Set(['all-proxy-models', 'all-team-models', 'no-default-models'])
const warningsMax = 20

/** One warning for each entry that fits no model, alias, deployment or access group of the moment; at most 20. */
export function modelWarnings(models: readonly string[], index: ModelDirectory): string[] {
  const { accessGroups } = index.settings
  const known = (name: string): boolean =>
    specialNames.has(name) ||
    Object.hasOwn(accessGroups, name) ||
    (name.includes('*') ? fitsAny(name, index) : index.resolve(name).length > 0)
  const unknown = models.filter(name => !known(name)).slice(0, warningsMax)
  return unknown.map(name => {
    if (name.includes('*')) return `models: no model fits the pattern \`${name}\``
    const near = closestMatch(name, [...index.names(), ...Object.keys(accessGroups)])
    const remedy = near ? `, did you mean \`${near}\`?` : '; GET /v1/models lists them'
    return `models: no model is named \`${name}\`${remedy}`
  })
}

/** Another pattern fits where the parts before the stars agree. */
function fitsAny(pattern: string, index: ModelDirectory): boolean {
  const head = headOf(pattern)
  return (
    index.names().some(name => wildcardRest(pattern, name) !== undefined) ||
    index.wildcardNames().some(other => head.startsWith(headOf(other)) || headOf(other).startsWith(head))
  )
}

const headOf = (pattern: string): string => pattern.slice(0, pattern.indexOf('*'))
