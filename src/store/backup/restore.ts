/**
 * Puts a backup in the place of what a gateway has. Everything is made ready beside the old files first; one small file
 * that says which files go where is the moment from which on the new state holds. A process that ends before leaves the
 * old state, one that ends later is finished by the next start or command (`finishRestore`).
 */
import { Database as Sqlite } from 'bun:sqlite'
import { existsSync, lstatSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { errorCode } from '../../lib/error-code.ts'
import { newestMigration } from '../database/migrate.ts'
import { keyFileName } from '../keys/encryption-keys.ts'
import { BackupError, readArchive } from './archive.ts'
import type { BackupOpener, Manifest } from './archive.ts'
import { cutName, finishRestore, planName, writePlan } from './finish-restore.ts'
import type { Plan } from './finish-restore.ts'
import { checkSqlite, databaseNames, journalName, migrationOf, workersName } from './backup.ts'
import { refuseConnected, restorePostgres } from './postgres-dump.ts'
import { syncPath } from './sync-path.ts'

/** What is restored to where. The caller holds the lock of the data directory. */
export interface RestoreOptions {
  readonly databaseUrl: string
  readonly dataDirectory: string
  readonly opener?: BackupOpener | undefined
}

/** What was restored. */
export interface Restored {
  readonly manifest: Manifest
  /** Where the files of before are; undefined = there were none. */
  readonly before: string | undefined
}

const stagePrefix = 'restore-'

/** Throws what is wrong, and changes nothing then. */
export async function restoreBackup(path: string, options: RestoreOptions): Promise<Restored> {
  const { databaseUrl, dataDirectory, opener } = options
  if (existsSync(join(dataDirectory, planName))) finishRestore(dataDirectory)
  removeStages(dataDirectory)
  const stage = mkdtempSync(join(dataDirectory, stagePrefix))
  try {
    const manifest = await readArchive(path, { opener, into: stage })
    await checkFit(manifest, { databaseUrl, path })
    return manifest.database === 'sqlite'
      ? { manifest, before: await restoreSqlite(stage, options) }
      : { manifest, before: await restoreToPostgres(stage, options) }
  } catch (error) {
    if (!existsSync(join(dataDirectory, planName))) rmSync(stage, { recursive: true, force: true })
    throw error
  }
}

async function checkFit(
  { database, migration, program }: Manifest,
  { databaseUrl, path }: { readonly databaseUrl: string; readonly path: string },
): Promise<void> {
  const isSqlite = databaseUrl.startsWith('sqlite:')
  if (isSqlite !== (database === 'sqlite'))
    throw new BackupError(
      isSqlite
        ? `${path} holds a database of Postgres; set DATABASE_URL (or general_settings.database_url) to an empty one`
        : `${path} holds an SQLite database, and DATABASE_URL names Postgres; restore it without DATABASE_URL, then ` +
            'copy it with: modelgate db copy',
    )
  if (migration > newestMigration)
    throw new BackupError(`${path} was made by a newer program (${program}); restore it with that one`)
  if (isSqlite) return
  await refuseConnected(databaseUrl)
  const there = await migrationOf(databaseUrl).catch(() => 0)
  if (there > migration)
    throw new BackupError(
      `the database has step ${there}, and the backup is from before it (${migration}); restore into an empty database`,
    )
}

/** Returns where the files of before are. */
async function restoreSqlite(
  stage: string,
  { databaseUrl, dataDirectory }: RestoreOptions,
): Promise<string | undefined> {
  const database = databaseUrl.slice('sqlite:'.length)
  closeOld(database)
  const staged = join(stage, databaseNames.sqlite)
  checkSqlite(staged)
  // A rename does not lead to another file system.
  const beside = `${database}.${basename(stage)}`
  if (dirname(database) !== dataDirectory) {
    mkdirSync(dirname(database), { recursive: true, mode: 0o700 })
    await Bun.write(beside, Bun.file(staged))
    syncPath(beside)
  }
  const ready = dirname(database) === dataDirectory ? staged : beside
  const old = `${database}.before-${basename(stage)}`
  const before = join(dataDirectory, `before-${basename(stage)}`)
  const oldDatabase = dirname(database) === dataDirectory ? join(before, basename(database)) : old
  const away = ['', '-wal', '-shm'].map(end => [`${database}${end}`, `${oldDatabase}${end}`] as const)
  return switchTo(dataDirectory, { stage, before, away, place: [[ready, database]] })
}

/** Throws where another process has it open. What can be read of its log is put into the file. */
function closeOld(path: string): void {
  if (!existsSync(path)) return
  let opened: Sqlite | undefined
  try {
    opened = new Sqlite(path, { readwrite: true, create: false })
    opened.run('pragma busy_timeout = 0')
    opened.run('pragma journal_mode = delete')
  } catch (error) {
    if (/^SQLITE_(BUSY|LOCKED)/.test(errorCode(error)))
      throw new BackupError(`the database ${path} is in use by another process; stop every gateway on it first`)
    // It is damaged, which may be why a backup is restored: its files are moved away as they are.
  } finally {
    opened?.close()
  }
}

/** The database by itself, in one transaction; then the journal. A start in between is refused (`finishRestore`). */
async function restoreToPostgres(
  stage: string,
  { databaseUrl, dataDirectory }: RestoreOptions,
): Promise<string | undefined> {
  const before = join(dataDirectory, `before-${basename(stage)}`)
  const known = join(dataDirectory, 'known-keys.json')
  writeFileSync(join(dataDirectory, cutName), '', { mode: 0o600, flush: true })
  try {
    await restorePostgres(databaseUrl, join(stage, databaseNames.postgres))
  } catch (error) {
    rmSync(join(dataDirectory, cutName), { force: true })
    throw error
  }
  const away = [[known, join(before, 'known-keys.json')]] as const
  const moved = switchTo(dataDirectory, { stage, before, away, place: [] })
  rmSync(join(dataDirectory, cutName), { force: true })
  return moved
}

interface Switch extends Pick<Plan, 'before' | 'away' | 'place'> {
  readonly stage: string
}

/** From here on the new state holds. Returns where the files of before are. */
function switchTo(dataDirectory: string, { stage, before, away, place }: Switch): string | undefined {
  const own = [journalName, ...(existsSync(join(stage, keyFileName)) ? [keyFileName] : [])]
  mkdirSync(join(stage, journalName), { recursive: true, mode: 0o700 })
  const plan: Plan = {
    phase: 'away',
    before,
    away: [...away, ...[...own, workersName].map(name => [join(dataDirectory, name), join(before, name)] as const)],
    place: [...place, ...own.map(name => [join(stage, name), join(dataDirectory, name)] as const)],
    leftovers: [stage],
  }
  syncPath(stage)
  writePlan(dataDirectory, plan)
  finishRestore(dataDirectory)
  return existsSync(before) ? before : undefined
}

/** Those of restores that were cut before their decisive moment. */
function removeStages(dataDirectory: string): void {
  for (const name of readdirSync(dataDirectory))
    if (name.startsWith(stagePrefix) && lstatSync(join(dataDirectory, name)).isDirectory())
      rmSync(join(dataDirectory, name), { recursive: true, force: true })
}
