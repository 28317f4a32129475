/** Filters of SCIM as conditions on users and teams. */
import type { SearchField, TenantCondition } from '../../core/tenancy/tenancy-store.ts'
import { asciiLower } from '../../lib/text.ts'
import { ScimError } from '../../lib/scim/error.ts'
import { parseIsoDate } from '../../lib/iso-date.ts'
import type { AttributePath, Filter } from '../../lib/scim/path.ts'
import type { ResourceType } from '../../lib/scim/schema.ts'

type Compare = Extract<Filter, { kind: 'compare' }>
type SearchedField = { readonly field: SearchField; readonly as: 'text' | 'moment' | 'active' | 'member' }

const common: Readonly<Record<string, SearchedField>> = {
  id: { field: 'id', as: 'text' },
  externalid: { field: 'externalId', as: 'text' },
  'meta.created': { field: 'createdAtMs', as: 'moment' },
  'meta.lastmodified': { field: 'updatedAtMs', as: 'moment' },
}
const searched: Readonly<Record<string, Readonly<Record<string, SearchedField>>>> = {
  User: {
    ...common,
    username: { field: 'name', as: 'text' },
    displayname: { field: 'alias', as: 'text' },
    active: { field: 'blocked', as: 'active' },
    emails: { field: 'email', as: 'text' },
    'emails.value': { field: 'email', as: 'text' },
    groups: { field: 'teamId', as: 'member' },
    'groups.value': { field: 'teamId', as: 'member' },
  },
  Group: {
    ...common,
    displayname: { field: 'name', as: 'text' },
    members: { field: 'memberId', as: 'member' },
    'members.value': { field: 'memberId', as: 'member' },
  },
}
const searchedText =
  'of users id, userName, displayName, externalId, emails, active, groups, of groups id, displayName, externalId, ' +
  'members, of both meta.created and meta.lastModified'

/** The condition of a filter. Throws `invalidFilter` for attributes that are not searched. */
export function conditionOf(type: ResourceType, filter: Filter): TenantCondition {
  switch (filter.kind) {
    case 'and':
      return { all: filter.parts.map(part => conditionOf(type, part)) }
    case 'or':
      return { any: filter.parts.map(part => conditionOf(type, part)) }
    case 'not':
      return { not: conditionOf(type, filter.part) }
    case 'present': {
      const { field, as } = find(type, filter.path)
      if (as === 'member') throw new ScimError('invalidFilter', `${filter.path.name}: name one with \`eq\``)
      return { field, operator: 'pr', value: null }
    }
    case 'values':
      return conditionOfElement(type, filter.path, filter.filter)
    case 'compare':
      return compared(find(type, filter.path), filter)
  }
}

/** Of the addresses only the main one is searched: that it is the primary one and for work is true of it. */
function conditionOfElement(type: ResourceType, path: AttributePath, filter: Filter): TenantCondition {
  const inner = (one: Filter): TenantCondition => {
    if (one.kind === 'and') return { all: one.parts.map(inner) }
    if (one.kind === 'or') return { any: one.parts.map(inner) }
    if (one.kind !== 'compare') throw new ScimError('invalidFilter', `${path.name}: use comparisons inside of [ ]`)
    const name = one.path.name.toLowerCase()
    if (name === 'value') return compared(find(type, { ...path, sub: 'value' }), one)
    const isMain =
      one.operator === 'eq' &&
      path.name.toLowerCase() === 'emails' &&
      [one.value, String(one.value).toLowerCase()].includes(
        name === 'type' ? 'work' : name === 'primary' ? 'true' : NaN,
      )
    if (isMain) return { all: [] }
    throw new ScimError('invalidFilter', `${path.name}: only its main value is searched, by \`value\``)
  }
  return inner(filter)
}

function find({ name, schema }: ResourceType, path: AttributePath): SearchedField {
  const isCore = path.schema === undefined || path.schema.toLowerCase() === schema.id.toLowerCase()
  const key = (path.sub === undefined ? path.name : `${path.name}.${path.sub}`).toLowerCase()
  const fields = searched[name]!
  if (isCore && Object.hasOwn(fields, key)) return fields[key]!
  throw new ScimError('invalidFilter', `'${key.slice(0, 100)}' is not searched; there are ${searchedText}`)
}

function compared({ field, as }: SearchedField, { operator, value, path }: Compare): TenantCondition {
  if (value === null && operator !== 'eq' && operator !== 'ne')
    throw new ScimError('invalidFilter', `${path.name}: null can only be compared by eq and ne`)
  if (as === 'member') {
    if (operator !== 'eq' || value === null) throw new ScimError('invalidFilter', `${path.name}: name one with \`eq\``)
    return { field, operator, value: String(value) }
  }
  if (value === null) return { field, operator, value }
  if (as === 'active') {
    const isActive = { true: true, false: false }[String(value).toLowerCase()]
    if (isActive === undefined || (operator !== 'eq' && operator !== 'ne'))
      throw new ScimError('invalidFilter', 'active can only be compared by eq and ne, with true or false')
    return { field, operator, value: !isActive }
  }
  if (as === 'moment') {
    const read = parseIsoDate(String(value))
    if (!read || operator === 'co' || operator === 'sw' || operator === 'ew')
      throw new ScimError('invalidFilter', `${path.name}.${path.sub} is compared with a date: "2026-12-31T00:00:00Z"`)
    return { field, operator, value: read.ms }
  }
  return { field, operator, value: field === 'email' ? asciiLower(String(value)) : String(value) }
}
