/**
 * Table `ledger_daily_spend`: what users, teams and tags have spent on each day (UTC). It is the sum of `ledger_daily`
 * over keys and models, kept in the same transactions: the spending of a team is a row for each of its days, and not
 * one for each day, key and model.
 */
import type { Database } from '../database/open.ts'
import type { RollupValue } from './rollup-cells.ts'
import { expectedRollupText, rollupColumns } from './rollup-table.ts'

/** Whose spending has rows of its own. What keys and customers have spent is few rows of `ledger_daily`. */
export type SpendScope = 'user' | 'team' | 'tag'

/** The rows of `ledger_daily` that are summed up, and its column with the entity. Rows without one do not count. */
const sources = {
  user: { scope: 'key', column: 'user_id' },
  team: { scope: 'key', column: 'team_id' },
  tag: { scope: 'tag', column: 'entity' },
} as const satisfies Readonly<Record<SpendScope, object>>

/** The names of `SpendScope`. */
export const spendScopes = Object.keys(sources) as readonly SpendScope[]
/** In the order of the table. */
export const spendColumns = ['scope', 'entity', 'day', 'cost_nano_usd'] as const

/** The table and its index, which is for days that are deleted or made anew. */
export function createSpendTexts(kind: Database['kind']): string[] {
  const [integer, options] =
    kind === 'sqlite' ? ['integer', 'strict, without rowid'] : ['bigint', 'with (fillfactor = 80)']
  return [
    `create table ledger_daily_spend (scope text not null, entity text not null, day integer not null,
      cost_nano_usd ${integer} not null, primary key (scope, entity, day)) ${options}`,
    'create index ledger_daily_spend_day on ledger_daily_spend (day)',
  ]
}

/** Adds sums to the table; `source` provides rows with `spendColumns`. */
export function addSpendText(source: string): string {
  return `insert into ledger_daily_spend (${spendColumns.join(', ')}) ${source} on conflict (scope, entity, day)
    do update set cost_nano_usd = ledger_daily_spend.cost_nano_usd + excluded.cost_nano_usd`
}

/** Selects `spendColumns` of one scope from rows like those of `ledger_daily`. `condition` chooses among them. */
export function summedSpendText(scope: SpendScope, rows = 'ledger_daily', condition = ''): string {
  const { scope: source, column } = sources[scope]
  return `select '${scope}' as scope, ${column} as entity, day, cast(sum(cost_nano_usd) as bigint) as cost_nano_usd
    from ${rows} where scope = '${source}' and ${column} <> '' ${condition} group by ${column}, day`
}

/** The same from the rows of the ledger. `$1` = the day. */
export function expectedSpendText(kind: Database['kind'], scope: SpendScope): string {
  return summedSpendText(scope, `(${expectedRollupText(kind, sources[scope].scope)}) as rows_of_day`)
}

const place = (name: string): number => rollupColumns.indexOf(name)
const [scopeAt, dayAt, costAt] = [place('scope'), place('day'), place('cost_nano_usd')]
const placed = spendScopes.map(scope => ({ scope, from: sources[scope].scope, at: place(sources[scope].column) }))

/** What cells of `rollupCells` add to the table, sorted by key: replicas take their locks in one order. */
export function spendCells(cells: readonly (readonly RollupValue[])[]): readonly (readonly RollupValue[])[] {
  const found = new Map<string, [scope: SpendScope, entity: string, day: number, nanoUsd: bigint]>()
  for (const cell of cells)
    for (const { scope, from, at } of placed) {
      const entity = cell[at] as string
      if (cell[scopeAt] !== from || entity === '') continue
      const [day, nanoUsd] = [cell[dayAt] as number, cell[costAt] as bigint]
      const key = `${scope}\u0000${entity}\u0000${day}`
      const known = found.get(key)
      if (known) known[3] += nanoUsd
      else found.set(key, [scope, entity, day, nanoUsd])
    }
  return [...found].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, cell]) => cell)
}
