/** Table `ledger` for the ledger's worker: inserts batches and selects pages, on both databases. */
import { Database } from 'bun:sqlite'
import { chmodSync } from 'node:fs'
import { columnList } from '../../core/ledger-columns.ts'
import { firstColumns } from './ledger-record.ts'
import type { ColumnValue } from './ledger-record.ts'
import { namesOf } from './ledger-table.ts'
import { openDatabase } from '../database/open.ts'
import { explainDamage } from '../database/sqlite-damage.ts'
import { schemaMark, schemaMarkQuery, SqliteFile } from '../../platform/sqlite-file-guard.ts'
import type { SchemaMark } from '../../platform/sqlite-file-guard.ts'

/** A batch is one statement or one transaction: all of its rows are stored, or none. */
export interface LedgerDatabase {
  /**
   * Rows have the values of `firstColumns` or of `columnList`. A row whose id is there already is not changed. Throws
   * `RefusedRows` when the database refuses a value, `DatabaseMoved` when the SQLite file is not at its path: the rows
   * must be inserted again then.
   */
  insert(rows: readonly (readonly ColumnValue[])[]): Promise<void>
  /** `$1`, `$2`, ... stand for `values`. Values are as the driver returns them. */
  select(text: string, values: readonly (string | number)[]): Promise<Record<string, unknown>[]>
  /**
   * true = many rows follow without a pause: SQLite moves its log into the file every 16 MiB instead of every 4, which
   * stores a third more rows a second. Not for good: the next writer to commit moves what is in the log.
   */
  setBulk(isBulk: boolean): void
  close(): Promise<void>
}

/** The database works, but will never take one of these rows. */
export class RefusedRows extends Error {
  override readonly name = 'RefusedRows'
}

const busyTimeoutMs = 250
/** Pages (of 4 KiB) in the log from which on a commit moves them into the file; the first is SQLite's default. */
const checkpointPages = { usual: 1000, bulk: 4000 }
/** Longer than the server's statement timeout, which normally ends a statement first. */
const answerTimeoutMs = 15_000

/** `sqlite:PATH` or `postgres://...`, see `openDatabase`. Throws while the database cannot be reached. */
export async function openLedgerDatabase(url: string): Promise<LedgerDatabase> {
  return url.startsWith('sqlite:') ? openSqlite(url.slice('sqlite:'.length)) : openPostgres(url)
}

/** The SQLite files that this thread has opened, by path: a later connection may find another file there. */
const places = new Map<string, SqlitePlace>()

interface SqlitePlace {
  readonly file: SqliteFile
  mark: SchemaMark | undefined
  /** Open on a file that is not at the path any more, so that its inode is not reused by the next file. */
  left: Database | undefined
}

/**
 * Prepared statements of `bun:sqlite`: 7 us of processor time a row in batches of 500 with three indexes, of which 0.5
 * are for parsing the record; `Bun.SQL` takes 15 % more and `json_each` a third more.
 */
function openSqlite(path: string): LedgerDatabase {
  const place = places.get(path) ?? { file: new SqliteFile(path), mark: undefined, left: undefined }
  places.set(path, place)
  const { file } = place
  const database = connectSqlite(path, place)
  try {
    const insertAll = insertionInto(database)
    let isBulkNow = false
    return {
      setBulk(isBulk) {
        if (isBulk !== isBulkNow)
          database.run(`pragma wal_autocheckpoint = ${isBulk ? checkpointPages.bulk : checkpointPages.usual}`)
        isBulkNow = isBulk
      },
      insert: async rows => {
        file.check()
        try {
          insertAll(rows)
        } catch (error) {
          const code = String((error as { code?: unknown }).code)
          if (/^SQLITE_(CONSTRAINT|MISMATCH|TOOBIG|RANGE)/.test(code)) throw new RefusedRows(String(error))
          throw explainDamage(path, error)
        }
        // Throws when the file was replaced meanwhile: the rows are then inserted again, into the new file.
        file.check()
      },
      select: async (text, values) => {
        file.check()
        return database.query(text.replaceAll('$', '?')).all(...values) as Record<string, unknown>[]
      },
      close: async () => leave(database, place),
    }
  } catch (error) {
    leave(database, place)
    throw error
  }
}

