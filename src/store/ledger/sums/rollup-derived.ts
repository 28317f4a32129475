/**
 * Sums of `ledger_daily` with fewer columns, kept in the same transactions: a report reads a row for each line that it
 * shows, and not one for each key and model behind it (docs/decisions/0064). They follow from `ledger_daily` alone.
 */
import type { UsageScope } from '../../../core/ledger/usage-report.ts'
import type { Database } from '../../database/open.ts'
import type { RollupValue } from './rollup-cells.ts'
import { expectedRollupText, rollupColumns, rollupKey, sumNames } from './rollup-table.ts'

interface Source {
  /** The rows of `ledger_daily` that are summed up. */
  readonly scope: UsageScope
  /** Its column with the entity; absent = all together, under an empty one. Rows without an entity do not count. */
  readonly column?: 'user_id' | 'team_id' | 'organization_id' | 'entity'
}

/** Whose sums there are. The plural ones are all of their kind together. */
const sources = {
  all: { scope: 'total' },
  user: { scope: 'key', column: 'user_id' },
  team: { scope: 'key', column: 'team_id' },
  organization: { scope: 'key', column: 'organization_id' },
  tag: { scope: 'tag', column: 'entity' },
  tags: { scope: 'tag' },
  customers: { scope: 'customer' },
  key: { scope: 'key', column: 'entity' },
  customer: { scope: 'customer', column: 'entity' },
} as const satisfies Readonly<Record<string, Source>>

/** The names of `sources`. */
export type DerivedScope = keyof typeof sources

/** A table of such sums. */
export interface DerivedTable {
  readonly name: string
  readonly scopes: readonly DerivedScope[]
  /** The primary key: what is summed for itself. Those of one entity stand together. */
  readonly key: readonly (typeof rollupKey)[number][]
}

/** What an entity used on a day. */
export const dailySpend: DerivedTable = {
  name: 'ledger_daily_spend',
  scopes: ['all', 'user', 'team', 'tag'],
  key: ['scope', 'entity', 'day'],
}

/** What an entity used on a day, by what was called: without keys, few rows for entities of many keys. */
const dailyCalls: DerivedTable = {
  name: 'ledger_daily_calls',
  scopes: ['team', 'organization', 'tag', 'tags', 'customers'],
  key: ['scope', 'entity', 'day', 'model', 'provider', 'upstream_model', 'route'],
}

/** The tables of sums by day. */
export const derivedTables: readonly DerivedTable[] = [dailySpend, dailyCalls]

/** What an entity used on all days that are kept (`rollup-totals.ts`). */
export const totals: DerivedTable = {
  name: 'ledger_totals',
  scopes: ['all', 'user', 'team', 'tag', 'key', 'customer'],
  key: ['scope', 'entity'],
}

/** What changes as rows are stored. */
export const writtenTables: readonly DerivedTable[] = [...derivedTables, totals]

/** The columns in the order in which they are written. */
export const derivedColumns = ({ key }: DerivedTable): readonly string[] => [...key, ...sumNames]

/** The table and its index, which is for days that are deleted or made anew, or for those that spent most. */
export function createDerivedTexts(kind: Database['kind'], { name, key }: DerivedTable): string[] {
  const [integer, options] =
    kind === 'sqlite' ? ['integer', 'strict, without rowid'] : ['bigint', 'with (fillfactor = 80)']
  const columns = [
    ...key.map(column => `${column} ${column === 'day' ? 'integer' : 'text'} not null`),
    ...sumNames.map(sum => `${sum} ${integer} not null`),
    `primary key (${key.join(', ')})`,
  ]
  const [index, indexed] = key.includes('day') ? ['day', 'day, scope'] : ['cost', 'scope, cost_nano_usd desc, entity']
  return [
    `create table ${name} (${columns.join(', ')}) ${options}`,
    `create index ${name}_${index} on ${name} (${indexed})`,
  ]
}

