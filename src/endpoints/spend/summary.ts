/** GET /spend/summary: sums of a span by one thing, or by two together. */
import { z } from 'zod'
import type { Services } from '../../core/endpoint.ts'
import { unprocessable } from '../../core/errors.ts'
import { scopeOfAll, usageDimensionNames, usageDimensions } from '../../core/ledger/usage-dimensions.ts'
import type { UsageDimensionName } from '../../core/ledger/usage-dimensions.ts'
import { addUsageSums, noUsage, subtractUsageSums } from '../../core/ledger/usage-report.ts'
import type { UsageGroup, UsageSums } from '../../core/ledger/usage-report.ts'
import { lazy } from '../../lib/lazy.ts'
import { readQuery } from '../common/checked-input.ts'
import { daySpanDoc, daySpanOf, spanFields } from '../common/date-span.ts'
import { jsonEndpoint } from '../common/json-endpoint.ts'
import { boolean, described, listOf, named, nullable, shape, text } from '../openapi/schema.ts'
import { metrics, shownMetrics, usageFor } from './common/access.ts'
import { namesOfOwners } from './common/owner-names.ts'

/** Lines of an answer, the dearest ones. */
const linesMax = 1000

const partSchema = named('SpendSummaryPart', () =>
  shape({
    id: described('The id, or the name of what has no other.', text),
    name: described('What it is called now; null = it has no name beside its id.', nullable(text)),
  }),
)

const summarySchema = named('SpendSummary', () =>
  shape({
    results: described(
      'The dearest comes first. A call with several tags counts in each of them.',
      listOf(shape({ by: partSchema, and: nullable(partSchema), metrics })),
    ),
    total: described('The sum, in which each call counts once.', metrics),
    others: described(
      'What is in no line: calls that belong to none, and what is behind the last line; null = nothing, or `by=tag`.',
      nullable(metrics),
    ),
    is_complete: described('false = there are more lines than are listed.', boolean),
  }),
)

const query = lazy(() =>
  z.strictObject({
    by: z.enum(usageDimensionNames).default('team'),
    and: z.enum(usageDimensionNames).optional(),
    ...spanFields(),
  }),
)

/** 422 for dimensions that are not kept together. */
export const spendSummary = jsonEndpoint(summarySchema, {
  method: 'GET',
  paths: ['/spend/summary'],
  auth: 'key',
  doc: {
    operationId: 'summarizeSpend',
    summary: 'Sums of some days by one thing, as `team`, or by two together, as `team` and `model`; a key sees its own',
    tag: 'Spend',
    query: {
      by: { schema: { enum: usageDimensionNames, default: 'team' }, description: 'What the sums are of.' },
      and: {
        schema: { enum: usageDimensionNames },
        description:
          'What each of them is divided by. Owners of keys, models and providers go together; customers and tags go ' +
          'with models and providers.',
      },
      ...daySpanDoc,
    },
    failures: [403],
  },
  async handle(request, services, caller) {
    const { by, and, ...span } = readQuery(request, query())
    const names = and === undefined ? [by] : [by, and]
    const scope = scopeOfAll(names)
    if (scope === undefined)
      throw unprocessable([
        { loc: ['query', 'and'], msg: `is not kept together with ${by}; leave it out`, type: 'invalid' },
      ])
    const base = { ...daySpanOf(span, services.clock.epochMs()), order: 'cost' } as const
    const groups = names.map(name => usageDimensions[name].field)
    const found = await usageFor(services, caller!, { ...base, scope, groups, limit: linesMax + 1 })
    const [total = noUsage] = await usageFor(services, caller!, { ...base, scope: 'total', groups: [], limit: 1 })
    const listed = found.slice(0, linesMax).filter(group => groups.every(field => group.fields[field] !== ''))
    const rest = scope === 'tag' ? noUsage : withoutParts(total, listed)
    const parts = await Promise.all(names.map(name => partsOf(services, name, listed)))
    return {
      results: listed.map((group, at) => ({
        by: parts[0]![at]!,
        and: parts[1]?.[at] ?? null,
        metrics: shownMetrics(group),
      })),
      total: shownMetrics(total),
      others: rest.requests > 0 ? shownMetrics(rest) : null,
      is_complete: found.length <= linesMax,
    }
  },
})

const withoutParts = (total: UsageSums, parts: readonly UsageSums[]): UsageSums =>
  subtractUsageSums(
    total,
    parts.reduce((sum, one) => addUsageSums(sum, one), noUsage),
  )

/** What the dimension is called in each of the groups. */
async function partsOf(services: Services, dimension: UsageDimensionName, groups: readonly UsageGroup[]) {
  const { field } = usageDimensions[dimension]
  const ids = groups.map(group => group.fields[field])
  const names = await namesOfOwners(services, dimension, ids)
  return ids.map(id => ({ id, name: names.get(id) ?? null }))
}
