/** What sums by one thing can be divided by: what the gateway keeps together. */
import type { DimensionName } from '../../lib/usage-sums.ts'

/** A second thing to sum by. */
export type SecondDimension = Exclude<DimensionName, 'deployment'>

const called: readonly SecondDimension[] = ['model', 'provider']
const owners: readonly SecondDimension[] = ['key', 'user', 'team', 'organization']

/** Empty = it is not divided. */
export function dividedBy(by: DimensionName): readonly SecondDimension[] {
  if (by === 'deployment') return []
  const all = by === 'customer' || by === 'tag' ? called : [...called, ...owners]
  return all.filter(name => name !== by)
}
