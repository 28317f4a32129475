/**
 * Replicas of this version and of the one before run on one database during an upgrade, and after a way back: the steps
 * of this version only add, and what the version before writes is taken as before.
 */
import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import type { SQL } from 'bun'
import { bareKey } from '../../core/caller.ts'
import { systemClock } from '../../lib/clock.ts'
import { testKeys } from '../keys/keys-fixture.ts'
import { testServers } from './database-fixture.ts'
import type { TestDatabase } from './database-fixture.ts'
import { migrate, migrations, migrationState, newestMigration } from './migrate.ts'
import { openDatabase } from './open.ts'
import type { Database } from './open.ts'
import { rehearse } from './rehearsal.ts'

/** The newest step of the version before: the last one that did not have to be additive. */
const before = 15

interface Column {
  readonly name: string
  readonly type: string
  /** 1 = each row needs a value. */
  readonly filled: number
}

/** Takes the steps after `before` one by one and notes their statements. */
async function statementsOf(database: Database): Promise<{ id: number; text: string }[]> {
  const noted: { id: number; text: string }[] = []
  for (const step of migrations.filter(({ id, isBreaking }) => id > before && !isBreaking)) {
    const note = (text: string) => noted.push({ id: step.id, text: text.replaceAll(/\s+/g, ' ').trim() })
    const spy = Object.assign(
      (texts: TemplateStringsArray, ...values: unknown[]) => {
        note(texts.join('?'))
        return database.sql(texts, ...values)
      },
      {
        unsafe: async (text: string, values?: unknown[]) => {
          const dropped = /^drop index (\w+)$/.exec(text)?.[1]
          note(dropped === undefined ? text : `drop ${await definitionOf(database, dropped)}`)
          return database.sql.unsafe(text, values as [])
        },
      },
    )
    await step.up(spy as unknown as SQL, database.kind)
  }
  return noted
}

/** The statement that made an index. */
async function definitionOf({ kind, sql }: Database, index: string): Promise<string> {
  const rows =
    kind === 'sqlite'
      ? await sql`select sql as text from sqlite_master where name = ${index}`
      : await sql`select indexdef as text from pg_indexes where indexname = ${index}`
  return String((rows as { text: unknown }[])[0]?.text)
}

/** What the steps brought: names of tables, and `TABLE.COLUMN`. */
type Brought = Set<string>

/** Why a statement could harm a program that does not know of it; undefined = it cannot. Adds to `brought`. */
function harm(text: string, brought: Brought): string | undefined {
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
  // Without an index it searches longer; one that is unique may be what an `on conflict` of it needs.
  if (/^drop create index\b/i.test(text)) return undefined
  const into = /^insert into "?(\w+)/i.exec(text) ?? /^create trigger .*? on "?(\w+)/i.exec(text)
  if (into) return brought.has(into[1]!) ? undefined : 'it changes a table that others use'
  return /^(select|create function)\b/i.test(text) ? undefined : 'it is none of those that only add'
}

for (const server of testServers('steps that only add'))
  describe(server.name, () => {
    let made: TestDatabase
    let database: Database
    beforeEach(async () => {
      made = await server.create()
      database = await openDatabase(made.url)
      await migrate(database, { newest: before })
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

    test('every step after the version before only adds tables, columns that need no value, and indexes', async () => {
      const brought: Brought = new Set()
      const statements = await statementsOf(database)
      expect(statements.length).toBeGreaterThan(5)
      const harmful = statements.flatMap(({ id, text }) => {
        const why = harm(text, brought)
        return why === undefined ? [] : [`step ${id}: ${why}: ${text.slice(0, 200)}`]
      })
      expect(harmful).toEqual([])
    })

    test('rows in the shape of the version before are taken by every table of this version', async () => {
      const old = await columnsOf()
      await migrate(database)
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

    test('a key that the version before wrote is read by this one, with what the version before did not know', async () => {
      const old = new Set((await columnsOf()).get('virtual_keys')!.map(({ name }) => name))
      await migrate(database)
      const keys = testKeys(database, systemClock)
      await keys.insert({ ...bareKey, id: 'model', hash: 'a', hint: 'sk-...aaaa', models: ['m'] })
      const [row] = (await database.sql`select * from virtual_keys where id = 'model'`) as Record<string, unknown>[]
      const known = Object.fromEntries(Object.entries(row!).filter(([name]) => old.has(name)))
      expect(Object.keys(known).length).toBeLessThan(Object.keys(row!).length)
      await database.sql`insert into virtual_keys ${database.sql({ ...known, id: 'old', hash: 'b' })}`
      expect(await keys.find({ hash: 'b' })).toMatchObject({ id: 'old', models: ['m'], formerHash: null })
    })

    test('a program of before starts on a database of this version, unless a step breaks it', async () => {
      await migrate(database)
      expect((await migrationState(database.sql)).oldestUsable).toBe(before)
      // As the version before, which knows no later step.
      await migrate(database, { newest: before })
      await database.sql`update installation set value = '999' where name = 'oldest_usable_migration'`
      const refused = migrate(database, { newest: before })
      expect(refused).rejects.toThrow(`the database has migration ${newestMigration}, this program knows ${before}`)
      await refused.catch(() => {})
      // A later program said that its steps need it: this one does not take that back.
      await migrate(database)
      expect((await migrationState(database.sql)).oldestUsable).toBe(999)
    })

    test('a rehearsal takes every missing step on a copy, counts its rows, and leaves the database alone', async () => {
      await database.sql`insert into audit_log (id, at_ms, actor_id, actor_key, action, kind, object_id)
        values ('1', 1, 'a', 'b', 'created', 'key', 'c')`
      const rehearsal = await rehearse(made.url)
      expect(rehearsal.steps.map(({ id }) => id)).toEqual(migrations.map(({ id }) => id).filter(id => id > before))
      expect(rehearsal.tables).toContainEqual({ name: 'audit_log', rowsBefore: 1, rowsAfter: 1 })
      expect(rehearsal.tables.every(({ rowsBefore, rowsAfter }) => rowsBefore === rowsAfter)).toBe(true)
      const { done, pending } = await migrationState(database.sql)
      expect([Math.max(...done), pending.length]).toEqual([before, rehearsal.steps.length])
      expect([...(await columnsOf()).keys()].filter(name => name.includes('rehearsal'))).toEqual([])
    })
  })
