/** Conditions on users and teams as SQL. Equality of what directories search by is answered by an index. */
import type { TenantKind } from '../../core/tenancy/tenancy.ts'
import type { SearchField, TenantCondition } from '../../core/tenancy/tenancy-store.ts'
import { asciiLower } from '../../lib/text.ts'
import type { Where } from './where.ts'

type FieldComparison = Extract<TenantCondition, { readonly field: SearchField }>

/** The condition for a `where`, which gets its values in their order. */
export function searchText(where: Where, kind: TenantKind, condition: TenantCondition): string {
  if ('all' in condition) return joined(where, kind, condition.all, ' and ')
  if ('any' in condition) return joined(where, kind, condition.any, ' or ')
  // What has no value does not fit a comparison, and so fits its opposite.
  if ('not' in condition) return `not coalesce(${searchText(where, kind, condition.not)}, false)`
  return `(${comparedText(where, kind, condition)})`
}

function joined(where: Where, kind: TenantKind, parts: readonly TenantCondition[], word: string): string {
  // Where every one of none holds, and one of none does not.
  if (parts.length === 0) return word === ' and ' ? '1 = 1' : '1 = 0'
  return `(${parts.map(part => searchText(where, kind, part)).join(word)})`
}

const columns: Readonly<Partial<Record<SearchField, string>>> = {
  id: 'id',
  alias: 'alias',
  email: 'email',
  externalId: 'external_id',
  blocked: 'blocked',
  createdAtMs: 'created_at_ms',
  updatedAtMs: 'updated_at_ms',
}

/** Fields whose index holds them as they are; of the others it holds them in lower case. */
const exact: ReadonlySet<SearchField> = new Set(['id', 'externalId', 'email', 'blocked', 'createdAtMs', 'updatedAtMs'])
const signs = { eq: '=', gt: '>', ge: '>=', lt: '<', le: '<=' } as const

function comparedText(where: Where, kind: TenantKind, comparison: FieldComparison): string {
  const { field, operator } = comparison
  const value = typeof comparison.value === 'boolean' ? Number(comparison.value) : comparison.value
  if (field === 'memberId')
    return `id in (select group_id from memberships where kind = 'team' and user_id = ${where.bind(value)})`
  if (field === 'teamId')
    return `id in (select user_id from memberships where kind = 'team' and group_id = ${where.bind(value)})`
  if (field === 'name' && operator === 'eq' && value !== null) return nameText(where, kind, value)
  const column = columns[field] ?? (kind === 'user' ? 'coalesce(user_name, email, id)' : 'coalesce(alias, id)')
  if (operator === 'pr') return `${column} is not null`
  if (value === null) return `${column} is ${operator === 'ne' ? 'not ' : ''}null`
  if (operator === 'ne') return searchText(where, kind, { not: { ...comparison, operator: 'eq' } })
  if (operator === 'co' || operator === 'sw' || operator === 'ew') {
    const part = String(value).replace(/[\\%_]/g, sign => `\\${sign}`)
    const pattern = `${operator === 'sw' ? '' : '%'}${part}${operator === 'ew' ? '' : '%'}`
    return `lower(${column}) like lower(${where.bind(pattern)}) escape '\\'`
  }
  const sign = signs[operator]
  return exact.has(field)
    ? `${column} ${sign} ${where.bind(value)}`
    : `lower(${column}) ${sign} lower(${where.bind(value)})`
}

/** In parts, each of which is found by an index. */
function nameText(where: Where, kind: TenantKind, value: string | number): string {
  if (kind === 'team')
    return `lower(alias) = lower(${where.bind(value)}) or (id = ${where.bind(value)} and alias is null)`
  return [
    `lower(user_name) = lower(${where.bind(value)})`,
    `(email = ${where.bind(asciiLower(String(value)))} and user_name is null)`,
    `(id = ${where.bind(value)} and user_name is null and email is null)`,
  ].join(' or ')
}
