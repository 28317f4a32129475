/** Migrates a copy of a database: what the real migration will do, how long it takes, and whether all rows stay. */
import { rmSync } from 'node:fs'
import { randomUUIDv7, SQL } from 'bun'
import { migrate, migrations } from './migrate.ts'
import type { Migration } from './migrations.ts'
import { openDatabase } from './open.ts'
import type { Database } from './open.ts'
import { copySqlite } from './sqlite-copy.ts'

/** What a rehearsal found. */
export interface Rehearsal {
  readonly copyMs: number
  readonly steps: readonly { readonly id: number; readonly name: string; readonly tookMs: number }[]
  readonly tables: readonly { readonly name: string; readonly rowsBefore: number; readonly rowsAfter: number }[]
}

/**
 * Copies, migrates the copy and removes it; the database itself is only read. On SQLite the copy is a file beside it,
 * on Postgres a schema of the same database: both need as much space again. Rejects with what a real migration would
 * reject with. `steps` are those of the program.
 */
export async function rehearse(databaseUrl: string, steps = migrations): Promise<Rehearsal> {
  return databaseUrl.startsWith('sqlite:')
    ? rehearseSqlite(databaseUrl.slice('sqlite:'.length), steps)
    : rehearsePostgres(databaseUrl, steps)
}

async function rehearseSqlite(path: string, steps: typeof migrations): Promise<Rehearsal> {
  const copy = `${path}.rehearsal-${randomUUIDv7()}`
  const fromMs = performance.now()
  await copySqlite(path, copy)
  try {
    const copyMs = performance.now() - fromMs
    const database = await openDatabase(`sqlite:${copy}`)
    try {
      return { copyMs, ...(await migrateCopy(database, steps)) }
    } finally {
      await database.close()
    }
  } finally {
    for (const end of ['', '-wal', '-shm']) rmSync(copy + end, { force: true })
  }
}

async function rehearsePostgres(url: string, steps: typeof migrations): Promise<Rehearsal> {
  const schema = `modelgate_rehearsal_${randomUUIDv7('hex').replaceAll('-', '')}`
  // One connection: the schema is a setting of it. Copying may take longer than any statement of a gateway.
  const sql = new SQL(url, { max: 1, connectionTimeout: 5, connection: { application_name: 'modelgate rehearsal' } })
  const database: Database = { kind: 'postgres', sql, close: () => sql.close() }
  try {
    const fromMs = performance.now()
    await sql.unsafe(`create schema ${schema}`)
    try {
      await sql.begin('isolation level repeatable read', async tx => {
        for (const { name } of await tablesOf(database, tx)) {
          await tx.unsafe(`create table ${schema}."${name}" (like "${name}" including all)`)
          await tx.unsafe(`insert into ${schema}."${name}" select * from "${name}"`)
        }
      })
      const copyMs = performance.now() - fromMs
      await sql.unsafe(`set search_path to ${schema}`)
      return { copyMs, ...(await migrateCopy(database, steps)) }
    } finally {
      await sql.unsafe(`drop schema ${schema} cascade`)
    }
  } finally {
    await database.close()
  }
}

async function migrateCopy(database: Database, steps: typeof migrations): Promise<Omit<Rehearsal, 'copyMs'>> {
  const before = await tablesOf(database, database.sql)
  const taken: { id: number; name: string; tookMs: number }[] = []
  const onStep = ({ id, name }: Migration, tookMs: number) => void taken.push({ id, name, tookMs })
  await migrate(database, { onStep, steps })
  const after = new Map((await tablesOf(database, database.sql)).map(({ name, rows }) => [name, rows]))
  // The two that a migration itself writes.
  const own = new Set(['migrations', 'installation'])
  const tables = before
    .filter(({ name }) => !own.has(name))
    .map(({ name, rows }) => ({ name, rowsBefore: rows, rowsAfter: after.get(name) ?? 0 }))
  return { steps: taken, tables }
}

async function tablesOf({ kind }: Database, sql: SQL): Promise<{ name: string; rows: number }[]> {
  const found = (
    kind === 'postgres'
      ? await sql`select tablename as name from pg_tables where schemaname = current_schema() order by tablename`
      : await sql`select name from sqlite_master where type = 'table' and name not like 'sqlite_%' order by name`
  ) as { name: string }[]
  const tables: { name: string; rows: number }[] = []
  for (const { name } of found) {
    const [row] = (await sql.unsafe(`select count(*) as total from "${name}"`)) as { total: unknown }[]
    tables.push({ name, rows: Number(row!.total) })
  }
  return tables
}
