/** The lines of the spending report: those that are listed, and what is left of each whole, so that all add up. */
import type { Caller } from '../../../core/caller.ts'
import type { Services } from '../../../core/endpoint.ts'
import { addUsageSums, noUsage, subtractUsageSums } from '../../../core/ledger/usage-report.ts'
import type { UsageField, UsageGroup, UsageQuery, UsageScope, UsageSums } from '../../../core/ledger/usage-report.ts'
import { topSpendersFor, usageFor } from './access.ts'
import type { DaySpan } from '../../common/date-span.ts'

/** Stands for everything that is not listed. No key, team or customer has it as its id. */
export const otherId = '\0other'

/** Groups that are read at most. */
const rowsMax = 50_000
/** Of very many, so many teams or customers are listed. */
const listedMax = 20

interface ReportRequest extends DaySpan {
  readonly scope: UsageScope
  /** What the report is of. */
  readonly field: 'team_id' | 'entity' | 'key_id'
  readonly where: NonNullable<UsageQuery['where']>
}

/** By day, entity, key and model. */
export async function reportGroups(
  services: Services,
  caller: Caller,
  request: ReportRequest,
): Promise<readonly UsageGroup[]> {
  const { scope, field, where, firstDay, lastDay } = request
  const days = { firstDay, lastDay, order: 'day', limit: rowsMax } as const
  const fields = [...new Set(['day', 'team_id', 'key_id', 'model', field] as const)]
  const others = Object.keys(where).filter(name => name !== field)
  const topSpenders =
    others.length > 0 || (field === 'key_id' && where.key_id !== undefined)
      ? null
      : await topSpendersFor(services, caller, {
          ...days,
          scope,
          field,
          ...(where[field] && { entities: where[field] }),
        })
  if (topSpenders === null) return usageFor(services, caller, { ...days, scope, where, groups: fields })
  const entities = topSpenders.entities.slice(0, where[field] ? undefined : listedMax)
  const listed = field === 'key_id' ? {} : { [field]: entities }
  const keys = topSpenders.keys && { key_id: topSpenders.keys }
  const lines = await usageFor(services, caller, { ...days, scope, where: { ...listed, ...keys }, groups: fields })
  const ofEntities =
    keys === null || field === 'key_id'
      ? lines
      : await usageFor(services, caller, { ...days, scope, where: listed, groups: ['day', field, 'model'] })
  const rest = ofEntities === lines ? [] : restOf(ofEntities, lines, ['key_id'], one => [one.team_id, one.entity])
  if (where[field]) return [...lines, ...rest].toSorted(newestFirst)
  // The whole last: what is counted meanwhile is in it, and not missing.
  const whole = await usageFor(services, caller, {
    ...days,
    scope: scope === 'key' ? 'total' : scope,
    groups: ['day', 'model'],
  })
  return [...lines, ...rest, ...restOf(whole, ofEntities, ['key_id', field], () => [])].toSorted(newestFirst)
}

const newestFirst = (a: UsageGroup, b: UsageGroup): number => b.day - a.day

/** What of the whole is in no part, as lines in which `fields` are those of others. `ownerOf`: what both are of. */
function restOf(
  whole: readonly UsageGroup[],
  parts: readonly UsageGroup[],
  fields: readonly UsageField[],
  ownerOf: (of: UsageGroup['fields']) => readonly string[],
): UsageGroup[] {
  const nameOf = ({ day, fields: of }: UsageGroup) => [day, of.model, ...ownerOf(of)].join('\0')
  const known = new Map<string, UsageSums>()
  for (const part of parts) known.set(nameOf(part), addUsageSums(known.get(nameOf(part)) ?? noUsage, part))
  return whole.flatMap(one => {
    const rest = subtractUsageSums(one, known.get(nameOf(one)) ?? noUsage)
    const named = Object.fromEntries(fields.map(field => [field, otherId]))
    return rest.requests > 0 ? [{ ...one, ...rest, fields: { ...one.fields, ...named } }] : []
  })
}
