/** Reads the daily sums of the ledger, grouped as asked. */
import type { UsageField, UsageGroup, UsageQuery } from '../../core/usage-report.ts'
import type { LedgerStatement } from './ledger-database.ts'
import { storableParameter, visibleAlternatives } from './ledger-query.ts'
import { rollupColumns, sumNames } from './rollup-table.ts'
import type { RollupSum } from './rollup-table.ts'

const groupsMax = 100_000
/** Postgres takes 65,535 parameters; lists of filters are far shorter. */
const valuesMax = 10_000

/** Throws RangeError for a list of filters that is too long: endpoints bound them. */
export function usageStatement(query: UsageQuery): LedgerStatement {
  const values: (string | number)[] = []
  const place = (value: string | number) => `$${values.push(value)}`
  const conditions = [
    `scope = ${place(query.scope)}`,
    `day >= ${place(query.firstDay)}`,
    `day <= ${place(query.lastDay)}`,
  ]
  // The same in this scope, and in an index.
  const columnOf = (field: string) => (field === 'key_id' && query.scope === 'key' ? 'entity' : field)
  for (const [field, wanted] of Object.entries(query.where ?? {})) {
    if (values.length + wanted.length > valuesMax) throw new RangeError(`more than ${valuesMax} values are asked for`)
    const places = wanted.map(value => place(storableParameter(value)))
    conditions.push(places.length === 0 ? '1 = 0' : `${columnOf(field)} in (${places.join(', ')})`)
  }
  const visible = query.visible && visibleAlternatives(query.visible, place, columnOf)
  if (visible?.length === 0) conditions.push('1 = 0')
  const sums = sumNames.map(name => `cast(coalesce(sum(${name}), 0) as text) as ${name}`)
  const groups = query.groups.join(', ')
  const order = query.order === 'day' ? 'day desc, sum(cost_nano_usd) desc' : 'sum(cost_nano_usd) desc'
  // The groups last, for one order of equal sums.
  const text = `select ${[...query.groups, ...sums].join(', ')} from ${rowsText(conditions, visible)}
    ${groups === '' ? '' : `group by ${groups} order by ${order}, ${groups}`}
    limit ${place(Math.max(1, Math.min(groupsMax, Math.trunc(query.limit))))}`
  return { text, values }
}

/** Each alternative has an index of its own: beside an `or`, SQLite reads all rows of the span. */
function rowsText(conditions: readonly string[], alternatives: readonly string[] = []): string {
  const where = (...more: readonly string[]) => `ledger_daily where ${[...conditions, ...more].join(' and ')}`
  if (alternatives.length < 2) return where(...alternatives)
  // A row counts in the first of the parts that it belongs to.
  const parts = alternatives.map((one, at) => where(one, ...alternatives.slice(0, at).map(other => `not ${other}`)))
  return `(${parts.map(part => `select ${rollupColumns.join(', ')} from ${part}`).join(' union all ')}) as visible`
}

const fieldNames: readonly UsageField[] = [
  'entity',
  'key_id',
  'user_id',
  'team_id',
  'organization_id',
  'model',
  'deployment_id',
  'provider',
  'upstream_model',
  'route',
]

/** The groups of a result of `usageStatement`. */
export function readUsage(rows: readonly Record<string, unknown>[]): UsageGroup[] {
  return rows.map(row => {
    const sum = (name: RollupSum): number => Number(row[name])
    const fields = Object.fromEntries(fieldNames.map(name => [name, String(row[name] ?? '')]))
    return {
      day: Number(row.day ?? 0),
      fields: fields as UsageGroup['fields'],
      requests: sum('requests'),
      successfulRequests: sum('successful_requests'),
      unpricedRequests: sum('unpriced_requests'),
      inputTokens: sum('input_tokens'),
      outputTokens: sum('output_tokens'),
      cachedInputTokens: sum('cached_input_tokens'),
      cacheWriteTokens: sum('cache_write_tokens'),
      reasoningTokens: sum('reasoning_tokens'),
      costNanoUsd: BigInt(String(row.cost_nano_usd)),
    }
  })
}
