/** Brings the database to this program's version: numbered steps in one transaction, one replica at a time. */
import type { SQL } from 'bun'
import { addColumnTexts, columnVersions } from '../ledger/ledger-table.ts'
import { baseline, migrations as namedMigrations } from './migrations.ts'
import type { Migration } from './migrations.ts'
import { transaction } from './open.ts'
import type { Database } from './open.ts'

/** Columns of the ledger bring their own steps: `since` is the step's number. */
const columnSteps: readonly Migration[] = columnVersions.map(id => ({
  id,
  name: 'ledger-columns',
  bringsColumns: true,
  statements: [],
}))
const bringing = new Set(namedMigrations.filter(one => one.bringsColumns).map(one => one.id))
/** All steps, in the order of their numbers. */
export const migrations = inOrder([...namedMigrations, ...columnSteps.filter(({ id }) => !bringing.has(id))])
/** The newest step that this program knows. */
export const newestMigration = newestOf(migrations)
/** Any number; the same for all replicas. */
const advisoryLock = 7_203_611

/** In `installation`: the same, as the newest program that migrated the database says it. */
const oldestUsableName = 'oldest_usable_migration'

/** What a database has behind it. */
export interface MigrationState {
  /** Steps that were taken, by their numbers. */
  readonly done: readonly number[]
  /** Steps that this program would take. */
  readonly pending: readonly Migration[]
  /** The newest step that a program must know to use the database; undefined = no program has said it. */
  readonly oldestUsable: number | undefined
}

interface MigrateOptions {
  /** Told of each step that was taken. */
  readonly onStep?: ((step: Migration, tookMs: number) => void) | undefined
  /** Those of another program; absent = of this one. */
  readonly steps?: readonly Migration[]
}

/**
 * Throws, and leaves the database as it is, when it was written by a newer program that this one cannot work beside, or
 * by one from before the baseline. Safe to be called by many replicas at once.
 */
export async function migrate(database: Database, { onStep, steps = migrations }: MigrateOptions = {}): Promise<void> {
  const newest = newestOf(steps)
  await transaction(database, async tx => {
    if (database.kind === 'postgres') await tx`select pg_advisory_xact_lock(${advisoryLock})`
    await tx`create table if not exists migrations (id integer primary key, name text not null)`
    const { done, pending, oldestUsable: needed } = await migrationState(tx, steps)
    const there = Math.max(0, ...done)
    if (there > newest && (needed === undefined || needed > newest))
      throw new Error(
        `the database has migration ${there}, this program knows ${newest}: ` +
          'start the newer program, or restore the backup',
      )
    for (const step of pending) {
      const fromMs = performance.now()
      for (const text of statementsOf(step, database.kind)) await tx.unsafe(text)
      await tx`insert into migrations (id, name) values (${step.id}, ${step.name})`
      onStep?.(step, performance.now() - fromMs)
    }
    // The newest step that a program must know to use a database of this version; later ones only add to it.
    const oldestUsable = Math.max(baseline.id, ...steps.filter(one => one.isBreaking).map(one => one.id))
    if (needed !== undefined && needed >= oldestUsable) return
    await tx`
      insert into installation (name, value) values (${oldestUsableName}, ${String(oldestUsable)})
      on conflict (name) do update set value = excluded.value`
  })
}

/**
 * Reads it; changes nothing. Rejects where the database has no table of steps, or steps from before the baseline.
 */
export async function migrationState(sql: SQL, steps = migrations): Promise<MigrationState> {
  const rows = (await sql`select id, name from migrations order by id`) as { id: number; name: string }[]
  const done = rows.map(row => Number(row.id))
  if (rows[0] && (done[0] !== baseline.id || rows[0].name !== baseline.name))
    throw new Error(
      `the database was made by a program from before the first release (its first step is '${rows[0].name}'), which ` +
        'this one cannot bring up to date, and was left as it is: name an empty database, or a new file, in ' +
        'DATABASE_URL (or general_settings.database_url), or go on with the program that made this one',
    )
  const known = new Set(done)
  const rowsOfOldest =
    done.length === 0
      ? []
      : ((await sql`select value from installation where name = ${oldestUsableName}`) as { value: string }[])
  return {
    done,
    pending: steps.filter(({ id }) => !known.has(id)),
    oldestUsable: rowsOfOldest[0] && Number(rowsOfOldest[0].value),
  }
}

/** What a step does, in its order. */
export function statementsOf({ id, statements, bringsColumns }: Migration, kind: Database['kind']): readonly string[] {
  const own = typeof statements === 'function' ? statements(kind) : statements
  return bringsColumns ? [...addColumnTexts(id), ...own] : own
}

/** Whether a gateway has used this database. Changes nothing. */
export async function isMigrated({ kind, sql }: Database): Promise<boolean> {
  const found =
    kind === 'postgres'
      ? await sql`select 1 where to_regclass('migrations') is not null and to_regclass('installation') is not null`
      : await sql`select 1 from sqlite_master where type = 'table' and name = 'installation'`
  return (found as unknown[]).length > 0
}

function newestOf(steps: readonly Migration[]): number {
  return steps.at(-1)!.id
}

function inOrder(steps: readonly Migration[]): readonly Migration[] {
  for (const { id } of steps)
    if (steps.filter(step => step.id === id).length > 1)
      throw new Error(`two steps of the database have the number ${id}; a new one takes the next that is free`)
  return steps.toSorted((a, b) => a.id - b.id)
}
