/** `modelgate usage`: what was used and what it cost, from the daily sums of the ledger. */
import { unitedTable } from './usage-table.ts'
import type { UsageField } from '../core/ledger/usage-report.ts'
import { ledgerReads } from '../store/ledger/reads/ledger-reads.ts'
import { createKeyStore } from '../store/keys/keys.ts'
import { createTenancyStore } from '../store/tenancy/store.ts'
import { systemClock } from '../lib/clock.ts'
import type { Command } from './command.ts'
import { print, printError, UsageError } from './command.ts'
import { withDatabase } from './gateway-database.ts'
import { daysOf, spanFlags } from './ledger.ts'
import { jsonFlag, text } from './options.ts'
import { openLedgerSource } from '../store/ledger/ledger-database.ts'

/** What sums can be grouped by, as the command calls it. */
const dimensions: Readonly<Record<string, UsageField | 'day'>> = {
  day: 'day',
  key: 'key_id',
  user: 'user_id',
  team: 'team_id',
  organization: 'organization_id',
  model: 'model',
  provider: 'provider',
  deployment: 'deployment_id',
}
const limitDefault = 50
const limitMax = 100_000

/** The sums of a span; by one or more of its dimensions, the dearest first, or by day. */
export const usage: Command = {
  name: 'usage',
  summary: 'Show calls, tokens and costs by key, user, team, organization, model, provider or day',
  flags: {
    by: { type: 'string', value: 'LIST', help: `Of ${Object.keys(dimensions).join(', ')}; several with commas` },
    limit: { type: 'string', value: 'N', help: `Rows at most (default ${limitDefault})` },
    csv: { type: 'boolean', help: 'Write CSV' },
    json: jsonFlag,
    ...spanFlags,
  },
  run(input) {
    const by = dimensionsOf(text(input.flags.by) ?? 'day')
    const limit = limitOf(text(input.flags.limit))
    const span = daysOf(input.flags)
    return withDatabase(input, async ({ database, databaseUrl }) => {
      const source = await openLedgerSource(databaseUrl)
      try {
        const ofEntities = by.some(name => dimensions[name] !== 'day' && dimensions[name] !== 'model')
        const groups = by.map(name => dimensions[name]!)
        const found = await ledgerReads.usage(source, {
          scope: ofEntities ? 'key' : 'total',
          ...span,
          groups,
          order: groups[0] === 'day' ? 'day' : 'cost',
          limit: limit + 1,
        })
        const tenancy = createTenancyStore({ database, clock: systemClock })
        const shown = found.slice(0, limit)
        const table = await unitedTable(shown, { by, groups, keys: createKeyStore(database), tenancy })
        print(input.flags.json ? table.json() : input.flags.csv ? table.csv() : table.text())
        if (found.length > limit) printError(`note: there are more than ${limit} rows; raise --limit`)
        return 0
      } finally {
        await source.close()
      }
    })
  },
}

function dimensionsOf(given: string): string[] {
  const names = given.split(',').map(one => one.trim())
  const wrong = names.find((name, at) => !Object.hasOwn(dimensions, name) || names.indexOf(name) !== at)
  if (wrong !== undefined)
    throw new UsageError(`--by must be of ${Object.keys(dimensions).join(', ')}, each once; got '${wrong}'`)
  return names
}

function limitOf(given: string | undefined): number {
  if (given === undefined) return limitDefault
  if (!/^[1-9]\d*$/.test(given) || Number(given) > limitMax)
    throw new UsageError(`--limit must be a whole number from 1 to ${limitMax}; got '${given}'`)
  return Number(given)
}
