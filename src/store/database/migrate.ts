/** Brings the database to this program's version: numbered steps in one transaction, one replica at a time. */
import type { SQL } from 'bun'
import { addColumnTexts, columnVersions } from '../ledger/ledger-table.ts'
import type { Migration } from './migration.ts'
import { first } from './migrations/0001-keys-and-ledger.ts'
import { second } from './migrations/0002-responses.ts'
import { third } from './migrations/0003-files.ts'
import { fourth } from './migrations/0004-assistants.ts'
import { sixth } from './migrations/0006-batch-leases.ts'
import { seventh } from './migrations/0007-stored-totals.ts'
import { eighth } from './migrations/0008-tenancy.ts'
import { eleventh } from './migrations/0011-budget-spend.ts'
import { fourteenth } from './migrations/0014-ledger-daily.ts'
import { fifteenth } from './migrations/0015-configured-objects.ts'
import { sixteenth } from './migrations/0016-sessions.ts'
import { nineteenth } from './migrations/0019-device-sign-ins.ts'
import { twentieth } from './migrations/0020-grace-and-resets.ts'
import { twentySecond } from './migrations/0022-guardrails.ts'
import { twentyThird } from './migrations/0023-cache-and-idempotency.ts'
import { twentyFifth } from './migrations/0025-identity-links.ts'
import { twentySixth } from './migrations/0026-directory.ts'
import { transaction } from './open.ts'
import type { Database } from './open.ts'

/** Columns of the ledger bring their own steps: `since` is the step's number. */
const columnSteps: readonly Migration[] = columnVersions.map(id => ({
  id,
  name: 'ledger-columns',
  up: sql => addColumns(sql, id),
}))
const named: readonly Migration[] = [
  first,
  second,
  third,
  fourth,
  sixth,
  seventh,
  eighth,
  eleventh,
  fourteenth,
  fifteenth,
  sixteenth,
  nineteenth,
  twentieth,
  twentySecond,
  twentyThird,
  twentyFifth,
  twentySixth,
]
const bringing = new Set(named.filter(one => one.bringsColumns).map(one => one.id))
const migrations = inOrder([...named.map(withColumns), ...columnSteps.filter(({ id }) => !bringing.has(id))])
/** The newest step that this program knows. */
export const newestMigration = migrations.at(-1)!.id
/** Any number; the same for all replicas. */
const advisoryLock = 7_203_611

/** Throws when the database was written by a newer program. Safe to be called by many replicas at once. */
export async function migrate(database: Database): Promise<void> {
  await transaction(database, async tx => {
    if (database.kind === 'postgres') await tx`select pg_advisory_xact_lock(${advisoryLock})`
    await tx`create table if not exists migrations (id integer primary key, name text not null)`
    const rows = (await tx`select id from migrations`) as { id: number }[]
    const done = new Set(rows.map(row => Number(row.id)))
    const newest = Math.max(0, ...done)
    if (newest > newestMigration) {
      throw new Error(
        `the database has migration ${newest}, this program knows ${newestMigration}: ` +
          'start the newer program, or restore the backup',
      )
    }
    for (const migration of migrations.filter(one => !done.has(one.id))) {
      await migration.up(tx, database.kind)
      await tx`insert into migrations (id, name) values (${migration.id}, ${migration.name})`
    }
  })
}

/** Whether a gateway has used this database. Changes nothing. */
export async function isMigrated({ kind, sql }: Database): Promise<boolean> {
  const found =
    kind === 'postgres'
      ? await sql`select 1 where to_regclass('migrations') is not null and to_regclass('installation') is not null`
      : await sql`select 1 from sqlite_master where type = 'table' and name = 'installation'`
  return (found as unknown[]).length > 0
}

async function addColumns(sql: SQL, id: number): Promise<void> {
  for (const text of addColumnTexts(id)) await sql.unsafe(text)
}

function withColumns(step: Migration): Migration {
  if (!step.bringsColumns) return step
  return {
    ...step,
    async up(sql, kind) {
      await step.up(sql, kind)
      await addColumns(sql, step.id)
    },
  }
}

function inOrder(steps: readonly Migration[]): readonly Migration[] {
  for (const { id } of steps)
    if (steps.filter(step => step.id === id).length > 1)
      throw new Error(`two steps of the database have the number ${id}; a new one takes the next that is free`)
  return steps.toSorted((a, b) => a.id - b.id)
}
