/**
 * Replicas of two versions run on one database during an upgrade, and after a way back: the steps of a version only
 * add, and what the version before writes is taken as before. Steps that this file makes up show it.
 */
import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { bareKey } from '../../core/caller.ts'
import { systemClock } from '../../lib/clock.ts'
import { makeDay } from '../bodies/day-partitions.ts'
import { testKeys } from '../keys/keys-fixture.ts'
import { testServers } from './database-fixture.ts'
import type { TestDatabase } from './database-fixture.ts'
import { migrate, migrations, migrationState, statementsOf } from './migrate.ts'
import type { Migration } from './migrations.ts'
import { openDatabase } from './open.ts'
import type { Database } from './open.ts'
import { rehearse } from './rehearsal.ts'

/** What a version after this one may add: `later` are its steps. */
const added: readonly Migration[] = [
  {
    id: 1001,
    name: 'notes',
    statements: kind => [
      'create table notes (id text primary key, content text not null)',
      'create unique index notes_content on notes (content)',
      "insert into notes (id, content) values ('first', '')",
      ...(kind === 'sqlite' ? ['create index ledger_pages on ledger (pages)'] : []),
      'drop index if exists virtual_keys_alias',
    ],
  },
  {
    id: 1002,
    name: 'key-notes',
    statements: [
      'alter table virtual_keys add column note text',
      "alter table virtual_keys add column notes text not null default '[]'",
      'create unique index virtual_keys_note on virtual_keys (team_id, note)',
    ],
  },
]
const later = [...migrations, ...added]
const newest = 1002

/** Statements that a step must not have, and why. */
const harmfulStatements: readonly (readonly [statement: string, why: string])[] = [
  ['alter table teams add column note text not null', 'the column has to be filled'],
  ['alter table teams add column note text references users (id)', 'the column has to be filled'],
  ['create unique index teams_of_alias on teams (alias)', 'what was allowed twice is refused'],
  ["insert into tags (id) values ('a')", 'it changes a table that others use'],
  ['create trigger t after insert on teams for each row begin select 1; end', 'it changes a table that others use'],
  ['alter table teams drop column alias', 'it is none of those that only add'],
  ['alter table teams rename to groups', 'it is none of those that only add'],
  ['drop index if exists upstream_files_there', 'an insertion may need that it is unique'],
  ['drop index teams_alias', 'the copy of a rehearsal on Postgres names its indexes itself'],
  ['drop table teams', 'it is none of those that only add'],
  ["update teams set alias = ''", 'it is none of those that only add'],
]

interface Column {
  readonly name: string
  readonly type: string
  /** 1 = each row needs a value. */
  readonly filled: number
}

/** What the steps brought: names of tables, and `TABLE.COLUMN`. */
type Brought = Set<string>

/** Of this version: an `on conflict` may rest on them. */
const uniqueIndexes = new Set(
  migrations
    .flatMap(step => statementsOf(step, 'sqlite'))
    .flatMap(text => /^create unique index (\w+)/i.exec(text)?.[1] ?? []),
)

/** Why a statement could harm a program that does not know of it; undefined = it cannot. Adds to `brought`. */
function harm(statement: string, brought: Brought): string | undefined {
  const text = statement.replaceAll(/\s+/g, ' ').trim()
  const made = /^create table (?:if not exists )?"?(\w+)/i.exec(text)
  if (made) return void brought.add(made[1]!)
  const column = /^alter table "?(\w+)"? add column (?:if not exists )?"?(\w+)"?(.*)$/i.exec(text)
  if (column) {
    brought.add(`${column[1]}.${column[2]}`)
    const isFree = !/not null|primary key|unique|references|check/i.test(column[3]!) || /\bdefault\b/i.test(column[3]!)
    return isFree ? undefined : 'the column has to be filled'
  }
  const index = /^create (unique )?index (?:if not exists )?\w+ on "?(\w+)"?(.*)$/i.exec(text)
  if (index) {
    const [, unique, table, parts] = index as unknown as [string, string | undefined, string, string]
    // Columns that came later are null in rows of a program that does not know them, and nulls are all different.
    const isFree = !unique || brought.has(table) || parts.match(/\w+/g)!.some(word => brought.has(`${table}.${word}`))
    return isFree ? undefined : 'what was allowed twice is refused'
  }
  // Without an index it searches longer.
  const dropped = /^drop index if exists (\w+)$/i.exec(text)?.[1]
  if (dropped !== undefined) return uniqueIndexes.has(dropped) ? 'an insertion may need that it is unique' : undefined
  if (/^drop index /i.test(text)) return 'the copy of a rehearsal on Postgres names its indexes itself'
  const into = /^insert into "?(\w+)/i.exec(text) ?? /^create trigger .*? on "?(\w+)/i.exec(text)
  if (into) return brought.has(into[1]!) ? undefined : 'it changes a table that others use'
  return /^(select|create function)\b/i.test(text) ? undefined : 'it is none of those that only add'
}

/** What is wrong with steps: those that say that they break are not looked at. */
function harmOf(steps: readonly Migration[], kind: Database['kind']): string[] {
  const brought: Brought = new Set()
  return steps
    .filter(({ isBreaking }) => !isBreaking)
    .flatMap(step => statementsOf(step, kind).map(text => ({ id: step.id, text, why: harm(text, brought) })))
    .flatMap(({ id, text, why }) => (why === undefined ? [] : [`step ${id}: ${why}: ${text.slice(0, 200)}`]))
}

test('every step after the baseline only adds tables, columns that need no value, and indexes', () => {
  for (const kind of ['sqlite', 'postgres'] as const) {
    expect(harmOf(migrations.slice(1), kind)).toEqual([])
    expect(harmOf(added, kind)).toEqual([])
  }
})

