/** Opens the database: SQLite by default, Postgres by `postgres://`. The stores use SQL that both understand. */
import type { SQL } from 'bun'
import { GatewayError } from '../../core/errors.ts'
import type { OpenedFile } from '../../platform/sqlite-file-guard.ts'
import { openPool } from './postgres.ts'
import type { SharedClock } from './shared-clock.ts'
import { openSqliteConnection } from './sqlite.ts'

/**
 * One open database, shared by the stores. `close` waits for running statements, on Postgres for a second at most; the
 * database cannot be used afterwards.
 */
export interface Database {
  readonly sql: SQL
  readonly kind: 'sqlite' | 'postgres'
  /** Of SQLite: the file that is open now, for the other threads that open it. */
  openedFile?(): OpenedFile | undefined
  /** Of SQLite: see `transactionUnsynced`. */
  beginUnsynced?<T>(work: (tx: SQL) => Promise<T>): Promise<T>
  /** Of Postgres: it is known to answer nothing at all, or was since a monotonic moment; see `unlessSilent`. */
  isSilent?(sinceMs?: number): boolean
  close(): Promise<void>
}

/** How long `close` waits for running statements; without a limit a database that hangs would block the exit. */
export const closeTimeoutS = 1
/** More than the connections of a pool times the statements of a transaction that read whole rows. */
const stalePlansMax = 50
/** How long a request waits for the database; the server's own timeout ends the statement later. */
const answerTimeoutMs = 5000

/**
 * `sqlite:PATH` or `postgres://...`. Throws with the reason when the database cannot be reached. Later statements throw
 * `DatabaseMoved` while the SQLite file is not at its path, and `overloaded` when it is locked for some seconds.
 * `opened` = the SQLite file that another thread of this process has open.
 */
export async function openDatabase(url: string, connectionsMax = 4, opened?: OpenedFile): Promise<Database> {
  return url.startsWith('sqlite:') ? openSqlite(url.slice('sqlite:'.length), opened) : openPostgres(url, connectionsMax)
}

async function openSqlite(path: string, opened: OpenedFile | undefined): Promise<Database> {
  // It would be a file of this name: several threads open one database.
  if (path === '' || path === ':memory:')
    throw new Error(`sqlite:${path} names no file; the database is kept in one: sqlite:/path/to/modelgate.db`)
  return { kind: 'sqlite', ...(await openSqliteConnection(path, opened)) }
}

async function openPostgres(url: string, connectionsMax: number): Promise<Database> {
  const database = openPostgresLater(url, connectionsMax)
  await database.sql`select 1`
  return database
}

/** Postgres that cannot be reached now: statements fail until it can. */
export function openPostgresLater(url: string, connectionsMax = 4): Database {
  const { sql, isSilent, close } = openPool(url, connectionsMax)
  return { sql, kind: 'postgres', isSilent, close: () => close(closeTimeoutS) }
}

/**
 * Runs `work` in a transaction that takes the write lock at once: SQLite cannot upgrade a read lock safely. `work` must
 * use `tx` alone: on SQLite the database's own `sql` waits until the transaction has ended. `work` may run again: its
 * effects are those of the database and its result.
 */
export function transaction<T>(database: Database, work: (tx: SQL) => Promise<T>): Promise<T> {
  const run = (tx: unknown) => work(tx as SQL)
  return database.kind === 'sqlite' ? database.sql.begin('immediate', run) : beginOnPostgres(database.sql, run)
}

/**
 * A newer program that starts beside this one adds columns: each connection then refuses once each statement with `*`
 * that it has prepared (0A000, "cached plan must not change result type"). Outside of transactions Bun prepares it
 * again by itself.
 */
async function beginOnPostgres<T>(sql: SQL, run: (tx: unknown) => Promise<T>): Promise<T> {
  for (let refused = 0; ; refused++)
    try {
      return await sql.begin(run)
    } catch (error) {
      if ((error as { errno?: unknown }).errno !== '0A000' || refused === stalePlansMax) throw error
    }
}

/**
 * As `transaction`, for rows that strangers can cause. On SQLite its commit does not keep the event loop waiting for
 * the disk (0.5 to 12 ms): it survives kill -9, but not a loss of power right after it.
 */
export function transactionUnsynced<T>(database: Database, work: (tx: SQL) => Promise<T>): Promise<T> {
  return database.beginUnsynced?.(work) ?? transaction(database, work)
}

/**
 * As `transaction`, for a request, which waits 5 s: what a server that stood still would do later, when the request was
 * refused and may have been sent again, is taken back, unless its COMMIT was sent already. A change that only takes
 * long is done in the end.
 */
export async function transactionInTime<T>(
  database: Database,
  work: (tx: SQL) => Promise<T>,
  limitMs = answerTimeoutMs,
): Promise<T> {
  let isGivenUp = false
  const takeBack = (): never => {
    throw new Error('the request that asked for it was refused meanwhile')
  }
  const fromMs = performance.now()
  const run = transaction(database, async tx => {
    if (isGivenUp) takeBack()
    const done = await work(tx)
    if (isGivenUp && database.isSilent?.(fromMs)) takeBack()
    return done
  })
  try {
    return await answerInTime(run, limitMs)
  } finally {
    isGivenUp = true
  }
}

