/** Migrations: each step once, by one of many replicas, all or nothing, and never over a newer program's. */
import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { inOtherProcess, testServers } from './database-fixture.ts'
import type { TestDatabase } from './database-fixture.ts'
import { migrate, migrations, migrationState } from './migrate.ts'
import { openDatabase } from './open.ts'
import type { Database } from './open.ts'

const ids = async (database: Database) =>
  ((await database.sql`select id, name from migrations order by id`) as { id: number; name: string }[]).map(row =>
    Number(row.id),
  )

for (const server of testServers('migrations'))
  describe(server.name, () => {
    let made: TestDatabase
    let database: Database

    beforeEach(async () => {
      made = await server.create()
      database = await openDatabase(made.url)
    })
    afterEach(async () => {
      await database.close()
      await made.remove()
    })

    test('an empty database gets every step once; again changes nothing and loses nothing', async () => {
      await migrate(database)
      const steps = await ids(database)
      expect(steps).toEqual(migrations.map(({ id }) => id))
      await database.sql`insert into installation (name, value) values ('kept', 'yes')`
      await migrate(database)
      expect(await ids(database)).toEqual(steps)
      expect((await database.sql`select value from installation where name = 'kept'`)[0].value).toBe('yes')
      for (const table of ['virtual_keys', 'ledger', 'responses'])
        expect(Number((await database.sql.unsafe(`select count(*) as total from ${table}`))[0].total)).toBe(0)
    })

    test('many replicas may migrate at once', async () => {
      await Promise.all(Array.from({ length: 6 }, () => inOtherProcess(made.url, 'await migrate(database)')))
      const steps = await ids(database)
      await migrate(database)
      expect(await ids(database)).toEqual(steps)
      expect(Number((await database.sql`select count(*) as total from virtual_keys`)[0].total)).toBe(0)
    })

    test('only the missing steps are taken, in their order', async () => {
      await migrate(database)
      await database.sql`insert into installation (name, value) values ('kept', 'yes')`
      const added = [
        { id: 1001, name: 'notes', statements: ['create table notes (id text primary key)'] },
        { id: 1002, name: 'note-texts', statements: ['alter table notes add column content text'] },
      ]
      const taken: string[] = []
      const onStep = ({ name }: { name: string }) => void taken.push(name)
      for (let times = 0; times < 2; times++) await migrate(database, { steps: [...migrations, ...added], onStep })
      expect(taken).toEqual(['notes', 'note-texts'])
      expect(await ids(database)).toEqual([...migrations.map(({ id }) => id), 1001, 1002])
      expect((await database.sql`select value from installation where name = 'kept'`)[0].value).toBe('yes')
      expect([...(await database.sql`select id, content from notes`)]).toEqual([])
    })

    test('a database from before the baseline is refused with what to do, and left as it is', async () => {
      await database.sql`create table migrations (id integer primary key, name text not null)`
      await database.sql`insert into migrations (id, name) values (1, 'keys-and-ledger'), (203, 'owners-of-names')`
      await database.sql`create table installation (name text primary key, value text not null)`
      await database.sql`insert into installation (name, value) values ('pepper', 'x')`
      const tables = async () =>
        (database.kind === 'postgres'
          ? await database.sql`select tablename as name from pg_tables where schemaname = current_schema() order by 1`
          : await database.sql`select name from sqlite_master where type = 'table' order by 1`) as { name: string }[]
      const remedy = /from before the first release .* name an empty database, or a new file, in DATABASE_URL/
      for (const work of [() => migrate(database), () => migrationState(database.sql)]) {
        const refused = work()
        expect(refused).rejects.toThrow(remedy)
        await refused.catch(() => {})
      }
      expect((await tables()).map(({ name }) => name)).toEqual(['installation', 'migrations'])
      expect(await ids(database)).toEqual([1, 203])
      expect([...(await database.sql`select name from installation`)].map(row => row.name)).toEqual(['pepper'])
    })

    test('a database that needs a newer program is refused, with both numbers, and left as it is', async () => {
      await migrate(database)
      const newest = (await ids(database)).at(-1)!
      await database.sql`insert into migrations (id, name) values (999, 'from the future')`
      await database.sql`update installation set value = '999' where name = 'oldest_usable_migration'`
      const refused = migrate(database)
      expect(refused).rejects.toThrow(`the database has migration 999, this program knows ${newest}`)
      await refused.catch(() => {})
      expect((await ids(database)).at(-1)).toBe(999)
    })

    test('a step that fails leaves nothing of itself', async () => {
      // Makes the baseline fail, after it has created other tables.
      await database.sql`create table ledger (x integer)`
      const failing = migrate(database)
      expect(failing).rejects.toThrow()
      await failing.catch(() => {})
      await database.sql`drop table ledger`
      await migrate(database)
      expect(await ids(database)).toEqual(migrations.map(({ id }) => id))
    })
  })
