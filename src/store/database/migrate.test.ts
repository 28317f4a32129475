/** Migrations: each step once, by one of many replicas, all or nothing, and never over a newer program's. */
import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { inOtherProcess, testServers } from './database-fixture.ts'
import type { TestDatabase } from './database-fixture.ts'
import { migrate } from './migrate.ts'
import { first } from './migrations/0001-keys-and-ledger.ts'
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
      expect(steps.slice(0, 2)).toEqual([1, 2])
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

    test('only the missing steps are taken', async () => {
      // As a program that knew the first step only left it.
      await database.sql`create table migrations (id integer primary key, name text not null)`
      await first.up(database.sql, database.kind)
      await database.sql`insert into migrations (id, name) values (${first.id}, ${first.name})`
      await database.sql`insert into installation (name, value) values ('kept', 'yes')`
      await migrate(database)
      const steps = await ids(database)
      expect(steps).toEqual([...new Set(steps)].toSorted((a, b) => a - b))
      expect(steps.length).toBeGreaterThanOrEqual(5)
      expect((await database.sql`select value from installation where name = 'kept'`)[0].value).toBe('yes')
      for (const table of ['responses', 'upstream_files', 'assistant_objects'])
        expect(Number((await database.sql.unsafe(`select count(*) as total from ${table}`))[0].total)).toBe(0)
      expect([...(await database.sql`select images, search_units from ledger`)]).toEqual([])
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
      // Makes the first step fail, after it has created other tables.
      await database.sql`create table ledger (x integer)`
      const failing = migrate(database)
      expect(failing).rejects.toThrow()
      await failing.catch(() => {})
      await database.sql`drop table ledger`
      await migrate(database)
      expect((await ids(database)).length).toBeGreaterThanOrEqual(2)
    })
  })
