/** Databases with all steps of the schema, made once in a run of the tests: those of the tests are copies of them. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { SQL } from 'bun'
import { migrate } from '../../src/store/database/migrate.ts'
import { openDatabase } from '../../src/store/database/open.ts'

export interface DatabaseTemplates {
  /** Names them, for the processes of the tests: see src/store/database/database-fixture.ts. */
  readonly environment: Readonly<Record<string, string>>
  remove(): Promise<void>
}

/** `serverUrl`: of Postgres; absent = one for SQLite alone. */
export async function makeDatabaseTemplates(serverUrl: string | undefined): Promise<DatabaseTemplates> {
  const folder = mkdtempSync(join(tmpdir(), 'modelgate-template-'))
  const file = join(folder, 'template.sqlite')
  await migrateOnce(`sqlite:${file}`)
  const removeFolder = () => rmSync(folder, { recursive: true, force: true })
  if (!serverUrl) return { environment: { TEST_SQLITE_TEMPLATE: file }, remove: async () => removeFolder() }
  const name = `modelgate_template_${crypto.randomUUID().replaceAll('-', '')}`
  await onServer(serverUrl, `create database ${name}`)
  const url = new URL(serverUrl)
  url.pathname = `/${name}`
  await migrateOnce(url.href)
  return {
    environment: { TEST_SQLITE_TEMPLATE: file, TEST_DATABASE_TEMPLATE: name },
    async remove() {
      removeFolder()
      await onServer(serverUrl, `drop database ${name} with (force)`)
    },
  }
}

async function migrateOnce(url: string): Promise<void> {
  const database = await openDatabase(url)
  await migrate(database)
  await database.close()
}

async function onServer(serverUrl: string, statement: string): Promise<void> {
  const sql = new SQL(serverUrl, { max: 1 })
  await sql.unsafe(statement)
  await sql.close()
}
