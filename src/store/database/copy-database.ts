/**
 * Copies an SQLite database to Postgres. It reads one moment of the source, which may be in use, and writes one
 * transaction: a copy that is cut leaves the target as it was. Again, it brings what has changed since; of the ledger
 * and of stored bodies only the hours and days that differ, so that the last copy, when nothing writes any more, takes
 * seconds.
 */
import { Database as Sqlite } from 'bun:sqlite'
import { rmSync } from 'node:fs'
import { randomUUIDv7, SQL } from 'bun'
import { makeDay } from '../bodies/day-partitions.ts'
import { migrate, newestMigration } from './migrate.ts'
import { openDatabase } from './open.ts'
import { copySqlite } from './sqlite-copy.ts'

/** What a table has on both sides when it was copied. */
export interface CopiedTable {
  readonly name: string
  readonly rows: number
  /** Written by this copy. */
  readonly written: number
  /** Sums of its amounts and counts; empty = it has none. */
  readonly sums: Readonly<Record<string, string>>
}

/** Parts of large tables by which the two sides are compared. */
const parts: Readonly<Record<string, string>> = {
  ledger: 'started_at_ms / 3600000',
  call_bodies: 'day',
}
/** Kept by triggers while other tables are written: copied behind them. */
const lastTables = ['stored_totals']
/** Written by `migrate`. */
const ownTables = new Set(['migrations'])
const amounts = /(nano_usd|tokens|requests)$/

const batchRows = 500
const batchBytes = 4 * 1024 * 1024

/** `report` is called with each table. Throws where the target has another installation, or a sum differs. */
export async function copyToPostgres(path: string, url: string, report: (table: CopiedTable) => void): Promise<void> {
  const target = await openDatabase(url)
  await migrate(target).finally(() => target.close())
  const copy = `${path}.copy-${randomUUIDv7()}`
  try {
    await copySqlite(path, copy)
    const source = new Sqlite(copy, { readonly: true, safeIntegers: true })
    // Copying may take longer than any statement of a gateway.
    const sql = new SQL(url, { max: 1, connectionTimeout: 5, connection: { application_name: 'modelgate db copy' } })
    try {
      await checkFit(source, sql)
      for (const day of bodyDays(source)) await makeDay(sql, day)
      await sql.begin(async tx => {
        for (const name of tablesOf(source)) {
          const written = await copyTable(source, tx, name)
          report(await compared(source, tx, { name, written }))
        }
      })
    } finally {
      source.close()
      await sql.close()
    }
  } finally {
    for (const end of ['', '-wal', '-shm', '-journal']) rmSync(copy + end, { force: true })
  }
}

async function checkFit(source: Sqlite, target: SQL): Promise<void> {
  const { newest } = source.query('select max(id) as newest from migrations').get() as { newest: bigint }
  if (Number(newest) !== newestMigration)
    throw new Error(`the source has step ${newest}, this program knows ${newestMigration}: run modelgate migrate on it`)
  const query = "select value from installation where name = 'pepper'"
  const own = source.query(query).get() as { value: string } | null
  const [there] = (await target.unsafe(query)) as { value: string }[]
  if (there && there.value !== own?.value)
    throw new Error('the target holds the keys of another installation; name an empty database')
}

function tablesOf(source: Sqlite): string[] {
  const rows = source
    .query("select name from sqlite_master where type = 'table' and name not like 'sqlite_%' order by name")
    .all() as { name: string }[]
  const names = rows.map(one => one.name).filter(name => !ownTables.has(name))
  return [...names.filter(name => !lastTables.includes(name)), ...names.filter(name => lastTables.includes(name))]
}

const bodyDays = (source: Sqlite): number[] =>
  (source.query('select distinct day from call_bodies').all() as { day: bigint }[]).map(one => Number(one.day))

