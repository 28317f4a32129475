/** Empty databases for the tests of the stores: SQLite always, Postgres where `TEST_DATABASE_URL` is set. */
import { copyFileSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { randomUUIDv7, SQL } from 'bun'
import type { StorageQuota } from '../../access/storage-quota.ts'
import { createStorageGuard } from '../objects/storage-guard.ts'
import type { StorageGuard } from '../objects/storage-guard.ts'
import { migrate } from './migrate.ts'
import { openDatabase } from './open.ts'
import type { Database } from './open.ts'

/** Databases with all steps, where the run of the tests has made them: tests/runner/database-templates.ts. */
const { TEST_SQLITE_TEMPLATE: templateFile, TEST_DATABASE_TEMPLATE: templateName } = process.env

/**
 * Begins the file of a test that does not care how its database came to have all steps, as a copy of the template;
 * where there is none, it stays to be made.
 */
export function placeSqliteTemplate(path: string): void {
  if (!templateFile) return
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  copyFileSync(templateFile, path)
}

/**
 * The statement that makes such a database on Postgres (15 and later): its files are copied, which takes the processors
 * half as long as the default of reading and logging each page.
 */
export const createFromTemplate = (name: string): string =>
  `create database ${name}${templateName ? ` template ${templateName} strategy file_copy` : ''}`

/** An empty database of its own. */
export interface TestDatabase {
  readonly url: string
  remove(): Promise<void>
}

interface TestServer {
  readonly name: 'SQLite' | 'Postgres'
  /** Without any table. */
  create(): Promise<TestDatabase>
  /** With all steps of the schema, and nothing else: what a test wants that is not about the steps. */
  createMigrated(): Promise<TestDatabase>
}

/** Of every key; by default there is no limit. */
export function guardOf(database: Database, quota: Partial<StorageQuota> = {}): StorageGuard {
  return createStorageGuard(database, () => ({ objectsMax: null, bytesMax: null, ...quota }))
}

/** `what` names the skipped tests in the output. */
export function testServers(what: string): TestServer[] {
  const { TEST_DATABASE_URL: url } = process.env
  if (!url) process.stderr.write(`skipped: ${what} on Postgres (set TEST_DATABASE_URL)\n`)
  return [
    { name: 'SQLite', create: async () => createSqlite(), createMigrated: createMigratedSqlite },
    ...(url
      ? [
          {
            name: 'Postgres' as const,
            create: () => createPostgres(url, name => `create database ${name}`),
            createMigrated: () => createMigratedPostgres(url),
          },
        ]
      : []),
  ]
}

function createSqlite(): TestDatabase {
  const folder = mkdtempSync(join(tmpdir(), 'modelgate-store-'))
  return {
    url: `sqlite:${join(folder, 'x.sqlite')}`,
    remove: async () => rmSync(folder, { recursive: true, force: true }),
  }
}

async function createMigratedSqlite(): Promise<TestDatabase> {
  const made = createSqlite()
  placeSqliteTemplate(made.url.slice('sqlite:'.length))
  if (!templateFile) await migrateAt(made.url)
  return made
}

/** `statement`: that makes the database of a name. */
async function createPostgres(serverUrl: string, statement: (name: string) => string): Promise<TestDatabase> {
  const name = `modelgate_test_${randomUUIDv7('hex').replaceAll('-', '')}`
  const admin = new SQL(serverUrl, { max: 1 })
  await admin.unsafe(statement(name))
  const url = new URL(serverUrl)
  url.pathname = `/${name}`
  return {
    url: url.href,
    async remove() {
      await admin.unsafe(`drop database ${name} with (force)`)
      await admin.close()
    },
  }
}

async function createMigratedPostgres(serverUrl: string): Promise<TestDatabase> {
  const made = await createPostgres(serverUrl, createFromTemplate)
  if (!templateName) await migrateAt(made.url)
  return made
}

async function migrateAt(url: string): Promise<void> {
  const database = await openDatabase(url)
  await migrate(database)
  await database.close()
}

/**
 * Runs statements on the database in another process, with `database`, `keys` and `migrate`. SQLite's lock blocks its
 * thread, so that two connections of one thread would wait for each other.
 */
export async function inOtherProcess(url: string, statements: string): Promise<string> {
  const script = `
    import { testKeys } from '../keys/keys-fixture.ts'
    import { migrate } from './migrate.ts'
    import { openDatabase } from './open.ts'
    import { systemClock } from '../../lib/clock.ts'
    const database = await openDatabase(${JSON.stringify(url)})
    const keys = testKeys(database, systemClock)
    ${statements}
    await database.close()
    process.exit(0)`
  const child = Bun.spawn([process.execPath, '-e', script], { cwd: import.meta.dir, stdout: 'pipe', stderr: 'pipe' })
  const [output, errors] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()])
  if ((await child.exited) !== 0) throw new Error(errors)
  return output
}
