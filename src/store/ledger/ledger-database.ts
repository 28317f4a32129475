/** Table `ledger` for the ledger's worker: inserts batches and selects pages, on both databases. */
import type { SQL } from 'bun'
import { Database as Sqlite } from 'bun:sqlite'
import { chmodSync } from 'node:fs'
import { columnIndex, columnList } from '../../core/ledger/ledger-columns.ts'
import { syncData } from './journal/disk-sync.ts'
import { usualColumns, missingValues } from './journal/ledger-record.ts'
import type { ColumnValue } from './journal/ledger-record.ts'
import { namesOf } from './ledger-table.ts'
import { addBudgetText, budgetAmounts, budgetColumns } from './sums/budget-spend.ts'
import { latencyCells, latencyObject } from './sums/latency-cells.ts'
import { addLatencyText, bucketColumns, latencyColumns, latencyKey } from './sums/latency-table.ts'
import { addPendingText, directSumsMax } from './sums/pending-sums.ts'
import { rollupCells } from './sums/rollup-cells.ts'
import type { RollupValue } from './sums/rollup-cells.ts'
import { addDerivedText, derivedCells, derivedColumns, writtenTables } from './sums/rollup-derived.ts'
import { addRollupText, rollupColumns } from './sums/rollup-table.ts'
import { openDatabase, transaction } from '../database/open.ts'
import type { Database } from '../database/open.ts'
import { explainDamage } from '../database/sqlite-damage.ts'
import { letOthersWrite } from '../database/write-turns.ts'
import { schemaMark, schemaMarkQuery, SqliteFile } from '../../platform/sqlite-file-guard.ts'
import type { OpenedFile, SchemaMark } from '../../platform/sqlite-file-guard.ts'
import { errorCode, sqlState } from '../../lib/error-code.ts'

/** `$1`, `$2`, ... of the text stand for `values`. */
export interface LedgerStatement {
  readonly text: string
  readonly values: readonly (string | number)[]
}

/** A connection that reads. */
export interface LedgerSource {
  readonly kind: Database['kind']
  /** Values are as the driver returns them. */
  select(statement: LedgerStatement): Promise<Record<string, unknown>[]>
  close(): Promise<void>
}

/** What became of a batch. */
export interface Stored {
  /** Its sums are not yet where reports read them (`pending-sums.ts`). */
  readonly hasPendingSums: boolean
}

