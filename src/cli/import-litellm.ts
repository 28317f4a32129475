/** Brings keys, teams, users and budgets from the database of LiteLLM, so that its keys go on. */
import { systemClock } from '../lib/clock.ts'
import { openDatabase } from '../store/database/open.ts'
import { importLitellm } from '../store/imports/litellm-import.ts'
import { readLitellmTables } from '../store/imports/litellm-tables.ts'
import { openImportedKeyHash } from '../store/keys/installation.ts'
import { createTenancyStore } from '../store/tenancy/store.ts'
import type { Command } from './command.ts'
import { print, table, UsageError } from './command.ts'
import { withDatabase } from './gateway-database.ts'
import { configFlag, dataFlag, jsonFlag, nonEmpty } from './options.ts'

/** Who makes the changes, for the audit log. */
const actor = { id: 'cli', keyHash: 'cli' }

/**
 * Prints how much of each kind was brought. It reads LiteLLM's database in one state and writes nothing there; a
 * gateway may serve meanwhile. Throws where that database has no table of LiteLLM.
 */
export const importLitellmCommand: Command = {
  name: 'import litellm',
  summary: "Bring keys, teams, users, customers and budgets from LiteLLM's database; its keys work here then",
  flags: {
    from: { type: 'string', value: 'URL', help: "LiteLLM's database (postgres://...); else LITELLM_DATABASE_URL" },
    config: configFlag,
    'data-dir': dataFlag,
    json: jsonFlag,
  },
  async run(input) {
    const from = nonEmpty(input.flags.from as string | undefined) ?? nonEmpty(input.environment.LITELLM_DATABASE_URL)
    if (from === undefined || !/^postgres(?:ql)?:\/\//.test(from))
      throw new UsageError("name LiteLLM's database: --from postgres://user:password@host:5432/litellm")
    const source = await openDatabase(from)
    const tables = await readLitellmTables(source.sql).finally(() => source.close())
    const counts = await withDatabase(input, async ({ database, pepper }) =>
      importLitellm(tables, {
        tenancy: createTenancyStore({ database, clock: systemClock }),
        actor,
        hashOfDigest: await openImportedKeyHash(database, pepper),
      }),
    )
    if (input.flags.json) print(JSON.stringify(counts))
    else
      print(
        table(
          ['WHAT', 'BROUGHT', 'THERE ALREADY'],
          counts.map(({ kind, made, kept }) => [kind, String(made), String(kept)]),
        ),
      )
    return 0
  },
}
