/** By what people ask for sums of usage, and which of these are kept together. */
import type { UsageField, UsageScope } from './usage-report.ts'

/** Where the sums of something are. */
export interface UsageDimension {
  readonly scope: UsageScope
  readonly field: UsageField
}

/** By the words of people. */
export const usageDimensions = {
  key: { scope: 'key', field: 'key_id' },
  user: { scope: 'key', field: 'user_id' },
  team: { scope: 'key', field: 'team_id' },
  organization: { scope: 'key', field: 'organization_id' },
  customer: { scope: 'customer', field: 'entity' },
  tag: { scope: 'tag', field: 'entity' },
  model: { scope: 'total', field: 'model' },
  provider: { scope: 'total', field: 'provider' },
} as const satisfies Readonly<Record<string, UsageDimension>>

/** A word for a dimension. */
export type UsageDimensionName = keyof typeof usageDimensions
/** All of them. */
export const usageDimensionNames = Object.keys(usageDimensions) as UsageDimensionName[]

/** The scope in which sums by all of these are kept; undefined = they are not kept together. */
export function scopeOfAll(names: readonly UsageDimensionName[]): UsageScope | undefined {
  const scopes = new Set<UsageScope>(names.map(name => usageDimensions[name].scope).filter(scope => scope !== 'total'))
  return scopes.size > 1 || new Set(names).size < names.length ? undefined : ([...scopes][0] ?? 'total')
}
