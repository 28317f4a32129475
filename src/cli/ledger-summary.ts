/** What calls cost by month, or day, and by what: from the daily sums, which are kept longer than rows. */
import { scopeOfAll, usageDimensionNames, usageDimensions } from '../core/ledger/usage-dimensions.ts'
import type { UsageDimension, UsageDimensionName } from '../core/ledger/usage-dimensions.ts'
import type { UsageGroup, UsageQuery, UsageSums } from '../core/ledger/usage-report.ts'
import { addUsageSums, noUsage, subtractUsageSums } from '../core/ledger/usage-report.ts'
import { dayMs } from '../lib/clock.ts'
import { nanoUsdToText } from '../pricing/cost.ts'
import type { LedgerDatabase } from '../store/ledger/ledger-database.ts'
import { csvCell } from '../store/ledger/reads/ledger-export.ts'
import { namesById } from '../store/ledger/reads/owner-names.ts'
import type { OwnerColumn } from '../store/ledger/reads/owner-names.ts'
import { foldSums } from '../store/ledger/sums/fold-sums.ts'
import type { DaySpan } from '../store/ledger/sums/rollup-table.ts'
import { readUsage, usageStatement } from '../store/ledger/sums/usage-query.ts'
import { print, table, UsageError } from './command.ts'
import type { Command, FlagValues } from './command.ts'
import { spanFlags, withLedger } from './ledger.ts'
import { text } from './options.ts'

const periods = ['month', 'day', 'all']
const formats = ['table', 'csv', 'jsonl']
/** Groups of one period; the database reads no more. */
const groupsMax = 100_000

/** Exit code 0; sums that are not there yet are made first. */
export const ledgerSummary: Command = {
  name: 'ledger summary',
  summary: 'What calls cost, by month and team (or key, user, organization, customer, tag, model, provider)',
  flags: {
    ...spanFlags,
    by: {
      type: 'string',
      value: 'WHAT',
      help: `${usageDimensionNames.join(', ')}, or two as in team,model; default: team`,
    },
    per: { type: 'string', value: 'PERIOD', help: 'month, day or all; default: month' },
    format: { type: 'string', value: 'table|csv|jsonl', help: 'Default: table' },
  },
  run(input) {
    const { by, per, format } = chosen(input.flags)
    return withLedger(input, async (ledger, span) => {
      await foldSums(ledger)
      const lines: SummaryLine[] = []
      for (const period of await periodsOf(ledger, span, per)) lines.push(...(await linesOf(ledger, period, by)))
      write(lines, by, format)
      return 0
    })
  },
}

/** Throws UsageError. */
function chosen(flags: FlagValues): { by: readonly UsageDimensionName[]; per: string; format: string } {
  const by = (text(flags.by) ?? 'team').split(',')
  const isKnown = (name: string): name is UsageDimensionName => Object.hasOwn(usageDimensions, name)
  const unknown = by.find(name => !isKnown(name))
  if (unknown !== undefined)
    throw new UsageError(`--by must be one or two of ${usageDimensionNames.join(', ')}; got '${unknown}'`)
  const names = by.filter(isKnown)
  if (names.length > 2 || scopeOfAll(names) === undefined)
    throw new UsageError(`--by ${by.join(',')} is not kept together; give one, or two as in team,model or user,team`)
  const per = text(flags.per) ?? 'month'
  if (!periods.includes(per)) throw new UsageError(`--per must be month, day or all; got '${per}'`)
  const format = text(flags.format) ?? 'table'
  if (!formats.includes(format)) throw new UsageError(`--format must be table, csv or jsonl; got '${format}'`)
  return { by: names, per, format }
}

interface Period extends DaySpan {
  readonly name: string
}

const dayText = (day: number): string => new Date(day * dayMs).toISOString().slice(0, 10)

/** Those with sums, oldest first. */
async function periodsOf(ledger: LedgerDatabase, { firstDay, lastDay }: DaySpan, per: string): Promise<Period[]> {
  const found = await ledger.select({
    text: `select distinct day from ledger_daily where scope = 'total' and day >= $1 and day <= $2 order by day`,
    values: [firstDay, lastDay],
  })
  const periods = new Map<string, Period>()
  for (const { day: value } of found) {
    const day = Number(value)
    const name = per === 'all' ? 'all' : dayText(day).slice(0, per === 'month' ? 7 : 10)
    periods.set(name, { name, firstDay: periods.get(name)?.firstDay ?? day, lastDay: day })
  }
  return [...periods.values()]
}