function connectSqlite(path: string, place: SqlitePlace): Database {
  const { file, left } = place
  const prepared = file.prepare()
  if (prepared.isReplacement) {
    checkpoint(left)
    file.setLogsAside()
    // SQLite gives its mode to the new logs.
    chmodSync(path, 0o600)
  }
  // Not created here: a ledger that was moved must not be replaced by an empty one.
  const database = new Database(path, { readwrite: true, create: false })
  try {
    // The timeout first: later statements may meet the lock of another process.
    database.run(`pragma busy_timeout = ${busyTimeoutMs}`)
    const mark = readMark(database)
    if (prepared.isReplacement) file.checkSchema(mark, place.mark)
    for (const pragma of ['journal_mode = wal', 'synchronous = full', 'journal_size_limit = 67108864'])
      database.run(`pragma ${pragma}`)
    // The first read creates the WAL and its index.
    database.query('select count(*) from sqlite_schema').get()
    file.confirm(prepared)
    place.mark = mark
    place.left = undefined
    left?.close()
    return database
  } catch (error) {
    database.close()
    throw explainDamage(path, error)
  }
}

function readMark(database: Database): SchemaMark | undefined {
  try {
    return schemaMark(database.query(schemaMarkQuery).get())
  } catch (error) {
    // Without these tables; other failures are passed on.
    if (String((error as { code?: unknown }).code) === 'SQLITE_ERROR') return undefined
    throw error
  }
}

/** Closes, unless the file is not at its path: then the connection is closed when there is a new one. */
function leave(database: Database, place: SqlitePlace): void {
  try {
    place.file.check()
  } catch {
    place.left ??= database
    if (place.left === database) return
  }
  database.close()
  place.file.closed()
}

/** Moves what is only in the WAL to the file that it belongs to, which may have another path now. */
function checkpoint(left: Database | undefined): void {
  try {
    left?.run('pragma wal_checkpoint(truncate)')
  } catch {
    // The WAL is kept under another name.
  }
}

function insertionInto(database: Database): (rows: readonly (readonly ColumnValue[])[]) => void {
  const insertionOf = (columns: typeof columnList) => {
    const places = columns.map((_, at) => `?${at + 1}`).join(', ')
    return database.prepare<unknown, ColumnValue[]>(
      `insert into ledger (${namesOf(columns)}) values (${places}) on conflict (request_id) do nothing`,
    )
  }
  // Columns that are not bound cost nothing, and nearly every row has only the first ones.
  const first = insertionOf(firstColumns)
  const whole = insertionOf(columnList)
  // IMMEDIATE: a transaction that begins with a read lock can fail when it takes the write lock.
  return database.transaction((rows: readonly (readonly ColumnValue[])[]) => {
    for (const row of rows) (row.length === firstColumns.length ? first : whole).run(...row)
  }).immediate
}

/** Of the columns that may not be null, for rows that have the first columns only. */
const missingValues = Object.fromEntries(
  columnList
    .filter(column => column.since > 1 && !column.nullable)
    .map(column => [column.name, column.kind === 'text' ? '' : 0]),
)

async function openPostgres(url: string): Promise<LedgerDatabase> {
  // One connection writes; the other is for queries that take long.
  const database = await answered(openDatabase(url, 2))
  const names = namesOf(columnList)
  // A name that an object does not have is null.
  const insertion = `insert into ledger (${names}) select ${names}
    from json_populate_recordset(null::ledger, $1::text::json) on conflict (request_id) do nothing`
  return {
    setBulk: () => {},
    insert: async rows => {
      const fields = (row: readonly ColumnValue[]) => row.map((value, at) => [columnList[at]!.name, value])
      const objects = rows.map(row => ({ ...missingValues, ...Object.fromEntries(fields(row)) }))
      try {
        await answered(database.sql.unsafe(insertion, [JSON.stringify(objects)]))
      } catch (error) {
        // Classes 22 data exception, 23 integrity, 54 program limit:
        // postgresql.org/docs/current/errcodes-appendix.html
        const state = String((error as { errno?: unknown }).errno)
        throw /^(22|23|54)...$/.test(state) ? new RefusedRows(String(error)) : error
      }
    },
    select: async (text, values) => {
      const rows: Iterable<Record<string, unknown>> = await answered(database.sql.unsafe(text, [...values]))
      return [...rows]
    },
    close: () => answered(database.sql.close({ timeout: 0 })),
  }
}

/** Rejects when a server that hangs does not answer: Bun.SQL has no timeout for queries. */
async function answered<T>(answer: Promise<T>): Promise<T> {
  const late = Promise.withResolvers<never>()
  const give = () => late.reject(new Error(`no answer within ${answerTimeoutMs} ms`))
  const timer = setTimeout(give, answerTimeoutMs)
  try {
    return await Promise.race([answer, late.promise])
  } finally {
    clearTimeout(timer)
  }
}
