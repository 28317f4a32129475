/** Table `ledger` as the ledger's worker uses it: batches in, pages out, on either database. */
import { Database } from 'bun:sqlite'
import { ledgerColumns } from './ledger-record.ts'
import type { ColumnValue } from './ledger-record.ts'
import { openDatabase } from './open.ts'

/** One batch is one statement or one transaction: all of it is there or nothing. */
export interface LedgerDatabase {
  /** Rows whose id is there already are left as they are. Throws `RefusedRows` when a value is to blame. */
  insert(rows: readonly (readonly ColumnValue[])[]): Promise<void>
  /** `$1`, `$2`, ... stand for `values`. Columns come as the driver makes them. */
  select(text: string, values: readonly (string | number)[]): Promise<Record<string, unknown>[]>
  close(): Promise<void>
}

/** The database lives but will never take one of these rows. */
export class RefusedRows extends Error {
  override readonly name = 'RefusedRows'
}

const names = ledgerColumns.map(column => column.name).join(', ')
const busyTimeoutMs = 250
/** Longer than the statement timeout of the server, which normally speaks first. */
const answerTimeoutMs = 15_000

/** `sqlite:PATH` or `postgres://...`, see `openDatabase`. Throws while the database cannot be reached. */
export async function openLedgerDatabase(url: string): Promise<LedgerDatabase> {
  return url.startsWith('sqlite:') ? openSqlite(url.slice('sqlite:'.length)) : openPostgres(url)
}

/**
 * Prepared statements of `bun:sqlite`: 7 us of CPU a row in batches of 500 with three indexes, of which
 * parsing the record takes 0.5; `Bun.SQL` takes 15 % more and `json_each` a third more.
 */
function openSqlite(path: string): LedgerDatabase {
  // Not created here: a ledger that was moved away must not be replaced by an empty one.
  const database = new Database(path, { readwrite: true, create: false })
  try {
    // The timeout first: the lines after it may meet the lock of another process.
    for (const pragma of [`busy_timeout = ${busyTimeoutMs}`, 'journal_mode = wal', 'synchronous = full', 'journal_size_limit = 67108864'])
      database.run(`pragma ${pragma}`)
    const places = ledgerColumns.map((_, at) => `?${at + 1}`).join(', ')
    const insertion = database.prepare<unknown, ColumnValue[]>(
      `insert into ledger (${names}) values (${places}) on conflict (request_id) do nothing`,
    )
    // IMMEDIATE: SQLite cannot upgrade a read lock safely.
    const insertAll = database.transaction((rows: readonly (readonly ColumnValue[])[]) => {
      for (const row of rows) insertion.run(...row)
    }).immediate
    return {
      insert: async rows => {
        try {
          insertAll(rows)
        } catch (error) {
          const code = String((error as { code?: unknown }).code)
          if (/^SQLITE_(CONSTRAINT|MISMATCH|TOOBIG|RANGE)/.test(code)) throw new RefusedRows(String(error))
          throw error
        }
      },
      select: async (text, values) =>
        database.query(text.replaceAll('$', '?')).all(...values) as Record<string, unknown>[],
      close: async () => database.close(),
    }
  } catch (error) {
    database.close()
    throw error
  }
}

async function openPostgres(url: string): Promise<LedgerDatabase> {
  // One connection writes; the other is for a report that takes long.
  const database = await answered(openDatabase(url, 2))
  const insertion = `insert into ledger (${names}) select ${names}
    from json_populate_recordset(null::ledger, $1::text::json) on conflict (request_id) do nothing`
  return {
    insert: async rows => {
      const fields = (row: readonly ColumnValue[]) => ledgerColumns.map(({ name }, at) => [name, row[at]])
      const objects = rows.map(row => Object.fromEntries(fields(row)))
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

/** A server that stands still answers nothing, and Bun.SQL has no timeout of its own (research 5.8). */
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
