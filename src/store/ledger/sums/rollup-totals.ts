/**
 * Table `ledger_totals`: what each key, user, team, tag and customer used on all days that are kept, so that an index
 * finds those that spent most. Rows of calls add to it; a day that is made anew, or deleted, takes off what was there
 * and adds what is there then.
 */
import type { LedgerDatabase, LedgerStatement } from '../ledger-database.ts'
import { addDerivedText, dailySpend, derivedColumns, derivedTables, summedText, totals } from './rollup-derived.ts'
import type { DerivedScope } from './rollup-derived.ts'
import { sumNames } from './rollup-table.ts'

/** Makes all sums by entity of a day anew: statements of a transaction in which no rows are stored. */
export const refillStatements = (day: number): LedgerStatement[] =>
  derivedTables.flatMap(table =>
    table.scopes.flatMap(scope =>
      counted(
        table.name,
        'scope = $1 and day = $2',
        [scope, day],
        [
          { text: `delete from ${table.name} where scope = $1 and day = $2`, values: [scope, day] },
          { text: addDerivedText(table, summedText(table, scope, 'ledger_daily', 'and day = $1')), values: [day] },
        ],
      ),
    ),
  )

/** The table whose sums are added up, in which the scope has the same name. */
const sourceOf = (scope: DerivedScope): string =>
  scope === 'key' || scope === 'customer' ? 'ledger_daily' : dailySpend.name

/** New rows wait for the end of the transaction. On SQLite it has the only write lock. */
export const lockRows = ({ kind }: LedgerDatabase): LedgerStatement[] =>
  kind === 'postgres' ? [{ text: 'lock table ledger in share row exclusive mode', values: [] }] : []

/** Adds what rows of a table have (`sign` '-': takes it off). `condition` chooses among them. */
function countText(table: string, sign: '' | '-', condition: string): string {
  const scopes = totals.scopes.filter(scope => sourceOf(scope) === table).map(scope => `'${scope}'`)
  const sums = sumNames.map(sum => `cast(${sign}sum(${sum}) as bigint)`)
  const added = sumNames.map(sum => `${sum} = ${totals.name}.${sum} + excluded.${sum}`)
  return `insert into ${totals.name} (${derivedColumns(totals).join(', ')})
    select scope, entity, ${sums.join(', ')} from ${table} where scope in (${scopes.join(', ')}) and ${condition}
    group by scope, entity on conflict (scope, entity) do update set ${added.join(', ')}`
}

/** `statements` change sums of some rows of a table: the totals change with them. Belongs after `lockRows`. */
export function counted(
  table: string,
  condition: string,
  values: readonly (string | number)[],
  statements: readonly LedgerStatement[],
): LedgerStatement[] {
  if (totals.scopes.every(scope => sourceOf(scope) !== table)) return [...statements]
  return [
    { text: countText(table, '-', condition), values },
    ...statements,
    { text: countText(table, '', condition), values },
  ]
}

/** Takes off what rows of a table have that are about to be deleted, and entities that have nothing left. */
export function uncounted(table: string, condition: string, values: readonly (string | number)[]): LedgerStatement[] {
  if (totals.scopes.every(scope => sourceOf(scope) !== table)) return []
  return [
    { text: countText(table, '-', condition), values },
    {
      text: `delete from ${totals.name} where requests <= 0
        and (scope, entity) in (select scope, entity from ${table} where ${condition})`,
      values,
    },
  ]
}

/** Entities whose totals are made in one transaction, which new rows wait for. */
const stepEntities = 200

/** Makes all totals anew, some entities at a time: at every moment each is that of before, or the new one. */
export async function rebuildTotals(database: LedgerDatabase): Promise<void> {
  for (const scope of totals.scopes)
    for (let from: string | undefined = ''; from !== undefined; ) from = await rebuildSomeTotals(database, scope, from)
}

/** Returns the entity that the next step begins with; undefined = all of the scope are made. */
async function rebuildSomeTotals(
  database: LedgerDatabase,
  scope: DerivedScope,
  from: string,
): Promise<string | undefined> {
  const table = sourceOf(scope)
  const [next] = await database.select({
    text: `select max(entity) as entity, count(*) as entities from (select distinct entity from ${table}
      where scope = $1 and entity >= $2 order by entity limit ${stepEntities + 1}) as next`,
    values: [scope, from],
  })
  const to = Number(next!.entities) > stepEntities ? String(next!.entity) : undefined
  const range = `scope = $1 and entity >= $2 ${to === undefined ? '' : 'and entity < $3'}`
  const values = [scope, from, ...(to === undefined ? [] : [to])]
  await database.change([
    ...lockRows(database),
    { text: `delete from ${totals.name} where ${range}`, values },
    { text: countText(table, '', range), values },
  ])
  return to
}

/** How the totals of a scope differ from the sums of their days. */
interface TotalsDifference {
  readonly scope: `totals of ${DerivedScope}`
  /** Totals that the sums do not have, or have otherwise. */
  readonly wrong: number
  /** Totals of the sums that are missing, or stand there otherwise. */
  readonly missing: number
}

/** Empty = they are the sums of their days. */
export async function totalsDifferences(database: LedgerDatabase): Promise<TotalsDifference[]> {
  const columns = derivedColumns(totals).join(', ')
  const sums = sumNames.map(sum => `cast(sum(${sum}) as bigint) as ${sum}`).join(', ')
  const found: TotalsDifference[] = []
  for (const scope of totals.scopes) {
    const stored = `select ${columns} from ${totals.name} where scope = '${scope}' and requests <> 0`
    const expected = `select scope, entity, ${sums} from ${sourceOf(scope)} where scope = '${scope}'
      group by scope, entity`
    const [counts] = await database.select({
      text: `select (select count(*) from (select * from (${stored}) as s except select * from (${expected}) as e) as w)
        as wrong, (select count(*) from (select * from (${expected}) as e except select * from (${stored}) as s) as m)
        as missing`,
      values: [],
    })
    const difference = {
      scope: `totals of ${scope}` as const,
      wrong: Number(counts?.wrong),
      missing: Number(counts?.missing),
    }
    if (difference.wrong > 0 || difference.missing > 0) found.push(difference)
  }
  return found
}
