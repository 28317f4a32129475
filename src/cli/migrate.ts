/** Brings a database to this program's version, says how far it is, or tries it on a copy. */
import { migrate, migrations, migrationState } from '../store/database/migrate.ts'
import { rehearse } from '../store/database/rehearsal.ts'
import type { Command, CommandInput } from './command.ts'
import { print, printError, table, UsageError } from './command.ts'
import { withUnchangedDatabase } from './gateway-database.ts'
import { configFlag, dataFlag, jsonFlag } from './options.ts'

/**
 * Without a flag it migrates; a gateway does the same when it starts. Throws where the database is of a newer program,
 * or of none. Exit code 1 when a rehearsal finds that rows would be lost.
 */
export const migrateCommand: Command = {
  name: 'migrate',
  summary: "Bring the database to this program's version, or try it on a copy",
  flags: {
    status: { type: 'boolean', help: 'Change nothing; show which steps are missing, and which programs may go on' },
    rehearse: { type: 'boolean', help: 'Change nothing; migrate a copy and remove it: needs as much space again' },
    json: jsonFlag,
    config: configFlag,
    'data-dir': dataFlag,
  },
  run: input => migrateDatabase(input),
}

/** What the command does. `steps` are those of the program. */
export async function migrateDatabase(input: CommandInput, steps = migrations): Promise<number> {
  const { status, rehearse: isRehearsal } = input.flags
  if (status && isRehearsal) throw new UsageError('--status and --rehearse exclude each other; give one')
  if (status) return showStatus(input, steps)
  if (isRehearsal) return showRehearsal(input, steps)
  await withUnchangedDatabase(input, ({ database }) => migrate(database, { steps }))
  const newest = steps.at(-1)!.id
  print(input.flags.json ? JSON.stringify({ migration: newest }) : `the database has step ${newest}`)
  return 0
}

function showStatus(input: CommandInput, known: typeof migrations): Promise<number> {
  return withUnchangedDatabase(input, async ({ database }) => {
    const { done, pending, oldestUsable } = await migrationState(database.sql, known)
    const [newest, newestKnown] = [Math.max(...done), known.at(-1)!.id]
    const steps = pending.map(({ id, name, isBreaking = false }) => ({ id, name, breaking: isBreaking }))
    if (input.flags.json) {
      const state = { database: newest, program: newestKnown, oldest_usable: oldestUsable ?? null, pending: steps }
      print(JSON.stringify(state))
      return 0
    }
    print(`the database has step ${newest}, this program knows ${newestKnown}`)
    print(
      oldestUsable === undefined
        ? 'which older programs may use the database is not known; a migration by this program notes it'
        : `programs that know step ${oldestUsable} may use it, also while newer ones do`,
    )
    if (steps.length === 0) print('no step is missing')
    else
      print(
        table(
          ['MISSING', 'NAME', 'WAY BACK'],
          steps.map(({ id, name, breaking }) => [
            String(id),
            name,
            breaking ? 'restore a backup' : 'start the program',
          ]),
        ),
      )
    return 0
  })
}

function showRehearsal(input: CommandInput, known: typeof migrations): Promise<number> {
  return withUnchangedDatabase(input, async ({ databaseUrl }) => {
    const { copyMs, steps, tables } = await rehearse(databaseUrl, known)
    const changed = tables.filter(({ rowsBefore, rowsAfter }) => rowsAfter < rowsBefore)
    if (input.flags.json) print(JSON.stringify({ ok: changed.length === 0, copy_ms: copyMs, steps, tables }))
    else {
      const rows = tables.reduce((sum, one) => sum + one.rowsBefore, 0)
      print(`${rows} rows in ${tables.length} tables were copied in ${copyMs.toFixed(0)} ms`)
      if (steps.length > 0)
        print(
          table(
            ['STEP', 'NAME', 'MS'],
            steps.map(({ id, name, tookMs }) => [String(id), name, tookMs.toFixed(0)]),
          ),
        )
      else print('no step is missing')
    }
    for (const { name, rowsBefore, rowsAfter } of changed)
      printError(`${name} would have ${rowsAfter} rows where it has ${rowsBefore}: keep a backup, and report this`)
    return changed.length === 0 ? 0 : 1
  })
}
