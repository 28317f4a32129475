/** Makes a backup of a gateway, which may be running: database, journal, and the key of stored secrets. */
import { Database as Sqlite } from 'bun:sqlite'
import { copyFileSync, existsSync, mkdtempSync, renameSync, rmSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { migrationState } from '../database/migrate.ts'
import { openDatabase } from '../database/open.ts'
import { copySqlite } from '../database/sqlite-copy.ts'
import { keyFileName } from '../keys/encryption-keys.ts'
import { filesOf } from '../ledger/journal/journal.ts'
import { copyJournal } from '../ledger/journal/journal-copy.ts'
import { refusedName } from '../ledger/journal/refused-rows.ts'
import { BackupError, listedFile, readArchive, writeArchive } from './archive.ts'
import type { BackupKey, BackupOpener, Manifest } from './archive.ts'
import { dumpPostgres } from './postgres-dump.ts'
import { syncPath } from './sync-path.ts'

/** Names of the database in a backup. */
export const databaseNames = { sqlite: 'modelgate.sqlite', postgres: 'postgres.dump' } as const
/** Where the journal is, in a backup and in a data directory. */
export const journalName = 'journal'

/** In a data directory: what each of several workers has for itself, by its number. */
export const workersName = 'workers'

/** What is backed up, and how. */
export interface BackupOptions {
  readonly databaseUrl: string
  readonly dataDirectory: string
  /** Version of the program, for the manifest. */
  readonly program: string
  readonly nowMs: number
  readonly key?: BackupKey | undefined
  /** What opens it again, so that the encrypted file can be checked; absent = an encrypted one is not read again. */
  readonly opener?: BackupOpener | undefined
}

/**
 * Writes a backup to a path at which nothing is, and reads it again. Every call that was settled when it began is in
 * it. The file appears under its name once it is whole and checked. Throws what is wrong, and leaves no file then.
 */
export async function makeBackup(path: string, options: BackupOptions): Promise<Manifest> {
  const target = resolve(path)
  if (existsSync(target)) throw new BackupError(`${path} is there already; name another file, or remove it`)
  const folder = mkdtempSync(join(dirname(target), `.${basename(target)}-`))
  const draft = join(folder, 'draft')
  try {
    const manifest = await gathered(folder, options)
    await writeArchive(draft, { folder, manifest, key: options.key })
    if (options.key === undefined || options.opener !== undefined) await readArchive(draft, { opener: options.opener })
    renameSync(draft, target)
    syncPath(dirname(target))
    return manifest
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

async function gathered(folder: string, options: BackupOptions): Promise<Manifest> {
  const { databaseUrl, dataDirectory, program, nowMs } = options
  // The journal first: what is stored meanwhile leaves it for the database. Rows in both are stored once.
  const names = await copyJournals(dataDirectory, folder)
  if (existsSync(join(dataDirectory, keyFileName))) {
    copyFileSync(join(dataDirectory, keyFileName), join(folder, keyFileName))
    names.push(keyFileName)
  }
  const database = databaseUrl.startsWith('sqlite:') ? 'sqlite' : 'postgres'
  const copy = join(folder, databaseNames[database])
  let migration: number | undefined
  if (database === 'sqlite') {
    await copySqlite(databaseUrl.slice('sqlite:'.length), copy)
    checkSqlite(copy)
    migration = migrationIn(copy)
  } else await dumpPostgres(databaseUrl, copy)
  names.unshift(databaseNames[database])
  const files = []
  for (const name of names) files.push(await listedFile(folder, name))
  migration ??= await migrationOf(databaseUrl)
  return { format: 1, program, made_at: new Date(nowMs).toISOString(), database, migration, files }
}

/** Those of all workers as one: segments have the names of their process. Returns the names in the backup. */
async function copyJournals(dataDirectory: string, folder: string): Promise<string[]> {
  const workers = filesOf(join(dataDirectory, workersName)).filter(name => /^\d+$/.test(name))
  const names = (await copyJournal(join(dataDirectory, journalName), join(folder, journalName))).map(inJournal)
  for (const worker of workers) {
    const copied = join(folder, `worker-${worker}`)
    for (const name of await copyJournal(join(dataDirectory, workersName, worker, journalName), copied)) {
      const own = inJournal(name === refusedName ? `worker-${worker}-${name}` : name)
      renameSync(join(copied, name), join(folder, own))
      names.push(own)
    }
  }
  return names
}

const inJournal = (name: string): string => `${journalName}/${name}`

/** Throws where SQLite finds damage in the file. */
export function checkSqlite(path: string): void {
  const opened = new Sqlite(path, { readonly: true })
  try {
    const found = opened.query('pragma integrity_check').all() as { integrity_check: string }[]
    const [first] = found
    if (first?.integrity_check !== 'ok')
      throw new BackupError(`the database is damaged: ${first?.integrity_check ?? 'it cannot be read'}`)
  } finally {
    opened.close()
  }
}

/** The newest step of an SQLite file, which stays as it is. */
function migrationIn(path: string): number {
  const opened = new Sqlite(path, { readonly: true })
  try {
    const { newest } = opened.query('select max(id) as newest from migrations').get() as { newest: number }
    return newest
  } finally {
    opened.close()
  }
}

/** The newest step of a database at Postgres. */
export async function migrationOf(databaseUrl: string): Promise<number> {
  const database = await openDatabase(databaseUrl)
  try {
    return Math.max(0, ...(await migrationState(database.sql)).done)
  } finally {
    await database.close()
  }
}
