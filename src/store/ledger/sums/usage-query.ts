/** Reads the daily sums of the ledger, grouped as asked. */
import type { UsageField, UsageGroup, UsageQuery } from '../../../core/ledger/usage-report.ts'
import type { LedgerStatement } from '../ledger-database.ts'
import { visibleAlternatives } from '../reads/ledger-query.ts'
import { storableParameter } from '../reads/conditions.ts'
import { derivedTables, totals } from './rollup-derived.ts'
import type { DerivedScope } from './rollup-derived.ts'
import { ownerColumns, rollupColumns, sumNames } from './rollup-table.ts'
import type { RollupSum } from './rollup-table.ts'

const groupsMax = 100_000
/** Postgres takes 65,535 parameters; lists of filters are far shorter. */
const valuesMax = 10_000

/** Up to so many days are listed one by one: then the columns behind the day in an index find rows too. */
const listedDaysMax = 400

/** Sums of fewer columns than those of `ledger_daily`, which say the same. */
export interface NarrowSums {
  readonly table: string
  readonly scope: DerivedScope
  /** The field that is the entity there. */
  readonly owner: UsageField | undefined
}

/** By scope and field: an empty one stands for no field. */
const narrowScopes: Readonly<Record<string, DerivedScope>> = {
  'total ': 'all',
  'key user_id': 'user',
  'key team_id': 'team',
  'key organization_id': 'organization',
  'tag entity': 'tag',
  'tag ': 'tags',
  'customer ': 'customers',
  'key key_id': 'key',
  'customer entity': 'customer',
}
/** A span that has every day that is kept. */
const everyDay = 100_000_000
const ownerFields: ReadonlySet<string> = new Set(['entity', ...ownerColumns])

/** The fewest rows that have what is requested; null = `ledger_daily` alone has it. */
export function narrowSums({ scope, groups, where, visible, firstDay, lastDay }: UsageQuery): NarrowSums | null {
  if (visible !== undefined) return null
  const fields = [...new Set([...groups, ...Object.keys(where ?? {})])].filter(field => field !== 'day')
  const [owners, called] = [fields.filter(one => ownerFields.has(one)), fields.filter(one => !ownerFields.has(one))]
  const derived = narrowScopes[`${scope} ${owners.join(' ')}`]
  const isTotal = firstDay <= 0 && lastDay >= everyDay && !groups.includes('day')
  const table = [...(isTotal ? [totals] : []), ...derivedTables].find(
    one => one.scopes.some(name => name === derived) && called.every(field => one.key.some(column => column === field)),
  )
  return table && derived ? { table: table.name, scope: derived, owner: owners[0] as UsageField | undefined } : null
}

/** Throws RangeError for a list of filters that is too long: endpoints bound them. `narrow` null = `ledger_daily`. */
export function usageStatement(query: UsageQuery, narrow = narrowSums(query)): LedgerStatement {
  if (narrow?.table === totals.name) return totalsStatement(query, narrow)
  const { firstDay, lastDay } = query
  const values: (string | number)[] = []
  const bind = (value: string | number) => `$${values.push(value)}`
  const isListed = (narrow !== null || query.where?.key_id !== undefined) && lastDay - firstDay < listedDaysMax
  const days = isListed ? Array.from({ length: Math.max(1, lastDay - firstDay + 1) }, (_, at) => firstDay + at) : []
  const conditions = [
    `scope = ${bind(narrow?.scope ?? query.scope)}`,
    ...(isListed ? [`day in (${days.map(bind).join(', ')})`] : [`day >= ${bind(firstDay)}`, `day <= ${bind(lastDay)}`]),
    ...(narrow !== null && narrow.owner === undefined ? ["entity = ''"] : []),
  ]
  const columnOf = (field: string) => {
    if (narrow !== null) return field === narrow.owner ? 'entity' : field
    // The same in this scope, and in an index.
    return field === 'key_id' && query.scope === 'key' ? 'entity' : field
  }
  // The index by key finds the fewest sums; `coalesce` keeps SQLite from choosing another one.
  const isByKey = query.scope === 'key' && query.where?.key_id !== undefined
  const sought = (column: string) => (isByKey && column !== 'entity' ? `coalesce(${column}, '')` : column)
  for (const [field, wanted] of Object.entries(query.where ?? {})) {
    if (values.length + wanted.length > valuesMax) throw new RangeError(`more than ${valuesMax} values are asked for`)
    const placeholders = wanted.map(value => bind(storableParameter(value)))
    conditions.push(placeholders.length === 0 ? '1 = 0' : `${sought(columnOf(field))} in (${placeholders.join(', ')})`)
  }
  const visible = query.visible && visibleAlternatives(query.visible, bind, columnOf)
  if (visible?.length === 0) conditions.push('1 = 0')
  const sums = sumNames.map(name => `cast(coalesce(sum(${name}), 0) as text) as ${name}`)
  const groups = query.groups.map(columnOf).join(', ')
  const named = query.groups.map(field => (columnOf(field) === field ? field : `${columnOf(field)} as ${field}`))
  const order = query.order === 'day' ? 'day desc, sum(cost_nano_usd) desc' : 'sum(cost_nano_usd) desc'
  // The groups last, for one order of equal sums.
  const rows = rowsText(narrow?.table ?? 'ledger_daily', conditions, visible)
  const text = `select ${[...named, ...sums].join(', ')} from ${rows}
    ${groups === '' ? '' : `group by ${groups} order by ${order}, ${groups}`}
    limit ${bind(Math.max(1, Math.min(groupsMax, Math.trunc(query.limit))))}`
  return { text, values }
}

/** A row of the table is a row of the report, and an index has them in its order: nothing is summed or sorted. */
function totalsStatement({ where, groups, limit }: UsageQuery, { scope, owner }: NarrowSums): LedgerStatement {
  const values: (string | number)[] = [scope]
  const bind = (value: string | number) => `$${values.push(value)}`
  const wanted = owner && where?.[owner]
  const conditions = wanted
    ? [`entity in (${wanted.map(one => bind(storableParameter(one))).join(', ') || 'null'})`]
    : []
  const named = groups.map(field => `entity as ${field}`)
  const sums = sumNames.map(name => `cast(${name} as text) as ${name}`)
  const most = bind(Math.max(1, Math.min(groupsMax, Math.trunc(limit))))
  const text = `select ${[...named, ...sums].join(', ')} from ${totals.name}
    where ${['scope = $1', 'requests > 0', ...conditions].join(' and ')}
    order by ${totals.name}.cost_nano_usd desc, entity limit ${most}`
  return { text, values }
}

/** Each alternative has an index of its own: beside an `or`, SQLite reads all rows of the span. */
function rowsText(table: string, conditions: readonly string[], alternatives: readonly string[] = []): string {
  const where = (...more: readonly string[]) => `${table} where ${[...conditions, ...more].join(' and ')}`
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
