/** Opens the database of a gateway for a command that works on it directly. */
import { existsSync, statSync } from 'node:fs'
import { Secret } from '../lib/secret.ts'
import { lockDataDirectory } from '../platform/data-directory-lock.ts'
import { finishRestore, hasUnfinishedRestore } from '../store/backup/finish-restore.ts'
import { isMigrated, migrate } from '../store/database/migrate.ts'
import { openDatabase } from '../store/database/open.ts'
import type { Database } from '../store/database/open.ts'
import type { CommandInput } from './command.ts'
import { explainFailure } from './failures.ts'
import { databaseUrl } from './file-settings.ts'
import { dataDirectory, nonEmpty } from './options.ts'

/**
 * Opens the database of a gateway, brings it to this program's version, and creates none: with a wrong directory a new,
 * empty one would look like one without keys, and a key made in it would be known to no gateway.
 */
export function withDatabase<T>(input: CommandInput, work: (opened: Opened) => Promise<T>): Promise<T> {
  return withUnchangedDatabase(input, async opened => {
    await migrate(opened.database)
    return work(opened)
  })
}

/** As `withDatabase`, of the version that it has. */
export async function withUnchangedDatabase<T>(
  { flags, environment }: CommandInput,
  work: (opened: Opened) => Promise<T>,
): Promise<T> {
  const used = { databaseUrl: await databaseUrl(flags, environment), dataDirectory: dataDirectory(flags, environment) }
  finishCutRestore(used.dataDirectory)
  const path = used.databaseUrl.startsWith('sqlite:') ? used.databaseUrl.slice('sqlite:'.length) : undefined
  if (path !== undefined && isEmptyFile(path)) throw noDatabase(path, used.dataDirectory)
  const database = await openDatabase(used.databaseUrl).catch((thrown: unknown) => {
    throw explainFailure(thrown, used)
  })
  try {
    if (!(await isMigrated(database))) throw noDatabase(path, used.dataDirectory)
    const pepper = nonEmpty(environment.MODELGATE_KEY_PEPPER)
    return await work({
      database,
      databaseUrl: used.databaseUrl,
      pepper: pepper === undefined ? undefined : new Secret(pepper),
    })
  } finally {
    await database.close()
  }
}

/** A restore that was cut after its decisive moment; with the lock, which a gateway that starts may have. */
function finishCutRestore(directory: string): void {
  if (!hasUnfinishedRestore(directory)) return
  const lock = lockDataDirectory(directory)
  try {
    finishRestore(directory)
  } finally {
    lock.release()
  }
}

/** What a command works with. */
export interface Opened {
  readonly database: Database
  readonly databaseUrl: string
  readonly pepper: Secret | undefined
}

/** Opening it would make it a database. */
const isEmptyFile = (path: string): boolean => !existsSync(path) || statSync(path).size === 0

/** `path` undefined = a database at a server. */
function noDatabase(path: string | undefined, directory: string): Error {
  if (path?.startsWith(directory))
    return new Error(
      `the data directory ${directory} cannot be used: it holds no database; name that of the gateway with ` +
        '--data-dir (or MODELGATE_DATA_DIR), or start the gateway first',
    )
  const what = path === undefined ? 'no gateway has used the database' : `there is no database at ${path}`
  return new Error(`${what}; check DATABASE_URL (or general_settings.database_url), or start the gateway first`)
}
