/** `modelgate db copy`: from SQLite to Postgres, while the gateway serves. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { databaseUrlProblem } from '../config/checks/value-checks.ts'
import { lockDataDirectory } from '../platform/data-directory-lock.ts'
import type { DataLock } from '../platform/data-directory-lock.ts'
import { nanoUsdToText } from '../pricing/cost.ts'
import { refuseConnected } from '../store/backup/postgres-dump.ts'
import { copyToPostgres } from '../store/database/copy-database.ts'
import type { CopiedTable } from '../store/database/copy-database.ts'
import type { Command } from './command.ts'
import { print, printError, table, UsageError } from './command.ts'
import { dataDirectory, dataFlag, jsonFlag, nonEmpty, text } from './options.ts'

/** Run while the gateway serves, and once more when it is stopped. Rows and sums are compared each time. */
export const dbCopy: Command = {
  name: 'db copy',
  summary: 'Copy the SQLite database of a gateway, which may be running, to Postgres; again, what changed since',
  flags: {
    from: { type: 'string', value: 'sqlite:FILE', help: 'Default: the database in the data directory' },
    to: { type: 'string', value: 'postgres://...', help: 'An empty database, or one that was copied to before' },
    'data-dir': dataFlag,
    json: jsonFlag,
  },
  async run({ flags, environment }) {
    const directory = dataDirectory(flags, environment)
    const from = text(flags.from) ?? `sqlite:${join(directory, 'modelgate.sqlite')}`
    const to = text(flags.to)
    if (!from.startsWith('sqlite:'))
      throw new UsageError(`--from must begin with sqlite:; got '${from.split(':')[0]}:'`)
    if (to === undefined || to.startsWith('sqlite:')) throw new UsageError('--to names the database: postgres://...')
    const wrong = databaseUrlProblem(to)
    if (wrong !== undefined) throw new UsageError(`--to ${wrong}`)
    const path = from.slice('sqlite:'.length)
    if (!existsSync(path)) throw new Error(`there is no database at ${path}; name it with --from or --data-dir`)
    await refuseConnected(to)
    // Nothing is written to it until the command ends.
    const lock = lockedUnlessServed(directory)
    try {
      const copied: CopiedTable[] = []
      await copyToPostgres(path, to, one => void copied.push(one))
      if (flags.json) print(JSON.stringify({ serving: lock === undefined, tables: copied }, null, 2))
      else print(shownTables(copied))
      say(directory, lock !== undefined, nonEmpty(environment.MODELGATE_ENCRYPTION_KEY) !== undefined)
    } finally {
      lock?.release()
    }
    return 0
  },
}

/** undefined = a gateway has the directory. */
function lockedUnlessServed(directory: string): DataLock | undefined {
  try {
    return lockDataDirectory(directory)
  } catch {
    return undefined
  }
}

function shownTables(copied: readonly CopiedTable[]): string {
  const rows = copied.filter(one => one.rows > 0 || one.written > 0)
  const cost = copied.find(one => one.name === 'ledger')?.sums.cost_nano_usd ?? '0'
  const shown = table(
    ['TABLE', 'ROWS', 'WRITTEN'],
    rows.map(one => [one.name, String(one.rows), String(one.written)]),
  )
  return `${shown}\n\nrows and sums are the same on both sides; the ledger costs ${nanoUsdToText(BigInt(cost))} USD`
}

function say(directory: string, isStopped: boolean, isEncrypted: boolean): void {
  if (isStopped) printError('note: nothing was writing; start the gateway with DATABASE_URL set to the target now')
  else
    printError(
      'note: the gateway goes on serving on SQLite, and what it writes from now on is not copied: stop it, run this ' +
        'command again, which takes seconds, and start it with DATABASE_URL set to the target',
    )
  const keyFile = join(directory, 'encryption-key')
  if (!isEncrypted && existsSync(keyFile))
    printError(
      `note: on Postgres the key of stored secrets comes from the environment: set MODELGATE_ENCRYPTION_KEY to the ` +
        `first line of ${keyFile}, and MODELGATE_DECRYPTION_KEYS to its others`,
    )
}