test.each(harmfulStatements)('a step may not say: %s', (text, why) => {
  const step = { id: 1003, name: 'harmful', statements: [text] }
  expect(harmOf([...added, step], 'sqlite')).toEqual([`step 1003: ${why}: ${text}`])
  expect(harmOf([{ ...step, isBreaking: true }], 'sqlite')).toEqual([])
})

for (const server of testServers('steps that only add'))
  describe(server.name, () => {
    let made: TestDatabase
    let database: Database
    beforeEach(async () => {
      made = await server.create()
      database = await openDatabase(made.url)
      await migrate(database)
    })
    afterEach(async () => {
      await database.close()
      await made.remove()
    })

    const columnsOf = async (): Promise<Map<string, Column[]>> => {
      const rows = (
        database.kind === 'postgres'
          ? await database.sql`select table_name as "table", column_name as name, data_type as type,
                case when is_nullable = 'NO' and column_default is null then 1 else 0 end as filled
              from information_schema.columns where table_schema = current_schema()`
          : await database.sql`select m.name as "table", c.name as name, c.type as type,
                case when (c."notnull" = 1 and c.dflt_value is null) or c.pk > 0 then 1 else 0 end as filled
              from sqlite_master m join pragma_table_info(m.name) c where m.type = 'table' and m.name not like 'sqlite_%'`
      ) as (Column & { table: string })[]
      return Map.groupBy(rows, row => row.table)
    }
    const storedValue = (type: string): number | string => (/int|numeric|real|double/i.test(type) ? 1 : 'one')

    test('rows in the shape of this version are taken by every table of a later one', async () => {
      const old = await columnsOf()
      await migrate(database, { steps: later })
      if (server.name === 'Postgres') await makeDay(database.sql, 1)
      const own = new Set(['migrations', 'installation', 'stored_totals'])
      const waiting = [...old].filter(([name]) => !own.has(name))
      expect(waiting.length).toBeGreaterThan(12)
      // A row may name one of another table, which is there a round later: all have the same values.
      for (let round = 0; waiting.length > 0 && round < old.size; round++) {
        const [name, columns] = waiting.shift()!
        const filled = columns.filter(column => column.filled).map(column => [column.name, storedValue(column.type)])
        await database.sql`insert into ${database.sql(name)} ${database.sql(Object.fromEntries(filled))}`.catch(
          error => {
            if (!/foreign key/i.test(String(error))) throw error
            waiting.push([name, columns])
          },
        )
      }
      expect(waiting.map(([name]) => name)).toEqual([])
    })

    test('a key that this version wrote is read beside what a later one added', async () => {
      const old = new Set((await columnsOf()).get('virtual_keys')!.map(({ name }) => name))
      await migrate(database, { steps: later })
      const keys = testKeys(database, systemClock)
      await keys.insert({ ...bareKey, id: 'model', hash: 'a', hint: 'sk-...aaaa', models: ['m'] })
      const [row] = (await database.sql`select * from virtual_keys where id = 'model'`) as Record<string, unknown>[]
      const known = Object.fromEntries(Object.entries(row!).filter(([name]) => old.has(name)))
      expect(Object.keys(known).length).toBeLessThan(Object.keys(row!).length)
      await database.sql`insert into virtual_keys ${database.sql({ ...known, id: 'old', hash: 'b' })}`
      expect(await keys.find({ hash: 'b' })).toMatchObject({ id: 'old', models: ['m'], formerHash: null })
    })

    test('a program of before starts on a database of a later version, unless a step breaks it', async () => {
      const known = migrations.at(-1)!.id
      await migrate(database, { steps: later })
      expect((await migrationState(database.sql)).oldestUsable).toBe(1)
      // As this version, which knows no later step.
      await migrate(database)
      await migrate(database, { steps: [...later, { id: 1003, name: 'break', statements: [], isBreaking: true }] })
      expect((await migrationState(database.sql)).oldestUsable).toBe(1003)
      for (const [steps, knows] of [
        [migrations, known],
        [later, newest],
      ] as const) {
        const refused = migrate(database, { steps })
        expect(refused).rejects.toThrow(`the database has migration 1003, this program knows ${knows}`)
        await refused.catch(() => {})
      }
      // A later program said that its steps need it: one that knows that step does not take it back.
      await database.sql`update installation set value = '1004' where name = 'oldest_usable_migration'`
      await migrate(database, { steps: [...later, { id: 1004, name: 'more', statements: [] }] })
      expect((await migrationState(database.sql)).oldestUsable).toBe(1004)
    })

    test('a rehearsal takes every missing step on a copy, counts its rows, and leaves the database alone', async () => {
      await database.sql`insert into audit_log (id, at_ms, actor_id, actor_key, action, kind, object_id)
        values ('1', 1, 'a', 'b', 'created', 'key', 'c')`
      const rehearsal = await rehearse(made.url, later)
      expect(rehearsal.steps.map(({ id }) => id)).toEqual(added.map(({ id }) => id))
      expect(rehearsal.tables).toContainEqual({ name: 'audit_log', rowsBefore: 1, rowsAfter: 1 })
      expect(rehearsal.tables.every(({ rowsBefore, rowsAfter }) => rowsBefore === rowsAfter)).toBe(true)
      const { done, pending } = await migrationState(database.sql, later)
      expect([Math.max(...done), pending.length]).toEqual([migrations.at(-1)!.id, added.length])
      expect([...(await columnsOf()).keys()].filter(name => name.includes('rehearsal'))).toEqual([])
    })
  })
