/** The statements about table `ledger` that follow from its columns. */
import { columnList } from '../../core/ledger/ledger-columns.ts'
import type { ColumnKind, LedgerColumn } from '../../core/ledger/ledger-columns.ts'

/** The same names on both databases: SQLite has 64 bits for every integer, and Postgres 64, 64 and 32. */
const sqlTypes: Readonly<Record<ColumnKind, string>> = {
  text: 'text',
  list: 'text',
  json: 'text',
  integer: 'bigint',
  decimal: 'bigint',
  integer32: 'integer',
  boolean: 'integer',
  number: 'double precision',
}

/** The table as the baseline makes it. */
export function createTableText(): string {
  const columns = columnList.filter(column => column.since === undefined)
  const definitions = columns.map(column => {
    const constraint = column.name === 'request_id' ? ' primary key' : column.nullable ? '' : ' not null'
    return `${column.name} ${sqlTypes[column.kind]}${constraint}`
  })
  return `create table ledger (${definitions.join(', ')})`
}

/**
 * One statement a column of this version. Both databases add a column at once, however many rows there are, when it may
 * be null or has a constant default.
 */
export function addColumnTexts(version: number): string[] {
  return columnList.filter(column => column.since === version).map(column => addColumnText(column))
}

function addColumnText(column: LedgerColumn & { readonly name: string }): string {
  const constraint = column.nullable ? '' : ` not null default ${column.kind === 'text' ? "''" : 0}`
  return `alter table ledger add column ${column.name} ${sqlTypes[column.kind]}${constraint}`
}

/** The steps of the database, after the baseline, that bring columns. */
export const columnVersions: readonly number[] = [...new Set(columnList.flatMap(column => column.since ?? []))]

/** The columns' names, as they stand in an insertion. */
export function namesOf(columns: typeof columnList): string {
  return columns.map(column => column.name).join(', ')
}

/** What a page of the ledger selects: decimals as text, because a number of JavaScript does not hold them all. */
export const selectedNames = columnList
  .map(({ name, kind }) => (kind === 'decimal' ? `cast(${name} as text) as ${name}` : name))
  .join(', ')
