/** Checks the ledger's daily sums against its rows, makes them anew, and exports rows, directly in the database. */
import { parseIsoDate } from '../lib/iso-date.ts'
import { openSettings } from '../config/settings-source.ts'
import type { LedgerRow } from '../core/ledger/ledger-columns.ts'
import { humanNames, humanRows } from '../store/ledger/reads/human-rows.ts'
import { csvCell, csvHeading, csvLine, exportPages } from '../store/ledger/reads/ledger-export.ts'
import { providers } from '../providers/index.ts'
import { dayMs, systemClock } from '../lib/clock.ts'
import { takeOver } from '../store/ledger/ledger-partitions.ts'
import { openLedgerDatabase } from '../store/ledger/ledger-database.ts'
import type { LedgerDatabase } from '../store/ledger/ledger-database.ts'
import { dayOf, daysWithin, rebuildRollup, rollupDifferences } from '../store/ledger/sums/rollup-check.ts'
import type { DaySpan } from '../store/ledger/sums/rollup-table.ts'
import { rebuildTotals, totalsDifferences } from '../store/ledger/sums/rollup-totals.ts'
import type { Command, CommandInput, Flag, FlagValues } from './command.ts'
import { print, printError, table, UsageError } from './command.ts'
import { withDatabase } from './gateway-database.ts'
import { PriceCheck } from './price-check.ts'
import { configFile, configFlag, dataFlag, jsonFlag, text } from './options.ts'

/** The days that a command is about. */
export const spanFlags: Readonly<Record<string, Flag>> = {
  from: { type: 'string', value: 'DAY', help: 'First day in UTC, such as 2026-11-01; default: the oldest' },
  to: { type: 'string', value: 'DAY', help: 'Last day in UTC; default: the newest' },
  config: configFlag,
  'data-dir': dataFlag,
}

const lastDayOfAll = 100_000_000

/** The days of `spanFlags`. Throws UsageError. */
export function daysOf(flags: FlagValues): DaySpan {
  const firstDay = dayNamed(flags, 'from') ?? 0
  const lastDay = dayNamed(flags, 'to') ?? lastDayOfAll
  if (firstDay > lastDay) throw new UsageError('--from is after --to; swap them')
  return { firstDay, lastDay }
}

function dayNamed(flags: FlagValues, name: 'from' | 'to'): number | undefined {
  const given = text(flags[name])
  if (given === undefined) return undefined
  const read = parseIsoDate(given)
  if (!read?.isDay) throw new UsageError(`--${name} must be a day such as 2026-11-01; got '${given}'`)
  return dayOf(read.ms)
}

/** Milliseconds since 1970, the first inclusive and the second exclusive. */
export const momentsOf = ({ firstDay, lastDay }: DaySpan) => ({ fromMs: firstDay * dayMs, toMs: (lastDay + 1) * dayMs })

const dayText = (day: number): string => new Date(day * dayMs).toISOString().slice(0, 10)

/** For a command on a span of the ledger. Migrates the database first. */
export function withLedger<T>(
  input: CommandInput,
  work: (ledger: LedgerDatabase, span: DaySpan) => Promise<T>,
): Promise<T> {
  const span = daysOf(input.flags)
  return withDatabase(input, async ({ databaseUrl }) => {
    const ledger = await openLedgerDatabase(databaseUrl)
    try {
      return await work(ledger, span)
    } finally {
      await ledger.close()
    }
  })
}

/** Exit code 1 when a sum is not that of its rows. */
export const ledgerVerify: Command = {
  name: 'ledger verify',
  summary: 'Compare the daily sums of usage with the rows of the ledger; exit code 1 if they differ',
  flags: {
    ...spanFlags,
    json: jsonFlag,
    prices: { type: 'boolean', help: 'Make the cost of each row anew instead: by its terms, usage and price list' },
  },
  run: input =>
    input.flags.prices
      ? verifyPrices(input)
      : withLedger(input, async (ledger, span) => {
          const days = await daysWithin(ledger, span)
          const differences = []
          for (const day of days) differences.push(...(await rollupDifferences(ledger, day)))
          const shown = [
            ...differences.map(one => ({ ...one, day: dayText(one.day) })),
            ...(await totalsDifferences(ledger)).map(one => ({ ...one, day: 'all' })),
          ]
          const ok = shown.length === 0
          if (input.flags.json) print(JSON.stringify({ ok, days: days.length, differences: shown }, null, 2))
          else if (ok) print(`the sums of ${days.length} days are those of their rows`)
          else {
            const cells = shown.map(one => [one.day, one.scope, String(one.wrong), String(one.missing)])
            print(table(['DAY', 'SUMS BY', 'WRONG', 'MISSING'], cells))
            printError('modelgate ledger rebuild makes these sums anew from the rows')
          }
          return ok ? 0 : 1
        }),
}