/** Returns how many rows were written. */
async function copyTable(source: Sqlite, target: SQL, name: string): Promise<number> {
  const part = parts[name]
  if (part === undefined) {
    await target.unsafe(`delete from "${name}"`)
    return copyRows(source, target, name)
  }
  let written = 0
  for (const { number, isGone } of await differentParts(source, target, name)) {
    await target.unsafe(`delete from "${name}" where ${part} = ${number}`)
    if (!isGone) written += await copyRows(source, target, name, `where ${part} = ${number}`)
  }
  return written
}

async function copyRows(source: Sqlite, target: SQL, name: string, where = ''): Promise<number> {
  let [rows, bytes, written]: [string[], number, number] = [[], 0, 0]
  const flush = async (): Promise<void> => {
    if (rows.length === 0) return
    const statement = `insert into "${name}" select * from jsonb_populate_recordset(null::"${name}", $1::text::jsonb)`
    await target.unsafe(statement, [`[${rows.join(',')}]`])
    written += rows.length
    ;[rows, bytes] = [[], 0]
  }
  for (const row of source.query(`select * from "${name}" ${where}`).iterate()) {
    // Postgres reads a number of any length from its text.
    const text = JSON.stringify(row, (_key, value: unknown) => (typeof value === 'bigint' ? String(value) : value))
    rows.push(text)
    bytes += text.length
    if (rows.length >= batchRows || bytes >= batchBytes) await flush()
  }
  await flush()
  return written
}

interface Part {
  readonly number: string
  /** The source has it no more. */
  readonly isGone: boolean
}

/** Parts whose rows are not the same on both sides, by their number and sums. */
async function differentParts(source: Sqlite, target: SQL, name: string): Promise<Part[]> {
  const columns = amountsOf(source, name)
  const sums = ['count(*)', ...columns.map(one => `coalesce(sum("${one}"), 0)`)].join(", ',', ")
  const query = (concatenated: string) =>
    `select ${parts[name]} as part, ${concatenated} as sums from "${name}" group by 1`
  const ours = source.query(query(sums.split(", ',', ").join(" || ',' || "))).all() as { part: bigint; sums: string }[]
  const theirs = (await target.unsafe(query(`concat(${sums})`))) as { part: unknown; sums: string }[]
  const known = new Map(theirs.map(one => [String(one.part), one.sums]))
  const there = new Set(ours.map(one => String(one.part)))
  return [
    ...ours
      .filter(one => known.get(String(one.part)) !== one.sums)
      .map(one => ({ number: String(one.part), isGone: false })),
    ...[...known.keys()].filter(one => !there.has(one)).map(number => ({ number, isGone: true })),
  ]
}

function amountsOf(source: Sqlite, name: string): string[] {
  const columns = source.query(`select name, type from pragma_table_info('${name}')`).all() as {
    name: string
    type: string
  }[]
  return columns.filter(one => amounts.test(one.name) && /int/i.test(one.type)).map(one => one.name)
}

/** Counts and sums of both sides. Throws where they differ: then nothing of the copy holds. */
async function compared(
  source: Sqlite,
  target: SQL,
  { name, written }: Pick<CopiedTable, 'name' | 'written'>,
): Promise<CopiedTable> {
  const columns = amountsOf(source, name)
  const list = columns.map(one => `, coalesce(sum("${one}"), 0) as "${one}"`).join('')
  const query = `select count(*) as copied_rows${list} from "${name}"`
  const texts = (row: unknown) =>
    Object.fromEntries(Object.entries(row as object).map(([key, value]) => [key, String(value)]))
  const ours = texts(source.query(query).get())
  const theirs = texts(((await target.unsafe(query)) as unknown[])[0])
  for (const [column, value] of Object.entries(ours))
    if (theirs[column] !== value)
      throw new Error(
        `${name} differs after the copy: ${column} is ${value} in the source and ${theirs[column]} in the target; ` +
          'nothing was copied',
      )
  const { copied_rows: rows, ...sums } = ours
  return { name, rows: Number(rows), written, sums }
}
