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
import { twentySeventh } from './migrations/0027-key-ages.ts'
import { twentyEighth } from './migrations/0028-file-owners.ts'
import { thirtieth } from './migrations/0030-budgeted.ts'
import { thirtyFirst } from './migrations/0031-conversations.ts'
import { fortyThird } from './migrations/0043-batch-reservations.ts'
import { fortyFourth } from './migrations/0044-usage-outbox.ts'
import { fortySeventh } from './migrations/0047-call-bodies.ts'
import { fiftyFifth } from './migrations/0055-conversation-attachments.ts'
import { fiftySeventh } from './migrations/0057-raises-and-surveys.ts'
import { fiftyNinth } from './migrations/0059-hits-of-the-ledger.ts'
import { sixtyFourth } from './migrations/0064-lists.ts'
import { sixtyFifth } from './migrations/0065-daily-spend.ts'
import { sixtySixth } from './migrations/0066-searches.ts'
import { sixtySeventh } from './migrations/0067-narrow-indexes.ts'
import { ninetySeventh } from './migrations/0097-sessions-of-calls.ts'
import { ninetyEighth } from './migrations/0098-latency.ts'
import { seventyEighth } from './migrations/0078-identity-removals.ts'
import { ninetyFifth } from './migrations/0095-usage-given-up.ts'
import { ninetyNinth } from './migrations/0099-cache-hours.ts'
import { hundredth } from './migrations/0100-guarded.ts'
import { hundredThirteenth } from './migrations/0113-audit-searches.ts'
import { hundredTwentySecond } from './migrations/0122-health-troubles.ts'
import { hundredTwentyThird } from './migrations/0123-file-ends.ts'
import { hundredThirtyFirst } from './migrations/0131-keys-of-directories.ts'
import { hundredNinetyFirst } from './migrations/0191-owners-of-texts.ts'
import { twoHundredThird } from './migrations/0203-owners-of-names.ts'
import { seventieth } from './migrations/0070-daily-top.ts'
import { ninetieth } from './migrations/0090-sums-of-entities.ts'
import { ninetyFirst } from './migrations/0091-totals-of-entities.ts'
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
  twentySeventh,
  twentyEighth,
  thirtieth,
  thirtyFirst,
  fortyThird,
  fortyFourth,
  fortySeventh,
  fiftyFifth,
  fiftySeventh,
  fiftyNinth,
  sixtyFourth,
  sixtyFifth,
  sixtySixth,
  sixtySeventh,
  seventyEighth,
  ninetyFifth,
  seventieth,
  ninetieth,
  ninetyFirst,
  ninetySeventh,
  ninetyEighth,
  ninetyNinth,
  hundredth,
  hundredThirteenth,
  hundredTwentySecond,
  hundredTwentyThird,
  hundredThirtyFirst,
  hundredNinetyFirst,
  twoHundredThird,
]
const bringing = new Set(named.filter(one => one.bringsColumns).map(one => one.id))
/** All steps, in the order of their numbers. */
export const migrations = inOrder([...named.map(withColumns), ...columnSteps.filter(({ id }) => !bringing.has(id))])
/** The newest step that this program knows. */
export const newestMigration = migrations.at(-1)!.id
/** Any number; the same for all replicas. */
const advisoryLock = 7_203_611

/** Up to this step programs refused every newer database: what they know of later ones is not known. */
const firstWithWayBack = 15
/** The newest step that a program must know to use a database of this version; later ones only add to it. */
const oldestUsable = Math.max(firstWithWayBack, ...migrations.filter(one => one.isBreaking).map(one => one.id))
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
  /** For tests: steps beyond it are left out, as a program of before would. */
  readonly newest?: number
}

/**
 * Throws when the database was written by a newer program that this one cannot work beside. Safe to be called by many
 * replicas at once.
 */
export async function migrate(
  database: Database,
  { onStep, newest = newestMigration }: MigrateOptions = {},
): Promise<void> {
  await transaction(database, async tx => {
    if (database.kind === 'postgres') await tx`select pg_advisory_xact_lock(${advisoryLock})`
    await tx`create table if not exists migrations (id integer primary key, name text not null)`
    const { done, pending, oldestUsable: needed } = await migrationState(tx)
    const there = Math.max(0, ...done)
    if (there > newest && (needed === undefined || needed > newest))
      throw new Error(
        `the database has migration ${there}, this program knows ${newest}: ` +
          'start the newer program, or restore the backup',
      )
    for (const step of pending.filter(({ id }) => id <= newest)) {
      const fromMs = performance.now()
      await step.up(tx, database.kind)
      await tx`insert into migrations (id, name) values (${step.id}, ${step.name})`
      onStep?.(step, performance.now() - fromMs)
    }
    if (newest < oldestUsable || (needed !== undefined && needed >= oldestUsable)) return
    await tx`
      insert into installation (name, value) values (${oldestUsableName}, ${String(oldestUsable)})
      on conflict (name) do update set value = excluded.value`
  })
}

/** Reads it; changes nothing. Rejects where the database has no table of steps. */
export async function migrationState(sql: SQL): Promise<MigrationState> {
  const rows = (await sql`select id from migrations order by id`) as { id: number }[]
  const done = rows.map(row => Number(row.id))
  const known = new Set(done)
  const rowsOfOldest =
    done.length === 0
      ? []
      : ((await sql`select value from installation where name = ${oldestUsableName}`) as { value: string }[])
  return {
    done,
    pending: migrations.filter(({ id }) => !known.has(id)),
    oldestUsable: rowsOfOldest[0] && Number(rowsOfOldest[0].value),
  }
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
      await addColumns(sql, step.id)
      await step.up(sql, kind)
    },
  }
}

function inOrder(steps: readonly Migration[]): readonly Migration[] {
  for (const { id } of steps)
    if (steps.filter(step => step.id === id).length > 1)
      throw new Error(`two steps of the database have the number ${id}; a new one takes the next that is free`)
  return steps.toSorted((a, b) => a.id - b.id)
}
