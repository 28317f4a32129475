/**
 * The main thread's connection to an SQLite file. Bun's SQLite is synchronous: waiting for a lock inside SQLite would
 * block every call. Here a statement that meets a lock is tried again later instead. Statements and transactions are
 * put one after the other, because they share one connection: a statement between those of a transaction would be part
 * of it.
 */
import { chmodSync, closeSync, existsSync, mkdirSync, openSync } from 'node:fs'
import { dirname } from 'node:path'
import type { SQL } from 'bun'
import { GatewayError } from '../../core/errors.ts'
import { errorCode } from '../../lib/error-code.ts'
import { schemaMark, schemaMarkQuery, SqliteFile } from '../../platform/sqlite-file-guard.ts'
import type { OpenedFile, SchemaMark } from '../../platform/sqlite-file-guard.ts'
import { explainDamage } from './sqlite-damage.ts'
import { waitsToWrite } from './write-turns.ts'

/** While connecting at the start, when nothing is served yet. */
const openBusyTimeoutMs = 2000
/** No waiting inside SQLite while calls are served: hundreds of writers would wait one after the other. */
const busyTimeoutMs = 0
/** Pauses between tries, doubled each time, with jitter: a commit of the ledger is short, a backup is long. */
const retryMsMin = 2
const retryMsMax = 100
/** A little less than callers wait (`answerInTime`), so that nothing is written after they gave up. */
const lockedMsMax = 4500

interface OpenSqlite {
  readonly sql: SQL
  openedFile(): OpenedFile | undefined
  /** A transaction whose commit does not wait for the disk. */
  beginUnsynced<T>(work: (tx: SQL) => Promise<T>): Promise<T>
  close(): Promise<void>
}

/** Opens the file; creates it and its directory when they are not there. */
export async function openSqliteConnection(path: string, opened?: OpenedFile): Promise<OpenSqlite> {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  const connection = new SqliteConnection(path, opened)
  await connection.open()
  return {
    sql: facade(connection),
    openedFile: () => connection.openedFile,
    beginUnsynced: work => connection.beginUnsynced(work),
    close: () => connection.close(),
  }
}

/** The part of `SQL` that the stores use; it stays valid when the connection behind it is replaced. */
function facade(connection: SqliteConnection): SQL {
  const call = (first: unknown, ...rest: unknown[]): unknown => {
    const apply = (sql: SQL) => (sql as unknown as (...all: unknown[]) => unknown)(first, ...rest)
    const isStatement = Array.isArray(first) && 'raw' in first
    // Otherwise it is a helper, `sql(row)`, a part of a statement.
    return isStatement ? connection.use(async sql => await apply(sql)) : apply(connection.current)
  }
  return Object.defineProperties(call, {
    unsafe: {
      value: (text: string, values?: unknown[]) => connection.use(async sql => await sql.unsafe(text, values)),
    },
    begin: { value: (mode: string, work: (tx: unknown) => Promise<unknown>) => connection.begin(mode, work) },
    close: { value: () => connection.close() },
  }) as unknown as SQL
}

/** By path, for a thread that opens what another one has open: several attempts see how long a file is unchanged. */
const sharedFiles = new Map<string, SqliteFile>()

function sharedFile(path: string, opened: OpenedFile): SqliteFile {
  const known = sharedFiles.get(path) ?? new SqliteFile(path, opened)
  sharedFiles.set(path, known)
  return known
}

class SqliteConnection {
  readonly #path: string
  readonly #file: SqliteFile
  #sql: SQL | undefined
  #turn: Promise<unknown> = Promise.resolve()
  #closed = false

  constructor(path: string, opened: OpenedFile | undefined) {
    this.#path = path
    this.#file = opened ? sharedFile(path, opened) : new SqliteFile(path)
  }

  get current(): SQL {
    if (!this.#sql) throw new Error('the database is not open')
    return this.#sql
  }

  get openedFile(): OpenedFile | undefined {
    return this.#file.opened
  }

  async open(): Promise<void> {
    // SQLite does not always wait for a lock that another process holds while it opens or closes the file.
    this.#sql = await untilUnlocked(
      () => this.#connect(undefined),
      () => true,
    )
  }

