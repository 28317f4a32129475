/**
 * Days whose sums by entity (`rollup-derived.ts`) are not those of `ledger_daily`: those from before there were such
 * sums, and those in which a program of before has stored rows since. The ledger's worker makes them anew in steps;
 * until then reports read `ledger_daily` itself.
 */
import type { LedgerDatabase, LedgerSource, LedgerStatement } from '../ledger-database.ts'
import type { DaySpan } from './rollup-table.ts'
import { addDerivedText, dailySpend, derivedTables, summedText, totals } from './rollup-derived.ts'
import { counted, lockRows, refillTotalsText } from './rollup-totals.ts'

/** The days, and how many parts of each are made. */
export const createUnfilledText = 'create table ledger_daily_unfilled (day integer primary key, parts integer not null)'

/** The first part is what differs when a program of before stores rows: all that it stores later is found. */
const parts = derivedTables.flatMap(table => table.scopes.map(scope => ({ table, scope })))

/** Makes a part of the newest day that is due. false = none is. */
export async function fillStep(database: LedgerDatabase): Promise<boolean> {
  const [due] = await database.select({
    text: 'select day, parts from ledger_daily_unfilled order by day desc limit 1',
    values: [],
  })
  if (!due) return false
  const [day, done] = [Number(due.day), Number(due.parts)]
  const part = parts[done]
  await database.change([
    ...lockRows(database),
    ...(part === undefined ? [] : derivedStatements(part, day)),
    // Another replica may have made the same part: making it twice is harmless, but it must be counted once.
    done + 1 < parts.length
      ? {
          text: 'update ledger_daily_unfilled set parts = $1 where day = $2 and parts = $3',
          values: [done + 1, day, done],
        }
      : { text: 'delete from ledger_daily_unfilled where day = $1 and parts >= $2', values: [day, done] },
  ])
  return true
}

function derivedStatements({ table, scope }: (typeof parts)[number], day: number): LedgerStatement[] {
  return counted(
    table.name,
    'scope = $1 and day = $2',
    [scope, day],
    [
      { text: `delete from ${table.name} where scope = $1 and day = $2`, values: [scope, day] },
      { text: addDerivedText(table, summedText(table, scope, 'ledger_daily', 'and day = $1')), values: [day] },
    ],
  )
}

/** Makes all sums by entity of a day anew: statements of a transaction in which no rows are stored. */
export const refillStatements = (day: number): LedgerStatement[] => [
  ...parts.flatMap(part => derivedStatements(part, day)),
  { text: 'delete from ledger_daily_unfilled where day = $1', values: [day] },
]

/** Above every day. */
const everyDay = 100_000_000

/** SQL of the days from `$1` on to `$2` of which not all calls are in the sums by entity. */
const missedText = (condition = ''): string => `select total.day from (select day, sum(requests) as requests
    from ledger_daily where scope = 'total' and day >= $1 and day <= $2 ${condition} group by day) as total
  where not exists (select 1 from ${dailySpend.name} as known
    where known.scope = 'all' and known.entity = '' and known.day = total.day and known.requests = total.requests)`

/** The newest two days, in which rows are still stored: a call may end on the day after it began. */
const recentCondition = `and day >= coalesce((select max(day) - 1 from ${dailySpend.name}
  where scope = 'all' and entity = ''), 0)`

/**
 * SQL that finds a row where the sums by entity of the days from `$1` on to `$2` are not complete. Rows that a program
 * of before has stored on earlier days are found by `noteMissed`.
 */
const unfilledText = `exists (${missedText(recentCondition)})
  or exists (select 1 from ledger_daily_unfilled where day >= $1 and day <= $2)`

/** SQL that finds a row where the totals are not complete. `$1` = 0, `$2` = `everyDay`. */
export const unfilledTotals = {
  text: `select 1 as found where exists (select 1 from ledger_totals_unfilled) or ${unfilledText}`,
  values: [0, everyDay],
} as const

/** SQL that finds a row where a program of before has deleted old sums, which are in the totals still. */
const deletedText = `select 1 as found where not exists (select 1 from ledger_totals_unfilled)
  and coalesce((select requests from ${totals.name} where scope = 'all' and entity = ''), 0)
    <> coalesce((select sum(requests) from ${dailySpend.name} where scope = 'all' and entity = ''), 0)`

/** Notes days in which a program of before stored rows, and totals of what it deleted. false = there are none. */
export async function noteMissed(database: LedgerDatabase): Promise<boolean> {
  const values = [0, everyDay]
  if ((await database.select({ text: `${missedText()} limit 1`, values })).length === 0) {
    if ((await database.select({ text: deletedText, values: [] })).length === 0) return false
    await database.change([{ text: refillTotalsText(), values: [] }])
    return true
  }
  await database.change([
    {
      text: `insert into ledger_daily_unfilled (day, parts) select day, 0 from (${missedText()}) as missed
        where true on conflict (day) do nothing`,
      values,
    },
    // Its rows are in the sums of keys and customers, but not in their totals.
    { text: refillTotalsText(['key', 'customer']), values: [] },
  ])
  return true
}

/** Whether a report can read the sums by entity of these days. */
export async function isFilled(database: LedgerSource, { firstDay, lastDay }: DaySpan): Promise<boolean> {
  const text = `select 1 as found where ${unfilledText}`
  return (await database.select({ text, values: [firstDay, lastDay] })).length === 0
}

/** Whether a report can read the totals. */
export const areTotalsFilled = async (database: LedgerSource): Promise<boolean> =>
  (await database.select(unfilledTotals)).length === 0
