/** The ledger in partitions on Postgres: taken over under writers of before, looked into by id, dropped by days. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { randomUUIDv7 } from 'bun'
import { exampleRow } from './ledger-fixture.ts'
import { columnList } from '../../core/ledger/ledger-columns.ts'
import type { LedgerRow } from '../../core/ledger/ledger-columns.ts'
import { testServers } from '../database/database-fixture.ts'
import type { TestDatabase } from '../database/database-fixture.ts'
import { openDatabase } from '../database/open.ts'
import type { Database } from '../database/open.ts'
import { openLedgerDatabase } from './ledger-database.ts'
import type { LedgerDatabase } from './ledger-database.ts'
import { isPartitioned, keepPartitions, sweptTables, takeOver } from './ledger-partitions.ts'
import { deleteOldRows, firstWholeDay } from './ledger-retention.ts'
import { ledgerStatement, readLedger } from './reads/ledger-query.ts'
import { dayOf, rollupDifferences } from './sums/rollup-check.ts'
import { dayMs } from '../../lib/clock.ts'

const today = dayOf(Date.now())
/** A call so many days ago; `id` of another time or kind than its own. */
const rowOf = (daysAgo: number, id?: string): LedgerRow => {
  const started_at_ms = (today - daysAgo) * dayMs + 1000
  return exampleRow({ started_at_ms, request_id: id ?? randomUUIDv7('hex', started_at_ms) })
}
const valuesOf = (row: LedgerRow) =>
  columnList.map(({ name, kind }) => {
    const value = row[name]
    return kind === 'boolean' ? Number(value) : kind === 'list' && value !== null ? JSON.stringify(value) : value
  }) as never

