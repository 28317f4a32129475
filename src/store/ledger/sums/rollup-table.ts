/**
 * Table `ledger_daily`: sums of the ledger's rows for each day (UTC) and everything that usage is shown by. The
 * statements about it follow from the lists here, and so does what is summed in memory (`rollup-cells.ts`).
 */
import type { UsageScope } from '../../../core/ledger/usage-report.ts'
import type { Database } from '../../database/open.ts'
import { dayMs } from '../../../lib/clock.ts'

/** Days since 1970-01-01 in UTC, both included. */
export interface DaySpan {
  readonly firstDay: number
  readonly lastDay: number
}

/**
 * What the sums are kept for. A row of the ledger counts once in `total` and `key`, once in `customer` and `client` if
 * it has one, and once for each of its tags.
 */
export const rollupScopes: readonly UsageScope[] = ['total', 'key', 'customer', 'client', 'tag']

interface ScopeSource {
  /** SQL of the entity in the ledger. */
  readonly entity: string
  /** false = the key and whom it belongs to are left out: few rows for whole installations. */
  readonly keyed: boolean
  /** SQL; absent = every row has one. */
  readonly condition?: string
}

/** Where the entity of a scope stands in the ledger. */
const scopeSources: Readonly<Record<UsageScope, ScopeSource>> = {
  total: { entity: "''", keyed: false },
  key: { entity: 'key_id', keyed: true },
  customer: { entity: 'end_user', keyed: true, condition: 'end_user is not null' },
  client: { entity: 'client_name', keyed: false, condition: 'client_name is not null' },
  tag: { entity: 'tag.value', keyed: true, condition: 'request_tags is not null' },
}

/** Columns of whom a key belongs to: empty in the scopes without keys. */
export const ownerColumns = ['key_id', 'user_id', 'team_id', 'organization_id'] as const
/** Columns of what was called. */
export const callColumns = ['model', 'deployment_id', 'provider', 'upstream_model', 'route'] as const
/** The primary key. The day stands before the entity, so that new rows of a day stand together. */
export const rollupKey = ['scope', 'day', 'entity', ...ownerColumns, ...callColumns] as const

/**
 * What one row counts at most: a hostile upstream that reports more cannot make a sum outgrow 64 bits, which would keep
 * later rows out of the ledger. No call has a trillion tokens, or costs a million dollars.
 */
export const countMax = 1e12
/** As `countMax`, in nano-dollars. */
export const nanoUsdMax = 10n ** 15n

const bounded = (name: string, max: number | bigint) =>
  `sum(case when ${name} is null then 0 when ${name} > ${max} then ${max} else ${name} end)`

/** What is summed, by column: SQL over the rows of the ledger. Tokens that are not known count as 0. */
export const rollupSums = {
  requests: 'count(*)',
  successful_requests: "sum(case when outcome = 'success' then 1 else 0 end)",
  unpriced_requests: 'sum(case when cost_nano_usd is null and attempts > 0 then 1 else 0 end)',
  input_tokens: bounded('input_tokens', countMax),
  output_tokens: bounded('output_tokens', countMax),
  cached_input_tokens: bounded('cached_input_tokens', countMax),
  cache_write_tokens: bounded('cache_write_tokens', countMax),
  reasoning_tokens: bounded('reasoning_tokens', countMax),
  cost_nano_usd: bounded('cost_nano_usd', nanoUsdMax),
} as const
/** A column of `rollupSums`. */
export type RollupSum = keyof typeof rollupSums
/** Their names, in the order of the table. */
export const sumNames = Object.keys(rollupSums) as readonly RollupSum[]
/** All columns, in the order of the table. */
export const rollupColumns: readonly string[] = [...rollupKey, ...sumNames]

/** The declarations of all columns, in the order of the table. */
export const rollupColumnTexts = (kind: Database['kind']): string[] => [
  ...rollupKey.map(name => `${name} ${name === 'day' ? 'integer' : 'text'} not null`),
  ...sumNames.map(name => `${name} ${kind === 'sqlite' ? 'integer' : 'bigint'} not null`),
]

/** The table and its indexes. STRICT: SQLite stores a fraction or a text in no sum. */
export function createRollupTexts(kind: Database['kind']): string[] {
  const columns = [...rollupColumnTexts(kind), `primary key (${rollupKey.join(', ')})`]
  // Sums are in no index: with room on its page Postgres changes a row without touching the indexes.
  const options = kind === 'sqlite' ? 'strict' : 'with (fillfactor = 80)'
  return [
    `create table ledger_daily (${columns.join(', ')}) ${options}`,
    'create index ledger_daily_user on ledger_daily (user_id, scope, day)',
    'create index ledger_daily_team on ledger_daily (team_id, scope, day)',
    'create index ledger_daily_organization on ledger_daily (organization_id, scope, day)',
    // Of a key too: it is the entity of its scope.
    'create index ledger_daily_entity on ledger_daily (scope, entity, day)',
  ]
}

const added = sumNames.map(name => `${name} = ledger_daily.${name} + excluded.${name}`).join(', ')

/** Adds sums to the table; `source` provides rows with `rollupColumns`. */
export function addRollupText(source: string): string {
  return `insert into ledger_daily (${rollupColumns.join(', ')}) ${source}
    on conflict (${rollupKey.join(', ')}) do update set ${added}`
}

/** Selects `rollupColumns` of one scope and day from the rows of the ledger. `$1` = the day. */
export function expectedRollupText(kind: Database['kind'], scope: UsageScope): string {
  const { entity, keyed, condition } = scopeSources[scope]
  const owners = ownerColumns.map(name => (keyed ? `coalesce(${name}, '')` : "''"))
  const called = callColumns.map(name => `coalesce(${name}, '')`)
  const keys = [`'${scope}'`, 'cast($1 as integer)', `coalesce(${entity}, '')`, ...owners, ...called]
  const sums = sumNames.map(name => `cast(${rollupSums[name]} as ${kind === 'sqlite' ? 'integer' : 'bigint'})`)
  const values = [...keys, ...sums].map((text, at) => `${text} as ${rollupColumns[at]}`)
  const groups = keys.slice(2).flatMap((text, at) => (text === "''" ? [] : [String(at + 3)]))
  const tags =
    kind === 'sqlite'
      ? ', json_each(ledger.request_tags) as tag'
      : ', lateral json_array_elements_text(ledger.request_tags::json) as tag(value)'
  return `select ${values.join(', ')} from ledger${scope === 'tag' ? tags : ''}
    where started_at_ms >= cast($1 as bigint) * ${dayMs} and started_at_ms < (cast($1 as bigint) + 1) * ${dayMs}
    ${condition === undefined ? '' : `and ${condition}`} group by ${groups.join(', ')}`
}