const shownRowsMax = 20

/** Exit code 1 when a row costs something else than its own facts say. */
async function verifyPrices(input: CommandInput): Promise<number> {
  const { flags, environment } = input
  const source = await openSettings({ configFile: configFile(flags, environment), environment, providers })
  const { deployments } = source.current()
  const check = new PriceCheck(deployments)
  return withLedger(input, async (ledger, span) => {
    for await (const rows of exportPages(ledger, momentsOf(span))) for (const row of rows) check.add(row)
    const { different, ...counts } = check
    if (flags.json) print(JSON.stringify({ ok: different.length === 0, ...counts.counts, different }, null, 2))
    else {
      print(
        `${counts.counts.rows} rows with a cost: ${counts.counts.terms} made again from their terms, ` +
          `${counts.counts.usage} from usage and prices; ${counts.counts.skipped} cannot be made from usage here`,
      )
      for (const one of different.slice(0, shownRowsMax))
        printError(`${one.request_id}: ${one.what} is ${one.found}, and should be ${one.expected} nano-dollars`)
      if (different.length > 0) printError(`${different.length} rows differ`)
    }
    return different.length === 0 ? 0 : 1
  })
}

/** A running gateway goes on meanwhile: its rows wait in the journal for the day that is being summed. */
export const ledgerRebuild: Command = {
  name: 'ledger rebuild',
  summary: 'Make the daily sums of usage anew from the rows of the ledger',
  flags: spanFlags,
  run: input =>
    withLedger(input, async (ledger, span) => {
      const days = await daysWithin(ledger, span)
      for (const day of days) await rebuildRollup(ledger, day)
      await rebuildTotals(ledger)
      print(`the sums of ${days.length} days were made from their rows`)
      return 0
    }),
}

const formats = ['csv', 'jsonl']

/** One line a call, oldest first, to standard output. Memory: one page, however long the ledger is. */
export const ledgerExport: Command = {
  name: 'ledger export',
  summary: 'Write the rows of the ledger to standard output, as CSV or as lines of JSON, oldest first',
  flags: {
    ...spanFlags,
    format: { type: 'string', value: 'csv|jsonl', help: 'Default: csv' },
    human: { type: 'boolean', help: 'Moments as dates, money in dollars, names instead of ids, and fewer columns' },
  },
  run(input) {
    const format = text(input.flags.format) ?? 'csv'
    if (!formats.includes(format)) throw new UsageError(`--format must be csv or jsonl; got '${format}'`)
    return withLedger(input, async (ledger, span) => {
      const { heading, linesOf } = input.flags.human ? humanLines(ledger, format) : exactLines(format)
      if (format === 'csv') await written(`${heading}\n`)
      for await (const rows of exportPages(ledger, momentsOf(span)))
        await written((await linesOf(rows)).map(line => `${line}\n`).join(''))
      return 0
    })
  },
}

interface ExportLines {
  readonly heading: string
  readonly linesOf: (rows: readonly LedgerRow[]) => readonly string[] | Promise<readonly string[]>
}

/** Every column, as it is stored. */
function exactLines(format: string): ExportLines {
  const lineOf = format === 'csv' ? csvLine : (row: LedgerRow) => JSON.stringify(row)
  return { heading: csvHeading, linesOf: rows => rows.map(lineOf) }
}

/** What people read. */
function humanLines(ledger: LedgerDatabase, format: string): ExportLines {
  return {
    heading: humanNames.join(','),
    linesOf: async rows =>
      (await humanRows(ledger, rows)).map(row =>
        format === 'csv' ? humanNames.map(name => csvCell(row[name] ?? null)).join(',') : JSON.stringify(row),
      ),
  }
}

/** Waits while the reader of a pipe is slow, so that pages do not pile up. */
async function written(lines: string): Promise<void> {
  if (process.stdout.write(lines)) return
  await new Promise(resolve => process.stdout.once('drain', resolve))
}

/** Takes the ledger over into partitions, where a gateway would not do it by itself. */
export const ledgerPartition: Command = {
  name: 'ledger partition',
  summary:
    'Postgres: divide a ledger of any size into partitions, so that old rows go at once; reads of it wait meanwhile',
  flags: { config: configFlag, 'data-dir': dataFlag },
  run: input =>
    withDatabase(input, async ({ database }) => {
      if (database.kind === 'sqlite') {
        printError('SQLite has no partitions: old rows are deleted in small steps')
        return 1
      }
      const done = await takeOver(database.sql, dayOf(systemClock.epochMs()))
      print(done ? 'the ledger has partitions now' : 'the ledger had partitions before')
      return 0
    }),
}