interface SummaryLine {
  readonly period: string
  /** What the sums are of, in the order of `--by`; null = of what has none of it. */
  readonly of: readonly (string | null)[]
  readonly sums: UsageSums
}

async function linesOf(
  ledger: LedgerDatabase,
  period: Period,
  by: readonly UsageDimensionName[],
): Promise<SummaryLine[]> {
  const { name, firstDay, lastDay } = period
  const chosen = by.map(one => usageDimensions[one])
  const scope = scopeOfAll(by)!
  const ask = async (query: Pick<UsageQuery, 'scope' | 'groups'>) => {
    const asked: UsageQuery = { ...query, firstDay, lastDay, order: 'cost', limit: groupsMax }
    return readUsage(await ledger.select(usageStatement(asked)))
  }
  const groups = await ask({ scope, groups: chosen.map(one => one.field) })
  if (groups.length >= groupsMax) throw new Error(`${name} has more than ${groupsMax} lines; ask --by one thing`)
  const lines: SummaryLine[] = groups.map(group => ({ period: name, of: valuesOf(group, chosen), sums: group }))
  const listed = lines.filter(one => one.of.some(value => value !== null))
  // A call with several tags counts in each of them.
  if (scope !== 'tag') {
    const [total = noUsage] = await ask({ scope: 'total', groups: [] })
    const rest = subtractUsageSums(
      total,
      listed.reduce((sum, one) => addUsageSums(sum, one.sums), noUsage),
    )
    if (rest.requests > 0) listed.push({ period: name, of: by.map(() => null), sums: rest })
  }
  return named(ledger, listed, chosen)
}

const valuesOf = ({ fields }: UsageGroup, chosen: readonly UsageDimension[]): (string | null)[] =>
  chosen.map(({ field }) => fields[field] || null)

const ownerColumns: ReadonlySet<string> = new Set<OwnerColumn>(['key_id', 'user_id', 'team_id', 'organization_id'])

/** With what owners are called; one without a name keeps its id. */
async function named(
  ledger: LedgerDatabase,
  lines: readonly SummaryLine[],
  chosen: readonly UsageDimension[],
): Promise<SummaryLine[]> {
  const known = await Promise.all(
    chosen.map(({ field }, at) =>
      ownerColumns.has(field)
        ? namesById(ledger, field as OwnerColumn, { ids: lines.map(one => one.of[at]!) })
        : new Map<string, string>(),
    ),
  )
  return lines.map(one => ({
    ...one,
    of: one.of.map((value, at) => (value === null ? null : (known[at]!.get(value) ?? value))),
  }))
}

const figures: Readonly<Record<string, (sums: UsageSums) => string | number>> = {
  calls: sums => sums.requests,
  failed: sums => sums.requests - sums.successfulRequests,
  input_tokens: sums => sums.inputTokens,
  output_tokens: sums => sums.outputTokens,
  cost_usd: sums => nanoUsdToText(sums.costNanoUsd),
  unpriced: sums => sums.unpricedRequests,
}

function write(lines: readonly SummaryLine[], by: readonly string[], format: string): void {
  const shown = lines.map(({ period, of, sums }) => ({
    period,
    ...Object.fromEntries(by.map((name, at) => [name, of[at]!])),
    ...Object.fromEntries(Object.entries(figures).map(([name, figure]) => [name, figure(sums)])),
  }))
  const columns = ['period', ...by, ...Object.keys(figures)]
  const cellsOf = (line: Readonly<Record<string, string | number | null>>) => columns.map(name => line[name] ?? null)
  if (format === 'jsonl') for (const line of shown) print(JSON.stringify(line))
  else if (format === 'csv') for (const cells of [columns, ...shown.map(cellsOf)]) print(cells.map(csvCell).join(','))
  else {
    const heading = columns.map(name => name.toUpperCase().replaceAll('_', ' '))
    print(
      table(
        heading,
        shown.map(line => cellsOf(line).map(cell => String(cell ?? '-'))),
      ),
    )
  }
}