/** Adds sums to the table; `source` provides rows with `derivedColumns`. */
export function addDerivedText(table: DerivedTable, source: string): string {
  const added = sumNames.map(sum => `${sum} = ${table.name}.${sum} + excluded.${sum}`)
  return `insert into ${table.name} (${derivedColumns(table).join(', ')}) ${source}
    on conflict (${table.key.join(', ')}) do update set ${added.join(', ')}`
}

/** Selects `derivedColumns` of one scope from rows like those of `ledger_daily`. `condition` chooses among them. */
export function summedText(table: DerivedTable, scope: DerivedScope, rows = 'ledger_daily', condition = ''): string {
  const source: Source = sources[scope]
  const entity = source.column ?? "''"
  const values = table.key.map(column => {
    if (column === 'scope') return `'${scope}' as scope`
    return column === 'entity' ? `${entity} as entity` : column
  })
  const sums = sumNames.map(sum => `cast(sum(${sum}) as bigint) as ${sum}`)
  const groups: string[] = table.key.filter(column => column !== 'scope' && column !== 'entity')
  if (source.column) groups.unshift(source.column)
  return `select ${[...values, ...sums].join(', ')} from ${rows}
    where scope = '${source.scope}' ${source.column ? `and ${source.column} <> ''` : ''} ${condition}
    ${groups.length === 0 ? 'having count(*) > 0' : `group by ${groups.join(', ')}`}`
}

/** The same from the rows of the ledger. `$1` = the day. */
export function expectedDerivedText(kind: Database['kind'], table: DerivedTable, scope: DerivedScope): string {
  return summedText(table, scope, `(${expectedRollupText(kind, sources[scope].scope)}) as rows_of_day`)
}

const positionOf = (name: string): number => rollupColumns.indexOf(name)
const separator = '\u0000'

/** What cells of `rollupCells` add to the table, sorted by key: replicas take their locks in one order. */
export function derivedCells(
  table: DerivedTable,
  cells: readonly (readonly RollupValue[])[],
): readonly (readonly RollupValue[])[] {
  const { parts, kept } = positionsOf(table)
  const found = new Map<string, RollupValue[]>()
  for (const cell of cells)
    for (const { scope, from, at } of parts) {
      if (cell[scopeAt] !== from) continue
      const entity = at === undefined ? '' : (cell[at] as string)
      if (at !== undefined && entity === '') continue
      let name = scope + separator + entity
      for (const position of kept) name += separator + cell[position]
      const known = found.get(name)
      if (known) addSums(known, kept.length + 2, cell)
      else found.set(name, [scope, entity, ...kept.map(position => cell[position]!), ...cell.slice(rollupKey.length)])
    }
  return [...found].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, values]) => values)
}

const scopeAt = positionOf('scope')

interface ColumnPositions {
  readonly parts: readonly {
    readonly scope: DerivedScope
    readonly from: UsageScope
    readonly at: number | undefined
  }[]
  /** Of the key, but for scope and entity, which are its first two. */
  readonly kept: readonly number[]
}

const positionsByTable = new Map<DerivedTable, ColumnPositions>()

function positionsOf(table: DerivedTable): ColumnPositions {
  const known = positionsByTable.get(table)
  if (known) return known
  const parts = table.scopes.map(scope => {
    const source: Source = sources[scope]
    return { scope, from: source.scope, at: source.column && positionOf(source.column) }
  })
  const made = { parts, kept: table.key.slice(2).map(positionOf) }
  positionsByTable.set(table, made)
  return made
}

/** A batch is too small for its counts to leave the exact integers of a number. */
function addSums(to: RollupValue[], toAt: number, cell: readonly RollupValue[]): void {
  for (let at = 0; at < sumNames.length; at++) {
    const [sum, more] = [to[toAt + at]!, cell[rollupKey.length + at]!]
    to[toAt + at] = typeof sum === 'bigint' ? sum + BigInt(more) : (sum as number) + Number(more)
  }
}