for (const server of testServers('partitions of the ledger').filter(({ name }) => name === 'Postgres'))
  describe(server.name, () => {
    let made: TestDatabase
    let database: Database
    let ledger: LedgerDatabase
    beforeAll(async () => {
      made = await server.createMigrated()
      database = await openDatabase(made.url)
      ledger = await openLedgerDatabase(made.url)
    })
    afterAll(async () => {
      await ledger?.close()
      await database?.close()
      await made?.remove()
    })
    beforeEach(async () => {
      await database.sql`delete from ledger`
      await database.sql`delete from ledger_daily`
      await database.sql`delete from installation where name = 'ledger_rows_from_day'`
    })

    const insert = async (...rows: LedgerRow[]) => {
      await ledger.insert(rows.map(valuesOf))
      return rows
    }
    const ids = async (table = 'ledger') =>
      ((await database.sql.unsafe(`select request_id from ${table} order by 1`)) as { request_id: string }[]).map(
        row => row.request_id,
      )
    const sorted = (rows: LedgerRow[]) => rows.map(row => row.request_id).toSorted()
    const names = async () =>
      (
        (await database.sql`select c.relname as name from pg_inherits i join pg_class c on c.oid = i.inhrelid
          where i.inhparent = 'ledger'::regclass order by 1`) as { name: string }[]
      ).map(({ name }) => name)
    const keep = async (firstDay: number, day = today) => {
      while (await keepPartitions(database.sql, { today: day, firstDay }));
    }

    test('a table with rows is taken over while it is written; no row is lost, counted twice, or refused', async () => {
      const old = await insert(
        ...[0, 1, 50].map(days => rowOf(days)),
        rowOf(3, crypto.randomUUID()),
        rowOf(2, 'f'.repeat(36)),
      )
      const writing = Array.from({ length: 20 }, async () => insert(rowOf(0)))
      expect(await takeOver(database.sql, today)).toBe(true)
      const meanwhile = (await Promise.all(writing)).flat()
      expect(await isPartitioned(database.sql)).toBe(true)
      expect(await takeOver(database.sql, today)).toBe(false)
      // What a journal gives again after a crash is there already: of either side of the change, of any kind of id.
      await insert(...old, ...meanwhile)
      expect(await ids()).toEqual(sorted([...old, ...meanwhile]))
      for (const day of [today, today - 1, today - 2, today - 3])
        expect(await rollupDifferences(ledger, day)).toEqual([])
      expect(await sweptTables(database.sql)).toEqual([`ledger_p0_${today + 3}`, 'ledger_other'])
    })

    test('new rows go to the partition of their day, which is there before them', async () => {
      await keep(today - 90)
      // Four days later.
      await keep(today - 86, today + 4)
      const later = await insert(rowOf(-4), rowOf(-4))
      expect(await ids(`ledger_p${today + 4}_${today + 5}`)).toEqual(sorted(later))
      expect(await names()).toContain(`ledger_p${today + 6}_${today + 7}`)
    })

    test('rows whose partition was not there in time are moved into it', async () => {
      const early = await insert(rowOf(-20))
      expect(await ids('ledger_other')).toEqual(sorted(early))
      await keep(today - 70, today + 20)
      expect(await ids('ledger_other')).toEqual([])
      expect(await ids(`ledger_p${today + 20}_${today + 21}`)).toEqual(sorted(early))
    })

    test('a call is looked up in one partition; a page of a time reads indexes alone', async () => {
      const [row] = await insert(rowOf(-4), rowOf(-5), rowOf(0))
      const plan = async ({ text, values }: { text: string; values: readonly (string | number)[] }) =>
        JSON.stringify(await database.sql.unsafe(`explain ${text}`, [...values]))
      const one = await plan(ledgerStatement({ limit: 1, requestId: row!.request_id }))
      expect([...one.matchAll(/ on (ledger_p\d+_\d+|ledger_other)/g)].map(([, name]) => name)).toEqual([
        `ledger_p${today + 4}_${today + 5}`,
      ])
      await database.sql`analyze ledger`
      await database.sql`set enable_seqscan = off`
      const page = await plan(ledgerStatement({ limit: 50, fromMs: today * dayMs, keyId: row!.key_id }))
      expect(page).not.toContain('Seq Scan')
      const { rows } = await readLedger(ledger, ledgerStatement({ limit: 50, fromMs: today * dayMs }))
      expect(rows.map(found => found.started_at_ms)).toEqual(
        [today + 5, today + 4, today].map(day => day * dayMs + 1000),
      )
    })

    test('old days are dropped, newer rows with older ids keep their partition, and the day is noted', async () => {
      const [, young] = await insert(rowOf(-4), rowOf(-6, randomUUIDv7('hex', (today + 5) * dayMs + 5)), rowOf(-6))
      await keep(today + 5, today + 40)
      expect(await names()).not.toContain(`ledger_p${today + 4}_${today + 5}`)
      expect(await firstWholeDay(ledger)).toBe(today + 5)
      await keep(today + 6, today + 40)
      expect(await ids(`ledger_p${today + 5}_${today + 6}`)).toEqual([young!.request_id])
      await keep(today + 7, today + 40)
      expect(await ids()).toEqual([])
      expect((await names()).filter(name => /_p\d+/.test(name) && Number(name.split('_')[2]) <= today + 7)).toEqual([])
    })

    test('rows that no time bounds are still deleted step by step', async () => {
      const [old, kept] = await insert(rowOf(30, `f${randomUUIDv7().slice(1)}`), rowOf(-39))
      for (const table of await sweptTables(database.sql))
        while (await deleteOldRows(ledger, { firstDay: today - 10, rows: 500, table }));
      expect([await ids(), old!.request_id.startsWith('f')]).toEqual([[kept!.request_id], true])
    })

    test('a reader that stays makes dropping give up soon, and no writer waits for long', async () => {
      await insert(rowOf(-42))
      const held = Promise.withResolvers<void>()
      const reading = database.sql.begin(async tx => {
        await tx`select count(*) from ledger`
        await held.promise
      })
      await Bun.sleep(50)
      const dropping = keepPartitions(database.sql, { today: today + 43, firstDay: today + 43 }).then(
        () => 'dropped',
        (error: Error) => String(error),
      )
      await insert(rowOf(-43))
      expect(await dropping).toContain('lock timeout')
      held.resolve()
      await reading
      await keep(today + 43, today + 43)
      expect(await ids()).toHaveLength(1)
    })
  })