/** A batch is one statement or one transaction: all of its rows are stored, or none. */
export interface LedgerDatabase extends LedgerSource {
  /** Of Postgres, for changes of its tables; undefined on SQLite. */
  readonly sql: SQL | undefined
  /**
   * Rows have the values of `columnList`. A row whose id is there already is not changed; the
   * daily sums (`rollup-table.ts`) count those that are new, in the same transaction. Throws `RefusedRows` when the
   * database refuses a value, `DatabaseMoved` when the SQLite file is not at its path: the rows must be inserted again
   * then. The rows survive kill -9, and a loss of power from the next `sync` on.
   */
  insert(rows: readonly (readonly ColumnValue[])[]): Promise<Stored>
  /** What was inserted survives a loss of power: to be called before the journal forgets it. */
  sync(): Promise<void>
  /** One transaction. Resolves with how many rows each statement changed. */
  change(statements: readonly LedgerStatement[]): Promise<number[]>
  /**
   * true = many rows follow without a pause: SQLite moves its log into the file every 16 MiB instead of every 4, which
   * stores a third more rows a second. Not for good: the next writer to commit moves what is in the log.
   */
  setBulk(isBulk: boolean): void
  /** Nothing is stored for a while: what was kept of the file in memory, up to 2 MB, is given back. */
  rest(): void
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

/**
 * `sqlite:PATH` or `postgres://...`, see `openDatabase`. Throws while the database cannot be reached. `opened` = the
 * SQLite file that another thread of this process has open.
 */
export async function openLedgerDatabase(url: string, opened?: OpenedFile): Promise<LedgerDatabase> {
  return url.startsWith('sqlite:') ? openSqlite(url.slice('sqlite:'.length), opened) : openPostgres(url)
}

/** As `openLedgerDatabase`, for a connection that cannot write. */
export async function openLedgerSource(url: string, opened?: OpenedFile): Promise<LedgerSource> {
  if (!url.startsWith('sqlite:')) return sourceOf(await answered(openDatabase(url, sourceConnections)))
  const path = url.slice('sqlite:'.length)
  const fileState = fileStateOf(path, opened)
  const database = connectSqlite(path, fileState)
  database.run('pragma query_only = on')
  return sqliteSource(database, fileState)
}

/** One question does not wait for another that takes long. */
const sourceConnections = 2

/** The SQLite files that this thread has opened, by path: a later connection may find another file there. */
const fileStates = new Map<string, SqliteFileState>()

interface SqliteFileState {
  readonly file: SqliteFile
  mark: SchemaMark | undefined
  /** Open on a file that is not at the path any more, so that its inode is not reused by the next file. */
  left: Sqlite | undefined
}

/**
 * Prepared statements of `bun:sqlite`: 7 us of processor time a row in batches of 500 with three indexes, of which 0.5
 * are for parsing the record; `Bun.SQL` takes 15 % more and `json_each` a third more.
 */
function openSqlite(path: string, opened: OpenedFile | undefined): LedgerDatabase {
  const fileState = fileStateOf(path, opened)
  const { file } = fileState
  const database = connectSqlite(path, fileState)
  try {
    const insertAll = insertionInto(database)
    let isBulkNow = false
    return {
      ...sqliteSource(database, fileState),
      sql: undefined,
      setBulk(isBulk) {
        if (isBulk !== isBulkNow)
          database.run(`pragma wal_autocheckpoint = ${isBulk ? checkpointPages.bulk : checkpointPages.usual}`)
        isBulkNow = isBulk
      },
      rest: () => void database.run('pragma shrink_memory'),
      insert: async rows => {
        file.check()
        letOthersWrite()
        let stored: Stored
        try {
          stored = insertAll(rows)
        } catch (error) {
          if (/^SQLITE_(CONSTRAINT|MISMATCH|TOOBIG|RANGE)/.test(errorCode(error))) throw new RefusedRows(String(error))
          throw explainDamage(path, error)
        }
        // Throws when the file was replaced meanwhile: the rows are then inserted again, into the new file.
        file.check()
        return stored
      },
      sync: async () => {
        file.check()
        await syncData(`${file.opened!.realPath}-wal`)
        file.check()
      },
      change: async statements => {
        file.check()
        letOthersWrite()
        const runAll = database.transaction(() =>
          statements.map(({ text, values }) => database.query(text.replaceAll('$', '?')).run(...values).changes),
        )
        const changed = runAll.immediate()
        file.check()
        return changed
      },
    }
  } catch (error) {
    leave(database, fileState)
    throw error
  }
}

function fileStateOf(path: string, opened: OpenedFile | undefined): SqliteFileState {
  const fileState = fileStates.get(path) ?? { file: new SqliteFile(path, opened), mark: undefined, left: undefined }
  fileStates.set(path, fileState)
  return fileState
}

const sqliteSource = (database: Sqlite, fileState: SqliteFileState): LedgerSource => ({
  kind: 'sqlite',
  select: async ({ text, values }) => {
    fileState.file.check()
    return database.query(text.replaceAll('$', '?')).all(...values) as Record<string, unknown>[]
  },
  close: async () => leave(database, fileState),
})

function connectSqlite(path: string, fileState: SqliteFileState): Sqlite {
  const { file, left } = fileState
  const prepared = file.prepare()
  if (prepared.isReplacement) {
    checkpoint(left)
    file.setLogsAside()
    // SQLite gives its mode to the new logs.
    chmodSync(path, 0o600)
  }
  // Not created here: a ledger that was moved must not be replaced by an empty one.
  const database = new Sqlite(path, { readwrite: true, create: false })
  try {
    // The timeout first: later statements may meet the lock of another process.
    database.run(`pragma busy_timeout = ${busyTimeoutMs}`)
    const mark = readMark(database)
    if (prepared.isReplacement) file.checkSchema(mark, fileState.mark)
    // NORMAL: a commit does not wait for the disk, see `sync` (sqlite.org/pragma.html#pragma_synchronous).
    for (const pragma of ['journal_mode = wal', 'synchronous = normal', 'journal_size_limit = 67108864'])
      database.run(`pragma ${pragma}`)
    // The first read creates the WAL and its index.
    database.query('select count(*) from sqlite_schema').get()
    file.confirm(prepared)
    fileState.mark = mark
    fileState.left = undefined
    left?.close()
    return database
  } catch (error) {
    database.close()
    throw explainDamage(path, error)
  }
}

function readMark(database: Sqlite): SchemaMark | undefined {
  try {
    return schemaMark(database.query(schemaMarkQuery).get())
  } catch (error) {
    // Without these tables; other failures are passed on.
    if (errorCode(error) === 'SQLITE_ERROR') return undefined
    throw error
  }
}

/** Closes, unless the file is not at its path: then the connection is closed when there is a new one. */
function leave(database: Sqlite, fileState: SqliteFileState): void {
  try {
    fileState.file.check()
  } catch {
    fileState.left ??= database
    if (fileState.left === database) return
  }
  database.close()
  fileState.file.closed()
}

/** Moves what is only in the WAL to the file that it belongs to, which may have another path now. */
function checkpoint(left: Sqlite | undefined): void {
  try {
    left?.run('pragma wal_checkpoint(truncate)')
  } catch {
    // The WAL is kept under another name.
  }
}

function insertionInto(database: Sqlite): (rows: readonly (readonly ColumnValue[])[]) => Stored {
  const insert = rowInsertion(database)
  const values = `values (${rollupColumns.map((_, at) => `?${at + 1}`).join(', ')})`
  const sums = database.prepare<unknown, RollupValue[]>(addRollupText(values))
  const pending = database.prepare<unknown, RollupValue[]>(addPendingText(values))
  const derived = writtenTables.map(table => {
    const placeholders = derivedColumns(table).map((_, at) => `?${at + 1}`)
    return {
      table,
      add: database.prepare<unknown, RollupValue[]>(addDerivedText(table, `values (${placeholders.join(', ')})`)),
    }
  })
  const budgets = database.prepare<unknown, RollupValue[]>(addBudgetText('values (?1, ?2, ?3, ?4)'))
  const latency = database.prepare(
    addLatencyText(`values (${latencyColumns.map((_, at) => `?${at + 1}`).join(', ')})`),
  ) as unknown as RowInsertion
  const exported = outboxInsertion(database)
  // IMMEDIATE: a transaction that begins with a read lock can fail when it takes the write lock.
  return database.transaction((rows: readonly (readonly ColumnValue[])[]) => {
    const stored = rows.filter(insert)
    const cells = rollupCells(stored)
    const hasPendingSums = cells.length > directSumsMax
    for (const cell of cells) (hasPendingSums ? pending : sums).run(...cell)
    if (!hasPendingSums)
      for (const { table, add } of derived) for (const cell of derivedCells(table, cells)) add.run(...cell)
    for (const amount of budgetAmounts(stored)) budgets.run(...amount)
    for (const cell of latencyCells(stored)) latency.run(cell)
    exported(stored)
    return { hasPendingSums }
  }).immediate
}

/** For destinations of usage (`usage-outbox.ts`), where there are any. */
function outboxInsertion(database: Sqlite): (rows: readonly (readonly ColumnValue[])[]) => void {
  const destinations = database.prepare<{ destination: string; is_full: number }, []>(
    'select destination, is_full from usage_exports',
  )
  const put = database.prepare<unknown, [string, string]>(
    'insert into usage_outbox (destination, request_id, attempts, due_at_ms) values (?1, ?2, 0, 0)',
  )
  const skip = database.prepare<unknown, [number, string]>(
    'update usage_exports set skipped = skipped + ?1 where destination = ?2',
  )
  return rows => {
    for (const { destination, is_full: isFull } of destinations.all())
      if (isFull === 1) skip.run(rows.length, destination)
      else for (const row of rows) put.run(destination, String(row[idAt]))
  }
}

/** A statement that is given its values as one list, which the types of Bun leave out: spread they are copied again. */
interface RowInsertion {
  run(values: readonly ColumnValue[]): { readonly changes: number }
}

/** Stores rows that have the same columns. */
interface Insertion {
  /** Whether a row has these columns and no others. */
  readonly fits: (row: readonly ColumnValue[]) => boolean
  /** What of the row is bound. */
  readonly bound: (row: readonly ColumnValue[]) => readonly ColumnValue[]
  readonly statement: RowInsertion
}

/** Of so many sets of later columns a statement is kept; rows of further sets bind all columns. */
const insertionsMax = 40

/**
 * Stores a row; false = it was there. Rows have the first columns and few of the later ones: a statement for each such
 * set binds those alone, some thirty values in place of seventy.
 */
function rowInsertion(database: Sqlite): (row: readonly ColumnValue[]) => boolean {
  const insertionOf = (positions: readonly number[]): Insertion => {
    const columns = positions.map(at => columnList[at]!)
    const values = positions.map((_, at) => `?${at + 1}`).join(', ')
    const text = `insert into ledger (${namesOf(columns)}) values (${values}) on conflict (request_id) do nothing`
    return { ...compileSelection(positions), statement: database.prepare(text) as unknown as RowInsertion }
  }
  const insertions: Insertion[] = []
  let whole: Insertion | undefined
  const find = (row: readonly ColumnValue[]): Insertion => {
    const known = insertions.find(one => one.fits(row))
    if (known) return known
    if (insertions.length >= insertionsMax) return (whole ??= insertionOf([...columnList.keys()]))
    const made = insertionOf(placesIn(row))
    insertions.push(made)
    return made
  }
  let last: Insertion | undefined
  return row => {
    // Most rows have the columns of the one before.
    const insertion = last?.fits(row) ? last : (last = find(row))
    return insertion.statement.run(insertion.bound(row)).changes > 0
  }
}

/** The positions of the columns that a row has: the first ones, and those of the later ones that are not missing. */
function placesIn(row: readonly ColumnValue[]): readonly number[] {
  return [...columnList.keys()].filter(at => at < usualColumns.length || row[at] !== missingValues[at])
}

/** Compiled: a loop over seventy columns takes 0.7 us a row. */
function compileSelection(positions: readonly number[]): Pick<Insertion, 'fits' | 'bound'> {
  const terms = [...columnList.keys()].slice(usualColumns.length).map(at => {
    return `row[${at}] ${positions.includes(at) ? '!==' : '==='} ${JSON.stringify(missingValues[at])}`
  })
  const bound = positions.map(at => `row[${at}]`)
  return {
    fits: new Function('row', `return ${terms.join(' && ')}`) as Insertion['fits'],
    bound: new Function('row', `return [${bound.join(', ')}]`) as Insertion['bound'],
  }
}

/** What a row has, by name: a name that is not there is null. */
function rowObject(row: readonly ColumnValue[]): object {
  const object: Record<string, ColumnValue> = {}
  for (let at = 0; at < row.length; at++) {
    const value = row[at]!
    if (value !== null) object[columnList[at]!.name] = value
  }
  return object
}

/** A count that an object does not have is 0. */
const postgresLatencyText = addLatencyText(
  `select ${[...latencyKey, ...bucketColumns.map(name => `coalesce(${name}, 0)`)].join(', ')}
    from json_populate_recordset(null::ledger_latency, $1::text::json)`,
)

/** Puts the rows of these ids in the outbox. One statement whether or not there are destinations. */
const outboxText = `with ids as (select json_array_elements_text($1::text::json) as id),
    skipping as (update usage_exports set skipped = skipped + (select count(*) from ids) where is_full = 1)
  insert into usage_outbox (destination, request_id, attempts, due_at_ms)
  select destination, id, 0, 0 from usage_exports, ids where is_full = 0`

async function openPostgres(url: string): Promise<LedgerDatabase> {
  // One connection writes; the other is for queries that take long.
  const database = await answered(openDatabase(url, 2))
  const names = namesOf(columnList)
  // A name that an object does not have is null.
  const insertion = `insert into ledger (${names}) select ${names}
    from json_populate_recordset(null::ledger, $1::text::json) on conflict (request_id) do nothing returning request_id`
  const given = `select ${rollupColumns.join(', ')} from json_populate_recordset(null::ledger_daily, $1::text::json)`
  const [sums, pending] = [addRollupText(given), addPendingText(given)]
  const derived = writtenTables.map(table => {
    const columns = derivedColumns(table)
    const source = `json_populate_recordset(null::${table.name}, $1::text::json)`
    return { table, columns, add: addDerivedText(table, `select ${columns.join(', ')} from ${source}`) }
  })
  const budgets = addBudgetText(
    `select ${budgetColumns.join(', ')} from json_populate_recordset(null::budget_spend, $1::text::json)`,
  )
  const store = (rows: readonly (readonly ColumnValue[])[]) =>
    transaction(database, async tx => {
      const added = (await tx.unsafe(insertion, [JSON.stringify(rows.map(rowObject))])) as { request_id: string }[]
      const ids = added.length === rows.length ? undefined : new Set(added.map(row => row.request_id))
      const stored = ids ? rows.filter(row => ids.delete(String(row[idAt]))) : rows
      const cells = rollupCells(stored)
      const hasPendingSums = cells.length > directSumsMax
      if (cells.length > 0) {
        const values = JSON.stringify(cells.map(cell => objectOf(rollupColumns, cell)))
        await tx.unsafe(hasPendingSums ? pending : sums, [values])
      }
      for (const { table, columns, add } of hasPendingSums ? [] : derived) {
        const sumsOf = derivedCells(table, cells).map(cell => objectOf(columns, cell))
        if (sumsOf.length > 0) await tx.unsafe(add, [JSON.stringify(sumsOf)])
      }
      const amounts = budgetAmounts(stored).map(amount => objectOf(budgetColumns, amount))
      if (amounts.length > 0) await tx.unsafe(budgets, [JSON.stringify(amounts)])
      const took = latencyCells(stored).map(latencyObject)
      if (took.length > 0) await tx.unsafe(postgresLatencyText, [JSON.stringify(took)])
      if (stored.length > 0) await tx.unsafe(outboxText, [JSON.stringify(stored.map(row => row[idAt]))])
      return { hasPendingSums }
    })
  return {
    ...sourceOf(database),
    sql: database.sql,
    setBulk: () => {},
    rest: () => {},
    // A commit is on the server's disk when it is answered.
    sync: async () => {},
    insert: async rows => {
      try {
        return await answered(store(rows))
      } catch (error) {
        // Classes 22 data exception, 23 integrity, 54 program limit.
        throw /^(22|23|54)...$/.test(sqlState(error)) ? new RefusedRows(String(error)) : error
      }
    },
    change: statements =>
      answered(
        transaction(database, async tx => {
          const changed: number[] = []
          for (const { text, values } of statements)
            changed.push(Number(((await tx.unsafe(text, [...values])) as { count?: unknown }).count ?? 0))
          return changed
        }),
      ),
  }
}

/** Of Postgres. */
const sourceOf = ({ sql }: Database): LedgerSource => ({
  kind: 'postgres',
  select: async ({ text, values }) => {
    const rows: Iterable<Record<string, unknown>> = await answered(sql.unsafe(text, [...values]))
    return [...rows]
  },
  close: () => answered(sql.close({ timeout: 0 })),
})

const idAt = columnIndex('request_id')

/** As JSON, in which a number of JavaScript would round what a decimal text does not. */
function objectOf(columns: readonly string[], values: readonly RollupValue[]): object {
  return Object.fromEntries(
    values.map((value, at) => [columns[at]!, typeof value === 'bigint' ? String(value) : value]),
  )
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
