/** Brings keys, teams, users, budgets, models and calls from the database of LiteLLM, so that its keys go on. */
import { readDuration } from '../access/key.ts'
import { openSettings } from '../config/settings-source.ts'
import { commandLineActor } from '../core/tenancy/actors.ts'
import { systemClock } from '../lib/clock.ts'
import { providers } from '../providers/index.ts'
import { openDatabase } from '../store/database/open.ts'
import type { Database } from '../store/database/open.ts'
import { broughtSums, hasSpendLog, importLitellmCalls } from '../store/imports/litellm-calls.ts'
import { importLitellm, takeBrought } from '../store/imports/litellm-import.ts'
import type { ImportCount } from '../store/imports/litellm-import.ts'
import { importLitellmModels } from '../store/imports/litellm-models.ts'
import { readLitellmTables } from '../store/imports/litellm-tables.ts'
import type { LitellmTables } from '../store/imports/litellm-tables.ts'
import { EncryptionKeys } from '../store/keys/encryption-keys.ts'
import { openImportedKeyHash } from '../store/keys/installation.ts'
import { openLedgerDatabase } from '../store/ledger/ledger-database.ts'
import { ConfiguredObjects } from '../store/objects/configured-objects.ts'
import { createTenancyStore } from '../store/tenancy/store.ts'
import type { Command, CommandInput } from './command.ts'
import { print, table, UsageError } from './command.ts'
import { withDatabase } from './gateway-database.ts'
import type { Opened } from './gateway-database.ts'
import { configFile, configFlag, dataDirectory, dataFlag, jsonFlag, nonEmpty } from './options.ts'

/** Who makes the changes, for the audit log. */

/**
 * Prints how much of each kind was brought. It reads LiteLLM's database and writes nothing there; a gateway may serve
 * meanwhile. Throws where that database has no table of LiteLLM.
 */
export const importLitellmCommand: Command = {
  name: 'import litellm',
  summary: "Bring keys, teams, users, budgets, models from LiteLLM's database; its keys work here then",
  flags: {
    from: { type: 'string', value: 'URL', help: "LiteLLM's database (postgres://...); else LITELLM_DATABASE_URL" },
    'spend-logs': { type: 'string', value: 'TIME', help: 'Also its calls of the last 90d, 12mo, ..., or all of them' },
    config: configFlag,
    'data-dir': dataFlag,
    json: jsonFlag,
  },
  async run(input) {
    const from = nonEmpty(input.flags.from as string | undefined) ?? nonEmpty(input.environment.LITELLM_DATABASE_URL)
    if (from === undefined || !/^postgres(?:ql)?:\/\//.test(from))
      throw new UsageError("name LiteLLM's database: --from postgres://user:password@host:5432/litellm")
    const fromMs = historyFrom(input.flags['spend-logs'] as string | undefined)
    const source = await openDatabase(from)
    try {
      const tables = await readLitellmTables(source.sql)
      const counts = await withDatabase(input, async opened => [
        ...(await importTenancy(tables, opened)),
        ...(await importModels(tables, opened, input)),
        ...(fromMs === undefined ? [] : await importCalls(tables, opened, { source, fromMs })),
      ])
      if (input.flags.json) print(JSON.stringify(counts))
      else printCounts(counts)
      return counts.some(one => one.problems?.length) ? 1 : 0
    } finally {
      await source.close()
    }
  },
}

/** Milliseconds since 1970; undefined = none are to be brought. */
function historyFrom(text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  if (text === 'all') return 0
  const read = readDuration(text)
  if ('problem' in read) throw new UsageError(`--spend-logs ${read.problem}, or \`all\``)
  return systemClock.epochMs() - read.ms
}

const tenancyOf = (database: Database) => createTenancyStore({ database, clock: systemClock })

async function importTenancy(tables: LitellmTables, { database, pepper }: Opened): Promise<ImportCount[]> {
  const hashOfDigest = await openImportedKeyHash(database, pepper)
  return importLitellm(tables, { tenancy: tenancyOf(database), actor: commandLineActor, hashOfDigest })
}

async function importModels(
  tables: LitellmTables,
  { database }: Opened,
  { flags, environment }: CommandInput,
): Promise<ImportCount[]> {
  const isShared = database.kind === 'postgres'
  const keys = new EncryptionKeys({ environment, dataDirectory: dataDirectory(flags, environment), isShared })
  const configured = new ConfiguredObjects({ database, clock: systemClock, keys })
  const { merged } = await openSettings({ configFile: configFile(flags, environment), environment, providers })
  await merged.load()
  configured.onChange(() => void merged.useObjects(() => configured.objects()))
  const saltKey = nonEmpty(environment.LITELLM_DATABASE_SALT_KEY)
  return importLitellmModels(tables, { configured, checks: merged, saltKey, actor: commandLineActor })
}

async function importCalls(
  tables: LitellmTables,
  { database, databaseUrl }: Opened,
  { source, fromMs }: { readonly source: Database; readonly fromMs: number },
): Promise<ImportCount[]> {
  if (!(await hasSpendLog(source.sql))) return []
  const ledger = await openLedgerDatabase(databaseUrl)
  try {
    const sums = await broughtSums(source.sql, fromMs)
    const progress = (rows: number) => {
      if (process.stderr.isTTY) process.stderr.write(`\r${rows} calls`)
    }
    const count = await importLitellmCalls({ source: source.sql, ledger, fromMs, progress })
    await takeBrought(tables, sums, { tenancy: tenancyOf(database), actor: commandLineActor })
    return [count]
  } finally {
    await ledger.close()
  }
}

function printCounts(counts: readonly ImportCount[]): void {
  print(
    table(
      ['WHAT', 'BROUGHT', 'THERE ALREADY', 'LEFT OUT'],
      counts.map(({ kind, made, kept, problems = [] }) => [kind, String(made), String(kept), String(problems.length)]),
    ),
  )
  for (const problem of counts.flatMap(one => one.problems ?? [])) print(`left out: ${problem}`)
}