  /** Throws `DatabaseMoved` when the file is not at its path before or after `work`, whose result is then void. */
  use<T>(work: (sql: SQL) => Promise<T>, mayRepeat: () => boolean = () => true): Promise<T> {
    return untilUnlocked(() => this.#inTurn(() => this.#checked(work)), mayRepeat)
  }

  begin(mode: string, work: (tx: unknown) => Promise<unknown>): Promise<unknown> {
    let begun = false
    const run = (tx: unknown) => {
      begun = true
      return work(tx)
    }
    // The lock is taken by BEGIN; a transaction that has begun is not repeated.
    return this.use(
      sql => sql.begin(mode, run),
      () => !begun,
    )
  }

  /** In one turn, so that no other commit is meant. */
  async beginUnsynced<T>(work: (tx: SQL) => Promise<T>): Promise<T> {
    let begun = false
    const run = (tx: unknown) => {
      begun = true
      return work(tx as SQL)
    }
    return this.use(
      async sql => {
        await sql.unsafe('pragma synchronous = normal')
        try {
          return await sql.begin('immediate', run)
        } finally {
          await sql.unsafe('pragma synchronous = full')
        }
      },
      () => !begun,
    )
  }

  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    await this.#inTurn(async () => {
      try {
        // Otherwise the next start would replay the old log into the new file.
        if (!this.#stands()) await this.#retireLogs()
      } finally {
        await this.#sql?.close()
      }
    })
  }

  #stands(): boolean {
    try {
      this.#file.check()
      return true
    } catch {
      return false
    }
  }

  async #checked<T>(work: (sql: SQL) => Promise<T>): Promise<T> {
    if (this.#closed) throw new Error('the database is closed')
    if (!this.#stands()) await this.#reconnect()
    const result = await work(this.current).catch((error: unknown) => {
      throw explainDamage(this.#path, error)
    })
    this.#file.check()
    return result
  }

  /**
   * Connects to the file that replaced ours. Ours stays open until then, so that its inode, by which threads
   * distinguish the two, is not reused.
   */
  async #reconnect(): Promise<void> {
    this.#file.prepare()
    const old = this.current
    const expected = schemaMark((await old.unsafe(schemaMarkQuery).catch(() => []))[0])
    await this.#retireLogs()
    this.#sql = await this.#connect(expected)
    await old.close().catch(() => {})
  }

  async #retireLogs(): Promise<void> {
    await this.current.unsafe('pragma wal_checkpoint(truncate)').catch(() => {})
    this.#file.setLogsAside()
  }

  async #connect(expected: SchemaMark | undefined): Promise<SQL> {
    const again = this.#file.wasOpened
    const prepared = this.#file.prepare()
    if (!again || prepared.isReplacement) makePrivate(this.#path)
    // Those of the file that another thread has open, where this is the first connection.
    if (prepared.isReplacement) this.#file.setLogsAside()
    // A file that is gone is not replaced by an empty one, which would look like a gateway without any key.
    // Bun loads its SQL here, not in threads that import this file and use SQLite by themselves.
    const sql = new Bun.SQL({ adapter: 'sqlite', filename: this.#path, create: !again, readwrite: true })
    try {
      // First, because another process that opens the file holds a lock, at which the next statement would fail.
      await sql.unsafe(`pragma busy_timeout = ${again ? busyTimeoutMs : openBusyTimeoutMs}`)
      if (prepared.isReplacement) this.#file.checkSchema(await readMark(sql, this.#file), expected)
      // FULL: a committed change survives a loss of power. Foreign keys are off by default
      // (sqlite.org/foreignkeys.html).
      await sql.unsafe('pragma journal_mode = wal')
      await sql.unsafe('pragma synchronous = full')
      await sql.unsafe('pragma foreign_keys = on')
      // The first read creates the WAL and its index.
      await sql.unsafe('select count(*) from sqlite_schema')
      this.#file.confirm(prepared)
      await sql.unsafe(`pragma busy_timeout = ${busyTimeoutMs}`)
      return sql
    } catch (error) {
      await sql.close().catch(() => {})
      throw explainDamage(this.#path, error)
    }
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#turn.then(work)
    this.#turn = result.catch(() => {})
    return result
  }
}

/**
 * For this user alone, before SQLite opens it and gives the same mode to its logs. A file that is there is not opened:
 * to close it would drop the locks of this process (sqlite.org/howtocorrupt.html, 2.2).
 */
function makePrivate(path: string): void {
  if (!existsSync(path)) return closeSync(openSync(path, 'a', 0o600))
  for (const suffix of ['', '-wal', '-shm'])
    try {
      chmodSync(path + suffix, 0o600)
    } catch (error) {
      // The last of other processes that closes the database removes its logs, at any time.
      if (suffix === '' || errorCode(error) !== 'ENOENT') throw error
    }
}

async function readMark(sql: SQL, file: SqliteFile): Promise<SchemaMark | undefined> {
  try {
    return schemaMark((await sql.unsafe(schemaMarkQuery))[0])
  } catch (error) {
    if (isLocked(error)) throw error
    // Without these tables.
    if (codeOf(error) === 'SQLITE_ERROR') return undefined
    throw file.unusable(`${String(error)}; put a backup of this gateway in its place`)
  }
}

/** Tries again while another connection holds the lock; the event loop runs in between. */
async function untilUnlocked<T>(attempt: () => Promise<T>, mayRepeat: () => boolean): Promise<T> {
  const fromMs = performance.now()
  let ended: (() => void) | undefined
  try {
    for (let longestMs = retryMsMin; ; longestMs = Math.min(longestMs * 2, retryMsMax)) {
      try {
        return await attempt()
      } catch (cause) {
        if (!isLocked(cause) || !mayRepeat()) throw cause
        ended ??= waitsToWrite()
        const pauseMs = longestMs * (0.5 + Math.random() / 2)
        if (performance.now() - fromMs + pauseMs > lockedMsMax)
          throw new GatewayError(
            'overloaded',
            `the database file stayed locked for ${lockedMsMax / 1000} seconds; try again in a second`,
            { cause },
          )
        await Bun.sleep(pauseMs)
      }
    }
  } finally {
    ended?.()
  }
}

function isLocked(error: unknown): boolean {
  return /^SQLITE_(BUSY|LOCKED)/.test(codeOf(error))
}

function codeOf(error: unknown): string {
  return String((error as { code?: unknown } | null)?.code)
}
