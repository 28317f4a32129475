/** Compares the daily sums with the rows of the ledger, and makes them anew from the rows. */
import type { UsageScope } from '../../../core/ledger/usage-report.ts'
import type { LedgerDatabase, LedgerStatement } from '../ledger-database.ts'
import { addLatencyText, deleteLatencyText, expectedLatencyText, storedLatencyText } from './latency-table.ts'
import { firstWholeDay } from '../ledger-retention.ts'
import { derivedColumns, derivedTables, expectedDerivedText, summedText } from './rollup-derived.ts'
import type { DerivedScope } from './rollup-derived.ts'
import { counted, lockRows, refillStatements } from './rollup-totals.ts'
import { foldStatements } from './fold-sums.ts'
import { withPending } from './pending-sums.ts'
import { addRollupText, expectedRollupText, rollupColumns, rollupKey, rollupScopes } from './rollup-table.ts'
import type { DaySpan } from './rollup-table.ts'
import { dayMs } from '../../../lib/clock.ts'

/** How the sums of a day and scope differ from the rows. */
export interface RollupDifference {
  readonly day: number
  readonly scope: UsageScope | `${DerivedScope} in ${string}` | 'latency'
  /** Stored sums that do not follow from the rows. */
  readonly wrong: number
  /** Sums that follow from the rows and are not stored so. */
  readonly missing: number
}

/**
 * The days of the span that have rows or sums, oldest first; without those of which old rows or sums were deleted:
 * their sums are not those of their rows any more.
 */
export async function daysWithin(database: LedgerDatabase, { firstDay, lastDay }: DaySpan): Promise<number[]> {
  const firstWhole = await firstWholeDay(database)
  const found: number[] = []
  let day = await nextDay(database, Math.max(firstDay, firstWhole))
  while (day !== undefined && day <= lastDay) {
    found.push(day)
    day = await nextDay(database, day + 1)
  }
  return found
}

/** Days since 1970 of a moment, in UTC. */
export const dayOf = (epochMs: number): number => Math.floor(epochMs / dayMs)

/** The first such day from this one on. A row with a wrong time must not make all days be requested. */
async function nextDay(database: LedgerDatabase, fromDay: number): Promise<number | undefined> {
  const [found] = await database.select({
    text: `select (select min(started_at_ms) from ledger where started_at_ms >= $1) as ms,
      (select min(day) from ledger_daily where scope = 'total' and entity = '' and day >= $2) as day`,
    values: [fromDay * dayMs, fromDay],
  })
  const days = [
    ...(found?.ms == null ? [] : [dayOf(Number(found.ms))]),
    ...(found?.day == null ? [] : [Number(found.day)]),
  ]
  return days.length === 0 ? undefined : Math.min(...days)
}

/** Empty = the sums of the day are those of its rows. Rows that are stored meanwhile do no harm. */
export async function rollupDifferences(database: LedgerDatabase, day: number): Promise<RollupDifference[]> {
  const { kind } = database
  const rowsOf = (columns: readonly string[], table: string, scope: string) =>
    `select ${columns.join(', ')} from ${table} where scope = '${scope}' and day = $1`
  const compared: { scope: RollupDifference['scope']; stored: string; expected: string }[] = [
    ...rollupScopes.map(scope => ({
      scope,
      stored: withPending(
        rowsOf(rollupColumns, 'ledger_daily', scope),
        rowsOf(rollupColumns, 'ledger_pending_sums', scope),
        rollupKey,
      ),
      expected: expectedRollupText(kind, scope),
    })),
    ...derivedTables.flatMap(table =>
      table.scopes.map(scope => ({
        scope: `${scope} in ${table.name}` as const,
        stored: withPending(
          rowsOf(derivedColumns(table), table.name, scope),
          summedText(table, scope, 'ledger_pending_sums', 'and day = $1'),
          table.key,
        ),
        expected: expectedDerivedText(kind, table, scope),
      })),
    ),
    { scope: 'latency', stored: storedLatencyText(), expected: expectedLatencyText() },
  ]
  const found: RollupDifference[] = []
  for (const { scope, stored, expected } of compared) {
    // One statement: it sees rows and sums of one moment.
    const [counts] = await database.select({
      text: `select (select count(*) from (select * from (${stored}) as s except select * from (${expected}) as e) as w)
        as wrong, (select count(*) from (select * from (${expected}) as e except select * from (${stored}) as s) as m)
        as missing`,
      values: [day],
    })
    const difference = { day, scope, wrong: Number(counts?.wrong), missing: Number(counts?.missing) }
    if (difference.wrong > 0 || difference.missing > 0) found.push(difference)
  }
  return found
}

/** Makes the sums of a day anew, in one transaction that new rows wait for: about 2 s for 300,000 rows. */
export async function rebuildRollup(database: LedgerDatabase, day: number): Promise<void> {
  const statement = (text: string): LedgerStatement => ({ text, values: [day] })
  await database.change([
    ...lockRows(database),
    ...foldStatements,
    ...counted(
      'ledger_daily',
      'day = $1',
      [day],
      [
        statement('delete from ledger_daily where day = $1'),
        ...rollupScopes.map(scope => statement(addRollupText(expectedRollupText(database.kind, scope)))),
      ],
    ),
    statement(deleteLatencyText),
    ...refillStatements(day),
    statement(addLatencyText(expectedLatencyText())),
  ])
}