/** Rejects when the database does not answer within 5 s: Bun.SQL has no timeout for queries. */
export async function answerInTime<T>(work: Promise<T>, limitMs = answerTimeoutMs): Promise<T> {
  const late = Promise.withResolvers<never>()
  const timer = setTimeout(() => late.reject(new Error(`the database gave no answer within ${limitMs} ms`)), limitMs)
  try {
    return await Promise.race([work, late.promise])
  } finally {
    clearTimeout(timer)
    work.catch(() => {})
  }
}

/**
 * What a request asks that does not insist: of a database that is known to be silent nothing, so that no request
 * waits to learn it anew. What has to be stored or kept alive asks without it.
 */
export function unlessSilent<T>({ isSilent }: Pick<Database, 'isSilent'>, work: () => Promise<T>): Promise<T> {
  return isSilent?.() ? Promise.reject(new Error('the database does not answer')) : work()
}

/**
 * For a request that needs the database: throws `overloaded`, with the text that `what` cannot be reached, when the
 * database is away, after 5 s at the latest, and at once where it is known to be silent. Errors of the statement itself
 * are passed on.
 */
export function whileAvailable<T>(
  database: Pick<Database, 'isSilent'>,
  what: string,
  work: () => Promise<T>,
): Promise<T> {
  return insisting(what, unlessSilent(database, work))
}

/** As `whileAvailable`, for what asks a silent database all the same. */
export async function insisting<T>(what: string, work: Promise<T>): Promise<T> {
  try {
    return await answerInTime(work)
  } catch (cause) {
    if (cause instanceof GatewayError || isOfStatement(cause)) throw cause
    throw new GatewayError('overloaded', `${what} cannot be reached now; try again later`, { cause })
  }
}

/**
 * The statement itself failed or took too long; the connection is usable. Classes 22 data exception, 23 integrity,
 * 42 syntax, 54 program limit, and 57014 cancelled by its timeout (postgresql.org/docs/current/errcodes-appendix.html).
 */
export function isOfStatement(error: unknown): boolean {
  const { errno, code } = error as { errno?: unknown; code?: unknown }
  return (
    /^(?:(22|23|42|54)...|57014)$/.test(String(errno)) ||
    /^SQLITE_(ERROR|CONSTRAINT|MISMATCH|TOOBIG|RANGE)/.test(String(code))
  )
}

/** The database cannot be reached, or takes no connections yet; it may later. */
export function isAway(error: unknown): boolean {
  const { errno, code } = error as { errno?: unknown; code?: unknown }
  // 57P01 and 57P03: it stops or starts; 53300: too many connections.
  return String(code).startsWith('ERR_POSTGRES_CONNECTION') || /^(57P0[13]|53300)$/.test(String(errno))
}

/** What a database says of itself beside its rows. */
export interface ServerState {
  /** Postgres takes no changes: a replica that was not promoted, or a server whose operator forbids them. */
  readonly isReadOnly: boolean
  /** Another one than before = other rows may be there, also older ones; null = it cannot be said now. */
  readonly identity: string | null
}

/**
 * Reads the state. `clock` learns the time of Postgres. Rejects when it does not answer. An SQLite file that cannot be
 * written says so to each writer; it is identified by its inode, which `mv` changes. Postgres is identified by its
 * timeline, of which a recovery to a moment and a failover begin another one, and by the files of a table and of its
 * key, which a restored dump makes anew, the key after the rows. A server that crashed and starts again lost nothing.
 */
export async function serverState({ kind, sql, openedFile }: Database, clock: SharedClock): Promise<ServerState> {
  if (kind === 'sqlite') {
    // Opens the file that is there now.
    await answerInTime(sql`select 1`)
    return { isReadOnly: false, identity: openedFile?.()?.id ?? null }
  }
  const ended = clock.reads()
  const [found] = await answerInTime<{ state: string; now_ms: unknown; identity: string | null }[]>(sql`
    select current_setting('transaction_read_only') as state,
      (extract(epoch from clock_timestamp()) * 1000)::bigint as now_ms,
      case when pg_is_in_recovery() then null else
        left(pg_walfile_name(pg_current_wal_lsn()), 8) || ' ' ||
        pg_relation_filenode(to_regclass('budget_spend'))::text || ' ' ||
        pg_relation_filenode(to_regclass('budget_spend_pkey'))::text end as identity`)
  ended(toNumber(found?.now_ms))
  return { isReadOnly: found?.state === 'on', identity: found?.identity ?? null }
}

/** Integers arrive as number, string or bigint, depending on the database. */
export function toNumber(value: unknown): number {
  return Number(value)
}

/** As `toNumber`, for columns that may be null. */
export function toNumberOrNull(value: unknown): number | null {
  return value === null || value === undefined ? null : Number(value)
}
